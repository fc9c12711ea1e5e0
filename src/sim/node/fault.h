/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every entry point begins with: is the process initialised, and shall this call fail?
 *
 * A generated entry point (gen-driver) calls api_begin(), and then the function behind its name or
 * answers what api_begin() did: NOT_INITIALIZED before cuInit and in a forked child of an
 * initialised parent, or the result that a fail= rule asks for. A rule names the exported function,
 * with or without its version suffix. One load and one branch when nothing is configured.
 */
#ifndef ALIQUOT_SIM_NODE_FAULT_H
#define ALIQUOT_SIM_NODE_FAULT_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "common/atomic.h"

/* 1: initialised, no rules: go on. Anything else: ask api_enter(). */
extern _Atomic int api_is_plain;

enum api_needs { NEEDS_UNKNOWN, NEEDS_NOTHING, NEEDS_CONTEXT };

/* A function of the driver, and what is known of it once it was called. */
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

/* A handle of what has ended was given to the driver. With ended=crash the process ends by SIGSEGV,
 * as with a real driver, and a line on stderr names the call and the handle; else `error` comes
 * back. */
CUresult api_ended(const char *kind, const void *handle, CUresult error);

/* When the calling thread last entered the driver, with flights=on; else 0. */
uint64_t api_entered_ns(void);

/* While a process is locked for a checkpoint, its other calls wait here. */
void api_block(bool is_blocked);

/* Only the fail= rules, for what works before cuInit or while other calls wait. */
CUresult api_fault(const char *function);

/* Is it time for lost=? Then the devices are lost from now on. For threads that wait, since calls
 * look by themselves. */
void loss_check(void);

/* Says on stderr, once a site, what is not modelled; only when ALIQUOT_SIM_LOG is set. */
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
