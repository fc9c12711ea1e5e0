/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/remainder.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "shim/attach.h"
#include "shim/cards.h"
#include "shim/cuda/charge/meter.h"
#include "shim/cuda/charge/plain_frees.h"
#include "shim/cuda/state/remainders.h"

/* Minimum time between periodic looks. */
#define PAUSE_NS UINT64_C(20000000)
/* Time between periodic looks, as a multiple of the duration of one query. If a query is quicker
 * than QUICK_NS, every change is followed by a look. */
#define COSTS_APART 500u
/* Time until the next query after one that failed, as a multiple of the duration of the failed
 * query. */
#define FAILURES_APART 10u
#define QUICK_NS UINT64_C(200000)
/* Maximum number of queries in one look, until no charge changes during a query. */
#define TRIES 3u
/* Number of uncertain answers after which their minimum is used. */
#define DOUBTS 5u

/* The driver takes memory in pages: a request for part of a page may take up to one page more than
 * it is charged, and its free may release less (measured: docs/simulator-memory.md). */
#define DRIVER_PAGE_BYTES (UINT64_C(2) << 20)
/* While there is room, each process may have taken a PARTS_OF_LIMIT-th of the limit, but at least
 * and at most this many bytes, since the last look. */
#define UNLOOKED_MIN_BYTES (UINT64_C(4) << 20)
#define UNLOOKED_MAX_BYTES (UINT64_C(32) << 20)
#define PARTS_OF_LIMIT 64u

/* How long to wait for memory of this process from before its exec() to be freed: 2 s at most. */
#define BEFORE_SLEEP_NS UINT64_C(4000000)
#define BEFORE_LOOKS 500u

/* Owner of estimates that the next look replaces. Differs from every context's number: those begin
 * at 1. */
#define ESTIMATES_OWNER(row) (UINT32_MAX - (uint32_t)(row))
/* The heap counts as allocated when the memory has grown by all but one HEAP_PARTS-th of its size,
 * because other memory may be freed meanwhile. */
#define HEAP_PARTS 8u

/* Returns the remainder of a row. NULL if there is none: no such device, context=free, or foreign
 * PID. */
static struct remainder *of_row(int row)
{
        const struct limits_page *limits = session_limits();

        if (row < 0 || row >= (int)PAGE_DEVICES || !limits || limits->flags & PAGE_CONTEXT_FREE ||
            load_acquire(&remainder_state.remainder[row].is_foreign))
                return NULL;
        return &remainder_state.remainder[row];
}

/* Returns the remainder of a row. NULL also if NVML does not list this process. */
static struct remainder *measured(int row)
{
        struct remainder *remainder = of_row(row);

        return remainder && load_acquire(&remainder->is_told) ? remainder : NULL;
}

bool remainder_is_foreign(int row)
{
        return row >= 0 && row < (int)PAGE_DEVICES &&
               load_acquire(&remainder_state.remainder[row].is_foreign);
}

/* Whether NVML lists our PID on the card although nothing on it is charged to this process. */
static bool is_listed_early(int row)
{
        uint64_t bytes;

        return !front_own_bytes(row) &&
               cards_own_bytes((const uint8_t *)session_limits()->device[row].uuid, &bytes) ==
                       CARDS_TOLD;
}

void remainder_before_context(int row)
{
        struct remainder *remainder = of_row(row);

        if (!remainder || load_acquire(&remainder->is_told) || !is_listed_early(row))
                return;
        if (!cards_know_pids()) {
                store_release(&remainder->is_foreign, 1);
                return;
        }
        for (unsigned i = 0; i < BEFORE_LOOKS && is_listed_early(row); i++)
                clock_sleep_ns(BEFORE_SLEEP_NS);
}

static uint64_t key_of_row(int row)
{
        return (uint64_t)row + 1;
}

/* Sets the charge of the remainder to `bytes`. The caller holds the remainder's lock. */
static void set_charge(int row, uint64_t bytes)
{
        uint64_t held = charge_held(SPACE_REMAINDER, key_of_row(row));
        struct charge kept, more = { .device = CHARGE_NO_DEVICE };

        if (bytes == held || (bytes > held && !charge_force(&more, row, bytes - held)))
                return;
        if (charge_take(&kept, SPACE_REMAINDER, key_of_row(row)))
                charge_join(&more, &kept);
        charge_trim(&more, bytes);
        charge_keep(&more, SPACE_REMAINDER, key_of_row(row));
}

/* Notes the duration of a query. The thread may have waited for a processor meanwhile, so this
 * keeps about the minimum of recent queries. */
static void note_cost(struct remainder *remainder, uint64_t ns)
{
        uint64_t max_ns = remainder->cost_ns ? remainder->cost_ns + remainder->cost_ns / 8 + 1
                                             : remainder->first_cost_ns;

        if (max_ns)
                remainder->cost_ns = min_u64(ns, max_ns);
        else
                remainder->first_cost_ns = ns;
}

/* Reads what NVML lists for this process. A process that was listed and no longer is holds no
 * memory. False: NVML failed, or has never listed this process. */
static bool is_listed(const struct remainder *remainder, const uint8_t uuid[16], uint64_t *ret_seen)
{
        enum cards_answer answer = cards_own_bytes(uuid, ret_seen);

        if (answer == CARDS_NOT_LISTED)
                *ret_seen = 0;
        return answer == CARDS_TOLD ||
               (answer == CARDS_NOT_LISTED && load_relaxed(&remainder->is_told));
}

/* An answer of NVML, and what was charged at that time. */
struct answer {
        uint64_t on_way; /* number of charges in flight before NVML was asked */
        uint64_t own;    /* charged to this process on the card in total */
        uint64_t seen;   /* listed by NVML */
        bool is_calm;    /* no charge and no plain free was in flight */
        bool is_certain; /* no charge began while NVML was asked */
};

/* Makes a query, and repeats it if a charge of this process began meanwhile. Comparing sums of
 * charges alone would not show that: a block may be allocated and freed between the two
 * readings. */
static bool ask_nvml(struct remainder *remainder, int row, struct answer *ret)
{
        const uint64_t *uuid = session_limits()->device[row].uuid;
        uint64_t began_ns = clock_now_ns();
        unsigned tries = 0;

        do {
                uint64_t flights = charge_flights(row), before = front_own_bytes(row);
                bool may_move = plain_frees_are_pending();

                if (!is_listed(remainder, (const uint8_t *)uuid, &ret->seen))
                        return false;
                ret->on_way = (uint32_t)flights;
                ret->own = front_own_bytes(row);
                ret->is_certain = before == ret->own && charge_flights(row) == flights;
                ret->is_calm = charge_is_calm(flights) && !may_move;
                ret->own = max_u64(ret->own, before);
        } while (!ret->is_certain && ++tries < TRIES);
        /* The first query also opens NVML, so its duration is not noted. */
        if (remainder->looked_ns)
                note_cost(remainder, (clock_now_ns() - began_ns) / (tries + 1));
        remainder->looked_ns = clock_now_ns();
        return true;
}

/* If the card's memory has grown by the size of the heap under `key`, marks the heap's charge as
 * seen by NVML, and returns its bytes. Else returns 0. */
static uint64_t take_heap(uint64_t *key, uint64_t more_bytes)
{
        uint64_t bytes = *key ? charge_held(SPACE_CONTEXT, *key) : 0;
        struct charge heap;

        if (!bytes || more_bytes < bytes - bytes / HEAP_PARTS ||
            !charge_take(&heap, SPACE_CONTEXT, *key))
                return 0;
        bytes = heap.bytes;
        charge_mark_seen(&heap);
        charge_keep(&heap, SPACE_CONTEXT, *key);
        *key = 0;
        return bytes;
}

static void correct(struct remainder *remainder, int row, uint64_t bytes, bool may_be_less)
{
        uint64_t held = charge_held(SPACE_REMAINDER, key_of_row(row));

        for (unsigned i = 0; i < REMAINDER_HEAPS; i++)
                bytes -= min_u64(take_heap(&remainder->heap_key[i], bytes - min_u64(held, bytes)),
                                 bytes);
        if (may_be_less || bytes > held)
                set_charge(row, bytes);
}

/* Sets the remainder from an answer. While calls are in flight, their memory may not be on the card
 * yet, or no longer, so the remainder is then only raised. Returns whether the remainder is exact.
 * The caller holds the remainder's lock. */
static bool keep_answer(struct remainder *remainder, int row, const struct answer *answer)
{
        uint64_t held = charge_held(SPACE_REMAINDER, key_of_row(row));
        uint64_t known = answer->own - min_u64(held, answer->own), bytes;

        known -= min_u64(charge_unseen_bytes(row), known);
        bytes = answer->seen - min_u64(known, answer->seen);
        /* Estimates stay charged until an exact answer replaces them. Until then they are
         * subtracted, so that their memory is charged once. */
        if (!answer->is_calm && load_relaxed(&remainder->has_estimates))
                bytes -= min_u64(charge_owned_bytes(ESTIMATES_OWNER(row)), bytes);
        if (answer->is_certain) {
                remainder->doubts = 0;
                correct(remainder, row, bytes, answer->is_calm);
                return answer->is_calm;
        }
        /* If charges change during every query, use the minimum over DOUBTS answers. */
        remainder->min_bytes = remainder->doubts++ ? min_u64(remainder->min_bytes, bytes) : bytes;
        if (remainder->doubts < DOUBTS)
                return false;
        remainder->doubts = 0;
        correct(remainder, row, remainder->min_bytes, false);
        return false;
}

/* Tells readers of the session's slots that this process is measured. The caller holds the
 * remainder's lock, so that each bit has one writer. */
static void mark_measured(int row)
{
        uint32_t slot = process_slot_plus_one(), bit = UINT32_C(1) << row;
        _Atomic uint32_t *devices;

        if (!slot)
                return;
        devices = shared_half(&session_slots()->slot[slot - 1].measured_devices);
        if (!(load_relaxed(devices) & bit))
                add_relaxed(devices, bit);
}

static void update_remainder(struct remainder *remainder, int row)
{
        uint64_t unlooked_bytes = load_acquire(&remainder->unlooked_bytes);
        uint64_t began_ns = clock_now_ns();
        struct answer answer;

        /* Set before the query: a call that makes another look due meanwhile must not be
         * overwritten. */
        store_relaxed(&remainder->due_ns,
                      began_ns + max_u64(PAUSE_NS, remainder->cost_ns * COSTS_APART));
        if (began_ns < remainder->silent_ns)
                return;
        store_release(&remainder->is_changed, 0);
        if (!ask_nvml(remainder, row, &answer)) {
                store_release(&remainder->is_changed, 1);
                if (load_relaxed(&remainder->is_told))
                        remainder->silent_ns = clock_now_ns() + PAUSE_NS +
                                               (clock_now_ns() - began_ns) * FAILURES_APART;
                return;
        }
        store_release(&remainder->is_told, 1);
        mark_measured(row);
        if (keep_answer(remainder, row, &answer) && swap_acq_rel(&remainder->has_estimates, 0))
                charge_drop_owner(ESTIMATES_OWNER(row));
        /* calls in flight may have taken more since the answer, up to a page each */
        add_relaxed(&remainder->unlooked_bytes, answer.on_way * DRIVER_PAGE_BYTES - unlooked_bytes);
}

/* Returns how much more than requested the driver may take. */
static uint64_t rounding(uint64_t bytes)
{
        return -bytes % DRIVER_PAGE_BYTES;
}

static uint64_t unlooked_max(uint64_t limit_bytes)
{
        return max_u64(UNLOOKED_MIN_BYTES,
                       min_u64(UNLOOKED_MAX_BYTES, limit_bytes / PARTS_OF_LIMIT));
}

/* Whether memory taken since the last look, together with a request of `bytes`, could exceed the
 * limit. */
static bool may_pass(struct remainder *remainder, int row, uint64_t bytes)
{
        uint64_t unlooked_bytes = load_acquire(&remainder->unlooked_bytes), room_bytes;
        struct charge_view view;

        if (!unlooked_bytes || !charge_read(row, &view) || view.limit_bytes == PAGE_UNLIMITED)
                return false;
        room_bytes = view.limit_bytes - min_u64(view.used_bytes, view.limit_bytes);
        return unlooked_bytes > unlooked_max(view.limit_bytes) ||
               sum_of(bytes, rounding(bytes) + unlooked_bytes) > room_bytes;
}

/* Whether to make a look before a grant, because the driver may have taken an unknown amount on its
 * own. */
static bool is_to_be_looked(struct remainder *remainder, int row, uint64_t bytes)
{
        return (bytes && load_acquire(&remainder->is_changed)) || may_pass(remainder, row, bytes);
}

static void look_if_it_may_pass(struct remainder *remainder, int row, uint64_t bytes)
{
        if (!is_to_be_looked(remainder, row, bytes))
                return;
        lock_take(&remainder->lock);
        if (is_to_be_looked(remainder, row, bytes))
                update_remainder(remainder, row);
        lock_drop(&remainder->lock);
}

void remainder_granted(int row, uint64_t bytes)
{
        struct remainder *remainder = of_row(row);

        if (remainder && rounding(bytes))
                add_acq_rel(&remainder->unlooked_bytes, rounding(bytes));
}

void remainder_gives_back(int row, uint64_t bytes)
{
        struct remainder *remainder = of_row(row);

        if (remainder && bytes < DRIVER_PAGE_BYTES)
                add_acq_rel(&remainder->unlooked_bytes, bytes);
}

void remainder_view(int row)
{
        struct remainder *remainder = measured(row);

        if (!remainder)
                return;
        lock_take(&remainder->lock);
        if (load_acquire(&remainder->unlooked_bytes) || load_acquire(&remainder->is_changed) ||
            load_relaxed(&remainder->has_estimates) ||
            clock_now_ns() >= load_relaxed(&remainder->due_ns))
                update_remainder(remainder, row);
        lock_drop(&remainder->lock);
}

bool remainder_relieve(int row)
{
        struct remainder *remainder = measured(row);

        if (!remainder)
                return false;
        lock_take(&remainder->lock);
        update_remainder(remainder, row);
        lock_drop(&remainder->lock);
        return true;
}

static void look_if_due(struct remainder *remainder, int row)
{
        if (clock_now_ns() < load_relaxed(&remainder->due_ns) || !lock_try(&remainder->lock))
                return;
        update_remainder(remainder, row);
        lock_drop(&remainder->lock);
}

void remainder_tend(int row, uint64_t bytes)
{
        struct remainder *remainder = measured(row);

        if (!remainder)
                return;
        look_if_due(remainder, row);
        look_if_it_may_pass(remainder, row, bytes);
}

void remainders_tend(void)
{
        for (int row = 0; row < (int)PAGE_DEVICES; row++) {
                struct remainder *remainder = measured(row);

                if (remainder)
                        look_if_due(remainder, row);
        }
}

/* Returns the time from which a look costs only a small part of the time. The caller holds the
 * remainder's lock. */
static uint64_t soon_ns(const struct remainder *remainder)
{
        return remainder->cost_ns < QUICK_NS
                       ? 0
                       : remainder->looked_ns + remainder->cost_ns * COSTS_APART;
}

/* Makes a look now if that is cheap, else in the next call that grants memory. The caller holds the
 * remainder's lock. */
static void look_soon(struct remainder *remainder, int row)
{
        store_relaxed(&remainder->due_ns, soon_ns(remainder));
        store_release(&remainder->is_changed, 1);
        if (clock_now_ns() >= soon_ns(remainder))
                update_remainder(remainder, row);
}

void remainder_changed(int row)
{
        struct remainder *remainder = of_row(row);

        if (!remainder || session_state() != SESSION_ACTIVE)
                return;
        lock_take(&remainder->lock);
        look_soon(remainder, row);
        lock_drop(&remainder->lock);
}

void remainder_is_due(int row)
{
        struct remainder *remainder = measured(row);

        if (!remainder)
                return;
        store_release(&remainder->is_changed, 1);
        if (!lock_try(&remainder->lock)) {
                store_relaxed(&remainder->due_ns, 0);
                return;
        }
        store_relaxed(&remainder->due_ns, soon_ns(remainder));
        lock_drop(&remainder->lock);
}

void remainders_are_due(void)
{
        for (int row = 0; row < (int)PAGE_DEVICES; row++)
                remainder_is_due(row);
}

void remainders_changed(void)
{
        for (int row = 0; row < (int)PAGE_DEVICES; row++) {
                if (load_relaxed(&remainder_state.remainder[row].is_told))
                        remainder_changed(row);
        }
}

bool remainder_is_measured(int row)
{
        return measured(row) != NULL;
}

/* The lock is held, so that no look is in progress: the next one begins after the estimate was
 * kept. */
bool remainder_keep_estimate(struct charge *estimate, uint64_t key)
{
        int row = estimate->device;
        struct remainder *remainder = of_row(row);

        if (!remainder)
                return false;
        charge_mark_unseen(estimate);
        estimate->owner = ESTIMATES_OWNER(row);
        lock_take(&remainder->lock);
        charge_keep(estimate, SPACE_MODULE, key);
        store_relaxed(&remainder->has_estimates, 1);
        look_soon(remainder, row);
        lock_drop(&remainder->lock);
        return true;
}

void remainder_heap_set(int row, uint64_t key)
{
        struct remainder *remainder = of_row(row);
        unsigned at = REMAINDER_HEAPS - 1;

        if (!remainder)
                return;
        lock_take(&remainder->lock);
        for (unsigned i = 0; i < REMAINDER_HEAPS; i++) {
                uint64_t other = remainder->heap_key[i];

                if (other == key || !other || !charge_held(SPACE_CONTEXT, other))
                        at = i;
                if (other == key)
                        break;
        }
        remainder->heap_key[at] = key;
        lock_drop(&remainder->lock);
}
