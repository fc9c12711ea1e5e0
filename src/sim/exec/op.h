/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a device, as data, and the functions that execute them.
 *
 * A stream's queue and a graph's nodes contain the same descriptions and execute them through the
 * same functions. Each function runs on the caller's thread, not before `run->ready_ns`. It
 * performs the operation, waits for the operation's modelled time, and stores the end in run->mark.
 * An access that memory_check() refuses makes all later calls of the context fail, like a sticky
 * error of real hardware. So does memory that was unmapped while an operation used it.
 */
#ifndef ALIQUOT_SIM_EXEC_OP_H
#define ALIQUOT_SIM_EXEC_OP_H

#include "abi/cuda.h"
#include "sim/exec/engine.h"

#define OP_PARAM_BYTES 4096
#define OP_PARAMS_MAX 64

struct exec_context;

/* Where an operation runs: in a stream's worker, or in a thread that makes a synchronous copy
 * itself. */
struct op_run {
        struct exec_context *exec;
        struct exec_mark *mark;
        uint64_t ready_ns;
};

/* A kernel launch, with its parameters behind it. Each parameter is at the offset that the function
 * gives it. */
struct op_launch {
        CUfunction function;
        uint32_t grid[3];
        uint32_t block[3];
        uint32_t shared_bytes;
        uint32_t is_cooperative;
        uint32_t param_bytes;
        uint32_t reserved;
        unsigned char params[];
};

/* One side of a copy: a box of rows that are `pitch` bytes apart, in slices that are `slice` bytes
 * apart. */
struct op_side {
        CUdeviceptr address;
        uint64_t pitch, slice;
        CUcontext context; /* the context whose access rights apply; NULL for host memory */
        bool is_array;
        CUdevice device; /* device of an array, whose storage memory_find() does not know */
};

struct op_copy {
        struct op_side from, to;
        uint64_t width_bytes, rows, slices;
};

struct op_set {
        CUdeviceptr address;
        uint64_t pitch;
        uint64_t width, rows; /* both in elements */
        uint32_t value, element_bytes;
        CUcontext context;
};

struct op_host {
        CUhostFn function;
        void *argument;
};

void op_launch(struct op_run *run, const struct op_launch *launch);

/* Returns the estimated engine time of the launch: what its parameters give, or else the time of
 * the function's last launch. */
uint64_t op_launch_estimate_ns(const struct op_launch *launch);

/* Returns whether the compute engine makes the copy, which it does within a device. Otherwise a
 * link makes it. */
bool op_copy_is_within(const struct op_copy *copy);
void op_copy(struct op_run *run, const struct op_copy *copy);
void op_set(struct op_run *run, const struct op_set *set);
void op_host(struct op_run *run, const struct op_host *host);

/* Performs stream memory operations in order. Wait operations block the calling thread. */
void op_memory(struct op_run *run, unsigned count, const CUstreamBatchMemOpParams *operations);

/* Check that every byte that the operation uses exists. For calls that can report such an error at
 * once. */
CUresult op_copy_check(const struct op_copy *copy);
CUresult op_set_check(const struct op_set *set);

/* Returns whether the calling thread runs a host function, which may not call the driver. */
bool op_is_in_host_function(void);

#endif
