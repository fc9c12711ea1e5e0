/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage on which a mix is run: a GPU, a runtime folder with a daemon, a session for each word
 * of the mix, and a program in each session (src/load). Nothing of it is left when stage_end()
 * returns. The processes that it started end with this one, however this one ends.
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
        struct request_flags flags; /* values of --sim and --gpu */
        bool is_daemon_theirs; /* use the daemon that already serves the usual runtime folder */

        struct cli_request request;
        struct store store;
        char folder[STORE_PATH_BYTES]; /* the folder that the stage created; "": none */
        char spec[1024];               /* configuration of the simulated node */
        bool has_own_state;            /* the user gave the state folder of the simulated node */
        char uuid[UUID_TEXT_BYTES];
        uint64_t session_bytes;
        pid_t daemon;
        unsigned session_count; /* number of sessions that were created */
        pid_t program[MIX_SESSIONS];
        bool has_ended[MIX_SESSIONS];
        struct load_page *page; /* the page that is shared with the programs, mapped */
        size_t page_bytes;
        char page_path[STORE_PATH_BYTES];
        sigset_t mask; /* the signal mask with which this process was started */
        int signal;    /* the signal that ended the run; 0: none */
};

/* Opens the stage. From here on, signals that would end this process are blocked until stage_play()
 * checks for them, or until stage_end(). */
int stage_open(struct stage *stage, const struct mix *mix, struct error *err);

/* Runs the mix. The caller has set mix, period_ns and samples of the record; the other fields are
 * filled in. -EINTR: ended by stage->signal. */
int stage_play(struct stage *stage, struct record *record, struct error *err);

void stage_end(struct stage *stage);

#endif
