/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *memory)
{
        return strcmp(name, ((const struct model_memory *)memory)->name);
}

static void remember_devices(struct model *model, const struct snapshot *snapshot)
{
        static struct model_device kept[SETTINGS_GPUS];

        for (unsigned i = 0; i < snapshot->device_count; i++) {
                const struct snapshot_device *device = &snapshot->device[i];

                kept[i] = (struct model_device){ 0 };
                for (unsigned j = 0; j < model->device_count; j++) {
                        if (memcmp(model->device[j].uuid, device->uuid, 16) == 0)
                                kept[i] = model->device[j];
                }
                memcpy(kept[i].uuid, device->uuid, 16);
                if (device->gauges.busy_percent >= 0)
                        history_add(&kept[i].busy, (unsigned)device->gauges.busy_percent * 10);
        }
        memcpy(model->device, kept, sizeof(kept));
        model->device_count = snapshot->device_count;
}

/* Copies the paces of a session's shares from the last snapshot. A share keeps its pace even if its
 * index changes. */
static void remember_paces(const struct model_memory *before,
                           const struct snapshot_session *session, struct model_memory *ret)
{
        memset(ret->share, 0, sizeof(ret->share));
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct snapshot_share *share = &session->share[i];

                for (unsigned j = 0; before && j < PAGE_DEVICES; j++) {
                        if (memcmp(before->share[j].uuid, share->uuid, sizeof(share->uuid)) == 0)
                                ret->share[i].pace = before->share[j].pace;
                }
                memcpy(ret->share[i].uuid, share->uuid, sizeof(share->uuid));
                pace_take(&ret->share[i].pace, &share->time);
        }
}

static int most_had(const struct model_memory *memory, unsigned share_count)
{
        int most = PACE_UNKNOWN;

        for (unsigned i = 0; i < share_count; i++) {
                int had = memory->share[i].pace.figures.had;

                most = had > most ? had : most;
        }
        return most;
}

#define WHOLE_PERMILLE 1000

/* Returns the session's GPU time on a GPU; NULL: it got none there, or that is unknown. */
static int *had_of(const struct snapshot_session *session, int device, struct model_memory *memory)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                int *had = &memory->share[i].pace.figures.had;

                if (session->share[i].device == device && *had > 0)
                        return had;
        }
        return NULL;
}

/* Scales the sessions' GPU time on a GPU if the sum is more than the whole. Where kernels of
 * several sessions run at the same time, each measurement includes the time slices of the
 * others. */
static void scale_to_whole(const struct snapshot *snapshot, int device, struct model_memory *memory)
{
        int sum = 0;

        for (size_t i = 0; i < snapshot->session_count; i++) {
                const int *had = had_of(&snapshot->session[i], device, &memory[i]);

                sum += had ? *had : 0;
        }
        for (size_t i = 0; sum > WHOLE_PERMILLE && i < snapshot->session_count; i++) {
                int *had = had_of(&snapshot->session[i], device, &memory[i]);

                if (had)
                        *had = *had * WHOLE_PERMILLE / sum;
        }
}

static void remember_shares(const struct snapshot *snapshot, struct model_memory *memory)
{
        for (unsigned i = 0; i < snapshot->device_count; i++)
                scale_to_whole(snapshot, (int)i, memory);
        for (size_t i = 0; i < snapshot->session_count; i++) {
                int had = most_had(&memory[i], snapshot->session[i].share_count);

                if (had != PACE_UNKNOWN)
                        history_add(&memory[i].had, (unsigned)had);
        }
}

static int remember_sessions(struct model *model, const struct snapshot *snapshot)
{
        struct model_memory *kept = calloc(snapshot->session_count + 1, sizeof(*kept));

        if (!kept)
                return -ENOMEM;
        for (size_t i = 0; i < snapshot->session_count; i++) {
                const struct snapshot_session *session = &snapshot->session[i];
                const struct model_memory *before = NULL;

                if (model->memory_count > 0)
                        before = bsearch(session->name, model->memory, model->memory_count,
                                         sizeof(*before), by_name);
                if (before)
                        kept[i] = *before;
                else
                        kept[i].is_open = model->opens_all;
                memcpy(kept[i].name, session->name, sizeof(kept[i].name));
                remember_paces(before, session, &kept[i]);
                if (!session->broken[0])
                        history_add(&kept[i].used, snapshot_fill(session));
        }
        remember_shares(snapshot, kept);
        free(model->memory);
        model->memory = kept;
        model->memory_count = snapshot->session_count;
        return 0;
}

int model_take(struct model *model, const struct snapshot *snapshot)
{
        int rc = remember_sessions(model, snapshot);

        if (rc < 0)
                return rc;
        remember_devices(model, snapshot);
        model->now = snapshot;
        return model_arrange(model);
}

void model_sort_by(struct model *model, enum sort_key sort)
{
        model->sort = sort;
        if (sort == SORT_SHARE || sort == SORT_WAITING)
                model->shows_time = true;
}

const struct pace *model_pace(const struct model *model, size_t session, unsigned share)
{
        return &model->memory[session].share[share].pace;
}

int model_had(const struct model *model, size_t session)
{
        return most_had(&model->memory[session], model->now->session[session].share_count);
}

int model_waited(const struct model *model, size_t session)
{
        int most = PACE_UNKNOWN;

        for (unsigned i = 0; i < model->now->session[session].share_count; i++) {
                int waited = model_pace(model, session, i)->figures.waited;

                most = waited > most ? waited : most;
        }
        return most;
}

const struct snapshot_share *model_told_share(const struct model *model, size_t session)
{
        const struct snapshot_session *seen = &model->now->session[session];
        const struct snapshot_share *told = NULL;
        int most = model_had(model, session);

        for (unsigned i = 0; i < seen->share_count; i++) {
                if (!snapshot_has_time(&seen->share[i]))
                        continue;
                if (most != PACE_UNKNOWN && model_pace(model, session, i)->figures.had == most)
                        return &seen->share[i];
                told = told ? told : &seen->share[i];
        }
        return told;
}

static int add_row(struct model *model, enum model_kind kind, size_t session, unsigned at)
{
        if (model->count == model->room) {
                size_t room = model->room ? 2 * model->room : 64;
                void *row = reallocarray(model->row, room, sizeof(*model->row));

                if (!row)
                        return -ENOMEM;
                model->row = row;
                model->room = room;
        }
        model->row[model->count++] = (struct model_row){ kind, session, at };
        return 0;
}

static bool session_matches(const struct model *model, const struct snapshot_session *session)
{
        return strcasestr(session->name, model->filter) ||
               strcasestr(session->labels, model->filter);
}

static bool process_matches(const struct model *model, const struct snapshot_process *process)
{
        char pid[16];

        snprintf(pid, sizeof(pid), "%u", process->pid);
        return strcasestr(process->said.command, model->filter) ||
               strcasestr(process->user, model->filter) || strcmp(pid, model->filter) == 0;
}

static bool is_shown(const struct model *model, const struct snapshot_session *session)
{
        if (session_matches(model, session))
                return true;
        for (unsigned i = 0; i < session->process_count; i++) {
                if (process_matches(model, &session->process[i]))
                        return true;
        }
        return false;
}

/* Adds the rows below an opened session. A session with one GPU needs no row for its GPU. */
static int add_parts(struct model *model, size_t at)
{
        const struct snapshot_session *session = &model->now->session[at];
        bool is_whole = session_matches(model, session);
        int rc = 0;

        if (snapshot_has_terms(session))
                rc = add_row(model, MODEL_TERMS, at, 0);
        if (rc == 0 && snapshot_has_rank(session))
                rc = add_row(model, MODEL_TIME, at, 0);
        for (unsigned i = 0; rc == 0 && session->share_count > 1 && i < session->share_count; i++)
                rc = add_row(model, MODEL_SHARE, at, i);
        for (unsigned i = 0; rc == 0 && i < session->process_count; i++) {
                if (is_whole || process_matches(model, &session->process[i]))
                        rc = add_row(model, MODEL_PROCESS, at, i);
        }
        return rc;
}

static uint64_t sort_value(const struct model *model, size_t at)
{
        const struct snapshot_session *session = &model->now->session[at];
        uint64_t most = 0;

        switch (model->sort) {
        case SORT_SHARE:
                return (uint64_t)(model_had(model, at) - PACE_UNKNOWN);
        case SORT_WAITING:
                return (uint64_t)(model_waited(model, at) - PACE_UNKNOWN);
        case SORT_PROCESSES:
                return snapshot_processes(session);
        case SORT_USED:
                return session->used_bytes;
        case SORT_FILL:
                return snapshot_fill(session);
        case SORT_LIMIT:
                if (session->share_count == 0)
                        return session->default_limit_bytes;
                for (unsigned i = 0; i < session->share_count; i++) {
                        if (session->share[i].limit_bytes > most)
                                most = session->share[i].limit_bytes;
                }
                return most;
        default:
                return 0;
        }
}

/* Orders sessions: names ascending, numbers descending, equal numbers by name. */
static int compare(const void *a, const void *b, void *context)
{
        const struct model *model = context;
        size_t first = *(const size_t *)a, second = *(const size_t *)b;
        uint64_t first_value = sort_value(model, first), second_value = sort_value(model, second);
        int order = (first_value < second_value) - (first_value > second_value);

        if (order == 0)
                order = strcmp(model->now->session[first].name, model->now->session[second].name);
        return model->is_reversed ? -order : order;
}

static uint64_t id_of(const struct model *model, const struct model_row *row)
{
        const struct snapshot_session *session = &model->now->session[row->session];
        const struct usage_process *said;

        if (row->kind == MODEL_SHARE)
                return session->share[row->at].row;
        if (row->kind != MODEL_PROCESS)
                return 0;
        said = &session->process[row->at].said;
        return (uint64_t)said->slot << 48 ^ said->start_ticks;
}

/* Finds the row of the selected item. If the item is gone, selects the row at its index, or the
 * last row. */
static void find_selected(struct model *model)
{
        for (size_t i = 0; model->key.is_set && i < model->count; i++) {
                const struct model_row *row = &model->row[i];

                if (row->kind == model->key.kind && id_of(model, row) == model->key.id &&
                    strcmp(model->now->session[row->session].name, model->key.name) == 0) {
                        model->selected = i;
                        return;
                }
        }
        if (!model->key.is_set)
                model->selected = 0;
        if (model->selected >= model->count)
                model->selected = model->count ? model->count - 1 : 0;
}

int model_arrange(struct model *model)
{
        size_t count = 0;
        size_t *order;
        int rc = 0;

        model->count = 0;
        if (!model->now)
                return 0;
        order = calloc(model->now->session_count + 1, sizeof(*order));
        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < model->now->session_count; i++) {
                if (is_shown(model, &model->now->session[i]))
                        order[count++] = i;
        }
        qsort_r(order, count, sizeof(*order), compare, model);
        for (size_t i = 0; rc == 0 && i < count; i++) {
                rc = add_row(model, MODEL_SESSION, order[i], 0);
                if (rc == 0 && model->memory[order[i]].is_open)
                        rc = add_parts(model, order[i]);
        }
        free(order);
        find_selected(model);
        return rc;
}

void model_finish(struct model *model)
{
        free(model->memory);
        free(model->row);
        *model = (struct model){ 0 };
}

const struct model_row *model_selected(const struct model *model)
{
        return model->count ? &model->row[model->selected] : NULL;
}

static void set_key(struct model *model)
{
        const struct model_row *row = model_selected(model);

        model->key.is_set = row != NULL;
        if (!row)
                return;
        model->key.kind = row->kind;
        model->key.id = id_of(model, row);
        memcpy(model->key.name, model->now->session[row->session].name, sizeof(model->key.name));
}

void model_move(struct model *model, long rows)
{
        size_t last = model->count ? model->count - 1 : 0;

        if (rows < 0 && (size_t)-rows > model->selected)
                model->selected = 0;
        else if (rows > 0 && (size_t)rows > last - model->selected)
                model->selected = last;
        else
                model->selected += (size_t)rows;
        set_key(model);
}

int model_toggle(struct model *model)
{
        const struct model_row *row = model_selected(model);
        size_t session;

        if (!row)
                return 0;
        session = row->session;
        model->memory[session].is_open = !model->memory[session].is_open;
        /* the rows below the session may disappear, so the session itself is selected */
        while (model->row[model->selected].kind != MODEL_SESSION)
                model->selected--;
        set_key(model);
        return model_arrange(model);
}

int model_toggle_all(struct model *model)
{
        const struct model_row *row = model_selected(model);

        model->opens_all = !model->opens_all;
        for (size_t i = 0; i < model->memory_count; i++)
                model->memory[i].is_open = model->opens_all;
        if (row && model->key.is_set) {
                while (model->row[model->selected].kind != MODEL_SESSION)
                        model->selected--;
                set_key(model);
        }
        return model_arrange(model);
}
