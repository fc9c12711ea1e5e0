/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters and limits the GPU time of this process: knows which streams have work in flight, and when
 * a thread may submit more.
 *
 * A *submission* is a call that gives a device's processors work: a kernel, a graph, a fill, a copy
 * within the device. The process is in *flight* from a submission until all streams with
 * submissions are known to be empty; this time is billed to the session (account.h). The length of
 * a kernel is neither measured nor estimated for the bill.
 *
 * There are three ways to find the end of a flight, cheapest first: from waits of the program
 * itself (stream_told()); from *markers*, which are events of ours behind some submissions
 * (window.h); from *looks*, which poll streams whose markers have not passed (flight.h). A look
 * that finds a stream empty must be sure that no thread submits meanwhile. So it raises the
 * device's epoch, which ends every credit, makes all threads see that (fence.h), and asks the
 * driver about the stream once more.
 *
 * A stream is *parked* while it waits for the host or for a word in memory; it is not in flight
 * then. A session is *held* while the daemon keeps its gate closed to move its memory
 * (core/swap.h).
 *
 *      streams.c       streams of this process, and which of them have work
 *      park.c          parked streams
 *      look.c          looks, markers, the end of a flight
 *      stuck.c         work in flight that waits for work at the gate
 *      gate.c          waits for the lease, the bucket and the window; gives credit
 *      drain.c         reports to the daemon that a held process has no work in flight
 *      tend.c          what the helper thread does between the program's calls
 *
 * Nothing in these files depends on CUDA: a front end supplies struct time_driver. Any thread may
 * call; in a forked child this memory is zero. Driver calls that only ask are made under `looking`
 * and `parking`; driver calls that put something into a stream are made under `marking` and the
 * stream's own lock.
 */
#ifndef ALIQUOT_SHIM_TIME_TIME_H
#define ALIQUOT_SHIM_TIME_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"
#include "shim/lock.h"
#include "shim/time/account.h"
#include "shim/time/flight.h"
#include "shim/time/stuck.h"
#include "shim/time/window.h"

#define TIME_STREAMS 4096u
/* Maximum number of streams of one look; the next look asks about further ones. */
#define TIME_LOOK_STREAMS 256u
/* Maximum number of markers of one round: one in the stream that fills the round, the rest in
 * other streams. */
#define TIME_ROUND_MARKERS 4u

enum stream_work {
        STREAM_EMPTY,
        STREAM_BUSY,
        /* a look asks whether the stream is empty; a submission makes it busy again */
        STREAM_ASKED,
};

/* The value of time_stream.user if more than one thread has, or had, credit for the stream. */
#define STREAM_MANY UINT32_MAX

/* One wait that parks a stream. Two untimed events enclose it. */
struct park {
        void *before; /* event before the wait; NULL: it has passed */
        void *behind;
};

/* A wait of the program that is shorter than this may have waited for work that completed long
 * before. */
#define TIME_BLOCKED_NS UINT64_C(10000)

/* Maximum number of waits of one stream. */
#define TIME_PARKS 64u
/* Maximum number of parked streams of a device. If there are more, a stream that must run after
 * one of the surplus ones counts as in flight. */
#define TIME_WAITING 16u

/* A stream's part in CUDA's implicit order with its context's default stream. */
enum stream_order {
        STREAM_UNORDERED,
        STREAM_DEFAULT, /* waits for all blocking streams, and they wait for it */
        STREAM_BLOCKING,
};

/* The names of a stream, as the front end gives them. */
struct stream_name {
        uint64_t key; /* identifies the stream in the front end; never 0 */
        uint64_t handle;
        uint64_t context;
        enum stream_order order;
        bool is_of_thread; /* a thread's own default stream, which other threads cannot name */
};

/* A stream of this process. Its entry is reused after the stream was destroyed. */
struct time_stream {
        _Atomic uint64_t key;    /* 0: the entry is free. Written last (release) */
        _Atomic uint64_t handle; /* the front end's handle */
        uint64_t context;
        enum stream_order order;
        _Atomic bool is_of_thread;
        struct time_device *device;
        _Atomic uint32_t grants; /* how often a thread got credit for the stream */
        /* when a thread last got credit for the stream, or a marker in it passed */
        _Atomic uint64_t used_ns;
        _Atomic uint32_t work; /* enum stream_work */
        /* number of the only thread that has credit; STREAM_MANY: there are several */
        _Atomic uint32_t user;
        /* the stream is being captured, as seen by our hooks: its work goes into a graph */
        _Atomic uint32_t is_captured;
        /* the stream was destroyed, so the driver is not asked about it */
        _Atomic uint32_t is_gone;
        _Atomic uint32_t is_touched; /* the stream may hold work that is not metered as GPU time */
        /* number of the hold in which end_marker was placed; 0: none */
        _Atomic uint32_t marked_gate;
        /* Marker behind the last work of the stream, if the stream was destroyed or not every
         * thread can ask about it; else NULL. Written under `lock`. */
        void *_Atomic end_marker;
        /* Held across begin and end of captures, and while we ask the driver about the stream. */
        struct lock lock;
        /* Guards the fields that follow. Never held across a call that adds to the stream, which
         * blocks while the stream is full. */
        struct lock parking;
        struct park park[TIME_PARKS]; /* the waits in the stream, oldest first */
        _Atomic uint32_t parker;      /* number of the thread that is adding a wait; 0: none */
        uint32_t parker_grants;       /* the value of `grants` when that thread began */
        _Atomic uint32_t parks;       /* number of waits in `park`; written under `parking` */
        /* When the stream was first seen parked, if it still is; else 0. This field and
         * queued_ns are written under the device's lock. */
        _Atomic uint64_t parked_ns;
        uint64_t queued_ns; /* GPU time, by weights, admitted behind the wait since parked_ns */
        uint32_t place;     /* index of the stream in the device's list of busy streams */
        /* Number of the stream's markers in rounds, complete or not. Written under the device's
         * lock. */
        _Atomic uint32_t markers;
};

/* What this module calls in the driver. The functions other than record() are called between
 * relax(true) and relax(false) of the same thread. */
struct time_driver {
        /* Records an event behind all that the stream holds now. Returns NULL if no event is
         * available. */
        void *(*record)(struct time_stream *stream);
        /* Whether the marker has passed. Returns true if the stream or its context was
         * destroyed. */
        bool (*is_passed)(struct time_stream *stream, void *marker);
        /* Whether this thread can neither ask about the stream now nor add to it. Not for a
         * thread that is about to submit to the stream. */
        bool (*is_unseen)(const struct time_stream *stream);
        /* Whether the stream is empty. Not called for a captured or unseen stream. */
        bool (*is_empty)(struct time_stream *stream);
        /* Gives the marker back to the front end for reuse. */
        void (*drop)(struct time_stream *stream, void *marker);
        /* relax(true): until the matching relax(false), calls of this thread disturb no other
         * thread's capture, and the thread's current context changes only by our calls. */
        void (*relax)(bool is_relaxed);
};

/* A marker of a round. */
struct time_marker {
        struct time_stream *stream;
        void *marker; /* the event; NULL: it has passed */
};

/* What this process keeps about a device of the session. */
struct time_device {
        struct account account;
        const struct time_driver *driver;
        _Atomic uint32_t is_ready; /* the fields above are valid (release) */
        _Atomic uint32_t epoch;    /* raised to end every credit of this device */
        /* the bucket became empty: no submission passes until it has filled */
        _Atomic uint32_t is_filling;
        _Atomic uint64_t looked_ns; /* when the last look began */
        _Atomic uint64_t shut_ns;   /* when the lease was last seen to keep the gate closed */
        /* number of threads in device_stop_looks() that wait for `looking` */
        _Atomic uint32_t wanted;
        _Atomic uint32_t standing; /* number of threads that wait at the gate, and look meanwhile */
        /* number of threads in a wait of the program for work of the device */
        _Atomic uint32_t blocked;
        _Atomic uint64_t blocked_ns; /* since when there are such threads */
        struct lock looking;         /* held during a look, including driver calls that only ask */
        /* Held while a round is closed, even while its markers wait for space in a full stream.
         * Looks go on meanwhile. */
        struct lock marking;

        /* guards the fields that follow; never held across a call of the driver */
        struct lock lock;
        struct flight flight;
        struct window window;
        struct stuck stuck;
        /* the stream whose submission stuck.h let through last; valid while stuck_is_open() */
        struct time_stream *let_into;
        struct time_marker marker[WINDOW_ROUNDS][TIME_ROUND_MARKERS];
        /* the round got no marker because no event was available: it is complete when the flight
         * ends */
        bool is_unmarked[WINDOW_ROUNDS];
        uint32_t busy_count;
        struct time_stream *busy[TIME_STREAMS];
        _Atomic uint32_t waiting_count; /* number of entries of `waiting`; written under `lock` */
        /* streams with at least one recorded wait (struct park): the stream is in that wait now, or
         * still has work to do before it */
        struct time_stream *waiting[TIME_WAITING];
};

/* -- streams.c -------------------------------------------------------------------------------- */

/* Returns the device of a row of the page, and attaches it if needed. NULL: the session is gone. */
struct time_device *device_of(int row, const struct time_driver *driver);

/* Returns the entry of the device at `index`, ready or not, for the helper. NULL: there are no
 * more. */
struct time_device *device_at(unsigned index);

/* Returns the stream with this key of the front end, which is never 0. NULL: it is not known
 * yet. Takes no lock. */
struct time_stream *stream_find(uint64_t key);

/* Returns the stream with this name, and creates its entry if needed. NULL: every entry has a
 * stream with work. */
struct time_stream *stream_make(const struct stream_name *name, struct time_device *device);

/* Notes that this thread is about to submit to the stream, which has work from now on. */
void stream_use(struct time_stream *stream, uint64_t now_ns);

/* Notes that the stream is about to be destroyed. Its remaining work counts until it completes. */
void stream_forget(struct time_stream *stream);

/* Call before a context may be destroyed, which blocks until the context's work completes. Until
 * context_resume() the driver is not asked about the context's streams, their work counts as in
 * flight, and no round gets markers. Looks at other streams go on. One context at a time.
 * `context` 0: it is not known which one, so all contexts are held. */
void context_hold(uint64_t context);
void context_resume(void);

/* Whether context_hold() covers the stream, so that the driver must not be asked about it. */
bool stream_is_ending(const struct time_stream *stream);

/* Call between context_hold() and context_resume(): the context was destroyed between `began_ns`
 * and now. All its work has completed, and its events are gone. */
void streams_end(uint64_t context, uint64_t began_ns);

/* Calls `each` for all streams. If a stream is destroyed and its entry reused meanwhile, the
 * entry's context and handle may change. */
void streams_each(void (*each)(struct time_stream *stream, void *data), void *data);

/*
 * Notes that the program begins to wait, at `now_ns`, for this thread's last submission.
 * wait_over() ends that. If a look finds nothing in flight during the wait, the wait is about to
 * return, so the flight ends at that moment, as it would with the wait. Returns NULL if the thread
 * has submitted nothing metered.
 */
struct time_device *wait_blocks(uint64_t now_ns);
void wait_over(struct time_device *device);

/*
 * Notes that the program waited from `began_ns` until now, and that the driver reported that all
 * earlier work of the stream has completed. If only this thread submits to the stream, the stream
 * is empty.
 */
void stream_told(struct time_stream *stream, uint64_t began_ns);

/*
 * Notes that the program waited for an event from `began_ns` until now. Usually the event is behind
 * all that the thread has submitted. So if the wait blocked, the driver is asked whether the stream
 * of the thread's last submission is empty.
 */
void stream_told_event(uint64_t began_ns);
/* As stream_told(), for all streams of the context. */
void streams_told(uint64_t context, uint64_t began_ns);

/* -- park.c ----------------------------------------------------------------------------------- */

/* Call before and after a wait for the host or for a word in memory is added to the stream. Work
 * behind the wait is not in flight until the wait is over. `is_there`: the wait was added. If
 * another thread adds to the stream at the same time, the wait is ignored, because its position
 * is unknown. */
void stream_park_begin(struct time_stream *stream);
void stream_park_end(struct time_stream *stream, bool is_there);

/* Whether the stream is parked, or must run all that it holds after a parked stream. */
bool stream_is_parked(struct time_stream *stream);

/* Returns when work of `ns` of GPU time may be admitted behind the stream's wait; 0: the stream
 * has no wait. One submission, or `round_ns` of work, may be admitted at once. The caller holds
 * the device's lock. */
uint64_t stream_queue_due_ns(const struct time_stream *stream, uint64_t ns, uint64_t round_ns,
                             uint32_t cap_ppm);

/* Whether any device has a stream in its list `waiting`. Then a stream that waits for an event
 * of such a stream may be parked too. */
bool streams_wait(void);

/* Forgets the stream's waits, because its entry will get another stream. */
void stream_park_forget(struct time_stream *stream);
/* Forgets our events in the stream, which are gone with the stream's context. */
void stream_park_lose(struct time_stream *stream);

/* -- look.c ----------------------------------------------------------------------------------- */

/* Looks at what is in flight. Does nothing if another look began since `due_ns`. */
void device_look(struct time_device *device, uint64_t due_ns);

/* Stops looks until device_resume_looks(): waits for a running look, and lets no new one begin,
 * however often threads try to look. */
void device_stop_looks(struct time_device *device);
void device_resume_looks(struct time_device *device);

/* Whether the stream is empty, by the driver. Returns false for a captured stream, because
 * asking would end the capture. Also returns false for a stream to which a thread adds right
 * now, because that call may block while the stream is full. */
bool stream_is_empty(struct time_stream *stream);

/* Returns when the account needs the next look; CLOCK_NEVER: no stream has work. The caller
 * holds the device's lock. */
uint64_t device_look_ns(const struct time_device *device);
/* Returns when the next look is needed while another session waits for this one to drain. The
 * caller holds the device's lock. */
uint64_t device_awaited_look_ns(const struct time_device *device);

/* Places the stream's end marker behind what this thread has just submitted, for threads that
 * cannot ask about the stream. */
void stream_mark_end(struct time_stream *stream);
/* Removes the end marker, because it says nothing about later submissions. */
void stream_unmark_end(struct time_stream *stream);
/* Whether the stream's end marker has passed, so that the stream is empty. */
bool stream_is_told_over(struct time_stream *stream);

/* Places markers behind all submissions so far if a round is full. `stream`: the stream that
 * filled the round. */
void device_mark(struct time_device *device, struct time_stream *stream);

/* Which streams of a device were found empty. */
struct emptied {
        struct time_stream *const *stream;
        unsigned count;
        /* number of streams that were not found empty because they are parked */
        unsigned parked;
        /* when a wait of the program for the device's work ended, or now if no other look came
         * between; 0: the end of the flight is sampled */
        uint64_t end_ns;
};

/* Takes these streams off the device's list of busy streams. Ends the flight if only parked
 * streams are left. The caller holds the device's lock. */
void device_empty(struct time_device *device, const struct emptied *emptied);

/* -- gate.c ----------------------------------------------------------------------------------- */

/* What a thread asks of the gate. */
struct gate_ask {
        uint64_t key;     /* the program's name of the stream */
        uint64_t context; /* the context in which the stream has that name; 0: in any context */
        uint32_t hint;    /* hint of the submission (window.h) */
};

/* Waits until this thread may submit to the stream, and gives it credit (credit.h). Returns
 * false if it cannot get credit; then it submits unmetered. */
bool gate_wait_turn(struct time_stream *stream, const struct gate_ask *ask);

/* Moves this thread's credit to another stream. Returns false if that is not possible; then the
 * thread must ask at the gate. Call it between credit_enter() and credit_leave(). */
bool gate_switch(uint64_t key);

/* Gives unlimited credit for unmetered work, until the limits change or a scheduler starts. */
void gate_leave_open(const struct account *account, uint64_t key, uint64_t context);
/* Gives unlimited credit that never ends. */
void gate_leave_open_for_ever(void);

/* Ends all credit of the process, except that of gate_leave_open_for_ever(). */
void gate_end_credit(void);

/* Ends this thread's credit, and returns the unused part to the window. */
void gate_return_credit(void);

/* -- drain.c ---------------------------------------------------------------------------------- */

/* Notes that a call is about to add work to the stream that is no submission but accesses a
 * device's memory. */
void stream_touch(struct time_stream *stream);

/* Called by a thread that is about to wait for the end of a hold. Places end markers in streams
 * that only this thread can name, so that the helper sees when they are empty. */
void streams_mark_in_hold(void);

/* Clears the note of stream_touch() for streams that are empty by now, so that their entries can
 * be reused. */
void streams_untouch(const struct time_driver *driver);

/* If the session is held, checks whether this process has drained, and reports it. Returns when
 * to call again. Called by the helper. */
uint64_t drain_tend(uint64_t now_ns);

/* Whether the session is held and this process has reported itself as drained. */
bool drain_is_answered(void);

/* -- tend.c ----------------------------------------------------------------------------------- */

/* Wakes the helper, because a flight began. */
void tend_soon(void);

/* Makes the helper also run `task` after each check for holds. A process can have one such task. */
void tend_also(uint64_t (*task)(uint64_t now_ns));

#endif
