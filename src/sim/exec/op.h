/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a device, as data, and how each is executed.
 *
 * A stream's queue and a graph's nodes hold the same descriptions and run them through the same
 * functions. Each operation runs on the caller's thread, not before `run->ready_ns`, has its
 * effect, takes its modelled time, and stores its end in run->mark. An access that memory_check()
 * refuses poisons the context, as hardware raises a sticky error. So does memory that was unmapped
 * while an operation used it.
 */
#ifndef ALIQUOT_SIM_EXEC_OP_H
#define ALIQUOT_SIM_EXEC_OP_H

#include "abi/cuda.h"
#include "sim/exec/engine.h"

#define OP_PARAM_BYTES 4096
#define OP_PARAMS_MAX 64

struct exec_context;

/* The executing side: one stream's worker, or a thread that does a synchronous copy itself. */
struct op_run {
        struct exec_context *exec;
        struct exec_mark *mark;
        uint64_t ready_ns;
};

/* A launch; its parameters follow, each at its function's offset. */
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

/* One side of a copy: a box of rows, `pitch` apart, in slices `slice` apart. */
struct op_side {
        CUdeviceptr address;
        uint64_t pitch, slice;
        CUcontext context; /* its access rights apply; NULL for host memory */
        bool is_array;
        CUdevice device; /* for an array, whose storage memory_find() does not know */
};

struct op_copy {
        struct op_side from, to;
        uint64_t width_bytes, rows, slices;
};

struct op_set {
        CUdeviceptr address;
        uint64_t pitch;
        uint64_t width, rows; /* in elements */
        uint32_t value, element_bytes;
        CUcontext context;
};

struct op_host {
        CUhostFn function;
        void *argument;
};

void op_launch(struct op_run *run, const struct op_launch *launch);

/* Estimated engine time: as long as the function's last launch, unless the parameters say it. */
uint64_t op_launch_estimate_ns(const struct op_launch *launch);

/* Whether the compute engine copies (within a device); otherwise a link does. */
bool op_copy_is_within(const struct op_copy *copy);
void op_copy(struct op_run *run, const struct op_copy *copy);
void op_set(struct op_run *run, const struct op_set *set);
void op_host(struct op_run *run, const struct op_host *host);

/* Stream memory operations, in order; waits block the calling thread. */
void op_memory(struct op_run *run, unsigned count, const CUstreamBatchMemOpParams *operations);

/* Does every byte of both sides exist? For calls that can tell at once. */
CUresult op_copy_check(const struct op_copy *copy);
CUresult op_set_check(const struct op_set *set);

/* True while the calling thread runs a host function, which may not call the driver. */
bool op_is_in_host_function(void);

#endif
