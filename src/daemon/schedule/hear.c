/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the sessions' claims and tells the core.
 *
 * A look at a member reads its claim once, and tells in this order: its usage, that it began, that
 * it has drained, that it wants the device or rests. A session rings only if that cannot wait for
 * the next look: not for its beginning, whose time is in the claim; but when it has drained and its
 * gate is closed.
 */
#include "daemon/schedule/members.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"

/* How long a claim to wait at a closed gate is valid; processes renew it each 10 ms. A claim from
 * before the gate last closed was answered. */
#define WANT_NS UINT64_C(30000000)
/* A member whose turn opened counts as wanting the device for so long without a launch, plus its
 * usual wake-up delay (missed_ns). */
#define BEGIN_NS UINT64_C(1000000)
/* A member that claimed less than this ago to wait at its gate will launch: the daemon does not
 * wake up before then to check. */
#define STANDS_NS UINT64_C(15000000)
/* How often to look at work in flight. */
#define LOOK_AGAIN_NS UINT64_C(1000000)
/* The same for a member that has not rested recently: it rings when it does. */
#define LOOK_LATE_NS UINT64_C(4000000)
/* Maximum of one claim; a greater one is invalid. */
#define MAX_NS UINT64_C(10000000000)
/* A member that wanted nothing for this long is removed. */
#define GONE_NS UINT64_C(5000000000)

int64_t members_measured(uint64_t ns)
{
        return (int64_t)min_u64(ns, MAX_NS);
}

/* It may be negative: the last value came from a sample. */
static int64_t raised_by(uint64_t to_ns, uint64_t from_ns)
{
        return to_ns >= from_ns ? members_measured(to_ns - from_ns)
                                : -members_measured(from_ns - to_ns);
}

/* A member that was at work since the last look may have been until now. */
static void note_use(struct members *self, uint32_t at, const struct seat_claim *claim,
                     uint64_t now_ns)
{
        struct member *member = &self->member[at];
        int64_t busy_ns = member->is_anew ? 0 : raised_by(claim->busy_ns, member->busy_ns);

        member->is_anew = false;
        member->busy_ns = claim->busy_ns;
        if (!busy_ns)
                return;
        if (busy_ns > 0)
                member->active_ns = now_ns;
        members_tell(self, at, SCHED_USED, busy_ns, now_ns);
}

static bool is_open(const struct sched_member *core)
{
        return core->mode == SCHED_MODE_OPEN || core->mode == SCHED_MODE_FREE;
}

/* Until when the member wants its device, by its present claim. */
static uint64_t wanting_until_ns(const struct members *self, uint32_t at,
                                 const struct seat_claim *claim, uint64_t running_until_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        const struct member *member = &self->member[at];
        bool is_answered = !is_open(core) && claim->wanted_ns < member->close_ns;
        uint64_t until_ns = running_until_ns;

        if (claim->wanted_ns && !is_answered)
                until_ns = max_u64(until_ns,
                                   claim->wanted_ns + (is_open(core) ? MEMBER_IDLE_NS : WANT_NS));
        /* A member whose gate opened only with its gang wanted nothing, and need not begin. */
        if (!is_open(core) || !core->is_wanting || member->is_begun)
                return until_ns;
        return max_u64(until_ns, member->open_ns + BEGIN_NS + (uint64_t)core->missed_ns);
}

/* Tells WANT or RESTS, also for a member whose gate stays closed. */
static void report_want(struct members *self, uint32_t at, enum sched_event_type type,
                        uint64_t now_ns)
{
        bool was_closed = self->sched.member[at].mode == SCHED_MODE_CLOSED;

        members_tell(self, at, type, 0, now_ns);
        if (was_closed && self->sched.member[at].mode == SCHED_MODE_CLOSED)
                members_tell_closed(self, at, now_ns);
}

static void note_want(struct members *self, uint32_t at, const struct seat_claim *claim,
                      uint64_t running_until_ns, uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        struct member *member = &self->member[at];
        uint64_t until_ns = wanting_until_ns(self, at, claim, running_until_ns);
        uint64_t grace_ns = (uint64_t)sched_grace_ns(&self->sched, at);
        bool wants = until_ns > now_ns;

        if (wants)
                member->active_ns = now_ns;
        member->look_ns = wants ? until_ns : member->active_ns + grace_ns + 1;
        if (is_open(core) && !member->is_begun && core->terms.gang == 0)
                member->look_ns = max_u64(member->look_ns, claim->wanted_ns + STANDS_NS);
        if (wants && !core->is_wanting)
                report_want(self, at, SCHED_WANT, now_ns);
        else if (core->is_wanting && now_ns - member->active_ns > grace_ns)
                report_want(self, at, SCHED_RESTS, now_ns);
        if (!core->is_wanting)
                member->look_ns =
                        core->mode == SCHED_MODE_OPEN ? now_ns + MEMBER_IDLE_NS : CLOCK_NEVER;
}

/* The member itself reports when it began. Lease lengths, early openings and the guarantee's refund
 * depend on that, each within bounds. */
static void note_begin(struct members *self, uint32_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        bool has_begun = claim->began_ns >= (uint64_t)core->open_ns;

        if (!is_open(core))
                return;
        self->member[at].is_begun |= has_begun || claim->is_in_flight;
        if (self->member[at].is_begun)
                self->member[at].misses = 0;
        if ((has_begun || claim->is_in_flight) && !core->is_begun)
                members_tell(self, at, SCHED_BEGAN, (int64_t)(now_ns - claim->began_ns), now_ns);
}

/* The member waits at its gate again, which was open meanwhile, and has not launched in between.
 * Once may be its own cap. */
static void note_missed(struct members *self, uint32_t at, const struct seat_claim *claim,
                        uint64_t now_ns)
{
        struct member *member = &self->member[at];
        uint64_t open_ns = member->missed_ns;

        if (!open_ns || claim->wanted_ns <= member->close_ns)
                return;
        member->missed_ns = 0;
        if (claim->began_ns >= open_ns || claim->wanted_ns > now_ns)
                return;
        if (member->misses++ > 0)
                members_tell(self, at, SCHED_MISSED, members_measured(claim->wanted_ns - open_ns),
                             now_ns);
}

/* A flight without any look is over, as in the account (PAGE_FLIGHT_SILENT_NS): its process was
 * stopped or killed, and cannot report. */
static bool is_in_flight(const struct seat_claim *claim, uint64_t now_ns)
{
        return claim->is_in_flight && now_ns - claim->active_ns <= PAGE_FLIGHT_SILENT_NS;
}

/* Nothing of the member is in flight, as it claims. A member that claims so too early overlaps with
 * others. */
static void note_drain(struct members *self, uint32_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        if (!is_in_flight(claim, now_ns))
                members_tell(self, at, SCHED_DRAINED, 0, now_ns);
}

/* Until when claimed work in flight counts; 0: it claims that there is none. */
static uint64_t running_until_ns(const struct members *self, uint32_t at,
                                 const struct seat_claim *claim, uint64_t now_ns)
{
        bool has_rested = now_ns - self->member[at].rested_ns < LOOK_LATE_NS;

        if (!is_in_flight(claim, now_ns))
                return 0;
        return now_ns + (has_rested ? LOOK_AGAIN_NS : LOOK_LATE_NS);
}

static void hear_member(struct members *self, uint32_t at, uint64_t now_ns)
{
        struct member *member = &self->member[at];
        struct seat_claim claim;

        seat_read(member->seated->seat, member->share, now_ns, &claim);
        if (member->look_ns <= now_ns)
                owners_cause(&self->owners, member->seated->owner);
        if (!claim.is_in_flight)
                member->rested_ns = now_ns;
        note_use(self, at, &claim, now_ns);
        note_begin(self, at, &claim, now_ns);
        note_missed(self, at, &claim, now_ns);
        if (self->sched.member[at].is_draining || self->sched.member[at].is_late)
                note_drain(self, at, &claim, now_ns);
        note_want(self, at, &claim, running_until_ns(self, at, &claim, now_ns), now_ns);
}

static bool is_stale(const struct members *self, const struct seated *seated, uint64_t now_ns)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                uint32_t at = seated->member[i];

                if (at != NO_MEMBER && now_ns - self->member[at].active_ns < GONE_NS)
                        return false;
        }
        return true;
}

static bool is_of_late(const struct seat_claim *claim, uint64_t now_ns)
{
        uint64_t at_ns = claim->wanted_ns > claim->active_ns ? claim->wanted_ns : claim->active_ns;

        return at_ns && now_ns - at_ns < GONE_NS;
}

/* A session that rang wants something of some GPU; tells only of GPUs that it wants. */
static void hear_bell(struct members *self, struct seated *seated, uint64_t now_ns)
{
        struct seat_claim claim;

        if (seated->seat->head.bell == seated->bell)
                return;
        seated->bell = seated->seat->head.bell;
        owners_cause(&self->owners, seated->owner);
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER || !seat_read(seated->seat, i, now_ns, &claim) ||
                    !is_of_late(&claim, now_ns))
                        continue;
                members_add(self, seated, i, &claim, now_ns);
                if (seated->member[i] != NO_MEMBER)
                        members_tell(self, seated->member[i], SCHED_WANT, 0, now_ns);
        }
}

bool members_gives_up(const struct members *self, uint32_t at, uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];

        return (core->is_draining || core->is_late) &&
               !owners_may(&self->owners, self->member[at].seated->owner, now_ns);
}

void members_give_up(struct members *self, uint64_t now_ns)
{
        for (unsigned i = 0; i < self->entries; i++) {
                const struct seated *seated = &self->seated[i];

                for (unsigned j = 0; seated->seat && j < seated->seat->share_count; j++) {
                        if (seated->member[j] != NO_MEMBER &&
                            members_gives_up(self, seated->member[j], now_ns))
                                members_tell(self, seated->member[j], SCHED_DRAINED, 0, now_ns);
                }
        }
}

/* Stops hearing a damaged page. Its seat stays, because unmapping the page could wait for a tenant
 * that punches holes into it. */
static void spoil(struct members *self, struct seated *seated, uint64_t now_ns)
{
        log_line(LOG_WARN, "session %s has spoilt its pages; it gets no turns",
                 seated->seat->limits->name);
        members_distrust(self, seated);
        members_dismiss(self, seated, now_ns);
        seated->is_spoilt = true;
}

void members_hear(struct members *self, struct seated *seated, const struct seat_head *head,
                  uint64_t now_ns)
{
        members_pass_time(self, now_ns);
        seat_take(seated->seat, head, now_ns);
        if (head->magic != PAGE_SLOTS_MAGIC) {
                spoil(self, seated, now_ns);
                return;
        }
        hear_bell(self, seated, now_ns);
        if (!members_has(seated) || !seated->is_watched)
                return;
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER)
                        hear_member(self, seated->member[i], now_ns);
        }
        if (is_stale(self, seated, now_ns))
                members_dismiss(self, seated, now_ns);
}
