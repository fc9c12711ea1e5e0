/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that runs for a given time, and a measurement of the program's GPU time.
 *
 * On a simulated GPU the kernel is the simulator's own, and its engine measures. On a real one it
 * is PTX, compiled by the driver: each launch writes the device's time (%globaltimer) at its begin
 * and end into host memory; the GPU time is the union of these intervals. Not yet run on hardware.
 */
#ifndef ALIQUOT_LOAD_SPIN_H
#define ALIQUOT_LOAD_SPIN_H

#include <stdint.h>

#include "load/driver.h"
#include "proto/load.h"

/* Stamps, a power of two: one second of kernels of 4 us. */
#define SPIN_RING 262144
#define SPIN_STAMP_BYTES 24

/* The record that each kernel writes into the ring. */
struct spin_stamp {
        uint64_t begin_ns;
        _Atomic uint64_t end_ns; /* written last; 0: not yet */
        uint32_t number;         /* of kernels before this one, modulo 2^32 */
};

struct spin {
        enum load_judge judge;
        CUfunction function;
        void *params[3];
        /* The rest is for spin.c only. */
        uint64_t ns;
        CUuuid uuid;
        driver_busy *engine;
        struct spin_stamp *stamp; /* a ring, written by the kernels */
        uint32_t next;            /* the next stamp to read */
        CUdeviceptr stamps, count;
        uint64_t busy_ns, until_ns;
};

/* Opens the kernel in the current context of device 0. */
int spin_open(struct spin *spin, uint64_t ns, struct error *err);

/* GPU time of this process so far. One thread, at least once per SPIN_RING kernels: -EOVERFLOW if
 * called too late, so that some time is unknown. */
int spin_busy_ns(struct spin *spin, uint64_t *ret, struct error *err);

/* The kernel as PTX; a test compares its constants with those above. */
extern const char spin_ptx[];

#endif
