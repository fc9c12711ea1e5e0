/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the stat or status file that the kernel has for a process or a thread in /proc. Reading the
 * stat file of a process that is in execve() blocks until execve() is done (Linux 6.18); reading
 * status does not. A real driver reads neither, so code that serves a call of the driver may only
 * read status.
 */
#ifndef ALIQUOT_SIM_NODE_PROC_STAT_H
#define ALIQUOT_SIM_NODE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct proc_stat {
        char state;           /* state of the process or thread: R, S, D, T, ... */
        uint64_t cpu_ticks;   /* user and system time */
        uint64_t start_ticks; /* start time; together with the pid it identifies a process */
};

/* Reads the file `path`, /proc/PID/stat or /proc/PID/task/TID/stat. False: the process or thread
 * has ended. */
bool proc_stat_read(const char *path, struct proc_stat *ret);

struct proc_status {
        char state;      /* R, S, D, T, ... */
        bool has_memory; /* it still has its address space; an exiting process has lost it */
};

/* Reads the file `path`, /proc/PID/status or /proc/PID/task/TID/status. False: the process or
 * thread has ended. */
bool proc_status_read(const char *path, struct proc_status *ret);

#endif
