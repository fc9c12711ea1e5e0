/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies, fills, host functions and stream memory operations. Launches are in op_launch.c.
 */
#include "sim/exec/op.h"

#include "common/minmax.h"
#include "sim/exec/stream.h"
#include "sim/memory/backing.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <string.h>

static __thread bool is_in_host_function __attribute__((tls_model("initial-exec")));

bool op_is_in_host_function(void)
{
        return is_in_host_function;
}

static uint64_t duration_ns(uint64_t bytes, uint64_t rate)
{
        return rate ? (uint64_t)((double)bytes * 1e9 / (double)rate) : 0;
}

static uint64_t extent(const struct op_side *side, const struct op_copy *copy)
{
        if (!copy->width_bytes || !copy->rows || !copy->slices)
                return 0;
        return (copy->slices - 1) * side->slice + (copy->rows - 1) * side->pitch +
               copy->width_bytes;
}

static CUresult side_check(const struct op_side *side, const struct op_copy *copy, unsigned access)
{
        uint64_t bytes = extent(side, copy);

        if (!bytes || !side->context)
                return CUDA_SUCCESS;
        return memory_check(side->context, side->address, bytes, access);
}

CUresult op_copy_check(const struct op_copy *copy)
{
        CUresult rc = side_check(&copy->from, copy, ACCESS_READ);

        return rc == CUDA_SUCCESS ? side_check(&copy->to, copy, ACCESS_WRITE) : rc;
}

static bool copy_ensure(const struct op_copy *copy)
{
        return backing_ensure(copy->from.address, extent(&copy->from, copy), ACCESS_READ) &&
               backing_ensure(copy->to.address, extent(&copy->to, copy), ACCESS_WRITE);
}

/* Returns the device that has the memory, or CU_DEVICE_CPU. */
static CUdevice home(const struct op_side *side)
{
        struct memory_block block;

        if (side->is_array)
                return side->device;
        if (!memory_find(side->address, &block) || block.kind == MEMORY_HOST ||
            block.kind == MEMORY_REGISTERED)
                return CU_DEVICE_CPU;
        return block.device;
}

bool op_copy_is_within(const struct op_copy *copy)
{
        CUdevice from = home(&copy->from);

        return from != CU_DEVICE_CPU && from == home(&copy->to);
}

struct copy_route {
        enum exec_link link;
        uint64_t rate;
};

static struct copy_route route_of(const struct op_copy *copy)
{
        const struct sim_config *config = config_get();
        CUdevice from = home(&copy->from), to = home(&copy->to);
        const struct op_side *host = from == CU_DEVICE_CPU ? &copy->from : &copy->to;
        struct copy_route route = { LINK_PEER, config->peer_rate };

        if (from != CU_DEVICE_CPU && to != CU_DEVICE_CPU)
                return route;
        if (from == CU_DEVICE_CPU && to == CU_DEVICE_CPU)
                return (struct copy_route){ LINK_PEER, 0 };
        route.link = from == CU_DEVICE_CPU ? LINK_TO_DEVICE : LINK_TO_HOST;
        route.rate = memory_is_pinned((const void *)host->address, extent(host, copy))
                             ? config->host_rate
                             : config->pageable_rate;
        return route;
}

static void move_bytes(const struct op_copy *copy)
{
        bool is_flat = copy->from.pitch == copy->width_bytes && copy->to.pitch == copy->width_bytes;

        for (uint64_t z = 0; z < copy->slices; z++) {
                const char *from = (const char *)copy->from.address + z * copy->from.slice;
                char *to = (char *)copy->to.address + z * copy->to.slice;

                if (is_flat || copy->rows == 1) {
                        memmove(to, from, copy->width_bytes * copy->rows);
                        continue;
                }
                for (uint64_t y = 0; y < copy->rows; y++)
                        memmove(to + y * copy->to.pitch, from + y * copy->from.pitch,
                                copy->width_bytes);
        }
}

/* Starts an operation on the compute engine. Returns the start time for engine_end(). */
static uint64_t engine_begin(struct op_run *run)
{
        struct exec_place *place = exec_place_of(run->exec);

        if (place)
                place_on(place, run->mark, run->ready_ns);
        return sim_now_ns();
}

/* Ends an operation on the compute engine, after the time that its bytes take at the device's rate,
 * or after the time that the host took if that is longer. */
static void engine_end(struct op_run *run, uint64_t began_ns, uint64_t bytes)
{
        struct exec_place *place = exec_place_of(run->exec);
        uint64_t took_ns = sim_now_ns() - began_ns;
        uint64_t ns = duration_ns(bytes, config_get()->device_rate);

        if (place)
                place_run(place, run->mark, max_u64(took_ns, ns));
        else
                run->mark->end_ns = sim_now_ns();
}

/* Copies the bytes, at once. The modelled time of the copy follows in engine_end() or
 * link_end(). */
static CUresult copy_move(struct op_run *run, const struct op_copy *copy, bool is_within,
                          uint64_t *ret_began_ns)
{
        CUresult rc;

        memory_touch_begin();
        rc = op_copy_check(copy);
        if (rc == CUDA_SUCCESS && !copy_ensure(copy))
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        if (rc == CUDA_SUCCESS) {
                *ret_began_ns = is_within ? engine_begin(run) : sim_now_ns();
                move_bytes(copy);
        }
        memory_touch_end();
        return rc;
}

/* Occupies the link for the modelled time of the copy, or for the time that the host took if that
 * is longer. */
static void link_end(struct op_run *run, const struct op_copy *copy, uint64_t moved_ns)
{
        struct exec_place *place = exec_place_of(run->exec);
        uint64_t bytes = copy->width_bytes * copy->rows * copy->slices;
        struct copy_route route = route_of(copy);
        uint64_t end_ns = run->ready_ns;

        if (place)
                end_ns = place_copy(place, route.link, run->ready_ns,
                                    duration_ns(bytes, route.rate));
        run->mark->end_ns = max_u64(end_ns, run->ready_ns + moved_ns);
}

static bool side_is_unmapped(const struct op_side *side, const struct op_copy *copy,
                             unsigned access)
{
        return side->context &&
               memory_is_unmapped(side->context, side->address, extent(side, copy), access);
}

void op_copy(struct op_run *run, const struct op_copy *copy)
{
        bool is_within = op_copy_is_within(copy);
        uint64_t began_ns;
        CUresult rc = copy_move(run, copy, is_within, &began_ns);

        if (rc != CUDA_SUCCESS) {
                context_poison(run->exec->context, rc);
                return;
        }
        if (is_within)
                engine_end(run, began_ns, copy->width_bytes * copy->rows * copy->slices);
        else
                link_end(run, copy, sim_now_ns() - began_ns);
        if (side_is_unmapped(&copy->from, copy, ACCESS_READ) ||
            side_is_unmapped(&copy->to, copy, ACCESS_WRITE))
                context_poison(run->exec->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Returns the number of bytes from the first to the last byte of the fill. */
static uint64_t set_extent(const struct op_set *set)
{
        if (!set->width || !set->rows)
                return 0;
        return (set->rows - 1) * set->pitch + set->width * set->element_bytes;
}

CUresult op_set_check(const struct op_set *set)
{
        uint64_t bytes = set_extent(set);

        if (!bytes || !set->context)
                return CUDA_SUCCESS;
        return memory_check(set->context, set->address, bytes, ACCESS_WRITE);
}

static void set_row(char *row, const struct op_set *set)
{
        switch (set->element_bytes) {
        case 1:
                memset(row, (int)set->value, set->width);
                break;
        case 2:
                for (uint64_t i = 0; i < set->width; i++)
                        ((uint16_t *)row)[i] = (uint16_t)set->value;
                break;
        default:
                for (uint64_t i = 0; i < set->width; i++)
                        ((uint32_t *)row)[i] = set->value;
                break;
        }
}

static CUresult set_write(struct op_run *run, const struct op_set *set, uint64_t *ret_began_ns)
{
        CUresult rc;

        memory_touch_begin();
        rc = op_set_check(set);
        if (rc == CUDA_SUCCESS && !backing_ensure(set->address, set_extent(set), ACCESS_WRITE))
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        if (rc == CUDA_SUCCESS) {
                *ret_began_ns = engine_begin(run);
                for (uint64_t y = 0; y < set->rows; y++)
                        set_row((char *)set->address + y * set->pitch, set);
        }
        memory_touch_end();
        return rc;
}

void op_set(struct op_run *run, const struct op_set *set)
{
        uint64_t began_ns;
        CUresult rc = set_write(run, set, &began_ns);

        if (rc != CUDA_SUCCESS) {
                context_poison(run->exec->context, rc);
                return;
        }
        engine_end(run, began_ns, set->width * set->element_bytes * set->rows);
        if (set->context &&
            memory_is_unmapped(set->context, set->address, set_extent(set), ACCESS_WRITE))
                context_poison(run->exec->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

void op_host(struct op_run *run, const struct op_host *host)
{
        is_in_host_function = true;
        host->function(host->argument);
        is_in_host_function = false;
        run->mark->end_ns = sim_now_ns();
}

static bool is_met(const struct CUstreamMemOpWaitValueParams_st *wait, bool is_wide)
{
        uint64_t now = is_wide ? load_acquire((_Atomic uint64_t *)wait->address)
                               : load_acquire((_Atomic uint32_t *)wait->address);
        uint64_t value = is_wide ? wait->value64 : wait->value;

        switch (wait->flags & 3) {
        case CU_STREAM_WAIT_VALUE_GEQ:
                return is_wide ? (int64_t)(now - value) >= 0
                               : (int32_t)((uint32_t)now - (uint32_t)value) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
                return now == value;
        case CU_STREAM_WAIT_VALUE_AND:
                return (now & value) != 0;
        default:
                return is_wide ? ~(now | value) != 0 : (uint32_t) ~(now | value) != 0;
        }
}

static CUresult word_check(struct op_run *run, CUdeviceptr address, uint64_t bytes, unsigned access)
{
        if (memory_check(run->exec->context, address, bytes, access) != CUDA_SUCCESS)
                return CUDA_ERROR_ILLEGAL_ADDRESS;
        return backing_ensure(address, bytes, access) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Reads the word and compares it, after another check that it is mapped: freed memory stays
 * readable, unmapped memory does not. */
static CUresult word_look(struct op_run *run, const struct CUstreamMemOpWaitValueParams_st *wait,
                          bool is_wide, bool *ret_is_met)
{
        bool is_unmapped;

        memory_touch_begin();
        is_unmapped =
                memory_is_unmapped(run->exec->context, wait->address, is_wide ? 8 : 4, ACCESS_READ);
        *ret_is_met = !is_unmapped && is_met(wait, is_wide);
        memory_touch_end();
        return is_unmapped ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

/* Waits until the word has its value. It polls, because anything that maps the word may write
 * it. */
static CUresult word_await(struct op_run *run, const struct CUstreamMemOpWaitValueParams_st *wait,
                           bool is_wide)
{
        CUresult rc = word_check(run, wait->address, is_wide ? 8 : 4, ACCESS_READ);
        uint64_t nap_ns = 2000;
        bool is_over = false;

        for (; rc == CUDA_SUCCESS; nap_ns = min_u64(nap_ns * 2, 200000)) {
                rc = word_look(run, wait, is_wide, &is_over);
                if (rc != CUDA_SUCCESS || is_over || load_relaxed(&run->exec->place.is_closing) ||
                    load_relaxed(&run->exec->context->error))
                        return rc;
                sim_sleep_until(sim_now_ns() + nap_ns);
        }
        return rc;
}

static CUresult word_write(struct op_run *run, const struct CUstreamMemOpWriteValueParams_st *write,
                           bool is_wide)
{
        CUresult rc;

        memory_touch_begin();
        rc = word_check(run, write->address, is_wide ? 8 : 4, ACCESS_WRITE);
        if (rc == CUDA_SUCCESS && is_wide)
                store_release((_Atomic uint64_t *)write->address, write->value64);
        else if (rc == CUDA_SUCCESS)
                store_release((_Atomic uint32_t *)write->address, write->value);
        memory_touch_end();
        return rc;
}

static CUresult memory_operation(struct op_run *run, const CUstreamBatchMemOpParams *op)
{
        switch (op->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
                return word_await(run, &op->waitValue,
                                  op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64);
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
                return word_write(run, &op->writeValue,
                                  op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64);
        default:
                fence_seq_cst();
                return CUDA_SUCCESS;
        }
}

void op_memory(struct op_run *run, unsigned count, const CUstreamBatchMemOpParams *operations)
{
        for (unsigned i = 0; i < count; i++) {
                CUresult rc = memory_operation(run, &operations[i]);

                if (rc != CUDA_SUCCESS) {
                        context_poison(run->exec->context, rc);
                        return;
                }
        }
        run->mark->end_ns = sim_now_ns();
}
