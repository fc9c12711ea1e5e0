/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "daemon/schedule/guard.h"
#include "daemon/schedule/members.h"
#include "daemon/schedule/wait.h"

/* Where bells cannot be waited for: how often they are looked at, with and without somebody who is
 * watched. */
#define LOOK_NS UINT64_C(250000)
#define REST_NS UINT64_C(10000000)

/* What a hand-over costs the device beyond what sessions tell of it: the last kernel's end is seen
 * late, and the first one of the next session is on its way. On an H200 there was no kernel for 275
 * to 330 us by the kernels' own time stamps, of which 30 to 70 were told (2026-11-26). */
#define UNSEEN_NS 100000

struct scheduler {
        const struct store *store;
        pthread_t thread;
        bool has_thread;
        _Atomic uint32_t bell;
        pthread_mutex_t lock; /* of the rest */
        bool is_ending;
        struct members members;
};

/* -- The thread ------------------------------------------------------------------------------- */

/* Who launches is listened to before who does not yet. What each bell held was read before what it
 * is about. */
static void add_bells(const struct members *members, bool are_members, struct bells *bells)
{
        for (unsigned i = 0; i < members->entries; i++) {
                const struct seated *seated = &members->seated[i];

                if (!seated->seat || members_has(seated) != are_members)
                        continue;
                if (members_may_ring(members, seated))
                        bells_add(bells, shared_half(seat_bell(seated->seat)), seated->bell);
                else
                        bells_pass(bells);
        }
}

/* Each at its own time: what is heard of one may let another in. */
static void hear_all(struct members *members)
{
        for (unsigned i = 0; i < members->entries; i++) {
                if (members->seated[i].seat)
                        members_hear(members, &members->seated[i], clock_now_ns());
        }
}

/* Whose wake-ups are late goes to sleep for less. */
static uint64_t sleep_until_ns(const struct members *members, uint64_t due_ns, uint64_t now_ns)
{
        uint64_t late_ns = members_late_ns(members);

        return due_ns > now_ns + late_ns ? due_ns - late_ns : due_ns;
}

/* Whose gate was closed is heard once more: it may have had nothing in flight. */
static uint64_t work(struct scheduler *self, struct bells *bells, bool *ret_is_busy)
{
        struct members *members = &self->members;
        unsigned is_again = 0;
        uint64_t now_ns = 0;

        bells_begin(bells, &self->bell);
        do {
                members->has_closed = false;
                hear_all(members);
                now_ns = clock_now_ns();
                members_tick(members, now_ns);
        } while (members->has_closed && !is_again++);
        for (unsigned i = 0; i < members->entries; i++) {
                if (members->seated[i].seat)
                        members_watch(members, &members->seated[i], now_ns);
        }
        add_bells(members, true, bells);
        add_bells(members, false, bells);
        return sleep_until_ns(members, members_due_ns(members, now_ns, ret_is_busy), now_ns);
}

static void note_late(struct members *members, uint64_t until_ns)
{
        uint64_t now_ns = clock_now_ns();

        if (now_ns >= until_ns)
                members_note_late(members, now_ns - until_ns);
}

static void *run(void *argument)
{
        struct scheduler *self = argument;
        struct bells bells;
        uint64_t due_ns;
        bool is_busy, is_rung;

        prctl(PR_SET_TIMERSLACK, 1UL);
        clock_join(TIME_BACKGROUND);
        pthread_mutex_lock(&self->lock);
        while (!self->is_ending) {
                due_ns = work(self, &bells, &is_busy);
                pthread_mutex_unlock(&self->lock);
                is_rung = bells_wait(&bells, due_ns, is_busy ? LOOK_NS : REST_NS);
                pthread_mutex_lock(&self->lock);
                if (!is_rung)
                        note_late(&self->members, due_ns);
        }
        pthread_mutex_unlock(&self->lock);
        clock_leave();
        return NULL;
}

static int start_thread(struct scheduler *self, struct error *err)
{
        sigset_t all, before;
        int rc;

        sigfillset(&all);
        sigdelset(&all, SIGBUS); /* guard.h */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = pthread_create(&self->thread, NULL, run, self);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc != 0) {
                errno = rc;
                return fail(err, -rc, "the scheduler's thread: %m");
        }
        pthread_setname_np(self->thread, "aliquot-sched");
        return 0;
}

int scheduler_start(struct scheduler **ret, const struct store *store, bool has_leases,
                    struct error *err)
{
        struct scheduler *self = calloc(1, sizeof(*self));
        int rc;

        if (!self)
                return fail(err, -ENOMEM, "out of memory");
        self->store = store;
        pthread_mutex_init(&self->lock, NULL);
        sched_init(&self->members.sched);
        self->members.sched.unseen_ns = UNSEEN_NS;
        rc = guard_start(err);
        self->has_thread = has_leases;
        if (rc == 0 && has_leases)
                rc = start_thread(self, err);
        if (rc < 0) {
                pthread_mutex_destroy(&self->lock);
                free(self);
                return rc;
        }
        *ret = self;
        return 0;
}

void scheduler_stop(struct scheduler *self)
{
        if (!self)
                return;
        pthread_mutex_lock(&self->lock);
        self->is_ending = true;
        pthread_mutex_unlock(&self->lock);
        bells_ring(&self->bell);
        if (self->has_thread)
                pthread_join(self->thread, NULL);
        for (unsigned i = 0; i < self->members.entries; i++) {
                if (self->members.seated[i].seat)
                        members_unseat(&self->members, &self->members.seated[i], clock_now_ns());
        }
        pthread_mutex_destroy(&self->lock);
        free(self);
}

/* -- What the loop says ----------------------------------------------------------------------- */

/* False: it is not seated yet. */
static bool change(struct scheduler *self, const struct sessions_one *session)
{
        struct seat_share share[SESSIONS_GPUS];
        struct seated *seated;

        seat_terms(session, share);
        pthread_mutex_lock(&self->lock);
        seated = members_find(&self->members, session->id);
        if (seated)
                members_change(&self->members, seated, share, session->gang, clock_now_ns());
        pthread_mutex_unlock(&self->lock);
        return seated != NULL;
}

/* Its pages are mapped once, whatever is changed later. */
int scheduler_put(struct scheduler *self, const struct sessions_one *session, struct error *err)
{
        struct seat *seat;
        int rc;

        if (!change(self, session)) {
                rc = seat_open(self->store, session, &seat, err);
                if (rc < 0)
                        return rc;
                pthread_mutex_lock(&self->lock);
                members_seat(&self->members, seat);
                pthread_mutex_unlock(&self->lock);
        }
        bells_ring(&self->bell);
        return 0;
}

void scheduler_drop(struct scheduler *self, const uint8_t id[16])
{
        struct seated *seated;

        pthread_mutex_lock(&self->lock);
        seated = members_find(&self->members, id);
        if (seated)
                members_unseat(&self->members, seated, clock_now_ns());
        pthread_mutex_unlock(&self->lock);
        bells_ring(&self->bell);
}

void scheduler_totals(struct scheduler *self, uint64_t *ret)
{
        pthread_mutex_lock(&self->lock);
        members_count(&self->members);
        memcpy(ret, self->members.totals, sizeof(self->members.totals));
        pthread_mutex_unlock(&self->lock);
}

static void view(const struct members *members, const struct seated *seated, uint16_t at,
                 struct scheduler_view *ret)
{
        const struct sched_member *core = &members->sched.member[at];

        *ret = (struct scheduler_view){
                .is_watched = seated->is_watched,
                .held_ns = (uint64_t)core->held_ns,
                .billed_ns = (uint64_t)core->billed_ns,
                .waited_ns = (uint64_t)core->wait_ns,
                .throttled_ns = (uint64_t)core->throttled_ns,
                .overrun_ns = (uint64_t)core->overrun_ns,
                .leases = core->leases,
                .bucket_ns = sched_bucket_ns(&members->sched, at),
        };
}

bool scheduler_read(struct scheduler *self, const uint8_t id[16], unsigned share,
                    struct scheduler_view *ret)
{
        struct seated *seated;
        uint16_t at = NO_MEMBER;

        pthread_mutex_lock(&self->lock);
        seated = members_find(&self->members, id);
        if (seated && share < seated->seat->share_count)
                at = seated->member[share];
        if (at != NO_MEMBER)
                view(&self->members, seated, at, ret);
        pthread_mutex_unlock(&self->lock);
        return at != NO_MEMBER;
}

bool scheduler_times(struct scheduler *self, const uint8_t uuid[16], struct sched_times *ret)
{
        const struct members *members = &self->members;
        unsigned at = 0;

        pthread_mutex_lock(&self->lock);
        while (at < members->device_count && memcmp(members->device[at], uuid, 16) != 0)
                at++;
        if (at < members->device_count)
                *ret = members->sched.device[at].times;
        pthread_mutex_unlock(&self->lock);
        return at < members->device_count;
}

static uint64_t debt(int64_t bucket_ns)
{
        return bucket_ns < 0 ? -(uint64_t)bucket_ns : 0;
}

bool scheduler_claim(struct scheduler *self, const uint8_t id[16], unsigned share,
                     struct scheduler_claim *ret)
{
        const struct seated *seated;
        struct seat_claim claim;
        bool is_there;

        pthread_mutex_lock(&self->lock);
        seated = members_find(&self->members, id);
        is_there = seated && share < seated->seat->share_count &&
                   seat_read(seated->seat, share, clock_now_ns(), &claim);
        if (is_there) {
                uint16_t at = seated->member[share];

                *ret = (struct scheduler_claim){ .is_watched = seated->is_watched,
                                                 .is_in_flight = claim.is_in_flight,
                                                 .busy_ns = claim.busy_ns,
                                                 .owed_ns = debt(claim.bucket_ns),
                                                 .is_free = true };
                if (at != NO_MEMBER) {
                        const struct sched_member *core = &self->members.sched.member[at];

                        ret->held_ns = (uint64_t)core->held_ns;
                        ret->is_free = !seated->is_watched || core->mode == SCHED_MODE_FREE;
                        ret->leases = core->leases;
                }
        }
        pthread_mutex_unlock(&self->lock);
        return is_there;
}
