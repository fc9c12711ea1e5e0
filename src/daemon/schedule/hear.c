/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the sessions' claims from their pages and passes them to the core. members.h defines the
 * words used here.
 *
 * A member's claim is read once and passed on in this order: its usage, that it launched, that it
 * has drained, that it wants the device or rests. A session raises its bell only for what cannot
 * wait for the next reading: when it has drained while its gate is closed, but not when it
 * launches, because the claim has the time of that.
 */
#include "daemon/schedule/members.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"

/* How long a claim to wait at a closed gate is valid; processes renew it every 10 ms. A claim from
 * before the gate last closed no longer counts, because the gate was open since. */
#define WANT_NS UINT64_C(30000000)
/* How long a member whose gate opened counts as wanting the device without a launch, in addition to
 * its usual wake-up delay (missed_ns). */
#define BEGIN_NS UINT64_C(1000000)
/* A member that claimed to wait at its gate within this time is expected to launch, so the daemon
 * does not wake up to check it. */
#define STANDS_NS UINT64_C(15000000)
/* How soon a member with work in flight is read again. */
#define LOOK_AGAIN_NS UINT64_C(1000000)
/* How soon it is read again if it always had work in flight for this long: then it is expected to
 * raise its bell when it rests. */
#define LOOK_LATE_NS UINT64_C(4000000)
/* Maximum time of one claim; longer times are cut to it. */
#define MAX_NS UINT64_C(10000000000)
/* The members of a session that wanted nothing for this long are removed. */
#define GONE_NS UINT64_C(5000000000)

int64_t members_measured(uint64_t ns)
{
        return (int64_t)min_u64(ns, MAX_NS);
}

/* Returns how much a counter rose. The result may be negative, because the last value may be from a
 * sample that was too high. */
static int64_t raised_by(uint64_t to_ns, uint64_t from_ns)
{
        return to_ns >= from_ns ? members_measured(to_ns - from_ns)
                                : -members_measured(from_ns - to_ns);
}

/* Passes the usage since the last reading to the core. A member that used the device counts as
 * active until now. */
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

/* Returns until when the member wants its device, as its present claim says. */
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
        /* A member that wanted nothing, and whose gate opened only with its gang's, need not
         * launch. */
        if (!is_open(core) || !core->is_wanting || member->is_begun)
                return until_ns;
        return max_u64(until_ns, member->open_ns + BEGIN_NS + (uint64_t)core->missed_ns);
}

/* Passes WANT or RESTS to the core. If the gate stays closed, writes the lease again, which tells
 * the member whether it must raise its bell. */
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

/* Passes to the core that the member has launched. The claim has the time of that, which the
 * lengths of leases, early openings and the refund of guarantees depend on, each within bounds. */
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

/* Passes to the core that the member missed a turn: it waits at its gate again, the gate was open
 * since, and the member did not launch. The first time in a row is ignored, because the member's
 * own cap may have been the reason. */
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

/* Whether work is in flight. Work that was not renewed in the claim for PAGE_FLIGHT_SILENT_NS is
 * taken as over, as in the account: its process was stopped or killed, and cannot report. */
static bool is_in_flight(const struct seat_claim *claim, uint64_t now_ns)
{
        return claim->is_in_flight && now_ns - claim->active_ns <= PAGE_FLIGHT_SILENT_NS;
}

/* Passes to the core that nothing of the member is in flight, as it claims. If the claim is false,
 * its work overlaps with the work of others. */
static void note_drain(struct members *self, uint32_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        if (!is_in_flight(claim, now_ns))
                members_tell(self, at, SCHED_DRAINED, 0, now_ns);
}

/* Returns until when claimed work in flight counts; 0: there is none. */
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

/* Makes members of the shares that a session wants, if it raised its bell. */
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

/* Stops hearing a session whose page is damaged. Its seat stays open, because unmapping the page
 * could wait for a tenant that punches holes into the file. */
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
