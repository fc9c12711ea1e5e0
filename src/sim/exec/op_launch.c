/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a kernel: calls its host function once, on the stream's thread, with the services of
 * aliquot_sim.h.
 *
 * The kernel occupies the engine for the time that it requests with spend_ns(), and for any longer
 * time that its function takes: a kernel never ends before its effects are visible.
 */
#include "sim/exec/op.h"
#include "sim/exec/stream.h"
#include "sim/memory/backing.h"
#include "sim/memory/memory.h"
#include "sim/module/module.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <string.h>

#define ASKED_MAX 8

/* An access to memory that the kernel announced through the service memory(). */
struct kernel_access {
        CUdeviceptr address;
        uint64_t bytes;
        unsigned access;
};

/* State of a running kernel, reached through aliquot_sim_launch.driver. */
struct running {
        struct op_run *run;
        struct exec_place *place;
        CUresult result;
        uint64_t spent_ns;  /* device time requested with spend_ns() */
        uint64_t waited_ns; /* real time that passed within spend_ns() */
        bool is_touching;   /* whether it is between memory_touch_begin() and memory_touch_end() */
        unsigned asked_count;
        struct kernel_access asked[ASKED_MAX]; /* the first ASKED_MAX accesses */
};

/* Protects the memory that a built-in kernel uses from being unmapped: built-in kernels access
 * memory before they spend time. Other functions are not protected. Their accesses are unknown, and
 * a function that waits for memory to change would block cuMemUnmap. */
static void touch_begin(struct running *running, kernel_entry entry)
{
        running->is_touching = builtin_is(entry);
        if (running->is_touching)
                memory_touch_begin();
}

static void touch_end(struct running *running)
{
        if (running->is_touching)
                memory_touch_end();
        running->is_touching = false;
}

static uint64_t now_ns(const struct aliquot_sim_launch *launch)
{
        (void)launch;
        return sim_now_ns();
}

static void spend_ns(const struct aliquot_sim_launch *launch, uint64_t ns)
{
        struct running *running = launch->driver;
        uint64_t began_ns = sim_now_ns();

        touch_end(running);
        if (running->place)
                place_run(running->place, running->run->mark, ns);
        else
                sim_spend(ns);
        running->spent_ns += ns;
        running->waited_ns += sim_now_ns() - began_ns;
}

static void fail_launch(const struct aliquot_sim_launch *launch, int result)
{
        struct running *running = launch->driver;

        if (running->result == CUDA_SUCCESS)
                running->result = (CUresult)result;
}

/* Moves managed memory that a kernel accesses to the device that allocated it. */
static void touch(CUcontext context, CUdeviceptr address)
{
        struct memory_block block;

        if (config_get()->grants.is_managed_lazy && memory_find(address, &block) &&
            block.kind == MEMORY_MANAGED && block.device == context->device)
                memory_managed_move(block.base, true);
}

static void *memory(const struct aliquot_sim_launch *launch, uint64_t address, uint64_t bytes,
                    int is_written)
{
        struct running *running = launch->driver;
        unsigned access = is_written ? ACCESS_WRITE : ACCESS_READ;

        if (!bytes)
                return (void *)address;
        if (memory_check(running->run->exec->context, address, bytes, access) != CUDA_SUCCESS) {
                fail_launch(launch, CUDA_ERROR_ILLEGAL_ADDRESS);
                return NULL;
        }
        touch(running->run->exec->context, address);
        if (!backing_ensure(address, bytes, access)) {
                fail_launch(launch, CUDA_ERROR_OUT_OF_MEMORY);
                return NULL;
        }
        if (running->asked_count < ASKED_MAX)
                running->asked[running->asked_count++] =
                        (struct kernel_access){ address, bytes, access };
        return (void *)address;
}

static const struct aliquot_sim_services services = {
        sizeof(services), now_ns, spend_ns, memory, fail_launch,
};

static void call(struct running *running, const struct op_launch *launch)
{
        CUfunction function = launch->function;
        void *params[OP_PARAMS_MAX];
        struct aliquot_sim_launch view = {
                .struct_size = sizeof(view),
                .device = running->run->exec->context->device,
                .grid = { launch->grid[0], launch->grid[1], launch->grid[2] },
                .block = { launch->block[0], launch->block[1], launch->block[2] },
                .shared_bytes = launch->shared_bytes,
                .is_cooperative = launch->is_cooperative,
                .services = &services,
                .driver = running,
        };

        for (unsigned i = 0; i < function->param_count; i++)
                params[i] = (void *)(launch->params + function->param_offset[i]);
        touch_begin(running, function->entry);
        function->entry(&view, params);
        touch_end(running);
}

/* Returns whether memory that the kernel announced has since been unmapped. Hardware would have
 * failed at whatever time the kernel used it. */
static bool is_asked_unmapped(const struct running *running)
{
        for (unsigned i = 0; i < running->asked_count; i++) {
                const struct kernel_access *asked = &running->asked[i];

                if (memory_is_unmapped(running->run->exec->context, asked->address, asked->bytes,
                                       asked->access))
                        return true;
        }
        return false;
}

uint64_t op_launch_estimate_ns(const struct op_launch *launch)
{
        uint64_t ns;

        if (!builtin_is_spin(launch->function->entry))
                return load_relaxed(&launch->function->took_ns);
        memcpy(&ns, launch->params, sizeof(ns));
        return ns;
}

void op_launch(struct op_run *run, const struct op_launch *launch)
{
        struct running running = { .run = run, .place = exec_place_of(run->exec) };
        uint64_t began_ns, took_ns;

        if (launch->function->magic != FUNCTION_MAGIC) {
                context_poison(run->exec->context, CUDA_ERROR_INVALID_HANDLE);
                return;
        }
        if (running.place)
                place_on(running.place, run->mark, run->ready_ns);
        began_ns = sim_now_ns();
        call(&running, launch);
        took_ns = sim_now_ns() - began_ns - running.waited_ns;
        if (running.place && took_ns > running.spent_ns)
                place_run(running.place, run->mark, took_ns - running.spent_ns);
        else if (!running.place)
                run->mark->end_ns = sim_now_ns();
        store_relaxed(&launch->function->took_ns,
                      took_ns > running.spent_ns ? took_ns : running.spent_ns);
        if (running.result == CUDA_SUCCESS && is_asked_unmapped(&running))
                running.result = CUDA_ERROR_ILLEGAL_ADDRESS;
        if (running.result != CUDA_SUCCESS)
                context_poison(run->exec->context, running.result);
}
