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

/* How often bells are polled if the kernel cannot wait for them: LOOK_NS while some session is
 * watched, REST_NS otherwise. */
#define LOOK_NS UINT64_C(250000)
#define REST_NS UINT64_C(10000000)

/* Cost of a hand-over of the device, in addition to what sessions report: the end of the last
 * kernel is seen late, and the next session's first kernel needs time to start. On an H200, by the
 * kernels' own time stamps, no kernel ran for 270 to 330 us during a hand-over. Of these, 30 to 70
 * us were reported, and the card itself needs 137 us to change between processes (2026-11-27). */
#define UNSEEN_NS 100000

/* How long one pass hears sessions of one kind before the next kind; the next pass continues with
 * the rest. */
#define HEAR_NS UINT64_C(200000)
/* How many bells of each owner are waited for before further bells of any owner. */
#define OWNER_BELLS 16
/* Reading a session's page takes less than a microsecond. If it takes more than READ_MAX_NS, the
 * reading was delayed, and the time is charged to the page's owner. At most READ_CHARGED_NS is
 * charged, because the daemon itself may have been stopped meanwhile. */
#define READ_MAX_NS UINT64_C(1000000)
#define READ_CHARGED_NS UINT64_C(200000000)
/* If a wait ends later than its deadline by this much, and a page was changed meanwhile, the wait
 * was delayed by that page's owner. */
#define LATE_PAGE_NS UINT64_C(50000000)
/* scheduler_claim() has values older than STALE_NS read again, and the loop waits at most ANSWER_NS
 * for that. */
#define STALE_NS UINT64_C(200000000)
#define ANSWER_NS UINT64_C(20000000)

/* Kinds of sessions, in the order in which they are heard. */
enum kind {
        KIND_FIRST,  /* launched, and with a guarantee or of class rt; heard in each pass */
        KIND_OTHERS, /* launched; heard in each pass */
        KIND_IDLE,   /* not launched; heard only if they may have raised their bell */
        KINDS,
};

/* What the thread keeps from one pass to the next. */
struct pass {
        struct bells bells;
        /* index of the session to continue with, for each kind; 0: begin anew */
        unsigned next[KINDS];
        bool is_cut;      /* some sessions are still to be heard */
        bool is_all;      /* all idle sessions are heard, not only those that may have rung */
        bool is_rung;     /* some idle session may have rung (seated.is_rung) */
        bool is_unsure;   /* some bell was raised in the last wait, and it is unknown which */
        bool is_partial;  /* the bells of some idle sessions are not waited for */
        uint64_t rest_ns; /* when all idle sessions are heard again, if is_partial */
        /* number of the loop's question that this reading of all pages answers */
        uint64_t question;
        uint64_t paid_ns;      /* processor time of the thread that is already charged */
        struct timespec begun; /* when the pass began (CLOCK_REALTIME_COARSE) */
};

struct scheduler {
        const struct store *store;
        pthread_t thread;
        bool has_leases; /* false: sessions are only counted */
        _Atomic uint32_t bell;
        /* held while waiting for `lock`, so that threads get the lock in the order of arrival */
        pthread_mutex_t turnstile;
        pthread_mutex_t lock; /* guards all fields below */
        pthread_cond_t has_answered;
        bool is_ending;
        unsigned seats;  /* number of seats; only the loop uses it */
        bool is_stalled; /* the thread did not answer in time; cleared when it answers */
        uint64_t questions,
                answered; /* number of the loop's last question, and of the last one answered */
        struct members members;
};

/* -- The lock --------------------------------------------------------------------------------- */

/* Locks the scheduler fairly: with one mutex alone, the thread that just released it could get it
 * again and again. */
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

/* Reads the session's page without the lock, and then hears the session. Returns the present
 * time. */
static uint64_t hear_session(struct scheduler *self, unsigned at)
{
        struct seated *seated = &self->members.seated[at];
        /* only this thread closes seats, so the pointer stays valid without the lock */
        struct seat *seat = seated->seat;
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

/* Hears the sessions of a kind, each with its own present time, because what one session reports
 * may open the gate of another. False: the time was not enough for all. */
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

/* Counts and closes the seats of sessions that were removed since the last pass. */
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

/* Adds the bells of sessions of a kind, until `most` bells of each owner are added in all. */
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

/* Adds the bells of members before those of idle sessions. If there is no room for all, each owner
 * gets OWNER_BELLS before any owner gets more. The value of each bell was read before the data that
 * it announces. */
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

/* Returns when to ask to be woken up: earlier if the thread usually wakes up late. */
static uint64_t sleep_until_ns(const struct members *members, uint64_t due_ns, uint64_t now_ns)
{
        uint64_t late_ns = members_late_ns(members);

        return due_ns > now_ns + late_ns ? due_ns - late_ns : due_ns;
}

/* Charges the pass to the owners that caused it. Not in virtual time, which does not pass while the
 * thread works. */
static void pay(struct members *members, struct pass *pass, uint64_t now_ns)
{
        uint64_t used_ns;

        if (!clock_is_machine())
                return;
        used_ns = clock_thread_ns();
        owners_pay(&members->owners, used_ns - pass->paid_ns, now_ns);
        pass->paid_ns = used_ns;
}

/* Runs one pass. Returns when the next is due. If a gate was closed, all are heard once more,
 * because the session may have had nothing in flight. */
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

/* After a wait that ended late, distrusts the owners whose pages were changed meanwhile: the kernel
 * reads the page of each bell, and waits for a page that is being changed. */
static void blame(struct members *members, const struct pass *pass)
{
        for (unsigned i = 1; i < pass->bells.count; i++) {
                struct seated *seated = &members->seated[pass->bells.entry[i]];

                if (is_waited_for(members, pass, i) && seat_has_changed(seated->seat, pass->begun))
                        members_distrust(members, seated);
        }
}

/* Notes which session raised its bell, or may have. If it is unknown which, the first such wait is
 * ignored, because it was mostly a member, and all members are heard anyway; if it was an idle
 * session, the next wait ends at once. */
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

/* Makes the thread read all pages again. The loop itself reads no page, because a tenant can delay
 * that. If the thread does not answer in time, the loop does not wait for it again until it has
 * answered. */
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

/* Changes a session that has a seat. False: it has none yet. */
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

/* Opens the session's pages only if it has no seat yet: a change of its terms does not open them
 * again. */
int scheduler_put(struct scheduler *self, const struct sessions_one *session, unsigned seats_max,
                  struct error *err)
{
        struct seat *seat;
        int rc;

        if (!change_seated(self, session)) {
                if (self->seats >= seats_max)
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
