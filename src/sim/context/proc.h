/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated table for cuGetProcAddress: sorted by name, version, then per-thread.
 */
#ifndef ALIQUOT_SIM_CONTEXT_PROC_H
#define ALIQUOT_SIM_CONTEXT_PROC_H

struct proc {
        const char *name;
        int version;       /* the CUDA version at which this form appeared */
        int is_per_thread; /* the form for the per-thread default stream */
        void *address;
};

extern const struct proc procs[];
extern const unsigned proc_count;

#endif
