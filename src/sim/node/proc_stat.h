/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel's stat or status file of a process or a thread. Reading the stat file of a
 * process in execve() blocks as long as that lasts (Linux 6.18); reading status does not. A real
 * driver reads neither, so where the driver must answer, only status may be read.
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
        bool has_memory; /* it still has its address space; an exiting process has not */
};

/* `path`: /proc/PID/status or /proc/PID/task/TID/status. False: it is gone. */
bool proc_status_read(const char *path, struct proc_status *ret);

#endif
