/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Initialises the driver, and has its version, its error texts and the checks at the beginning of
 * every driver function.
 *
 * A process is uninitialised, initialised, or the forked child of an initialised one. In such a
 * child every function returns NOT_INITIALIZED, as with the real driver. The rules fail= and the
 * loss of devices are handled on the slow path; a process without them only loads one variable.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/context/calls.h"
#include "sim/context/context.h"
#include "sim/context/current.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/fault.h"
#include "sim/node/node.h"

enum { STATE_NONE, STATE_PLAIN, STATE_WATCHED, STATE_FORKED, STATE_BLOCKED };

_Atomic int api_is_plain;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t fault_calls[CONFIG_FAULTS];
static uint64_t lost_at_ns;
static _Atomic bool is_lost;
static __thread uint64_t entered_ns __attribute__((tls_model("initial-exec")));
static __thread const char *entered_name __attribute__((tls_model("initial-exec")));

void sim_log(const char *format, ...)
{
        const struct sim_config *config = config_get();
        char line[256];
        va_list args;

        if (!config || !config->is_logging)
                return;
        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        fprintf(stderr, "aliquot-sim: %s\n", line);
}

/* Returns whether a rule applies to a function: "cuMemAlloc" applies to cuMemAlloc, cuMemAlloc_v2
 * and cuMemAlloc_v2_ptds. */
static bool fault_matches(const char *rule, const char *function)
{
        size_t length = strlen(rule);

        if (strncmp(rule, function, length) != 0)
                return false;
        function += length;
        if (function[0] == '_' && function[1] == 'v')
                function += 2 + strspn(function + 2, "0123456789");
        return *function == '\0' || strcmp(function, "_ptsz") == 0 ||
               strcmp(function, "_ptds") == 0;
}

CUresult api_fault(const char *function)
{
        const struct sim_config *config = config_get();
        CUresult result = CUDA_SUCCESS;

        for (unsigned i = 0; config && i < config->fault_count; i++) {
                const struct config_fault *fault = &config->faults[i];

                if (!fault_matches(fault->name, function))
                        continue;
                uint64_t call = add_relaxed(&fault_calls[i], 1) + 1;
                if (call >= fault->first_call && call - fault->first_call < fault->call_count)
                        result = (CUresult)fault->result;
        }
        return result;
}

void loss_check(void)
{
        struct sim_node *node = node_get();

        if (lost_at_ns == 0 || load_relaxed(&is_lost) || sim_now_ns() < lost_at_ns)
                return;
        store_relaxed(&is_lost, true);
        for (CUdevice i = 0; i < device_count(); i++)
                store_release(&node->device[device_unit(i)].is_lost, 1);
        context_poison_all(CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static pthread_mutex_t block_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t block_over = PTHREAD_COND_INITIALIZER;
static int state_before_block;

void api_block(bool is_blocked)
{
        pthread_mutex_lock(&block_lock);
        if (is_blocked) {
                state_before_block = load_acquire(&api_is_plain);
                store_release(&api_is_plain, STATE_BLOCKED);
        } else {
                store_release(&api_is_plain, state_before_block);
                pthread_cond_broadcast(&block_over);
        }
        pthread_mutex_unlock(&block_lock);
}

/* Returns whether, with current=measured, the call needs a current context and the thread has
 * none. */
static bool lacks_context(struct api_site *site)
{
        uint32_t needs = load_relaxed(&site->needs);

        if (needs == NEEDS_UNKNOWN) {
                needs = current_is_needed(site->name) ? NEEDS_CONTEXT : NEEDS_NOTHING;
                store_relaxed(&site->needs, needs);
        }
        return needs == NEEDS_CONTEXT && !context_current();
}

CUresult api_enter(struct api_site *site, const void *caller)
{
        const struct sim_config *config = config_get();

        pthread_mutex_lock(&block_lock);
        while (load_acquire(&api_is_plain) == STATE_BLOCKED)
                pthread_cond_wait(&block_over, &block_lock);
        pthread_mutex_unlock(&block_lock);
        if (load_acquire(&api_is_plain) == STATE_PLAIN)
                return CUDA_SUCCESS;
        if (load_acquire(&api_is_plain) != STATE_WATCHED)
                return CUDA_ERROR_NOT_INITIALIZED;
        sim_take_part();
        entered_name = site->name;
        if (config->has_flights)
                entered_ns = sim_now_ns();
        if (config->has_calls)
                calls_count(site, caller);
        loss_check();
        if (config->is_current_needed && lacks_context(site))
                return exec_is_in_host_function() ? CUDA_ERROR_NOT_PERMITTED
                                                  : CUDA_ERROR_INVALID_CONTEXT;
        return api_fault(site->name);
}

CUresult api_ended(const char *kind, const void *handle, CUresult error)
{
        sigset_t fault;

        if (!config_get()->is_ended_fatal)
                return error;
        fprintf(stderr, "aliquot-sim: %s: %s %p has ended; a real driver crashes here\n",
                entered_name ? entered_name : "a call", kind, handle);
        sigemptyset(&fault);
        sigaddset(&fault, SIGSEGV);
        signal(SIGSEGV, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
        raise(SIGSEGV);
        return error;
}

uint64_t api_entered_ns(void)
{
        return entered_ns;
}

static void forked_child(void)
{
        if (load_relaxed(&api_is_plain) != STATE_NONE)
                store_release(&api_is_plain, STATE_FORKED);
        pthread_mutex_init(&init_lock, NULL);
        pthread_mutex_init(&block_lock, NULL);
}

static CUresult report_folder(const struct sim_config *config, int error)
{
        fprintf(stderr, "aliquot-sim: %s: %s%s\n", config->state_dir, strerror(error),
                error == ENOSPC ? "; make the file system larger, or name another folder with "
                                  "state="
                                : "");
        return error == ENOSPC ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_SYSTEM_NOT_READY;
}

static CUresult attach(void)
{
        const struct sim_config *config = config_get();
        struct sim_node *node;
        int rc;

        if (!config)
                return CUDA_ERROR_SYSTEM_NOT_READY;
        node = node_open();
        if (!node)
                return report_folder(config, errno);
        rc = node_attach(node);
        if (rc < 0)
                return report_folder(config, -rc);
        device_init();
        return CUDA_SUCCESS;
}

CUresult sim_cuInit(unsigned int flags)
{
        static CUresult attached = CUDA_ERROR_NOT_INITIALIZED;
        CUresult result;

        if (flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (load_acquire(&api_is_plain) == STATE_FORKED)
                return CUDA_ERROR_NOT_INITIALIZED;
        pthread_mutex_lock(&init_lock);
        if (attached == CUDA_ERROR_NOT_INITIALIZED) {
                attached = attach();
                if (attached == CUDA_SUCCESS) {
                        const struct sim_config *config = config_get();
                        bool is_watched = config->fault_count > 0 || config->lost_ns > 0 ||
                                          config->has_flights || config->has_calls ||
                                          config->is_current_needed || config->is_ended_fatal ||
                                          clock_authority();

                        if (config->lost_ns > 0)
                                lost_at_ns = sim_now_ns() + config->lost_ns;
                        pthread_atfork(NULL, NULL, forked_child);
                        if (device_count() > 0)
                                store_release(&api_is_plain,
                                              is_watched ? STATE_WATCHED : STATE_PLAIN);
                }
        }
        result = attached;
        if (result == CUDA_SUCCESS && device_count() == 0)
                result = CUDA_ERROR_NO_DEVICE;
        pthread_mutex_unlock(&init_lock);
        if (result == CUDA_SUCCESS)
                sim_take_part();
        return result;
}

CUresult sim_cuDriverGetVersion(int *ret)
{
        const struct sim_config *config = config_get();

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = config ? config->driver_version : CONFIG_DRIVER_VERSION;
        return CUDA_SUCCESS;
}

CUresult sim_cuProfilerInitialize(const char *config, const char *output, CUoutput_mode mode)
{
        return CUDA_ERROR_NOT_SUPPORTED; /* as in drivers since CUDA 11 */
}

CUresult sim_cuProfilerStart(void)
{
        return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
