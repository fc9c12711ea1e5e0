/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of every driver function: checks whether the process is initialised, and whether
 * this call must fail by a fail= rule.
 *
 * A generated driver function (gen-driver) calls api_begin(). On CUDA_SUCCESS it calls the
 * simulator's function of its name, otherwise it returns that error: NOT_INITIALIZED before cuInit
 * and in a forked child of an initialised parent, or the result of a fail= rule. A rule gives the
 * exported function's name, with or without its version suffix. Without any rule this costs one
 * load and one branch.
 */
#ifndef ALIQUOT_SIM_NODE_FAULT_H
#define ALIQUOT_SIM_NODE_FAULT_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "common/atomic.h"

/* 1: the process is initialised and there are no rules. Any other value: api_enter() decides. */
extern _Atomic int api_is_plain;

enum api_needs { NEEDS_UNKNOWN, NEEDS_NOTHING, NEEDS_CONTEXT };

/* A driver function, and what is stored about it at its first call. */
struct api_site {
        const char *name;
        _Atomic uint32_t call;  /* index of its counter (calls.h); 0: not yet known */
        _Atomic uint32_t needs; /* enum api_needs, used with current=measured */
};

/* Slow path of api_begin(). `caller`: the return address of the driver call. */
CUresult api_enter(struct api_site *site, const void *caller);

/* Returns CUDA_SUCCESS if the call may proceed, or the error that it must return. */
static inline CUresult api_begin(struct api_site *site, const void *caller)
{
        return __builtin_expect(load_acquire(&api_is_plain) == 1, 1) ? CUDA_SUCCESS
                                                                     : api_enter(site, caller);
}

/* Handles a call with the handle of an object that has ended. With ended=crash the process ends by
 * SIGSEGV, as with a real driver, after a line on stderr with the call and the handle. Otherwise
 * returns `error`. */
CUresult api_ended(const char *kind, const void *handle, CUresult error);

/* Returns when the calling thread last entered the driver; 0 without flights=on. */
uint64_t api_entered_ns(void);

/* Makes all calls of the process wait, while it is locked for a checkpoint, or lets them
 * continue. */
void api_block(bool is_blocked);

/* Applies only the fail= rules. For calls that work before cuInit or while other calls wait. */
CUresult api_fault(const char *function);

/* Loses the devices if the time of lost= has come. For threads that wait; calls check this when
 * they begin. */
void loss_check(void);

/* Reports on stderr what is not modelled, once per call site and only if ALIQUOT_SIM_LOG is set. */
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
