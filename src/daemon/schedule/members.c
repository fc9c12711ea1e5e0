/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/members.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "daemon/base/accounts.h"

/* How often the time stamp of the scheduler is renewed in a page, and how much earlier that may
 * happen if the thread is awake anyway. */
#define BEAT_NS UINT64_C(100000000)
#define BEAT_EARLY_NS UINT64_C(25000000)
/* A process that notices the end of its lease reports within this time. */
#define SAYS_NS INT64_C(500000)
/* A wake-up that is late by less than LATE_MIN_NS is normal. A longer delay counts, up to
 * LATE_MAX_NS. */
#define LATE_MIN_NS UINT64_C(75000)
#define LATE_MAX_NS UINT64_C(5000000)
/* Maximum increase of late_ns by one late wake-up, so that a single one does not count in full. */
#define LATE_STEP_NS UINT64_C(50000)

/* Returns the core's number of a GPU, which it gets when it is first seen. -ENOSPC: there were too
 * many GPUs. */
static int device_of(struct members *self, const uint8_t uuid[16])
{
        unsigned at = 0;

        while (at < self->device_count && memcmp(self->device[at], uuid, 16) != 0)
                at++;
        if (at == SCHED_DEVICES)
                return -ENOSPC;
        if (at == self->device_count)
                memcpy(self->device[self->device_count++], uuid, 16);
        return (int)at;
}

static struct sched_terms terms_of(const struct seated *seated, unsigned share)
{
        struct sched_terms terms = seated->seat->share[share].terms;

        terms.gang = seated->gang;
        return terms;
}

void members_add(struct members *self, struct seated *seated, unsigned share,
                 const struct seat_claim *claim, uint64_t now_ns)
{
        int device = device_of(self, seated->seat->share[share].uuid);
        uint32_t at = (uint32_t)(seated - self->seated) * SESSIONS_GPUS + share;
        struct sched_event event = { .type = SCHED_ADD,
                                     .member = at,
                                     .terms = terms_of(seated, share) };

        if (device < 0) {
                log_line(LOG_WARN, "session %s gets no turns: there were more than %u GPUs",
                         seated->seat->limits->name, SCHED_DEVICES);
                return;
        }
        event.device = (uint8_t)device;
        self->member[at] = (struct member){ .seated = seated,
                                            .share = share,
                                            .busy_ns = claim->busy_ns,
                                            .active_ns = now_ns,
                                            .look_ns = CLOCK_NEVER };
        seated->member[share] = at;
        seat_tell(seated->seat, share, PAGE_MODE_CLOSED, 0, 0);
        if (members_step(self, &event, now_ns))
                return;
        log_line(LOG_WARN,
                 "session %s gets no turns: its %s is not valid on this GPU (the guarantees of "
                 "all sessions may add up to at most 100 %%); change it with: aliquot set %s",
                 seated->seat->limits->name, self->actions.refused, seated->seat->limits->name);
        self->member[at].seated = NULL;
        seated->member[share] = NO_MEMBER;
}

static void remove_member(struct members *self, struct seated *seated, unsigned share,
                          uint64_t now_ns)
{
        uint32_t at = seated->member[share];

        if (at == NO_MEMBER)
                return;
        members_tell(self, at, SCHED_REMOVE, 0, now_ns);
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

void members_dismiss(struct members *self, struct seated *seated, uint64_t now_ns)
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

/* Adds what the seat's counters rose by to the totals. If a counter decreased, it is invalid, and
 * counting continues from its new value. */
void members_count_seat(struct members *self, struct seat *seat)
{
        uint64_t now[SEAT_COUNTERS];

        for (unsigned i = 0; i < seat->share_count; i++) {
                seat_count(seat, i, now);
                for (unsigned j = 0; j < SEAT_COUNTERS; j++) {
                        if (now[j] > seat->counted[i][j])
                                self->totals[j] += now[j] - seat->counted[i][j];
                        seat->counted[i][j] = now[j];
                }
        }
}

void members_count(struct members *self)
{
        for (unsigned i = 0; i < self->entries; i++) {
                if (self->seated[i].seat)
                        members_count_seat(self, self->seated[i].seat);
        }
}

void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns)
{
        members_dismiss(self, seated, now_ns);
        owners_leave(&self->owners, seated->owner);
        seated->seat->next_leaving = self->leaving;
        self->leaving = seated->seat;
        seated->seat = NULL;
}

void members_distrust(struct members *self, struct seated *seated)
{
        char name[ACCOUNTS_NAME_BYTES];

        if (owners_distrust(&self->owners, seated->owner))
                log_line(LOG_WARN,
                         "%s changes the slots of session %s under the daemon; the bells of all "
                         "its sessions are polled from now on",
                         accounts_name(seated->seat->payer, name), seated->seat->limits->name);
}

/* -- Which sessions are watched --------------------------------------------------------------- */

static bool has_terms(const struct sched_terms *terms)
{
        return terms->cap_ppm < SCHED_WHOLE_PPM || terms->guarantee_ppm > 0 ||
               terms->class != SCHED_CLASS_NORMAL;
}

static bool is_alone(const struct members *self, uint32_t at)
{
        const struct sched_member *core = &self->sched.member[at];

        return self->sched.device[core->device].first == at && core->next == NO_MEMBER;
}

/* Whether the member, or another member of its gang, needs turns: it has terms, or is not alone on
 * its device. */
static bool needs_turns(const struct members *self, uint32_t member)
{
        uint32_t at = member;

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

bool members_listens(const struct members *self, const struct seated *seated, uint64_t now_ns)
{
        return seated->seat && !seated->is_spoilt &&
               owners_may(&self->owners, seated->owner, now_ns);
}

bool members_is_first(const struct members *self, const struct seated *seated)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                const struct sched_terms *terms = &seated->seat->share[i].terms;

                if (seated->member[i] != NO_MEMBER &&
                    (terms->class == SCHED_CLASS_RT || terms->guarantee_ppm > 0))
                        return true;
        }
        return false;
}

bool members_may_ring(const struct members *self, const struct seated *seated, uint64_t now_ns)
{
        if (seated->is_spoilt || self->owners.owner[seated->owner].is_distrusted ||
            !owners_may(&self->owners, seated->owner, now_ns))
                return false;
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                const struct sched_member *core;

                if (seated->member[i] == NO_MEMBER)
                        return true;
                core = &self->sched.member[seated->member[i]];
                if (core->mode != SCHED_MODE_CLOSED || !core->is_wanting || core->is_draining)
                        return true;
        }
        return false;
}

void members_watch(struct members *self, struct seated *seated, uint64_t now_ns)
{
        if (!seated->is_watched && must_watch(self, seated)) {
                members_begin_watch(self, seated, now_ns);
        } else if (seated->is_watched && now_ns - seated->beat_ns >= BEAT_NS - BEAT_EARLY_NS) {
                seated->beat_ns = now_ns;
                seat_beat(seated->seat, now_ns);
        }
}

/* -- Time ------------------------------------------------------------------------------------- */

void members_note_late(struct members *self, uint64_t late_ns)
{
        uint64_t max_ns = min_u64(late_ns, LATE_MAX_NS);

        if (max_ns < self->late_ns)
                self->late_ns = max_ns;
        else
                self->late_ns += min_u64((max_ns - self->late_ns) / 8, LATE_STEP_NS);
        self->sched.coarse_ns = (int64_t)members_late_ns(self) / 2;
}

uint64_t members_late_ns(const struct members *self)
{
        return self->late_ns < LATE_MIN_NS ? 0 : self->late_ns;
}

/* Returns when the device's next step is due. A member usually notices the end of its lease and
 * reports, so that the thread need not wake up exactly then. The thread does not rely on that for a
 * member of class rt or of a gang, where members may wait for each other. */
static uint64_t device_due_ns(const struct members *self, unsigned device)
{
        int64_t due_ns = self->sched.device[device].due_ns;
        uint32_t at = self->sched.device[device].first;

        if (due_ns == SCHED_NEVER)
                return CLOCK_NEVER;
        while (at != NO_MEMBER && self->sched.member[at].mode != SCHED_MODE_OPEN)
                at = self->sched.member[at].next;
        if (at != NO_MEMBER && self->sched.member[at].end_ns == due_ns &&
            self->sched.member[at].terms.class != SCHED_CLASS_RT &&
            self->sched.member[at].terms.gang == 0 &&
            self->sched.member[at].told_target_ns == SCHED_TARGET_LEASED_NS &&
            members_late_ns(self) == 0)
                due_ns += SAYS_NS;
        return (uint64_t)due_ns;
}

/* Returns when a watched session must get a new time stamp, be read, or be given up. */
static uint64_t seated_due_ns(const struct members *self, const struct seated *seated,
                              uint64_t now_ns)
{
        uint64_t due_ns = seated->beat_ns + BEAT_NS;
        bool is_heard = members_listens(self, seated, now_ns);

        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                uint32_t at = seated->member[i];

                if (at == NO_MEMBER)
                        continue;
                if (members_gives_up(self, at, now_ns))
                        return now_ns + 1;
                if (is_heard)
                        due_ns = min_u64(due_ns, self->member[at].look_ns);
        }
        return due_ns;
}

uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy)
{
        uint64_t due_ns = CLOCK_NEVER;

        *ret_is_busy = false;
        for (unsigned d = 0; d < self->device_count; d++)
                due_ns = min_u64(due_ns, device_due_ns(self, d));
        for (unsigned i = 0; i < self->entries; i++) {
                if (!self->seated[i].seat || !self->seated[i].is_watched)
                        continue;
                *ret_is_busy = true;
                due_ns = min_u64(due_ns, seated_due_ns(self, &self->seated[i], now_ns));
        }
        return due_ns > now_ns ? due_ns : now_ns + 1;
}

/* -- Adding and finding sessions -------------------------------------------------------------- */

struct seated *members_find(struct members *self, const uint8_t id[16])
{
        for (unsigned i = 0; i < self->entries; i++) {
                if (memcmp(self->id[i], id, sizeof(self->id[i])) == 0 && self->seated[i].seat)
                        return &self->seated[i];
        }
        return NULL;
}

static struct seated *free_place(struct members *self)
{
        unsigned at = 0;

        while (at < self->entries && self->seated[at].seat)
                at++;
        if (at == self->entries)
                self->entries++;
        return &self->seated[at];
}

static void tell_terms(struct members *self, struct seated *seated, unsigned share, uint64_t now_ns)
{
        const struct sched_event event = { .type = SCHED_CHANGE,
                                           .member = seated->member[share],
                                           .terms = terms_of(seated, share) };

        if (event.member != NO_MEMBER && !members_step(self, &event, now_ns))
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

void members_seat(struct members *self, struct seat *take_seat)
{
        struct seated *seated = free_place(self);

        *seated = (struct seated){
                .seat = take_seat,
                .owner = owners_join(&self->owners, take_seat->payer, clock_now_ns()),
                .gang = gangs_number(self, take_seat),
        };
        memcpy(self->id[seated - self->seated], take_seat->id, sizeof(take_seat->id));
        for (unsigned i = 0; i < SESSIONS_GPUS; i++)
                seated->member[i] = NO_MEMBER;
        for (unsigned i = 0; i < take_seat->share_count; i++)
                seat_count(take_seat, i, take_seat->counted[i]);
}
