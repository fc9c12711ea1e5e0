/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "daemon/base/thread.h"
#include "daemon/schedule/members.h"
#include "daemon/schedule/wait.h"

/* How often bells are polled where they cannot be waited for, with and without a watched
 * session. */
#define LOOK_NS UINT64_C(250000)
#define REST_NS UINT64_C(10000000)

/* Cost of a hand-over to the device beyond what sessions report: the end of the last kernel is seen
 * late, and the next session's first kernel is under way. On an H200 there was no kernel for 270 to
 * 330 us by the kernels' own time stamps; 30 to 70 of these were reported, and 137 are the card's
 * own change between processes (2026-11-27). */
#define UNSEEN_NS 100000

/* A pass hears each kind of session for this long; the next pass continues with the others. */
#define HEAR_NS UINT64_C(200000)
/* Number of an owner's bells that are waited for before those of others. */
#define OWNER_BELLS 16
/* Reading a session's page takes less than a microsecond. A longer reading waited, and its owner
 * pays for it; at most this much, because the daemon itself may have been stopped meanwhile. */
#define READ_MAX_NS UINT64_C(1000000)
#define READ_CHARGED_NS UINT64_C(200000000)
/* A wait that ends this late waited for a page, if some page was changed meanwhile. */
#define LATE_PAGE_NS UINT64_C(50000000)
/* Values older than this are read again for the loop, which waits this long at most. */
#define STALE_NS UINT64_C(200000000)
#define ANSWER_NS UINT64_C(20000000)

/* Sessions by how they are heard. */
enum kind {
        KIND_FIRST,  /* members that are heard first, in each pass */
        KIND_OTHERS, /* all other members, in each pass */
        KIND_IDLE,   /* sessions that have not launched: when they rang, or may have */
        KINDS,
};

/* The thread's own state from one pass to the next. */
struct pass {
        struct bells bells;
        unsigned next[KINDS];  /* where to continue; 0: at the beginning */
        bool is_cut;           /* some sessions are still to be heard */
        bool is_all;           /* the idle ones are heard too */
        bool is_rung;          /* some of them rang (struct seated) */
        bool is_unsure;        /* some bell was raised, and it is not known which */
        bool is_partial;       /* some idle ones are not waited for, ... */
        uint64_t rest_ns;      /* ... so they are heard again then */
        uint64_t question;     /* the loop's question, answered when all were heard */
        uint64_t paid_ns;      /* thread's processor time already charged */
        struct timespec begun; /* CLOCK_REALTIME_COARSE */
};

struct scheduler {
        const struct store *store;
        pthread_t thread;
        bool has_leases; /* false: sessions are only counted */
        _Atomic uint32_t bell;
        pthread_mutex_t turnstile; /* held while waiting for `lock`, so that no thread overtakes */
        pthread_mutex_t lock;      /* guards the rest */
        pthread_cond_t has_answered;
        bool is_ending;
        unsigned seats;  /* number of seats; used by the loop only */
        bool is_stalled; /* the thread did not answer in time; cleared when it does */
        uint64_t questions,
                answered; /* number of the loop's questions, and of the last one answered */
        struct members members;
};

/* -- The lock --------------------------------------------------------------------------------- */

/* With a mutex alone, the thread that just left it could get it again and again. */
static void lock_scheduler(struct scheduler *self)
{
        pthread_mutex_lock(&self->turnstile);
        pthread_mutex_lock(&self->lock);
        pthread_mutex_unlock(&self->turnstile);
}

static void unlock_scheduler(struct scheduler *self)
{
        pthread_mutex_unlock(&self->lock);
}

/* -- The thread ------------------------------------------------------------------------------- */

static enum kind kind_of(const struct members *members, const struct seated *seated)
{
        if (!members_has(seated))
                return KIND_IDLE;
        return members_is_first(members, seated) ? KIND_FIRST : KIND_OTHERS;
}

/* Reads the session's page without the lock, and hears it. */
static uint64_t hear_session(struct scheduler *self, unsigned at)
{
        struct seated *seated = &self->members.seated[at];
        struct seat *seat = seated->seat; /* only this thread closes it */
        uint64_t begun_ns = clock_now_ns(), now_ns;
        struct seat_head head;

        unlock_scheduler(self);
        seat_look(seat, &head);
        lock_scheduler(self);
        now_ns = clock_now_ns();
        if (seated->seat != seat)
                return now_ns;
        if (self->has_leases)
                members_hear(&self->members, seated, &head, now_ns);
        else
                seat_take(seat, &head, now_ns);
        if (clock_is_machine() && now_ns > begun_ns + READ_MAX_NS)
                owners_charge(&self->members.owners, seated->owner,
                              min_u64(now_ns - begun_ns, READ_CHARGED_NS), now_ns);
        return now_ns;
}

/* Hears a kind, each session at its own time, because one report may open another's gate. False:
 * there was no time for all of the kind. */
static bool hear_kind(struct scheduler *self, struct pass *pass, enum kind kind)
{
        struct members *members = &self->members;
        uint64_t now_ns = clock_now_ns(), until_ns = now_ns + HEAR_NS;

        for (unsigned i = pass->next[kind]; i < members->entries; i++) {
                if (!members_listens(members, &members->seated[i], now_ns) ||
                    kind_of(members, &members->seated[i]) != kind ||
                    (kind == KIND_IDLE && !pass->is_all && !members->seated[i].is_rung))
                        continue;
                if (now_ns >= until_ns) {
                        pass->next[kind] = i;
                        pass->is_cut = true;
                        return false;
                }
                members->seated[i].is_rung = false;
                now_ns = hear_session(self, i);
        }
        pass->next[kind] = 0;
        return true;
}

static void answer_question(struct scheduler *self, struct pass *pass)
{
        pass->is_all = false;
        self->answered = pass->question;
        self->is_stalled = false;
        pthread_cond_broadcast(&self->has_answered);
}

static void hear_all(struct scheduler *self, struct pass *pass)
{
        if (!pass->is_all && (self->questions != self->answered ||
                              (pass->is_partial && clock_now_ns() >= pass->rest_ns))) {
                pass->is_all = true;
                pass->question = self->questions;
                pass->rest_ns = clock_now_ns() + BELLS_REST_NS;
        }
        pass->is_cut = false;
        hear_kind(self, pass, KIND_FIRST);
        hear_kind(self, pass, KIND_OTHERS);
        if ((pass->is_all || pass->is_rung) && hear_kind(self, pass, KIND_IDLE)) {
                pass->is_rung = false;
                if (pass->is_all)
                        answer_question(self, pass);
        }
}

/* Closes the seats of sessions that left since the last pass. */
static void close_leaving(struct scheduler *self)
{
        struct seat *seat = self->members.leaving;
        struct seat_head head;

        self->members.leaving = NULL;
        while (seat) {
                struct seat *next = seat->next_leaving;

                unlock_scheduler(self);
                seat_look(seat, &head);
                lock_scheduler(self);
                seat_take(seat, &head, clock_now_ns());
                members_count_seat(&self->members, seat);
                unlock_scheduler(self);
                seat_close(seat);
                lock_scheduler(self);
                seat = next;
        }
}

/* Adds the bells of a kind, up to `most` of each owner, counting those added before. */
static void add_kind(struct members *members, enum kind kind, uint32_t most, struct bells *bells,
                     uint64_t now_ns)
{
        for (unsigned i = 0; i < members->entries && bells->count < BELLS_MAX; i++) {
                struct seated *seated = &members->seated[i];
                struct owner *owner = &members->owners.owner[seated->owner];

                if (!seated->seat || seated->is_waited || owner->bells >= most ||
                    kind_of(members, seated) != kind || !members_may_ring(members, seated, now_ns))
                        continue;
                bells_add(bells, shared_half(seat_bell(seated->seat)), seated->bell, i);
                seated->is_waited = true;
                owner->bells++;
        }
}

/* Adds the bells of sessions that launch before those of sessions that have not yet. If not all
 * fit, each user gets OWNER_BELLS before any user gets more. The value of each bell was read before
 * the data that it announces. */
static void add_bells(struct members *members, struct pass *pass, uint64_t now_ns)
{
        struct bells *bells = &pass->bells;

        for (unsigned i = 0; i < members->owners.entries; i++)
                members->owners.owner[i].bells = 0;
        for (unsigned i = 0; i < members->entries; i++)
                members->seated[i].is_waited = false;
        for (unsigned kind = 0; kind < KINDS; kind++) {
                if (members->entries >= BELLS_MAX)
                        add_kind(members, kind, OWNER_BELLS, bells, now_ns);
                add_kind(members, kind, UINT32_MAX, bells, now_ns);
        }
        for (unsigned i = 0; i < members->entries; i++) {
                const struct seated *seated = &members->seated[i];

                if (!seated->seat || seated->is_waited || seated->is_spoilt)
                        continue;
                bells_pass(bells);
                pass->is_partial = pass->is_partial || !members_has(seated);
        }
}

/* A thread that wakes up late asks to wake up earlier. */
static uint64_t sleep_until_ns(const struct members *members, uint64_t due_ns, uint64_t now_ns)
{
        uint64_t late_ns = members_late_ns(members);

        return due_ns > now_ns + late_ns ? due_ns - late_ns : due_ns;
}

/* Virtual time does not pass while the thread works. */
static void pay(struct members *members, struct pass *pass, uint64_t now_ns)
{
        uint64_t used_ns;

        if (!clock_is_machine())
                return;
        used_ns = clock_thread_ns();
        owners_pay(&members->owners, used_ns - pass->paid_ns, now_ns);
        pass->paid_ns = used_ns;
}

/* A session whose gate was closed is heard once more: it may have had nothing in flight. */
static uint64_t work(struct scheduler *self, struct pass *pass, bool *ret_is_busy)
{
        struct members *members = &self->members;
        unsigned is_again = 0;
        uint64_t now_ns = 0;

        clock_gettime(CLOCK_REALTIME_COARSE, &pass->begun);
        close_leaving(self);
        do {
                members->has_closed = false;
                hear_all(self, pass);
                now_ns = clock_now_ns();
                if (!self->has_leases)
                        continue;
                members_give_up(members, now_ns);
                members_tick(members, now_ns);
        } while (members->has_closed && !pass->is_cut && !is_again++);
        for (unsigned i = 0; i < members->entries; i++) {
                if (members->seated[i].seat)
                        members_watch(members, &members->seated[i], now_ns);
        }
        pay(members, pass, now_ns);
        pass->is_partial = pass->bells.is_alone;
        if (self->has_leases) {
                add_bells(members, pass, now_ns);
        }
        return sleep_until_ns(members, members_due_ns(members, now_ns, ret_is_busy), now_ns);
}

static bool is_waited_for(const struct members *members, const struct pass *pass, unsigned i)
{
        const struct seated *seated = &members->seated[pass->bells.entry[i]];

        return seated->seat && shared_half(seat_bell(seated->seat)) == pass->bells.word[i];
}

/* The kernel read the page of each bell, and waited for a page that was being changed: finds whose
 * it was. */
static void blame(struct members *members, const struct pass *pass)
{
        for (unsigned i = 1; i < pass->bells.count; i++) {
                struct seated *seated = &members->seated[pass->bells.entry[i]];

                if (is_waited_for(members, pass, i) && seat_has_changed(seated->seat, pass->begun))
                        members_distrust(members, seated);
        }
}

/* Notes which session rang, or may have. Mostly it was a member, and all members are heard; if it
 * was not, the next wait ends at once. */
static void note_rung(struct members *members, struct pass *pass, int end)
{
        bool is_any = end == BELLS_GONE || (end == BELLS_SOME && pass->is_unsure);

        for (unsigned i = 1; i < pass->bells.count; i++) {
                if ((is_any || end == (int)i) && is_waited_for(members, pass, i)) {
                        members->seated[pass->bells.entry[i]].is_rung = true;
                        pass->is_rung = true;
                }
        }
        pass->is_unsure = end == BELLS_SOME && !is_any;
}

static void note_end(struct members *members, struct pass *pass, int end, uint64_t until_ns)
{
        uint64_t now_ns = clock_now_ns();

        note_rung(members, pass, end);
        if (end == BELLS_GONE ||
            (clock_is_machine() && until_ns != CLOCK_NEVER && now_ns > until_ns + LATE_PAGE_NS))
                blame(members, pass);
        else if (end == BELLS_QUIET && now_ns >= until_ns)
                members_note_late(members, now_ns - until_ns);
}

static void *run_scheduler(void *argument)
{
        struct scheduler *self = argument;
        struct pass pass = { 0 };
        uint64_t due_ns;
        bool is_busy;
        int end;

        prctl(PR_SET_TIMERSLACK, 1UL);
        clock_join(TIME_BACKGROUND);
        lock_scheduler(self);
        while (!self->is_ending) {
                bells_begin(&pass.bells, &self->bell);
                due_ns = work(self, &pass, &is_busy);
                unlock_scheduler(self);
                end = pass.is_cut ? 0
                                  : bells_wait(&pass.bells, due_ns, is_busy ? LOOK_NS : REST_NS);
                lock_scheduler(self);
                note_end(&self->members, &pass, end, due_ns);
        }
        unlock_scheduler(self);
        clock_leave();
        return NULL;
}

static int start_thread(struct scheduler *self, struct error *err)
{
        int rc = thread_start(&self->thread, "aliquot-sched", run_scheduler, self);

        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "the scheduler's thread: %m");
        }
        return 0;
}

static void end_locks(struct scheduler *self)
{
        pthread_cond_destroy(&self->has_answered);
        pthread_mutex_destroy(&self->lock);
        pthread_mutex_destroy(&self->turnstile);
}

int scheduler_start(struct scheduler **ret, const struct store *store, bool has_leases,
                    struct error *err)
{
        struct scheduler *self = calloc(1, sizeof(*self));
        pthread_condattr_t monotonic;
        int rc;

        if (!self)
                return fail(err, -ENOMEM, "out of memory");
        self->store = store;
        self->has_leases = has_leases;
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&self->has_answered, &monotonic);
        pthread_condattr_destroy(&monotonic);
        pthread_mutex_init(&self->turnstile, NULL);
        pthread_mutex_init(&self->lock, NULL);
        sched_init(&self->members.sched);
        self->members.sched.unseen_ns = UNSEEN_NS;
        rc = start_thread(self, err);
        if (rc < 0) {
                end_locks(self);
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
        lock_scheduler(self);
        self->is_ending = true;
        unlock_scheduler(self);
        bells_ring(&self->bell);
        pthread_join(self->thread, NULL);
        lock_scheduler(self);
        for (unsigned i = 0; i < self->members.entries; i++) {
                if (self->members.seated[i].seat)
                        members_unseat(&self->members, &self->members.seated[i], clock_now_ns());
        }
        close_leaving(self);
        unlock_scheduler(self);
        end_locks(self);
        free(self);
}

/* -- Called by the daemon's loop -------------------------------------------------------------- */

/* Makes the thread read all pages again; the loop itself never reads one, because that might wait.
 * If the thread itself waits, the loop waits for it once. */
static void refresh_pages(struct scheduler *self)
{
        const struct timespec until = clock_timespec(clock_machine_ns() + ANSWER_NS);
        uint64_t question = ++self->questions;
        int rc = 0;

        bells_ring(&self->bell);
        while (self->answered < question && !self->is_stalled && rc == 0)
                rc = pthread_cond_timedwait(&self->has_answered, &self->lock, &until);
        self->is_stalled = self->is_stalled || rc != 0;
}

/* Changes a session that has a seat; false: it has none yet. */
static bool change_seated(struct scheduler *self, const struct sessions_one *session)
{
        struct seat_share share[SESSIONS_GPUS];
        struct seated *seated;

        seat_terms(session, share);
        lock_scheduler(self);
        seated = members_find(&self->members, session->id);
        if (seated)
                members_change(&self->members, seated, share, session->gang, clock_now_ns());
        unlock_scheduler(self);
        return seated != NULL;
}

/* Its pages are mapped once, whatever changes later. */
int scheduler_put(struct scheduler *self, const struct sessions_one *session, unsigned seats_most,
                  struct error *err)
{
        struct seat *seat;
        int rc;

        if (!change_seated(self, session)) {
                if (self->seats >= seats_most)
                        return fail(err, -EMFILE, "%u sessions are open (RLIMIT_NOFILE)",
                                    self->seats);
                rc = seat_open(self->store, session, &seat, err);
                if (rc < 0)
                        return rc;
                lock_scheduler(self);
                members_seat(&self->members, seat);
                self->seats++;
                self->questions++;
                unlock_scheduler(self);
        }
        bells_ring(&self->bell);
        return 0;
}

void scheduler_drop(struct scheduler *self, const uint8_t id[16])
{
        struct seated *seated;

        lock_scheduler(self);
        seated = members_find(&self->members, id);
        if (seated) {
                members_unseat(&self->members, seated, clock_now_ns());
                self->seats--;
        }
        unlock_scheduler(self);
        bells_ring(&self->bell);
}

void scheduler_totals(struct scheduler *self, uint64_t *ret)
{
        lock_scheduler(self);
        refresh_pages(self);
        members_count(&self->members);
        memcpy(ret, self->members.totals, sizeof(self->members.totals));
        unlock_scheduler(self);
}

static void fill_view(const struct members *members, const struct seated *seated, uint32_t at,
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
        uint32_t at = NO_MEMBER;

        lock_scheduler(self);
        seated = members_find(&self->members, id);
        if (seated && share < seated->seat->share_count)
                at = seated->member[share];
        if (at != NO_MEMBER)
                fill_view(&self->members, seated, at, ret);
        unlock_scheduler(self);
        return at != NO_MEMBER;
}

bool scheduler_times(struct scheduler *self, const uint8_t uuid[16], struct sched_times *ret)
{
        const struct members *members = &self->members;
        unsigned at = 0;

        lock_scheduler(self);
        while (at < members->device_count && memcmp(members->device[at], uuid, 16) != 0)
                at++;
        if (at < members->device_count)
                *ret = members->sched.device[at].times;
        unlock_scheduler(self);
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

        lock_scheduler(self);
        seated = members_find(&self->members, id);
        if (seated && clock_now_ns() > seated->seat->head_ns + STALE_NS) {
                refresh_pages(self);
                seated = members_find(&self->members, id);
        }
        is_there = seated && share < seated->seat->share_count &&
                   seat_read(seated->seat, share, clock_now_ns(), &claim);
        if (is_there) {
                uint32_t at = seated->member[share];

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
        unlock_scheduler(self);
        return is_there;
}
