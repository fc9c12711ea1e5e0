/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel that takes as long as it is told, and what a program had of its GPU.
 *
 * On a simulated GPU the kernel is the simulator's own, and the judge its engine. On a real one it
 * is PTX, compiled by the driver: each launch writes the device's time (%globaltimer) at its begin
 * and end into memory of the host; what a program had is the union of these intervals. Not yet run
 * on hardware.
 */
#ifndef ALIQUOT_LOAD_SPIN_H
#define ALIQUOT_LOAD_SPIN_H

#include <stdint.h>

#include "load/driver.h"
#include "proto/load.h"

/* Stamps, a power of two: a second of kernels of 4 us. */
#define SPIN_RING 262144
#define SPIN_STAMP_BYTES 24

/* The stamp that each kernel leaves in the ring. */
struct spin_stamp {
        uint64_t begin_ns;
        _Atomic uint64_t end_ns; /* written last; 0: not yet */
        uint32_t number;         /* of kernels so far, modulo 2^32 */
};

struct spin {
        enum load_judge judge;
        CUfunction function;
        void *params[3];
        /* What only spin.c uses. */
        uint64_t ns;
        CUuuid uuid;
        driver_busy *engine;
        struct spin_stamp *stamp; /* a ring that the kernels write */
        uint32_t next;            /* of the ring, not read yet */
        CUdeviceptr stamps, count;
        uint64_t busy_ns, until_ns;
};

/* Opens the kernel in the current context of device 0. */
int spin_open(struct spin *spin, uint64_t ns, struct error *err);

/* GPU time of this process so far; one thread, at least once in SPIN_RING kernels: -EOVERFLOW if it
 * came too late, and some of it is not known. */
int spin_busy_ns(struct spin *spin, uint64_t *ret, struct error *err);

/* The kernel as PTX; its constants are compared with those above by a test. */
extern const char spin_ptx[];

#endif
