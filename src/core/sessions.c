/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a node's sessions: dispatches each event to its function.
 *
 * sessions.h has the contract, sessions_parts.h the list of the files, docs/sessions.md the
 * reasons.
 */
#include "core/sessions.h"

#include "common/hash.h"
#include "common/minmax.h"
#include "core/sessions_parts.h"

/* -- GPUs ------------------------------------------------------------------------------------- */

static struct sessions_gpu *gpu_find(struct sessions *node, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < node->gpu_count; i++) {
                if (uuid_is_same(node->gpu[i].uuid, uuid))
                        return &node->gpu[i];
        }
        return NULL;
}

/* Returns a new entry, or the entry of a GPU that is gone, which its sessions do not need: they
 * refer to it by UUID. NULL: there is none. */
static struct sessions_gpu *gpu_entry(struct sessions *node)
{
        if (node->gpu_count < SESSIONS_GPUS)
                return &node->gpu[node->gpu_count++];
        for (unsigned i = 0; i < node->gpu_count; i++) {
                if (!node->gpu[i].is_here)
                        return &node->gpu[i];
        }
        return NULL;
}

static bool is_gpu(const struct sessions_gpu *gpu)
{
        static const uint8_t nobody[16];

        return !uuid_is_same(gpu->uuid, nobody) && gpu->card_bytes > 0;
}

static void gpu_comes(const struct sessions_step *step)
{
        const struct sessions_gpu *said = &step->event->gpu;
        struct sessions_gpu *gpu = gpu_find(step->node, said->uuid);

        if (!is_gpu(said)) {
                refuse_event(step->ret, SESSIONS_BAD, "gpu");
                return;
        }
        if (gpu && gpu->is_here && gpu->card_bytes == said->card_bytes)
                return;
        if (!gpu)
                gpu = gpu_entry(step->node);
        if (!gpu) {
                refuse_event(step->ret, SESSIONS_FULL, "gpu");
                return;
        }
        *gpu = *said;
        gpu->is_here = true;
        add_note(step->ret, SESSIONS_NOTE_GPU_HERE, NULL);
}

static void gpu_goes(const struct sessions_step *step)
{
        struct sessions_gpu *gpu = gpu_find(step->node, step->event->gpu.uuid);

        if (!gpu) {
                refuse_event(step->ret, SESSIONS_NO_GPU, "gpu");
                return;
        }
        if (gpu->is_here)
                add_note(step->ret, SESSIONS_NOTE_GPU_GONE, NULL);
        gpu->is_here = false;
}

/* -- Events that are no requests -------------------------------------------------------------- */

static void set_policy(const struct sessions_step *step)
{
        const char *field = sessions_check_policy(&step->event->policy);

        if (field) {
                refuse_event(step->ret, SESSIONS_BAD, field);
                return;
        }
        step->node->policy = step->event->policy;
        if (step->event->rules)
                step->node->rules = *step->event->rules;
}

static bool may_restore(const struct sessions_step *step, const struct sessions_one *one)
{
        if (!check_session(one, false, step->ret))
                return false;
        if (one->state < SESSIONS_OPEN || one->state > SESSIONS_KILLING)
                return refuse_event(step->ret, SESSIONS_BAD, "state");
        if (one->version == 0)
                return refuse_event(step->ret, SESSIONS_BAD, "version");
        if (entry_named(step->node, one->name) != NOWHERE)
                return refuse_event(step->ret, SESSIONS_EXISTS, "name");
        if (entry_free(step->node) == NOWHERE)
                return refuse_event(step->ret, SESSIONS_FULL, NULL);
        return true;
}

/* Sets missing ceilings: a session that was saved by an older version may have none. */
static void raise_ceilings(struct sessions_one *one)
{
        for (unsigned i = 0; i < one->share_count; i++)
                one->share[i].ceiling_bytes =
                        max_u64(one->share[i].ceiling_bytes, one->share[i].memory_bytes);
}

static void restore(const struct sessions_step *step)
{
        unsigned index = entry_free(step->node);

        if (!may_restore(step, step->event->session))
                return;
        entry_fill(step->node, index, step->event->session);
        raise_ceilings(&step->node->session[index]);
        entry_owe_at_once(step->node, index);
        step->ret->session = &step->node->session[index];
}

static void empty(const struct sessions_step *step)
{
        unsigned index = entry_named(step->node, step->event->name);

        if (index == NOWHERE) {
                refuse_event(step->ret, SESSIONS_UNKNOWN, "name");
                return;
        }
        step->ret->session = &step->node->session[index];
        if (step->ret->session->state == SESSIONS_OPEN)
                return;
        entry_remember(step->node, index);
        end_bury(step, index);
}

/* Lowers the share's ceiling to what is held. Returns true if memory above the limit became
 * free. */
static bool give_back(struct sessions_share *share, uint64_t held_bytes)
{
        uint64_t before = share->ceiling_bytes;

        share->ceiling_bytes = max_u64(min_u64(before, held_bytes), share->memory_bytes);
        return share->ceiling_bytes < before;
}

static void held(const struct sessions_step *step)
{
        const struct sessions_one *said = step->event->session;
        unsigned index = entry_named(step->node, step->event->name);
        struct sessions_one *one;
        bool has_fallen = false;

        if (index == NOWHERE) {
                refuse_event(step->ret, SESSIONS_UNKNOWN, "name");
                return;
        }
        if (said->share_count > SESSIONS_GPUS) {
                refuse_event(step->ret, SESSIONS_BAD, "gpus");
                return;
        }
        one = &step->node->session[index];
        entry_remember(step->node, index);
        for (unsigned i = 0; i < said->share_count; i++) {
                unsigned at = share_find(one, said->share[i].uuid);

                if (at < one->share_count)
                        has_fallen |= give_back(&one->share[at], said->share[i].memory_bytes);
        }
        step->ret->session = one;
        if (has_fallen)
                add_action(step->ret, SESSIONS_SAVE, one);
}

static void tick(const struct sessions_step *step)
{
        struct sessions *node = step->node;
        unsigned index = entry_due(node, step->now_ns);

        if (index == NOWHERE)
                return;
        step->ret->session = &node->session[index];
        entry_remember(node, index);
        if (node->due[index].owed_ns)
                end_repeat(step, index);
        else if (node->session[index].state == SESSIONS_OPEN)
                end_begin(step, index, SESSIONS_NOTE_EXPIRED);
        else
                end_kill(step, index);
        node->tick_from = index + 1;
        step->ret->is_more = entry_due(node, step->now_ns) != NOWHERE;
}

/* -- Failed actions --------------------------------------------------------------------------- */

/* Restores the session as it was before the step, because it was not saved or its folder is
 * still there. */
static void undo(const struct sessions_step *step, unsigned index)
{
        struct sessions *node = step->node;

        if (node->before.state == SESSIONS_FREE) {
                entry_empty(node, index);
                return;
        }
        if (node->session[index].state == SESSIONS_FREE)
                entry_fill(node, index, &node->before);
        node->session[index] = node->before;
        entry_owe(node, index, step->now_ns);
}

/* Removes a session that was saved but whose folder cannot be created; it had no process yet. If
 * the removal fails too, the session must be in the state ENDING, not OPEN. */
static void give_up(const struct sessions_step *step, unsigned index)
{
        struct sessions_one *one = &step->node->session[index];

        one->state = SESSIONS_ENDING;
        entry_remember(step->node, index);
        end_bury(step, index);
}

static void failed_last(const struct sessions_step *step, unsigned index)
{
        const struct sessions *node = step->node;
        bool is_unsaved = step->event->is_unsaved;

        if (is_unsaved && node->was_tick)
                end_shut(step, index);
        else if (is_unsaved || node->session[index].state == SESSIONS_FREE)
                undo(step, index);
        else if (node->before.state == SESSIONS_FREE)
                give_up(step, index);
        else
                entry_owe(step->node, index, step->now_ns);
}

/* Handles SESSIONS_FAILED. `last` is the entry that the last step changed, or NOWHERE. */
static void failed(const struct sessions_step *step, unsigned last)
{
        const struct sessions *node = step->node;
        bool is_last = last != NOWHERE && strcmp(node->session[last].name, step->event->name) == 0;
        unsigned index = is_last ? last : entry_named(node, step->event->name);

        if (index == NOWHERE) {
                refuse_event(step->ret, SESSIONS_UNKNOWN, "name");
                return;
        }
        step->ret->session = &node->session[index];
        if (is_last)
                failed_last(step, index);
        else
                entry_owe(step->node, index, step->now_ns);
}

/* -- The public functions --------------------------------------------------------------------- */

void sessions_init(struct sessions *ret, const struct sessions_policy *policy)
{
        memset(ret, 0, sizeof(*ret));
        ret->policy = *policy;
        ret->last = NOWHERE;
}

uint64_t sessions_payer(const struct sessions_one *session)
{
        const char *id = session->container.id;

        if (!session->container.profile[0])
                return session->owner_uid;
        return (UINT64_C(1) << 32) + hash_bytes(HASH_BASIS, id, strlen(id)) % (UINT64_C(1) << 62);
}

const struct sessions_one *sessions_find(const struct sessions *node, const char *name)
{
        unsigned index = entry_named(node, name);

        return index != NOWHERE ? &node->session[index] : NULL;
}

static void take_step(const struct sessions_step *step, unsigned last)
{
        switch (step->event->type) {
        case SESSIONS_GPU_HERE:
                gpu_comes(step);
                break;
        case SESSIONS_GPU_GONE:
                gpu_goes(step);
                break;
        case SESSIONS_POLICY:
                set_policy(step);
                break;
        case SESSIONS_RESTORE:
                restore(step);
                break;
        case SESSIONS_CREATE:
                ask_create(step);
                break;
        case SESSIONS_CHANGE:
                ask_change(step);
                break;
        case SESSIONS_RENEW:
                ask_renew(step);
                break;
        case SESSIONS_RELEASE:
                ask_release(step);
                break;
        case SESSIONS_EMPTY:
                empty(step);
                break;
        case SESSIONS_HELD:
                held(step);
                break;
        case SESSIONS_TICK:
                tick(step);
                break;
        case SESSIONS_FAILED:
                failed(step, last);
                break;
        }
}

void sessions_step(struct sessions *node, const struct sessions_event *event, uint64_t now_ns,
                   struct sessions_actions *ret)
{
        struct sessions_step step = { .node = node, .event = event, .now_ns = now_ns, .ret = ret };
        unsigned last = node->last;

        *ret = (struct sessions_actions){ .answer = SESSIONS_YES };
        node->last = NOWHERE;
        sessions_grant(node, event, &step.grant);
        take_step(&step, last);
        node->was_tick = event->type == SESSIONS_TICK;
        if (ret->answer != SESSIONS_YES)
                ret->session = NULL;
        if (event->type == SESSIONS_GPU_HERE || event->type == SESSIONS_GPU_GONE)
                memcpy(ret->gpu, event->gpu.uuid, sizeof(ret->gpu));
}
