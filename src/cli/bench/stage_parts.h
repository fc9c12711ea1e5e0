/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the stage: its processes (stage_crew.c).
 */
#ifndef ALIQUOT_CLI_BENCH_STAGE_PARTS_H
#define ALIQUOT_CLI_BENCH_STAGE_PARTS_H

#include "cli/bench/stage.h"

#define STAGE_NAME_BYTES 48u

/* The name of the session of a word of the mix. */
const char *stage_name(const struct stage *stage, unsigned at, char ret[STAGE_NAME_BYTES]);

/* The first line that a process printed, for a message; "" where there is none. */
void stage_read_log(const struct stage *stage, const char *who, char ret[256]);

/* A daemon of our own, in the folder; it answers when this returns. */
int stage_start_daemon(struct stage *stage, struct error *err);

/* The program of a word of the mix, in its session. */
int stage_start_program(struct stage *stage, const struct mix *mix, unsigned at, struct error *err);

/* Ends it, if it is there, and waits for that: who does not heed the signal is killed. */
void stage_end_process(pid_t pid, int number);

#endif
