/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/members.h"

#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/log.h"

/* A claim to want something holds for so long: while the gate is open, and while it is closed, when
 * those before it renew it each 10 ms. One from before the gate last closed was answered. */
#define IDLE_NS UINT64_C(200000)
#define WANT_NS UINT64_C(30000000)
/* Who was let in has so long to begin. */
#define BEGIN_NS UINT64_C(1000000)
/* Of one claim; what is above that is no measurement. */
#define MOST_NS UINT64_C(10000000000)
/* A turn that ends sooner is one of which it was said what is left of it. */
#define LEFT_MOST_NS UINT64_C(4000000)
/* A member that wanted nothing for so long is none any more. */
#define GONE_NS UINT64_C(5000000000)
#define BEAT_NS UINT64_C(100000000)

/* -- The core's words, carried out ------------------------------------------------------------ */

/* Who is not known to want anything is not looked at: it has to ring. */
static void tell_closed(struct members *self, uint16_t at, uint64_t now_ns)
{
        const struct member *member = &self->member[at];

        seat_tell(member->seated->seat, member->share, PAGE_MODE_CLOSED,
                  self->sched.member[at].is_wanting ? 0 : now_ns, 0);
}

static void carry_out(struct members *self, const struct sched_action *action, uint64_t now_ns)
{
        struct member *member = &self->member[action->member];
        struct seated *seated = member->seated;
        enum page_mode mode = PAGE_MODE_CLOSED;

        if (!seated)
                return;
        if (action->type == SCHED_ALARM) {
                log_line(LOG_WARN, "session %s is more than 10 s of GPU time above its cap",
                         seated->seat->limits->name);
                return;
        }
        if (action->type == SCHED_FREE)
                mode = PAGE_MODE_FREE;
        else if (action->type == SCHED_OPEN)
                mode = PAGE_MODE_OPEN;
        if (mode == PAGE_MODE_CLOSED) {
                member->is_begun = member->is_left_told = false;
                member->close_ns = now_ns;
                tell_closed(self, action->member, now_ns);
                return;
        }
        member->open_ns = now_ns;
        seat_tell(seated->seat, member->share, mode,
                  mode == PAGE_MODE_OPEN ? (uint64_t)action->end_ns : 0,
                  (uint64_t)action->target_ns);
}

/* From here on what it says counts; what it measured before does not. */
static void begin_watch(struct members *self, struct seated *seated, uint64_t now_ns)
{
        seated->is_watched = true;
        seated->beat_ns = now_ns;
        seat_beat(seated->seat, now_ns);
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                uint16_t at = seated->member[i];
                struct seat_claim claim;

                if (at == NO_MEMBER || !seat_read(seated->seat, i, now_ns, &claim))
                        continue;
                self->member[at].busy_ns = claim.busy_ns;
                self->member[at].active_ns = now_ns;
                self->member[at].look_ns = now_ns + IDLE_NS + 1;
                seat_nudge(seated->seat, i); /* who runs without looking looks */
        }
}

/* Who was away for so long that no gate was obeyed begins anew: every session went by its own cap
 * meanwhile. It may have been stopped anywhere, so this is asked before every step. */
static void pass_time(struct members *self, uint64_t now_ns)
{
        bool was_away = now_ns > self->now_ns + PAGE_SCHEDULER_SILENT_NS, is_needed = false;

        self->now_ns = now_ns > self->now_ns ? now_ns : self->now_ns;
        for (unsigned i = 0; was_away && i < self->places; i++) {
                if (!self->seated[i].seat || !self->seated[i].is_watched)
                        continue;
                begin_watch(self, &self->seated[i], now_ns);
                is_needed = true;
        }
        if (is_needed)
                sched_skip(&self->sched, (int64_t)now_ns);
}

/* False: refused. */
static bool step(struct members *self, const struct sched_event *event, uint64_t now_ns)
{
        pass_time(self, now_ns);
        sched_step(&self->sched, event, (int64_t)now_ns, &self->actions);
        if (self->actions.refused)
                return false;
        for (unsigned i = 0; i < self->actions.count; i++)
                carry_out(self, &self->actions.action[i], now_ns);
        return true;
}

static void tell(struct members *self, uint16_t member, enum sched_event_type type, int64_t ns,
                 uint64_t now_ns)
{
        const struct sched_event event = {
                .type = type, .member = member, .ns = ns, .bank_ns = SCHED_NEVER
        };

        step(self, &event, now_ns);
}

/* -- Members ---------------------------------------------------------------------------------- */

static int device_of(struct members *self, const uint8_t uuid[16])
{
        unsigned at = 0;

        while (at < self->device_count && memcmp(self->device[at], uuid, 16) != 0)
                at++;
        if (at == SCHED_DEVICES)
                return -1;
        if (at == self->device_count)
                memcpy(self->device[self->device_count++], uuid, 16);
        return (int)at;
}

static uint16_t free_member(const struct members *self)
{
        uint16_t at = 0;

        while (at < SCHED_MEMBERS && self->member[at].seated)
                at++;
        return at;
}

static struct sched_terms terms_of(const struct seated *seated, unsigned share)
{
        struct sched_terms terms = seated->seat->share[share].terms;

        terms.gang = seated->gang;
        terms.is_clamped = seated->is_clamped[share];
        return terms;
}

/* Closed until the core says otherwise. */
static void add_member(struct members *self, struct seated *seated, unsigned share,
                       const struct seat_claim *claim, uint64_t now_ns)
{
        int device = device_of(self, seated->seat->share[share].uuid);
        uint16_t at = free_member(self);
        struct sched_event event = { .type = SCHED_ADD,
                                     .member = at,
                                     .terms = terms_of(seated, share) };

        if (device < 0 || at == SCHED_MEMBERS)
                return;
        event.device = (uint8_t)device;
        self->member[at] = (struct member){ .seated = seated,
                                            .share = share,
                                            .busy_ns = claim->busy_ns,
                                            .active_ns = now_ns,
                                            .look_ns = CLOCK_NEVER };
        seated->member[share] = at;
        seat_tell(seated->seat, share, PAGE_MODE_CLOSED, 0, 0);
        if (step(self, &event, now_ns))
                return;
        log_line(LOG_WARN, "session %s gets no turns: its %s makes no sense beside the others'",
                 seated->seat->limits->name, self->actions.refused);
        self->member[at].seated = NULL;
        seated->member[share] = NO_MEMBER;
}

static void remove_member(struct members *self, struct seated *seated, unsigned share,
                          uint64_t now_ns)
{
        uint16_t at = seated->member[share];

        if (at == NO_MEMBER)
                return;
        tell(self, at, SCHED_REMOVE, 0, now_ns);
        seated->member[share] = NO_MEMBER;
        self->member[at].seated = NULL;
}

bool members_has(const struct seated *seated)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER)
                        return true;
        }
        return false;
}

/* Its gates are left open, and it goes by its own cap. */
static void dismiss(struct members *self, struct seated *seated, uint64_t now_ns)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++)
                remove_member(self, seated, i, now_ns);
        if (!seated->is_watched)
                return;
        seated->is_watched = false;
        seat_beat(seated->seat, 0);
        for (unsigned i = 0; i < seated->seat->share_count; i++)
                seat_tell(seated->seat, i, PAGE_MODE_FREE, 0, 0);
}

/* A counter that went back is no counter: what it says now is where it goes on from. */
static void count_seat(struct members *self, struct seated *seated)
{
        uint64_t now[SEAT_COUNTERS];

        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                seat_count(seated->seat, i, now);
                for (unsigned j = 0; j < SEAT_COUNTERS; j++) {
                        if (now[j] > seated->counted[i][j])
                                self->totals[j] += now[j] - seated->counted[i][j];
                        seated->counted[i][j] = now[j];
                }
        }
}

void members_count(struct members *self)
{
        for (unsigned i = 0; i < self->places; i++) {
                if (self->seated[i].seat)
                        count_seat(self, &self->seated[i]);
        }
}

void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns)
{
        dismiss(self, seated, now_ns);
        count_seat(self, seated);
        seat_close(seated->seat);
        seated->seat = NULL;
}

/* -- What sessions say ------------------------------------------------------------------------ */

static int64_t measured(uint64_t ns)
{
        return (int64_t)(ns < MOST_NS ? ns : MOST_NS);
}

static void note_use(struct members *self, uint16_t at, const struct seat_claim *claim,
                     uint64_t now_ns)
{
        struct member *member = &self->member[at];

        if (claim->busy_ns > member->busy_ns)
                tell(self, at, SCHED_USED, measured(claim->busy_ns - member->busy_ns), now_ns);
        member->busy_ns = claim->busy_ns;
}

/* Whether the member wants its device, by what it says; and until when that holds. */
static bool is_wanting(const struct members *self, uint16_t at, const struct seat_claim *claim,
                       uint64_t now_ns, uint64_t *ret_until_ns)
{
        const struct member *member = &self->member[at];
        uint8_t mode = self->sched.member[at].mode;
        bool is_open = mode == SCHED_MODE_OPEN || mode == SCHED_MODE_FREE;
        bool is_answered = !is_open && claim->wanted_ns < member->close_ns;
        uint64_t holds_ns = is_open ? IDLE_NS : WANT_NS;

        *ret_until_ns = claim->running_until_ns;
        if (claim->running_until_ns)
                return true;
        *ret_until_ns = claim->wanted_ns + holds_ns;
        if (claim->wanted_ns && !is_answered && now_ns - claim->wanted_ns < holds_ns)
                return true;
        /* Whose gate opened with its gang's wanted nothing, and need not begin. */
        *ret_until_ns = member->open_ns + BEGIN_NS;
        return is_open && self->sched.member[at].is_wanting && !member->is_begun &&
               now_ns < *ret_until_ns;
}

/* WANT or RESTS: whose gate is closed and stays so is told, too. */
static void note(struct members *self, uint16_t at, enum sched_event_type type, uint64_t now_ns)
{
        bool was_closed = self->sched.member[at].mode == SCHED_MODE_CLOSED;

        tell(self, at, type, 0, now_ns);
        if (was_closed && self->sched.member[at].mode == SCHED_MODE_CLOSED)
                tell_closed(self, at, now_ns);
}

/* Until when a member that was seen to use what it did not hold is taken for running after its gate
 * was closed, whatever it says: what it may have in flight takes so long. 0: it is believed. */
static uint64_t doubted_until_ns(const struct members *self, uint16_t at, uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        uint64_t until_ns = (uint64_t)core->close_ns + SCHED_TARGET_LEASED_NS;

        return core->terms.is_clamped && self->member[at].is_doubted && core->is_draining &&
                               now_ns < until_ns
                       ? until_ns
                       : 0;
}

/* What it was let through before its gate closed: done then, it says. */
static void note_rest(struct members *self, uint16_t at, const struct seat_claim *claim,
                      uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];

        if (core->terms.is_clamped || core->empty_ns == (int64_t)claim->running_until_ns)
                return;
        tell(self, at, SCHED_RESIDUAL, (int64_t)(claim->running_until_ns - now_ns), now_ns);
}

static void hear_claim(struct members *self, uint16_t at, const struct seat_claim *claim,
                       uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        struct member *member = &self->member[at];
        uint64_t doubted_ns = doubted_until_ns(self, at, now_ns);
        bool is_running = claim->running_until_ns > 0;
        bool wants;

        note_use(self, at, claim, now_ns);
        if (is_running && !member->is_begun &&
            (core->mode == SCHED_MODE_OPEN || core->mode == SCHED_MODE_FREE)) {
                member->is_begun = true;
                tell(self, at, SCHED_BEGAN, 0, now_ns);
        }
        if (core->is_draining && !is_running && !doubted_ns)
                tell(self, at, SCHED_DRAINED, 0, now_ns);
        if (core->is_draining && is_running && !sched_is_beside(&self->sched, at))
                note_rest(self, at, claim, now_ns);
        wants = is_wanting(self, at, claim, now_ns, &member->look_ns);
        if (wants)
                member->active_ns = now_ns;
        else
                member->look_ns = member->active_ns + IDLE_NS + 1;
        if (wants && !core->is_wanting)
                note(self, at, SCHED_WANT, now_ns);
        else if (core->is_wanting && now_ns - member->active_ns > IDLE_NS)
                note(self, at, SCHED_RESTS, now_ns);
        if (!core->is_wanting)
                member->look_ns = core->mode == SCHED_MODE_OPEN ? now_ns + IDLE_NS : CLOCK_NEVER;
        if (doubted_ns && doubted_ns < member->look_ns)
                member->look_ns = doubted_ns;
}

/* Who drains beside others says what it has left to do as if it were alone: that is its own part of
 * the overlap, and it may be done as much later as it is held up. */
static void hear_beside(struct members *self, uint16_t at, struct seat_claim *claim,
                        uint64_t now_ns)
{
        const struct sched_member *core = &self->sched.member[at];
        struct member *member = &self->member[at];
        uint64_t until_ns = claim->running_until_ns;

        tell(self, at, SCHED_TICK, 0, now_ns); /* so that the overlap is counted until now */
        if (!sched_is_beside(&self->sched, at))
                return;
        if (!member->is_left_told && until_ns > now_ns && until_ns - now_ns < LEFT_MOST_NS) {
                member->is_left_told = true;
                tell(self, at, SCHED_RESIDUAL, (int64_t)page_turn_left_ns(until_ns - now_ns),
                     now_ns);
        }
        /* No longer: the process may have died, or stopped, and others are there until it is
         * passed. */
        claim->running_until_ns +=
                (uint64_t)(core->shared_ns < SCHED_LENDS_NS ? core->shared_ns : SCHED_LENDS_NS);
}

static void hear_turn(struct members *self, uint16_t at, struct seat_claim *claim, uint64_t now_ns)
{
        if (claim->running_until_ns && self->sched.member[at].is_draining)
                hear_beside(self, at, claim, now_ns);
        if (claim->running_until_ns <= now_ns)
                claim->running_until_ns = 0;
}

/* False: its page is gone. */
static bool hear_member(struct members *self, uint16_t at, uint64_t now_ns)
{
        struct member *member = &self->member[at];
        struct seat_claim claim;

        if (!seat_read(member->seated->seat, member->share, now_ns, &claim))
                return false;
        hear_turn(self, at, &claim, now_ns);
        hear_claim(self, at, &claim, now_ns);
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
                add_member(self, seated, i, &claim, now_ns);
                if (seated->member[i] != NO_MEMBER)
                        tell(self, seated->member[i], SCHED_WANT, 0, now_ns);
        }
}

void members_hear(struct members *self, struct seated *seated, uint64_t now_ns)
{
        bool is_there = true;

        pass_time(self, now_ns);
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
                dismiss(self, seated, now_ns);
        }
}

/* -- Who is watched --------------------------------------------------------------------------- */

static bool has_terms(const struct sched_terms *terms)
{
        return terms->cap_ppm < SCHED_WHOLE_PPM || terms->guarantee_ppm > 0 ||
               terms->class != SCHED_CLASS_NORMAL || terms->is_clamped;
}

static bool is_alone(const struct members *self, uint16_t at)
{
        for (uint16_t i = 0; i < SCHED_MEMBERS; i++) {
                if (i != at && self->member[i].seated &&
                    self->sched.member[i].device == self->sched.member[at].device)
                        return false;
        }
        return true;
}

/* Whoever has turns with one that needs them. */
static bool needs_turns(const struct members *self, uint16_t member)
{
        uint16_t at = member;

        do {
                if (has_terms(&self->sched.member[at].terms) || !is_alone(self, at))
                        return true;
                at = self->sched.member[at].mate;
        } while (at != member);
        return false;
}

static bool must_watch(const struct members *self, const struct seated *seated)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER && needs_turns(self, seated->member[i]))
                        return true;
        }
        return false;
}

void members_watch(struct members *self, struct seated *seated, uint64_t now_ns)
{
        if (!seated->is_watched && must_watch(self, seated)) {
                begin_watch(self, seated, now_ns);
        } else if (seated->is_watched && now_ns - seated->beat_ns >= BEAT_NS) {
                seated->beat_ns = now_ns;
                seat_beat(seated->seat, now_ns);
        }
}

/* -- Time and places -------------------------------------------------------------------------- */

void members_tick(struct members *self, uint64_t now_ns)
{
        const struct sched_event tick = { .type = SCHED_TICK };

        step(self, &tick, now_ns);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy)
{
        int64_t next_ns = sched_next_ns(&self->sched);
        uint64_t due_ns = next_ns == SCHED_NEVER ? CLOCK_NEVER : (uint64_t)next_ns;

        *ret_is_busy = false;
        for (unsigned i = 0; i < self->places; i++) {
                if (!self->seated[i].seat || !self->seated[i].is_watched)
                        continue;
                *ret_is_busy = true;
                due_ns = sooner(due_ns, self->seated[i].beat_ns + BEAT_NS);
        }
        for (unsigned i = 0; *ret_is_busy && i < SCHED_MEMBERS; i++) {
                if (self->member[i].seated && self->member[i].seated->is_watched)
                        due_ns = sooner(due_ns, self->member[i].look_ns);
        }
        return due_ns > now_ns ? due_ns : now_ns + 1;
}

struct seated *members_find(struct members *self, const uint8_t id[16])
{
        for (unsigned i = 0; i < self->places; i++) {
                if (memcmp(self->id[i], id, sizeof(self->id[i])) == 0 && self->seated[i].seat)
                        return &self->seated[i];
        }
        return NULL;
}

static struct seated *free_place(struct members *self)
{
        unsigned at = 0;

        while (at < self->places && self->seated[at].seat)
                at++;
        if (at == self->places)
                self->places++;
        return &self->seated[at];
}

static void tell_terms(struct members *self, struct seated *seated, unsigned share, uint64_t now_ns)
{
        const struct sched_event event = { .type = SCHED_CHANGE,
                                           .member = seated->member[share],
                                           .terms = terms_of(seated, share) };

        if (event.member != NO_MEMBER && !step(self, &event, now_ns))
                log_line(LOG_WARN, "session %s keeps its turns: its %s makes no sense",
                         seated->seat->limits->name, self->actions.refused);
}

void members_change(struct members *self, struct seated *seated, const struct seat_share *share,
                    const char *gang, uint64_t now_ns)
{
        struct seat *seat = seated->seat;

        memcpy(seat->share, share, seat->share_count * sizeof(*share));
        if (strcmp(seat->gang, gang) != 0) {
                memcpy(seat->gang, gang, strlen(gang) + 1);
                seated->gang = gangs_number(self, seat);
        }
        for (unsigned i = 0; i < seated->seat->share_count; i++)
                tell_terms(self, seated, i, now_ns);
}

void members_clamp(struct members *self, struct seated *seated, unsigned share, bool is_clamped,
                   uint64_t now_ns)
{
        seated->is_clamped[share] = is_clamped;
        if (seated->member[share] != NO_MEMBER)
                self->member[seated->member[share]].is_doubted = false;
        tell_terms(self, seated, share, now_ns);
}

void members_found(struct members *self, const struct seated *seated, unsigned share, uint64_t ns,
                   uint64_t beyond_ns, uint64_t now_ns)
{
        const struct sched_event event = { .type = SCHED_FOUND,
                                           .member = seated->member[share],
                                           .ns = measured(ns),
                                           .beyond_ns = measured(beyond_ns) };

        if (event.member == NO_MEMBER)
                return;
        self->member[event.member].is_doubted |= beyond_ns > 0;
        step(self, &event, now_ns);
}

void members_seat(struct members *self, struct seat *take_seat)
{
        struct seated *seated = free_place(self);

        *seated = (struct seated){ .seat = take_seat, .gang = gangs_number(self, take_seat) };
        memcpy(self->id[seated - self->seated], take_seat->id, sizeof(take_seat->id));
        for (unsigned i = 0; i < SESSIONS_GPUS; i++)
                seated->member[i] = NO_MEMBER;
        for (unsigned i = 0; i < take_seat->share_count; i++)
                seat_count(take_seat, i, seated->counted[i]);
}
