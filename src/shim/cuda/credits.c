/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See credits.h.
 */
#include "shim/cuda/credits.h"

#include <stddef.h>

#include "common/clock.h"

static const _Atomic uint64_t no_gate;
static const _Atomic uint32_t no_turn;

/* The C library's, since 2.18: runs when the thread ends. */
extern int __cxa_thread_atexit_impl(void (*at_end)(void *), void *argument, void *library);
extern __attribute__((visibility("hidden"))) void *__dso_handle;

static struct lane *lane_of(const struct credit *credit)
{
        struct lane *lane = (struct lane *)(uintptr_t)credit->lane;

        return !credit->is_any && lane && load_acquire(&lane->context) == credit->context ? lane
                                                                                          : NULL;
}

void credit_count(struct credit *credit)
{
        struct lane *lane = lane_of(credit);
        uint32_t unspent = credit_unspent(credit), spent = credit->granted - unspent;

        if (lane && spent)
                lane_count(lane, &(struct launched){ .pieces = spent,
                                                     .paid_ns = spent * credit->piece_ns });
        credit->granted = unspent;
}

void credit_return(void)
{
        struct credit *credit = &credit_here;
        struct lane *lane = lane_of(credit);
        uint32_t unspent = credit_unspent(credit);

        credit_count(credit);
        credit->left = 0;
        if (lane && unspent)
                admit_refund(&load_relaxed(&lane->work)->admit, unspent * credit->piece_ns,
                             clock_now_ns());
        credit->granted = credit->unspent = 0;
        credit->lane = 0;
}

static void at_thread_end(void *unused)
{
        (void)unused;
        credit_return();
}

bool credit_may_be_granted(void)
{
        static _Thread_local bool is_told;

        if (!is_told)
                is_told = __cxa_thread_atexit_impl(at_thread_end, NULL, &__dso_handle) == 0;
        return is_told;
}

void credit_for_ever(void)
{
        credit_here = (struct credit){
                .left = INT32_MAX,
                .is_any = UINT64_MAX,
                .is_any_work = UINT64_MAX,
                .gate = &no_gate,
                .turn = &no_turn,
        };
}

static const _Atomic uint64_t *gate_of(const struct limits_page *limits)
{
        _Static_assert(offsetof(struct limits_page, gate) % 8 == 0 &&
                               offsetof(struct limits_page, epoch) ==
                                       offsetof(struct limits_page, gate) + 4,
                       "read as one");
        return (const _Atomic uint64_t *)(const void *)&limits->gate;
}

uint64_t credit_gate_seen(const struct limits_page *limits)
{
        union {
                uint32_t half[2];
                uint64_t word;
        } seen = { .half = { 0, load_acquire(shared_half(&limits->epoch)) } };

        return seen.word;
}

/* Nor has one that is yet to come. */
static bool has_no_cap(const struct limits_page *limits)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (page_cap_ppm(limits, &limits->device[i]) != PAGE_WHOLE_PPM)
                        return false;
        }
        return true;
}

/* A scheduler that comes, for whichever device, changes its time. */
void credit_open(const struct passage *passage, const struct admit *admit)
{
        const _Atomic uint32_t *spoke =
                (const _Atomic uint32_t *)(const void *)&admit->limits->scheduler_at_ns;

        credit_here = (struct credit){
                .left = INT32_MAX,
                .stream = passage->key,
                .is_any = has_no_cap(admit->limits) ? UINT64_MAX : 0,
                .is_any_work = UINT64_MAX,
                .context = passage->context,
                .gate = gate_of(admit->limits),
                .gate_seen = passage->gate_seen,
                .turn = spoke,
                .turn_seen = load_acquire(spoke),
        };
}

void credit_grant(const struct passage *passage)
{
        const struct admit *admit = &load_relaxed(&passage->lane->work)->admit;
        uint32_t pieces = passage->pieces - 1;

        credit_here = (struct credit){
                .left = (int32_t)pieces,
                .granted = pieces,
                .at_wait = -1,
                .stream = passage->key,
                .is_any_work = passage->is_any_work ? UINT64_MAX : 0,
                .context = passage->context,
                .gate = gate_of(admit->limits),
                .gate_seen = passage->gate_seen,
                .turn = shared_half(&admit->device->lease.turn),
                .turn_seen = passage->turn,
                .piece_ns = passage->piece_ns,
                .lane = (uintptr_t)passage->lane,
        };
}
