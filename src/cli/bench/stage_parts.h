/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that stage.c uses for the processes of the stage (stage_crew.c).
 */
#ifndef ALIQUOT_CLI_BENCH_STAGE_PARTS_H
#define ALIQUOT_CLI_BENCH_STAGE_PARTS_H

#include "cli/bench/stage.h"

#define STAGE_NAME_BYTES 48u

/* Returns the name of the session for a word of the mix. */
const char *stage_name(const struct stage *stage, unsigned at, char ret[STAGE_NAME_BYTES]);

/* Reads the first line that a process printed, for a message; "" if there is none. */
void stage_read_log(const struct stage *stage, const char *who, char ret[256]);

/* Starts a daemon in the stage's folder. On success the daemon answers requests. */
int stage_start_daemon(struct stage *stage, struct error *err);

/* Starts the program of a word of the mix, in its session. */
int stage_start_program(struct stage *stage, const struct mix *mix, unsigned at, struct error *err);

/* Ends a process with the signal `number`, if it runs, and waits for its end. A process that does
 * not end is killed. */
void stage_end_process(pid_t pid, int number);

#endif
