/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sessions say, told to the core.
 *
 * A look at a member reads its claim once, and tells in this order: what it used, that it began,
 * that it drains or has drained, that it wants or rests. Nobody need ring for what can be told at
 * any later look: when it began is in the claim, and drains that were announced end by the clock.
 */
#include "daemon/schedule/members.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/log.h"

/* A claim of one before a closed gate, who renews it each 10 ms. One from before the gate last
 * closed was answered. */
#define WANT_NS UINT64_C(30000000)
/* Who was let in has so long to begin, and what it missed turns by; who said just before that it
 * stands there does, and nobody wakes up to see it. */
#define BEGIN_NS UINT64_C(1000000)
#define STANDS_NS UINT64_C(15000000)
/* Turns end by the clock so much later than what was launched, or more. */
#define TURN_SPARE_NS UINT64_C(2500000)
/* Of one claim; what is above that is no measurement. */
#define MOST_NS UINT64_C(10000000000)
/* A member that wanted nothing for so long is none any more. */
#define GONE_NS UINT64_C(5000000000)

int64_t members_measured(uint64_t ns)
{
        return (int64_t)(ns < MOST_NS ? ns : MOST_NS);
}

static uint64_t raised_by(uint64_t to_ns, uint64_t from_ns)
{
        return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void note_use(struct members *self, uint16_t at, const struct seat_claim *claim,
                     uint64_t now_ns)
{
        struct member *member = &self->member[at];
        uint64_t busy_ns = raised_by(claim->busy_ns, member->busy_ns);
        uint64_t sampled_ns = raised_by(claim->sampled_ns, member->sampled_ns);
        struct sched_event event = { .type = SCHED_USED, .member = at, .bank_ns = SCHED_NEVER };

        member->busy_ns = claim->busy_ns;
        if (!busy_ns)
                return;
        /* It is raised first: what is above is of what comes next. */
        sampled_ns = sampled_ns < busy_ns ? sampled_ns : busy_ns;
        member->sampled_ns += sampled_ns;
        event.ns = members_measured(busy_ns);
        event.sampled_ns = members_measured(sampled_ns);
        members_step(self, &event, now_ns);
}

static bool is_open(const struct sched_member *core)
{
        return core->mode == SCHED_MODE_OPEN || core->mode == SCHED_MODE_FREE;
}

static uint64_t later(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

/* Until when the member wants its device by what it says now. */
static uint64_t wanting_until_ns(const struct members *self, uint16_t at,
                                 const struct seat_claim *claim, uint64_t running_until_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        const struct member *member = &self->member[at];
        bool is_answered = !is_open(core) && claim->wanted_ns < member->close_ns;
        uint64_t until_ns = running_until_ns;

        if (claim->wanted_ns && !is_answered)
                until_ns = later(until_ns,
                                 claim->wanted_ns + (is_open(core) ? MEMBER_IDLE_NS : WANT_NS));
        /* Whose gate opened with its gang's wanted nothing, and need not begin. */
        if (!is_open(core) || !core->is_wanting || member->is_begun)
                return until_ns;
        return later(until_ns, member->open_ns + BEGIN_NS + (uint64_t)core->missed_ns);
}

/* WANT or RESTS: whose gate is closed and stays so is told, too. */
static void note(struct members *self, uint16_t at, enum sched_event_type type, uint64_t now_ns)
{
        bool was_closed = self->sched.member[at].mode == SCHED_MODE_CLOSED;

        members_tell(self, at, type, 0, now_ns);
        if (was_closed && self->sched.member[at].mode == SCHED_MODE_CLOSED)
                members_tell_closed(self, at, now_ns);
}

static void note_want(struct members *self, uint16_t at, const struct seat_claim *claim,
                      uint64_t running_until_ns, uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        struct member *member = &self->member[at];
        uint64_t until_ns = wanting_until_ns(self, at, claim, running_until_ns);
        bool wants = until_ns > now_ns;

        if (wants)
                member->active_ns = now_ns;
        member->look_ns = wants ? until_ns : member->active_ns + MEMBER_IDLE_NS + 1;
        if (core->is_draining && core->terms.is_clamped && running_until_ns > now_ns)
                member->look_ns = running_until_ns;
        else if (is_open(core) && !member->is_begun && core->terms.gang == 0)
                member->look_ns = later(member->look_ns, claim->wanted_ns + STANDS_NS);
        if (wants && !core->is_wanting)
                note(self, at, SCHED_WANT, now_ns);
        else if (core->is_wanting && now_ns - member->active_ns > MEMBER_IDLE_NS)
                note(self, at, SCHED_RESTS, now_ns);
        if (!core->is_wanting)
                member->look_ns =
                        core->mode == SCHED_MODE_OPEN ? now_ns + MEMBER_IDLE_NS : CLOCK_NEVER;
}

/* When it began is its own word. How long leases are, how early its gate opens, and what its
 * guarantee need not pay for go by it, each within bounds. */
static void note_begin(struct members *self, uint16_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        bool has_begun = claim->began_ns >= (uint64_t)core->open_ns;

        if (!is_open(core))
                return;
        self->member[at].is_begun |= has_begun || claim->running_until_ns > now_ns;
        if (self->member[at].is_begun)
                self->member[at].misses = 0;
        if (has_begun && !core->is_begun)
                members_tell(self, at, SCHED_BEGAN, (int64_t)(now_ns - claim->began_ns), now_ns);
}

/* It stands before its gate again, which was open meanwhile, and has not launched in between. Once
 * may be its own cap. */
static void note_missed(struct members *self, uint16_t at, const struct seat_claim *claim,
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

/* Until when a member that was seen to use what it did not hold is taken for running after its gate
 * was closed, whatever it says: what it may have in flight takes so long. 0: it is believed. */
static uint64_t doubted_until_ns(const struct members *self, uint16_t at, uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        uint64_t until_ns = (uint64_t)core->close_ns + SCHED_TARGET_LEASED_NS;

        return core->terms.is_clamped && self->member[at].is_doubted && until_ns > now_ns ? until_ns
                                                                                          : 0;
}

/* Until when it runs, by its own word: that of the turn, once it was shortened for good; before,
 * who has the turn has said when it should be done. */
static uint64_t done_until_ns(const struct seat_claim *claim, uint64_t close_ns)
{
        uint64_t until_ns = claim->running_until_ns;

        if (claim->done_ns <= close_ns || claim->done_ns > until_ns ||
            until_ns - claim->done_ns < TURN_SPARE_NS)
                return until_ns;
        return close_ns + page_turn_rest_ns(claim->done_ns - close_ns);
}

/* Done, or done by then: what that means beside others is the core's. Who is not believed has no
 * say in how long it is waited for. */
static void note_drain(struct members *self, uint16_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        bool is_clamped = self->sched.member[at].terms.is_clamped;
        uint64_t until_ns = done_until_ns(claim, self->member[at].close_ns);
        uint64_t rest_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        const struct sched_event residual = { .type = SCHED_RESIDUAL,
                                              .member = at,
                                              .ns = (int64_t)rest_ns,
                                              .slack_ns = (int64_t)(rest_ns -
                                                                    page_turn_left_ns(rest_ns)) };

        if (!until_ns || (is_clamped && !rest_ns)) {
                if (!doubted_until_ns(self, at, now_ns))
                        members_tell(self, at, SCHED_DRAINED, 0, now_ns);
        } else if (!is_clamped && until_ns != self->member[at].told_until_ns) {
                self->member[at].told_until_ns = until_ns;
                members_step(self, &residual, now_ns);
        }
}

/* 0: it does not run. */
static uint64_t running_until_ns(const struct members *self, uint16_t at,
                                 const struct seat_claim *claim, uint64_t now_ns)
{
        int64_t drain_ns = sched_drain_ns(&self->sched, at);

        if (drain_ns != SCHED_NEVER)
                return (uint64_t)drain_ns;
        if (self->sched.member[at].is_draining)
                return later(claim->running_until_ns, doubted_until_ns(self, at, now_ns));
        return claim->running_until_ns > now_ns ? claim->running_until_ns : 0;
}

/* False: its page is gone. */
static bool hear_member(struct members *self, uint16_t at, uint64_t now_ns)
{
        struct member *member = &self->member[at];
        struct seat_claim claim;

        if (!seat_read(member->seated->seat, member->share, now_ns, &claim))
                return false;
        note_use(self, at, &claim, now_ns);
        note_begin(self, at, &claim, now_ns);
        note_missed(self, at, &claim, now_ns);
        if (self->sched.member[at].is_draining)
                note_drain(self, at, &claim, now_ns);
        note_want(self, at, &claim, running_until_ns(self, at, &claim, now_ns), now_ns);
        return true;
}

static bool is_stale(const struct members *self, const struct seated *seated, uint64_t now_ns)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                uint16_t at = seated->member[i];

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

/* Who rang wants something of a GPU; those that nobody wants are not spoken of. */
static void hear_bell(struct members *self, struct seated *seated, uint64_t now_ns)
{
        uint32_t bell = load_acquire(shared_half(seat_bell(seated->seat)));
        struct seat_claim claim;

        if (bell == seated->bell)
                return;
        seated->bell = bell;
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER || !seat_read(seated->seat, i, now_ns, &claim) ||
                    !is_of_late(&claim, now_ns))
                        continue;
                members_add(self, seated, i, &claim, now_ns);
                if (seated->member[i] != NO_MEMBER)
                        members_tell(self, seated->member[i], SCHED_WANT, 0, now_ns);
        }
}

void members_hear(struct members *self, struct seated *seated, uint64_t now_ns)
{
        bool is_there = true;

        members_pass_time(self, now_ns);
        hear_bell(self, seated, now_ns);
        if (!members_has(seated) || !seated->is_watched)
                return;
        for (unsigned i = 0; i < seated->seat->share_count && is_there; i++) {
                if (seated->member[i] != NO_MEMBER)
                        is_there = hear_member(self, seated->member[i], now_ns);
        }
        if (!is_there) {
                log_line(LOG_WARN, "session %s has spoilt its pages; it gets no turns",
                         seated->seat->limits->name);
                members_unseat(self, seated, now_ns);
        } else if (is_stale(self, seated, now_ns)) {
                members_dismiss(self, seated, now_ns);
        }
}
