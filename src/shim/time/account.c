/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU time account; account.h has the contract.
 */
#include "shim/time/account.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "shim/bell.h"
#include "shim/time/bucket.h"

/* How often a lease is read again while it is being written; its writer may have died. */
#define LEASE_LOOKS 64u
/* How often an exchange of the settled-until time is tried; each failure is another process's
 * bill. */
#define SETTLE_TRIES 10000u
/* Maximum time that is billed at once. No process writes a settled-until time that is further
 * back. */
#define SETTLE_MAX_NS UINT64_C(10000000000)
/* The gate opens when the bucket holds this much, or is full. */
#define OPENING_NS INT64_C(2000000)
/* The lowest bit of drained_turn: work is in flight in the session. */
#define IN_FLIGHT 1u
/* After a pause of this length a process notifies the scheduler; sessions that had work in
 * flight since are polled by the scheduler itself. */
#define WANT_PAUSE_NS UINT64_C(200000000)
/* active_at_ns is raised in steps of ACTIVE_STEP_NS. If it was not raised for ACTIVE_PAUSE_NS,
 * there was a pause. */
#define ACTIVE_STEP_NS UINT64_C(500000)
#define ACTIVE_PAUSE_NS UINT64_C(5000000)
/* A process that wrote within this time counts as using the device. One that waits at a gate
 * writes more often; one that computes between two steps is back sooner. */
#define USED_NS UINT64_C(200000000)
/* How often the scheduler is told of flights that end while the lease is open. */
#define DRAINED_STEP_NS UINT64_C(500000)

/* Whether the time is within `within_ns` of now. Another process may have read a later clock, so
 * times ahead of `now_ns` are compared in the same way. */
static bool is_recent(uint64_t at_ns, uint64_t within_ns, uint64_t now_ns)
{
        return at_ns && (at_ns > now_ns ? at_ns - now_ns : now_ns - at_ns) < within_ns;
}

/* -- Limits in force -------------------------------------------------------------------------- */

/* Reads the lease from the page. Returns false if it is being written. */
static bool read_lease(const struct page_lease *lease, struct terms *ret)
{
        for (unsigned i = 0; i < LEASE_LOOKS; i++) {
                uint32_t turn = load_acquire(shared_half(&lease->turn));
                struct terms terms = *ret;

                terms.turn = turn;
                terms.mode = load_acquire(shared_half(&lease->mode));
                terms.end_ns = load_acquire(shared_word(&lease->end_ns));
                terms.target_ns = load_acquire(shared_word(&lease->target_ns));
                if (!(turn & 1) && load_acquire(shared_half(&lease->turn)) == turn) {
                        *ret = terms;
                        return true;
                }
        }
        return false;
}

struct terms account_terms(const struct account *account, uint64_t now_ns)
{
        const struct page_lease *lease = &account->device->lease;
        uint64_t spoke_ns = load_acquire(shared_word(&account->limits->scheduler_at_ns));
        struct terms terms = {
                .cap_ppm = page_cap_ppm(account->limits, account->device),
                .is_watched = is_recent(spoke_ns, PAGE_SCHEDULER_SILENT_NS, now_ns),
                .is_daemons = account->limits->owner == PAGE_OWNER_DAEMON,
                .turn = load_acquire(shared_half(&lease->turn)),
        };

        if (terms.is_watched && !read_lease(lease, &terms))
                terms.mode = PAGE_MODE_CLOSED;
        if (!terms.is_watched || terms.mode > PAGE_MODE_CLOSED) {
                terms.mode = PAGE_MODE_FREE;
                terms.target_ns = 0;
        }
        return terms;
}

/* -- Ringing ---------------------------------------------------------------------------------- */

static bool is_in_flight(const struct account *account)
{
        return account->row && load_relaxed(shared_word(&account->row->flight_begin_ns)) != 0;
}

/* Notes that the session wants the device. Notifies the scheduler after a pause, or while the
 * scheduler believes that the session does not want the device; this is repeated until the
 * scheduler says otherwise, so no notice is lost. Also notifies it if the session's lease has
 * just ended and the process has nothing in flight whose end would notify. */
void account_want(const struct account *account, const struct terms *terms, uint64_t now_ns)
{
        _Atomic uint64_t *wanted = shared_word(&account->meter->wanted_at_ns);
        uint64_t before_ns = load_relaxed(wanted);
        bool is_noted = terms->mode == PAGE_MODE_CLOSED && terms->end_ns;
        bool is_over = terms->mode == PAGE_MODE_OPEN && before_ns < terms->end_ns &&
                       !is_in_flight(account);
        bool is_new = is_noted || is_over || !is_recent(before_ns, WANT_PAUSE_NS, now_ns);

        store_release(wanted, now_ns);
        if (is_new)
                bell_ring(account->slots);
}

static void note_active(const struct account *account, uint64_t now_ns)
{
        _Atomic uint64_t *active = shared_word(&account->meter->active_at_ns);
        uint64_t at_ns = load_relaxed(active);

        if (is_recent(at_ns, ACTIVE_STEP_NS, now_ns))
                return;
        store_release(active, now_ns);
        if (!is_recent(at_ns, ACTIVE_PAUSE_NS, now_ns))
                bell_ring(account->slots);
}

/* -- Flights ---------------------------------------------------------------------------------- */

static const struct page_row *row_of(const struct account *account, uint32_t slot)
{
        return &account->slots->row[slot][account->at];
}

static uint32_t slots_high(const struct account *account)
{
        uint32_t high = load_acquire(shared_half(&account->slots->slots_high));

        return high < PAGE_SLOTS ? high : PAGE_SLOTS;
}

/* Returns since when the process is in flight; 0: it is not, or it was silent for too long. */
static uint64_t flies_since_ns(const struct page_row *row, uint64_t now_ns)
{
        uint64_t begin_ns = load_acquire(shared_word(&row->flight_begin_ns));

        if (!begin_ns || begin_ns > now_ns ||
            !is_recent(load_acquire(shared_word(&row->flight_seen_ns)), PAGE_FLIGHT_SILENT_NS,
                       now_ns))
                return 0;
        return begin_ns;
}

/* Returns since when the session is in flight. This process is in flight since `begin_ns`. */
static uint64_t earliest_ns(const struct account *account, uint64_t begin_ns, uint64_t now_ns)
{
        uint32_t high = slots_high(account);
        uint64_t first_ns = begin_ns;

        for (uint32_t slot = 0; slot < high; slot++) {
                uint64_t since_ns = flies_since_ns(row_of(account, slot), now_ns);

                if (since_ns && since_ns < first_ns)
                        first_ns = since_ns;
        }
        return first_ns;
}

static bool others_fly(const struct account *account, uint64_t now_ns)
{
        uint32_t high = slots_high(account);

        for (uint32_t slot = 0; slot < high; slot++) {
                const struct page_row *row = row_of(account, slot);

                if (row != account->row && flies_since_ns(row, now_ns))
                        return true;
        }
        return false;
}

static uint64_t billed_ns(const struct account *account)
{
        return load_acquire(shared_word(&account->meter->busy_ns));
}

static void charge_bucket(const struct account *account, int64_t ns, uint64_t now_ns)
{
        uint32_t cap_ppm = page_cap_ppm(account->limits, account->device);

        if (ns && cap_ppm != PAGE_WHOLE_PPM)
                bucket_charge(account->meter, cap_ppm, now_ns, ns);
}

static void bill(const struct account *account, int64_t ns, uint64_t now_ns)
{
        if (ns)
                add_acq_rel(shared_word(&account->meter->busy_ns), (uint64_t)ns);
        charge_bucket(account, ns, now_ns);
}

/* Notes a flight in the lease's present turn. Returns true if nothing was in flight in this turn
 * before. */
static bool fly_in_turn(const struct account *account)
{
        _Atomic uint32_t *drained = shared_half(&account->meter->drained_turn);
        uint32_t turn = load_acquire(shared_half(&account->device->lease.turn)) & ~IN_FLIGHT;
        uint32_t was = load_relaxed(drained);

        store_release(drained, turn | IN_FLIGHT);
        return (was & ~IN_FLIGHT) != turn;
}

/* Returns the part of the other processes' flights that is not settled yet. */
static uint64_t unsettled_ns(const struct account *account, uint64_t now_ns)
{
        uint64_t until_ns = load_acquire(shared_word(&account->meter->settled_until_ns));
        uint64_t first_ns = earliest_ns(account, now_ns, now_ns);

        if (until_ns >= now_ns)
                return 0;
        return now_ns - max_u64(first_ns, until_ns);
}

void account_begin(struct account *account, uint64_t now_ns)
{
        account->seen_ns = now_ns;
        account->seen_busy_ns = billed_ns(account) + unsettled_ns(account, now_ns);
        if (account->row) {
                store_release(shared_word(&account->row->flight_seen_ns), now_ns);
                store_release(shared_word(&account->row->flight_begin_ns), now_ns);
        }
        if (fly_in_turn(account))
                store_release(shared_word(&account->meter->began_at_ns), now_ns);
        note_active(account, now_ns);
}

/* Whether another process has settled up to now. A value far ahead of the clock is invalid: no
 * process that read the clock wrote it. */
static bool is_settled(uint64_t until_ns, uint64_t now_ns)
{
        return until_ns >= now_ns &&
               (until_ns - now_ns < PAGE_FLIGHT_SILENT_NS || until_ns <= clock_now_ns());
}

/* Settles up to now. Returns the time that was billed. */
static uint64_t settle_until(const struct account *account, uint64_t begin_ns, uint64_t now_ns)
{
        _Atomic uint64_t *settled = shared_word(&account->meter->settled_until_ns);
        uint64_t until_ns = load_acquire(settled);
        uint64_t first_ns = earliest_ns(account, begin_ns, now_ns);

        for (unsigned i = 0; i < SETTLE_TRIES && !is_settled(until_ns, now_ns); i++) {
                bool is_first = until_ns > now_ns || first_ns > until_ns;
                uint64_t from_ns = is_first ? first_ns : until_ns;

                if (from_ns > now_ns)
                        from_ns = now_ns;
                if (now_ns - from_ns > SETTLE_MAX_NS)
                        from_ns = now_ns - SETTLE_MAX_NS;
                if (cas_acq_rel(settled, &until_ns, now_ns)) {
                        bill(account, (int64_t)(now_ns - from_ns), now_ns);
                        return now_ns - from_ns;
                }
        }
        return 0;
}

/* As settle_until(), for a process that was silent for long. The other processes assumed that
 * its flight was over, and settled without it, so it owes the time for which they were not
 * billed since. If two such processes settle at once, one sees what the other is billed, because
 * both exchange the same word. */
static uint64_t settle_silence(const struct account *account, uint64_t now_ns)
{
        _Atomic uint64_t *settled = shared_word(&account->meter->settled_until_ns);
        _Atomic uint64_t *busy = shared_word(&account->meter->busy_ns);
        uint64_t until_ns = load_acquire(settled), billed = load_acquire(busy);
        uint64_t silence_ns = now_ns - account->seen_ns;

        for (unsigned i = 0; i < SETTLE_TRIES && !is_settled(until_ns, now_ns); i++) {
                if (cas_acq_rel(settled, &until_ns, now_ns))
                        break;
        }
        for (unsigned i = 0; i < SETTLE_TRIES; i++) {
                uint64_t others_ns = billed - account->seen_busy_ns;
                uint64_t due_ns = silence_ns;

                if (others_ns <= INT64_MAX)
                        due_ns -= min_u64(others_ns, silence_ns);
                due_ns = min_u64(due_ns, SETTLE_MAX_NS);
                if (cas_acq_rel(busy, &billed, billed + due_ns)) {
                        charge_bucket(account, (int64_t)due_ns, now_ns);
                        return due_ns;
                }
        }
        return 0;
}

void account_settle(struct account *account, uint64_t begin_ns, uint64_t now_ns)
{
        uint64_t busy_ns = billed_ns(account);
        bool was_silent = account->seen_ns && account->seen_ns + PAGE_FLIGHT_SILENT_NS < now_ns;

        if (account->row)
                store_release(shared_word(&account->row->flight_seen_ns), now_ns);
        note_active(account, now_ns);
        if (!(load_relaxed(shared_half(&account->meter->drained_turn)) & IN_FLIGHT))
                fly_in_turn(account);
        busy_ns += was_silent ? settle_silence(account, now_ns)
                              : settle_until(account, begin_ns, now_ns);
        account->seen_ns = now_ns;
        account->seen_busy_ns = busy_ns;
}

/* Tells the scheduler that the session has drained. If the lease is closed, another session
 * waits for that. If it is open, the next turn may begin. But if short flights follow each
 * other, the scheduler is told at most every DRAINED_STEP_NS, because it polls the session
 * anyway. */
static void tell_drained(const struct account *account, uint64_t now_ns)
{
        static _Atomic uint64_t told_ns[PAGE_DEVICES];
        uint32_t mode;

        fence_seq_cst();
        mode = load_acquire(shared_half(&account->device->lease.mode));
        if (mode == PAGE_MODE_CLOSED ||
            (mode == PAGE_MODE_OPEN &&
             !is_recent(load_relaxed(&told_ns[account->at]), DRAINED_STEP_NS, now_ns))) {
                store_relaxed(&told_ns[account->at], now_ns);
                bell_ring(account->slots);
        }
}

void account_end(struct account *account, int64_t rest_ns, uint32_t turn, uint64_t now_ns)
{
        account->seen_ns = 0;
        if (account->row)
                store_release(shared_word(&account->row->flight_begin_ns), 0);
        /* If two processes end their flights at the same time, at least one sees that the other
         * has ended. */
        fence_seq_cst();
        if (others_fly(account, now_ns))
                return;
        bill(account, rest_ns, now_ns);
        store_release(shared_half(&account->meter->drained_turn), turn & ~IN_FLIGHT);
        tell_drained(account, now_ns);
}

void account_stand(const struct account *account, uint64_t now_ns)
{
        if (account->row && !is_in_flight(account))
                store_release(shared_word(&account->row->flight_seen_ns), now_ns);
}

struct account_use account_use(const struct account *account, uint64_t now_ns)
{
        uint32_t high = slots_high(account);
        struct account_use use = { 0 };

        for (uint32_t slot = 0; slot < high; slot++) {
                const struct page_row *row = row_of(account, slot);
                uint64_t seen_ns = load_acquire(shared_word(&row->flight_seen_ns));

                if (!is_recent(seen_ns, USED_NS, now_ns))
                        continue;
                use.seen_ns = max_u64(use.seen_ns, seen_ns);
                if (flies_since_ns(row, now_ns))
                        use.flying_ns = max_u64(use.flying_ns, seen_ns);
        }
        return use;
}

/* -- The cap ---------------------------------------------------------------------------------- */

int64_t account_level_ns(const struct account *account, const struct terms *terms, uint64_t now_ns)
{
        return bucket_level_ns(account->meter, terms->cap_ppm, now_ns);
}

int64_t account_opening_ns(const struct terms *terms)
{
        int64_t top_ns = bucket_top_ns(terms->cap_ppm);

        return top_ns < OPENING_NS ? top_ns : OPENING_NS;
}

uint64_t account_due_ns(const struct account *account, const struct terms *terms,
                        int64_t opening_ns, uint64_t now_ns)
{
        bucket_charge(account->meter, terms->cap_ppm, now_ns, 0);
        return bucket_due_ns(account_level_ns(account, terms, now_ns), opening_ns, terms->cap_ppm,
                             now_ns);
}

uint64_t account_dry_ns(const struct account *account, const struct terms *terms, uint64_t begin_ns,
                        uint64_t now_ns)
{
        uint64_t settled_ns = load_acquire(shared_word(&account->meter->settled_until_ns));
        uint64_t from_ns = settled_ns > begin_ns ? settled_ns : begin_ns;
        int64_t left_ns = account_level_ns(account, terms, now_ns);

        if (from_ns < now_ns)
                left_ns -= (int64_t)(now_ns - from_ns);
        if (left_ns <= 0)
                return now_ns;
        return now_ns + 1 + (uint64_t)left_ns * PAGE_WHOLE_PPM / (PAGE_WHOLE_PPM - terms->cap_ppm);
}

/* -- For views -------------------------------------------------------------------------------- */

void account_count(const struct account *account, int64_t submissions)
{
        add_relaxed(shared_word(&account->meter->launches), (uint64_t)submissions);
}

void account_note_wait(const struct account *account, uint64_t waited_ns)
{
        add_relaxed(shared_word(&account->meter->waits), 1);
        add_relaxed(shared_word(&account->meter->waited_ns), waited_ns);
}
