/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of a process or a thread in its stat file.
 */
#ifndef ALIQUOT_SIM_NODE_PROC_STAT_H
#define ALIQUOT_SIM_NODE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct proc_stat {
        char state;           /* R, S, D, T, ... */
        uint64_t flags;       /* PF_EXITING and others */
        uint64_t cpu_ticks;   /* user and system */
        uint64_t start_ticks; /* with the pid: which process */
};

/* `path`: /proc/PID/stat or /proc/PID/task/TID/stat. False: it is gone. */
bool proc_stat_read(const char *path, struct proc_stat *ret);

#endif
