/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that runs for a given time, and a measurement of the program's GPU time.
 *
 * On a simulated GPU the kernel is the simulator's own, and the simulator measures the GPU time. On
 * a real GPU the kernel is PTX, which the driver compiles. Each launch writes the device's time
 * (%globaltimer) at its begin and end into host memory, and the GPU time is the union of these
 * intervals. The kernel has not yet run on hardware.
 */
#ifndef ALIQUOT_LOAD_SPIN_H
#define ALIQUOT_LOAD_SPIN_H

#include <stdint.h>

#include "load/driver.h"
#include "proto/load.h"

/* Number of stamps in the ring, a power of two: about one second of kernels of 4 us. */
#define SPIN_RING 262144
#define SPIN_STAMP_BYTES 24

/* The record that each kernel writes into the ring. */
struct spin_stamp {
        uint64_t begin_ns;
        _Atomic uint64_t end_ns; /* written last; 0: not yet written */
        uint32_t number;         /* number of kernels before this one, modulo 2^32 */
};

/* The kernel, and the state of the measurement. */
struct spin {
        enum load_judge judge;
        CUfunction function;
        void *params[3];
        /* The fields from here on are for spin.c only. */
        uint64_t ns; /* how long each kernel runs */
        CUuuid uuid;
        driver_busy *engine;      /* NULL: the GPU is not simulated */
        struct spin_stamp *stamp; /* a ring, written by the kernels */
        /* number of the next stamp to read; keeps counting up, and is read at next % SPIN_RING */
        uint32_t next;
        CUdeviceptr stamps, count;
        uint64_t busy_ns, until_ns; /* sum of the intervals read, and the end of the last one */
};

/* Makes the kernel, which runs for `ns`, in the current context of device 0. */
int spin_open(struct spin *spin, uint64_t ns, struct error *err);

/* Returns in *ret the GPU time of this process so far, in ns. Only one thread may call it, and must
 * do so at least once per SPIN_RING kernels. -EOVERFLOW: it was called too late, and some GPU time
 * is unknown. */
int spin_busy_ns(struct spin *spin, uint64_t *ret, struct error *err);

/* The kernel as PTX. A test compares its constants with SPIN_RING, SPIN_STAMP_BYTES and the offsets
 * of struct spin_stamp. */
extern const char spin_ptx[];

#endif
