/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a mix is played: a GPU, a runtime folder with a daemon, a session for each word of the mix,
 * and a program in each (src/load). Nothing of it is left when stage_end() returns; what was
 * started ends with us however we end.
 *
 *      stage_open()    GPU, folder, daemon
 *      stage_play()    sessions and programs, to the end of the run
 *      stage_end()     always
 */
#ifndef ALIQUOT_CLI_BENCH_STAGE_H
#define ALIQUOT_CLI_BENCH_STAGE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/bench/record.h"
#include "cli/request.h"
#include "store/store.h"

struct stage {
        /* The caller sets these before stage_open(). */
        struct request_flags flags; /* --sim, --gpu */
        bool is_daemon_theirs;      /* the one that serves the usual runtime folder */

        struct cli_request request;
        struct store store;
        char folder[STORE_PATH_BYTES]; /* ours; "": none */
        char spec[1024];               /* of the simulated node */
        bool has_own_state;            /* the user said where that is */
        char uuid[UUID_TEXT_BYTES];
        uint64_t session_bytes;
        pid_t daemon;
        unsigned session_count; /* that were made */
        pid_t program[MIX_SESSIONS];
        bool has_ended[MIX_SESSIONS];
        struct load_page *page; /* mapped */
        size_t page_bytes;
        char page_path[STORE_PATH_BYTES];
        sigset_t mask; /* as we were started with */
        int signal;    /* that ended it; 0: none */
};

/* From here on what would end us is kept until stage_play() looks, or stage_end(). */
int stage_open(struct stage *stage, const struct mix *mix, struct error *err);

/* `record` has mix, period_ns and samples; the rest is filled in. -EINTR: by stage->signal. */
int stage_play(struct stage *stage, struct record *record, struct error *err);

void stage_end(struct stage *stage);

#endif
