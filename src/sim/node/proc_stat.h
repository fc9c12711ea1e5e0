/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of a process or a thread, in two of its files. The stat file of a process
 * that is in execve() keeps its reader waiting for as long as that lasts (Linux 6.18), and status
 * does not. A driver has no need of either: where it answers, nothing may wait.
 */
#ifndef ALIQUOT_SIM_NODE_PROC_STAT_H
#define ALIQUOT_SIM_NODE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct proc_stat {
        char state;           /* R, S, D, T, ... */
        uint64_t cpu_ticks;   /* user and system */
        uint64_t start_ticks; /* with the pid: which process */
};

/* `path`: /proc/PID/stat or /proc/PID/task/TID/stat. False: it is gone. */
bool proc_stat_read(const char *path, struct proc_stat *ret);

struct proc_status {
        char state;      /* as above */
        bool has_memory; /* it has not lost its address space, as who ends does */
};

/* `path`: /proc/PID/status or /proc/PID/task/TID/status. False: it is gone. */
bool proc_status_read(const char *path, struct proc_status *ret);

#endif
