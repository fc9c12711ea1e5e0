/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of `aliquot top`, independent of its display: it takes snapshots and makes the rows
 * of the table.
 *
 *      model_take()        a new snapshot: one more sample of every history, then rows
 *      model_arrange()     new rows, after a change of `sort`, `is_reversed` or `filter`
 *      model_move() ...    the selection, and which sessions are opened
 *
 * Selected and opened items are stored by name, not by position: they keep their state while rows
 * appear, disappear and change their order, and lose it when they disappear themselves. None of
 * these functions uses a clock, a terminal or a file.
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
        unsigned at; /* index of the share or process in its session */
};

/* The state of a session that is kept from one snapshot to the next. */
struct model_memory {
        char name[PAGE_NAME_BYTES];
        bool is_open;
        struct history used; /* used memory, as part of the maximum that the session may have */
        /* GPU time that it got, as part of the time of the GPU on which it got the most */
        struct history had;
        struct {
                uint8_t uuid[16];
                struct pace pace;
        } share[PAGE_DEVICES]; /* for each share, in the same order as in the snapshot's session */
};

struct model_device {
        uint8_t uuid[16];
        struct history busy;
};

struct model {
        /* The caller may change these fields, and then calls model_arrange(). */
        enum sort_key sort;
        bool is_reversed;
        /* if columns are left out, keep those about GPU time rather than those about memory */
        bool shows_time;
        /* searched in names, labels, commands, users and pids; "": all are shown */
        char filter[MODEL_FILTER_BYTES];

        const struct snapshot *now;  /* the latest snapshot; borrowed until the next one */
        struct model_memory *memory; /* owned; same order as now->session */
        size_t memory_count;
        struct model_device device[SETTINGS_GPUS]; /* same order as now->device */
        unsigned device_count;
        struct model_row *row; /* owned */
        size_t count, room;
        size_t selected; /* index of the selected row; 0 if there is none */
        bool opens_all;  /* sessions that appear later are opened too */
        struct {
                bool is_set; /* false: the first row is selected, whichever it is */
                enum model_kind kind;
                char name[PAGE_NAME_BYTES];
                uint64_t id; /* identifies the share or process within its session */
        } key;
};

/* Sorts by a column, which is then not left out. Call model_arrange() afterwards. */
void model_sort_by(struct model *model, enum sort_key sort);

/* Returns the share on whose GPU the session got the most GPU time; if it got none, a share with
 * promised GPU time. NULL: there is neither. */
const struct snapshot_share *model_told_share(const struct model *model, size_t session);

/* model_pace() returns the recent GPU time of one share. The other two return the highest value of
 * all shares of a session; PACE_UNKNOWN if none is known. */
const struct pace *model_pace(const struct model *model, size_t session, unsigned share);
int model_had(const struct model *model, size_t session);
int model_waited(const struct model *model, size_t session);

/* Takes a new snapshot, which must not change until the next one is taken. Returns 0 or -ENOMEM. */
int model_take(struct model *model, const struct snapshot *snapshot);
int model_arrange(struct model *model);
void model_finish(struct model *model);

void model_move(struct model *model, long rows);
/* Opens or closes the selected session, or the session of the selected row. */
int model_toggle(struct model *model);
int model_toggle_all(struct model *model);

/* Returns the selected row; NULL if there is no row. */
const struct model_row *model_selected(const struct model *model);

#endif
