/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of `aliquot top`, independent of its display: snapshots in, rows out.
 *
 *      model_take()        a new snapshot: one more sample of every history, then rows
 *      model_arrange()     new rows, after a change of `sort`, `is_reversed` or `filter`
 *      model_move() ...    the selection, and which sessions are opened
 *
 * Selected and opened items are stored by name, not by position: they keep their state while rows
 * come, go and change their order, and lose it when they are gone. Nothing here uses a clock, a
 * terminal or a file.
 */
#ifndef ALIQUOT_CLI_TOP_MODEL_H
#define ALIQUOT_CLI_TOP_MODEL_H

#include "cli/sorts.h"
#include "cli/top/history.h"
#include "cli/top/pace.h"
#include "cli/top/snapshot.h"

#define MODEL_FILTER_BYTES 48u

enum model_kind { MODEL_SESSION, MODEL_TERMS, MODEL_TIME, MODEL_SHARE, MODEL_PROCESS };

struct model_row {
        enum model_kind kind;
        size_t session;
        unsigned at; /* of its shares or processes */
};

/* The state of a session that is kept from one snapshot to the next. */
struct model_memory {
        char name[PAGE_NAME_BYTES];
        bool is_open;
        struct history used; /* part of the maximum that it may have */
        struct history had;  /* of the time of a GPU: of that on which it had the most */
        struct {
                uint8_t uuid[16];
                struct pace pace;
        } share[PAGE_DEVICES]; /* for each share, as for the session */
};

struct model_device {
        uint8_t uuid[16];
        struct history busy;
};

struct model {
        /* For the caller to change; then model_arrange(). */
        enum sort_key sort;
        bool is_reversed;
        /* if columns are left out, keep those of time rather than those of memory */
        bool shows_time;
        char filter[MODEL_FILTER_BYTES]; /* of names, labels, commands, users, pids; "": all */

        const struct snapshot *now;  /* borrowed until the next one */
        struct model_memory *memory; /* owned; as now->session */
        size_t memory_count;
        struct model_device device[SETTINGS_GPUS]; /* as now->device */
        unsigned device_count;
        struct model_row *row; /* owned */
        size_t count, room;
        size_t selected; /* a row; 0 where there is none */
        bool opens_all;  /* also sessions to come */
        struct {
                bool is_set; /* false: the first row, whichever it is */
                enum model_kind kind;
                char name[PAGE_NAME_BYTES];
                uint64_t id; /* of the share or process in its session */
        } key;
};

/* The order of a column, which is then to be seen. Then model_arrange(). */
void model_sort_by(struct model *model, enum sort_key sort);

/* Of all GPUs of a session the share that had the most of its time, or else is promised any; NULL:
 * neither. */
const struct snapshot_share *model_told_share(const struct model *model, size_t session);

/* The recent GPU time of one share, and the highest of all shares; PACE_UNKNOWN if none is
 * known. */
const struct pace *model_pace(const struct model *model, size_t session, unsigned share);
int model_had(const struct model *model, size_t session);
int model_waited(const struct model *model, size_t session);

/* 0, or -ENOMEM; the snapshot must stay as it is until the next one is taken. */
int model_take(struct model *model, const struct snapshot *snapshot);
int model_arrange(struct model *model);
void model_finish(struct model *model);

void model_move(struct model *model, long rows);
int model_toggle(
        struct model *model); /* the selected session, or the session of the selected row */
int model_toggle_all(struct model *model);

/* The selected row; NULL: there is nothing to select. */
const struct model_row *model_selected(const struct model *model);

#endif
