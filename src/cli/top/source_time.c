/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/source_time.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"

#define SECOND_NS UINT64_C(1000000000)
/* The limit of a bucket's debt (shim/time/bucket.h): a greater value means a damaged page. */
#define DEBT_MAX_NS (UINT64_C(1) << 43)

static uint64_t word(const uint64_t *at)
{
        return load_relaxed(shared_word(at));
}

/* Returns whether a time is near `now_ns`. A time that is slightly later was written after `now_ns`
 * was read. */
static bool is_recent(uint64_t at_ns, uint64_t within_ns, uint64_t now_ns)
{
        return at_ns && (at_ns > now_ns ? at_ns - now_ns : now_ns - at_ns) < within_ns;
}

/* Returns the debt of the token bucket, which fills as time passes. If the two values are read in
 * the middle of an update, the result is wrong by one charge. */
static uint64_t debt_of(const struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns)
{
        int64_t bucket_ns = (int64_t)word(&meter->bucket_ns);
        uint64_t filled_ns = word(&meter->filled_at_ns);
        uint64_t elapsed_ns = now_ns > filled_ns ? now_ns - filled_ns : 0;
        uint64_t missing_ns, back_ns;

        if (!filled_ns || bucket_ns >= 0)
                return 0;
        missing_ns = 0 - (uint64_t)bucket_ns;
        missing_ns = min_u64(missing_ns, DEBT_MAX_NS);
        back_ns = (uint64_t)((unsigned __int128)elapsed_ns * cap_ppm / PAGE_WHOLE_PPM);
        return missing_ns > back_ns ? missing_ns - back_ns : 0;
}

/* Returns whether the session's GPU time is measured. Without a cap, only sessions of a daemon are
 * measured, from their first launch on. */
static bool is_measured(const struct limits_page *limits, const struct page_meter *meter,
                        const struct snapshot_time *time)
{
        return time->is_leased || snapshot_has_cap(time) ||
               (limits->owner == PAGE_OWNER_DAEMON && word(&meter->active_at_ns));
}

void source_time_read(const struct store_session *session, unsigned row, struct snapshot_time *ret)
{
        const struct limits_page *limits = session->limits;
        const struct page_meter *meter = &session->slots->meter[row];
        uint64_t now_ns = clock_now_ns();
        uint64_t spoke_ns = load_acquire(shared_word(&limits->scheduler_at_ns));

        *ret = (struct snapshot_time){
                .cap_ppm = page_cap_ppm(limits, &limits->device[row]),
                .is_leased = is_recent(spoke_ns, PAGE_SCHEDULER_SILENT_NS, now_ns),
                .is_at_work = is_recent(word(&meter->active_at_ns), SECOND_NS, now_ns) ||
                              is_recent(word(&meter->wanted_at_ns), SECOND_NS, now_ns),
        };
        if (is_measured(limits, meter, ret))
                ret->ran = (struct snapshot_ran){ now_ns, word(&meter->busy_ns),
                                                  word(&meter->waited_ns) };
        ret->takes_turns =
                ret->is_leased &&
                load_acquire(shared_half(&limits->device[row].lease.mode)) != PAGE_MODE_FREE;
        if (snapshot_has_cap(ret) && !ret->takes_turns)
                ret->debt_ns = debt_of(meter, ret->cap_ppm, now_ns);
}

void source_time_add(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret)
{
        ret->guarantee_ppm = told->guarantee_ppm;
        if (told->has_time)
                ret->told = (struct snapshot_told){ at_ns, told->throttled_ns, told->queued_ns };
        if (ret->takes_turns)
                ret->debt_ns = told->debt_ns;
}

void source_time_fill(const struct client_share *told, uint64_t at_ns, struct snapshot_time *ret)
{
        *ret = (struct snapshot_time){ .cap_ppm = told->cap_ppm,
                                       .is_leased = told->has_time,
                                       .takes_turns = told->has_time };
        source_time_add(told, at_ns, ret);
        if (told->has_time)
                ret->ran = (struct snapshot_ran){ at_ns, told->busy_ns,
                                                  told->queued_ns + told->throttled_ns };
}
