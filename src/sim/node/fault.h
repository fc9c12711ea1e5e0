/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common beginning of every entry point: is the process initialised, and must this call fail?
 *
 * A generated entry point (gen-driver) calls api_begin(), and then either the function behind its
 * name or returns api_begin()'s answer: NOT_INITIALIZED before cuInit and in a forked child of an
 * initialised parent, or the result that a fail= rule names. A rule names the exported function,
 * with or without its version suffix. Without any rule this costs one load and one branch.
 */
#ifndef ALIQUOT_SIM_NODE_FAULT_H
#define ALIQUOT_SIM_NODE_FAULT_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "common/atomic.h"

/* 1: initialised, no rules: go on. Anything else: ask api_enter(). */
extern _Atomic int api_is_plain;

enum api_needs { NEEDS_UNKNOWN, NEEDS_NOTHING, NEEDS_CONTEXT };

/* A function of the driver, and what is stored about it after its first call. */
struct api_site {
        const char *name;
        _Atomic uint32_t call;  /* calls.h; 0: not yet known */
        _Atomic uint32_t needs; /* enum api_needs, with current=measured */
};

/* Slow path: the result to answer, or CUDA_SUCCESS to go on. `caller`: the return address of the
 * call. */
CUresult api_enter(struct api_site *site, const void *caller);

/* The result to answer, or CUDA_SUCCESS to go on. */
static inline CUresult api_begin(struct api_site *site, const void *caller)
{
        return __builtin_expect(load_acquire(&api_is_plain) == 1, 1) ? CUDA_SUCCESS
                                                                     : api_enter(site, caller);
}

/* The program passed a handle of something that has ended. With ended=crash the process ends by
 * SIGSEGV, as with a real driver, and a line on stderr names the call and the handle; otherwise
 * returns `error`. */
CUresult api_ended(const char *kind, const void *handle, CUresult error);

/* When the calling thread last entered the driver, with flights=on; else 0. */
uint64_t api_entered_ns(void);

/* While a process is locked for a checkpoint, its other calls wait here. */
void api_block(bool is_blocked);

/* Applies only the fail= rules, for calls that work before cuInit or while other calls wait. */
CUresult api_fault(const char *function);

/* Loses the devices if the time of lost= has come. For threads that wait; calls check it anyway. */
void loss_check(void);

/* Reports on stderr, once a call site, what is not modelled; only if ALIQUOT_SIM_LOG is set. */
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
