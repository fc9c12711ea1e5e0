/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: decides when a thread may submit, and how it waits; see time.h.
 *
 * A submission must pass three checks, in this order: the lease (the node's scheduler decides whose
 * turn it is); the bucket (once it is empty, nothing passes until it has filled to a few
 * milliseconds); the window (it bounds the work in flight if another session waits or there is a
 * cap). A closed gate opens when the scheduler gives a lease, when the bucket has filled, or when
 * the driver reports that work has completed. It never opens because time passed, except for one
 * submission when no work has ended for long (stuck.h).
 */
#include <limits.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "interpose/gate.h"
#include "shim/helper.h"
#include "shim/time/bucket.h"
#include "shim/time/credit.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"
#include "shim/time/together.h"

/* How often a thread that waits at a closed gate repeats its request; otherwise the scheduler
 * forgets it. */
#define LEASE_WAIT_NS UINT64_C(10000000)
/* How long to wait before a lease that is being written is read again. */
#define TURN_WRITTEN_NS UINT64_C(50000)
/* How often a thread that waits for the bucket checks it, and how often if another device of the
 * session has work in flight. */
#define BUCKET_LOOK_NS UINT64_C(5000000)
#define OTHERS_LOOK_NS FLIGHT_SLOT_NS
/* How long a thread waits for the window before it asks again. */
#define WINDOW_WAIT_NS UINT64_C(1000000)
/* The bucket's level is divided into this many rounds. Work in flight when the bucket becomes
 * empty turns into debt: at most half of the level. */
#define PARTS_OF_BUCKET (UINT64_C(2) * WINDOW_ROUNDS)

/* Below this cap the window is smaller, in proportion, so that repaying the debt takes no
 * longer. */
#define SMALL_CAP_PPM (PAGE_WHOLE_PPM / 4)

static const _Atomic uint64_t no_gate;
static const _Atomic uint32_t no_turn;
/* gate_end_credit() raises this epoch to end the credit of gate_leave_open(). */
static _Atomic uint32_t open_epoch;

/* -- Credit ----------------------------------------------------------------------------------- */

static const _Atomic uint64_t *gate_of(const struct limits_page *limits)
{
        _Static_assert(offsetof(struct limits_page, gate) % 8 == 0 &&
                               offsetof(struct limits_page, epoch) ==
                                       offsetof(struct limits_page, gate) + 4,
                       "read as one");
        return (const _Atomic uint64_t *)(const void *)&limits->gate;
}

/* Returns the value that the gate's two words have while the gate is open. */
static uint64_t gate_seen(const struct limits_page *limits)
{
        union {
                uint32_t half[2];
                uint64_t word;
        } seen = { .half = { 0, load_acquire(shared_half(&limits->epoch)) } };

        return seen.word;
}

/* Returns this thread's unused credit to the window. */
void gate_return_credit(void)
{
        struct credit *credit = &credit_here;
        struct time_stream *stream = credit->of;
        uint32_t unspent = credit->left > 0 ? (uint32_t)credit->left : 0;

        credit->is_marked = false;
        if (!stream) {
                credit->left = credit->is_any ? credit->left : 0;
                return;
        }
        credit->left = 0;
        credit->of = NULL;
        credit->home = NULL;
        account_count(&stream->device->account, credit->spent);
        if (!unspent || credit->is_unbounded)
                return;
        lock_take(&stream->device->lock);
        window_give_back(&stream->device->window, unspent);
        if (load_relaxed(&stream->parked_ns) && stream->queued_ns >= unspent * WINDOW_UNIT_NS)
                stream->queued_ns -= unspent * WINDOW_UNIT_NS;
        lock_drop(&stream->device->lock);
}

/* Whether a marker must follow the submission, because the threads that look cannot ask about
 * the stream. */
static bool is_to_be_marked(const struct time_stream *stream, const struct credit *credit)
{
        if (credit->is_unbounded)
                return false;
        return load_relaxed(&stream->is_of_thread) || stream->device->driver->is_unseen(stream);
}

/* Moves the credit to another stream of the same device that has work already. Takes no clock
 * and no lock, and calls no driver function. A look that runs meanwhile counts the stream as
 * empty only if this thread is not past its check (look.c). */
bool gate_switch(uint64_t key)
{
        struct credit *credit = &credit_here;
        struct time_stream *stream = key == credit->home_key ? credit->home : stream_find(key);
        uint32_t user;

        if (!stream || !credit->of || key == credit->stream ||
            stream->device != credit->of->device || !credit_holds(credit) ||
            load_relaxed(&stream->work) != STREAM_BUSY || load_relaxed(&stream->is_captured) ||
            load_relaxed(&stream->parked_ns))
                return false;
        user = load_relaxed(&stream->user);
        if (user != credit->number && user != STREAM_MANY)
                return false;
        credit->stream = key;
        credit->context = stream == credit->home ? credit->home_context : 0;
        credit->of = stream;
        credit->is_marked = is_to_be_marked(stream, credit);
        add_acq_rel(&stream->grants,
                    1); /* park.c compares it to find a thread that submits to the stream */
        return true;
}

void gate_leave_open_for_ever(void)
{
        struct credit *credit = &credit_here;

        credit->left = INT32_MAX;
        credit->is_marked = false;
        credit->is_any = UINT64_MAX;
        credit->gate = &no_gate;
        credit->turn = credit->epoch = &no_turn;
        credit->gate_seen = credit->turn_seen = credit->epoch_seen = 0;
        credit->of = NULL;
}

/* Whether no device has a cap, including devices that may appear later. */
static bool has_no_cap(const struct limits_page *limits)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (page_cap_ppm(limits, &limits->device[i]) != PAGE_WHOLE_PPM)
                        return false;
        }
        return true;
}

/* This credit ends when a scheduler starts for any device, because that raises the page's epoch. */
void gate_leave_open(const struct account *account, uint64_t key, uint64_t context)
{
        struct credit *credit = &credit_here;

        credit->left = INT32_MAX;
        credit->stream = key;
        credit->is_any = has_no_cap(account->limits) ? UINT64_MAX : 0;
        credit->gate = gate_of(account->limits);
        credit->gate_seen = gate_seen(account->limits);
        credit->turn = (const _Atomic uint32_t *)(const void *)&account->limits->scheduler_at_ns;
        credit->turn_seen = load_acquire(credit->turn);
        credit->epoch = &open_epoch;
        credit->epoch_seen = load_acquire(&open_epoch);
        credit->of = NULL;
        credit->context = context;
}

void gate_end_credit(void)
{
        add_acq_rel(&open_epoch, 1);
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                add_acq_rel(&device_at(i)->epoch, 1);
}

/* -- What a thread waits for ------------------------------------------------------------------ */

/* What a thread at the gate waits for. */
struct waiting {
        /* the word that changes when the thread should ask again; NULL: nothing, the gate is
         * open */
        const _Atomic uint32_t *word;
        /* value of that word */
        uint32_t seen;
        /* when to ask again anyway */
        uint64_t until_ns;
        uint64_t look_ns; /* when to look at the work in flight meanwhile */
};

static struct waiting wait_for(const uint32_t *word, uint64_t until_ns, uint64_t look_ns)
{
        return (struct waiting){ .word = shared_half(word),
                                 .seen = load_acquire(shared_half(word)),
                                 .until_ns = until_ns,
                                 .look_ns = look_ns };
}

/* Returns what to wait for while the lease is closed. While work is in flight, the next session
 * waits until this thread reports that none is. */
static struct waiting wait_for_lease(struct time_device *device, const struct terms *terms,
                                     uint64_t now_ns)
{
        const struct account *account = &device->account;
        struct waiting waiting = wait_for(&account->device->lease.turn, now_ns + LEASE_WAIT_NS, 0);

        lock_take(&device->lock);
        waiting.look_ns = device_awaited_look_ns(device);
        lock_drop(&device->lock);

        store_relaxed(&device->shut_ns, now_ns);
        waiting.seen = terms->turn;
        if (terms->turn & 1)
                waiting.until_ns = now_ns + TURN_WRITTEN_NS;
        account_want(account, terms, now_ns);
        return waiting;
}

/* Whether the bucket must fill before the next submission. Sets `ret_others` to the state of the
 * session's other devices. */
static bool is_dry(struct time_device *device, const struct terms *terms, uint64_t now_ns,
                   struct together *ret_others)
{
        int64_t level_ns;

        if (!terms_keep_cap(terms)) {
                store_relaxed(&device->is_filling, 0);
                return false;
        }
        level_ns = account_level_ns(&device->account, terms, now_ns);
        if (level_ns <= 0)
                store_relaxed(&device->is_filling, 1);
        if (!load_relaxed(&device->is_filling))
                return false;
        *ret_others = together_look(&device->account, now_ns);
        if (level_ns >= together_opening_ns(ret_others, terms) && ret_others->is_ready)
                store_relaxed(&device->is_filling, 0);
        return load_relaxed(&device->is_filling) != 0;
}

static struct waiting wait_for_bucket(const struct account *account, const struct terms *terms,
                                      const struct together *others, uint64_t now_ns)
{
        int64_t opening_ns = together_opening_ns(others, terms);
        uint64_t due_ns =
                max_u64(account_due_ns(account, terms, opening_ns, now_ns), others->due_ns);
        uint64_t until_ns = now_ns + (others->flying_ns ? OTHERS_LOOK_NS : BUCKET_LOOK_NS);

        account_stand(account, now_ns);
        return wait_for(&account->limits->epoch, due_ns < until_ns ? due_ns : until_ns,
                        CLOCK_NEVER);
}

/* Returns what to wait for while the window is full. `queue_ns`: when there is room behind the
 * stream's wait; 0: the stream has no wait. */
static struct waiting wait_for_window(struct time_device *device, const struct window_wish *wish,
                                      uint64_t queue_ns)
{
        uint64_t due_ns, room_ns, until_ns = wish->now_ns + WINDOW_WAIT_NS;

        lock_take(&device->lock);
        due_ns = window_due_ns(&device->window, load_relaxed(&device->looked_ns));
        room_ns = queue_ns ? queue_ns : window_room_ns(&device->window, wish);
        lock_drop(&device->lock);
        if (room_ns > wish->now_ns && room_ns < until_ns)
                until_ns = room_ns;
        return wait_for(&device->account.limits->epoch, until_ns, due_ns);
}

/* Returns the target length of a round as far as the session itself is concerned. */
static uint64_t own_target_ns(const struct account *account, const struct terms *terms,
                              uint64_t now_ns)
{
        uint64_t target_ns = terms->is_watched ? WINDOW_SHARED_NS : WINDOW_TARGET_NS;

        if (terms_keep_cap(terms)) {
                int64_t level_ns = account_level_ns(account, terms, now_ns);

                if (terms->cap_ppm < SMALL_CAP_PPM)
                        target_ns = target_ns * terms->cap_ppm / SMALL_CAP_PPM;
                if (level_ns > (int64_t)(target_ns * PARTS_OF_BUCKET))
                        target_ns = (uint64_t)level_ns / PARTS_OF_BUCKET;
        }
        return target_ns;
}

/* Sets the target length of a round. Beside other sessions less work may be in flight, in fewer
 * rounds. */
static void set_target(struct window_wish *wish, const struct account *account,
                       const struct terms *terms)
{
        wish->target_ns = own_target_ns(account, terms, wish->now_ns);
        wish->is_shared = terms->target_ns && terms->target_ns / WINDOW_ROUNDS < wish->target_ns;
        if (wish->is_shared)
                wish->target_ns = terms->target_ns / WINDOW_SHARED_ROUNDS;
        wish->target_ns = max_u64(wish->target_ns, 1);
}

/* Whether the work in flight is bounded. It is not for a session that is alone and has no cap. */
static bool is_bounded(const struct terms *terms)
{
        return terms->mode == PAGE_MODE_OPEN || terms->target_ns || terms_keep_cap(terms);
}

/* -- The gate --------------------------------------------------------------------------------- */

/* The request of a thread at the gate. */
struct asking {
        struct time_stream *stream;
        const struct gate_ask *for_what;
        uint64_t gate_seen;
        uint32_t epoch_seen;
};

static void grant_credit(const struct asking *asking, const struct terms *terms, uint32_t units)
{
        struct time_device *device = asking->stream->device;
        struct credit *credit = &credit_here;

        credit->left = (int32_t)units;
        credit->spent = 0;
        credit->stream = asking->for_what->key;
        credit->is_any = 0;
        credit->is_unbounded = units == INT32_MAX;
        credit->is_marked = is_to_be_marked(asking->stream, credit);
        credit->gate = gate_of(device->account.limits);
        credit->gate_seen = asking->gate_seen;
        credit->turn = shared_half(&device->account.device->lease.turn);
        credit->turn_seen = terms->turn;
        credit->epoch = &device->epoch;
        credit->epoch_seen = asking->epoch_seen;
        credit->of = asking->stream;
        credit->context = asking->for_what->context;
        if (credit->context) {
                credit->home = asking->stream;
                credit->home_key = credit->stream;
                credit->home_context = credit->context;
        }
        if (!credit->is_marked)
                stream_unmark_end(asking->stream);
        stream_use(asking->stream, clock_now_ns());
}

/* What the window gives for a submission. */
struct part {
        uint32_t units;  /* number of units of the round being filled; 0: none now */
        bool is_due;     /* the round is full, and needs its markers */
        uint64_t due_ns; /* if the stream is parked and must wait: until when; else 0 */
};

static struct part take_part(struct time_stream *stream, const struct window_wish *wish,
                             uint32_t cap_ppm)
{
        struct time_device *device = stream->device;
        uint64_t weight_ns = window_weight(wish->hint) * WINDOW_UNIT_NS;
        struct part part = { 0 };

        lock_take(&device->lock);
        part.due_ns = stream_queue_due_ns(stream, weight_ns, wish->target_ns, cap_ppm);
        if (part.due_ns <= wish->now_ns) {
                part.due_ns = 0;
                part.units = window_take(&device->window, wish);
                part.is_due = window_is_due(&device->window);
                if (load_relaxed(&stream->parked_ns))
                        stream->queued_ns += part.units * WINDOW_UNIT_NS;
        }
        lock_drop(&device->lock);
        return part;
}

/* Gives credit for what the window allows, after the lease and the bucket have let the thread
 * pass. If the window allows nothing, returns what to wait for. */
static struct waiting pass_window(const struct asking *asking, const struct terms *terms,
                                  uint64_t now_ns)
{
        struct time_device *device = asking->stream->device;
        struct window_wish wish = { .hint = asking->for_what->hint, .now_ns = now_ns };
        struct part part;

        if (!is_bounded(terms)) {
                grant_credit(asking, terms, INT32_MAX);
                return (struct waiting){ 0 };
        }
        set_target(&wish, &device->account, terms);
        wish.is_single = !helper_runs();
        part = take_part(asking->stream, &wish, terms->cap_ppm);
        if (part.is_due && !part.units) {
                device_mark(device, asking->stream);
                part = take_part(asking->stream, &wish, terms->cap_ppm);
        }
        if (!part.units)
                return wait_for_window(device, &wish, part.due_ns);
        grant_credit(asking, terms, part.units);
        return (struct waiting){ 0 };
}

/* Whether one submission may pass a closed gate, because work in flight on this device or
 * another one may wait for it. If so, gives credit for it. */
static bool is_let_out(const struct asking *asking, uint64_t began_ns)
{
        struct time_device *device = asking->stream->device;
        uint64_t now_ns = clock_now_ns();
        struct terms terms = account_terms(&device->account, now_ns);
        struct window_wish wish = { .hint = asking->for_what->hint, .now_ns = now_ns };
        uint32_t units = 0;

        if (!terms_are_open(&terms, now_ns))
                return false;
        lock_take(&device->lock);
        if (!device->flight.begin_ns) {
                if (together_may_pass(&device->account, &terms, device->flight.ended_ns, now_ns))
                        units = window_take_beyond(&device->window, &wish);
        } else if (stuck_for_long(&device->stuck, began_ns, now_ns)) {
                units = window_take_beyond(&device->window, &wish);
                device->let_into = asking->stream;
        }
        lock_drop(&device->lock);
        if (units)
                grant_credit(asking, &terms, units);
        return units != 0;
}

/* Asks the gate once. If it is closed, returns what to wait for. */
static struct waiting ask_gate(const struct asking *asking)
{
        struct time_device *device = asking->stream->device;
        uint64_t now_ns = clock_now_ns();
        struct terms terms = account_terms(&device->account, now_ns);
        struct together others;

        if (!terms_are_metered(&terms)) {
                gate_leave_open(&device->account, asking->for_what->key, asking->for_what->context);
                return (struct waiting){ 0 };
        }
        if (!terms_are_open(&terms, now_ns))
                return wait_for_lease(device, &terms, now_ns);
        if (is_dry(device, &terms, now_ns, &others))
                return wait_for_bucket(&device->account, &terms, &others, now_ns);
        return pass_window(asking, &terms, now_ns);
}

/* Returns when to look at the work in flight, for the account or for the waiting thread. */
static uint64_t look_at_ns(struct time_device *device, const struct waiting *waiting)
{
        uint64_t look_ns;

        lock_take(&device->lock);
        look_ns = device_look_ns(device);
        if (look_ns != CLOCK_NEVER && waiting->look_ns < look_ns)
                look_ns = waiting->look_ns;
        lock_drop(&device->lock);
        return look_ns;
}

/* Waits at the gate, or looks if that is due. A thread that waits must look, because other
 * threads cannot ask about streams that only this thread can name. */
static void stand(struct time_device *device, const struct waiting *waiting)
{
        uint64_t look_ns = look_at_ns(device, waiting);

        if (look_ns <= clock_now_ns())
                device_look(device, look_ns);
        else
                clock_wait(waiting->word, waiting->seen,
                           look_ns < waiting->until_ns ? look_ns : waiting->until_ns);
}

static bool is_let_through(struct asking *asking, struct waiting *ret)
{
        struct time_device *device = asking->stream->device;

        gate_pass();
        asking->gate_seen = gate_seen(device->account.limits);
        asking->epoch_seen = load_acquire(&device->epoch);
        *ret = ask_gate(asking);
        return !ret->word;
}

/* Lowers the thread's timer slack, and returns the old value for slack_restore(). The kernel
 * wakes a thread up to 50 us late, which is most of the time between two looks. The value is
 * read by the system call, because prctl() cuts it to an int. Returns 0 or less if there is
 * none: for a real-time thread, or if it cannot be read. */
static long slack_lower(void)
{
        long slack_ns = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);

        if (slack_ns > 0)
                prctl(PR_SET_TIMERSLACK, 1UL);
        return slack_ns;
}

static void slack_restore(long slack_ns)
{
        if (slack_ns > 0)
                prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns);
}

bool gate_wait_turn(struct time_stream *stream, const struct gate_ask *ask)
{
        struct time_device *device = stream->device;
        struct asking asking = { .stream = stream, .for_what = ask };
        struct waiting waiting;
        uint64_t began_ns;
        long slack_ns;

        gate_return_credit();
        if (!threads_join())
                return false;
        if (!helper_runs()) /* no helper looks at flights, so each thread that submits does */
                device_look(device, clock_now_ns());
        if (is_let_through(&asking, &waiting))
                return true;
        slack_ns = slack_lower();
        began_ns = clock_now_ns();
        add_relaxed(&device->standing, 1);
        device->driver->relax(true);
        while (!is_let_out(&asking, began_ns)) {
                stand(device, &waiting);
                if (is_let_through(&asking, &waiting))
                        break;
        }
        device->driver->relax(false);
        slack_restore(slack_ns);
        add_relaxed(&device->standing, -1u);
        account_note_wait(&device->account, clock_now_ns() - began_ns);
        return true;
}
