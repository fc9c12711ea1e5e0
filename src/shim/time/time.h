/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters and limits the GPU time of this process: knows which streams have work in flight, and when
 * a thread may submit more.
 *
 * A *submission* is a call that gives a device's processors work: kernel, graph, fill, copy within
 * the device. The process is in *flight* from a submission until all streams with submissions are
 * known to be empty; this time is billed to the session (account.h). The length of a kernel is
 * neither asked nor estimated for the bill.
 *
 * The end of a flight is known, cheapest first: from waits of the program itself (stream_told());
 * from markers, which are events behind some submissions (window.h); from looks at streams whose
 * marker has not passed (flight.h). A look that finds a stream empty must be sure that no thread
 * submits meanwhile. So it raises the device's epoch, which ends every credit, makes all threads
 * see that (fence.h), and asks once more.
 *
 * A stream is *parked* while it waits for the host or for a word in memory: it is not in flight
 * then.
 *
 *      streams.c       streams of this process, and which of them have work
 *      park.c          parked streams
 *      look.c          looks, markers, the end of a flight
 *      stuck.c         work in flight that waits for work at the gate
 *      gate.c          waits for the lease, the bucket and the window; gives credit
 *      drain.c         answers a hold of the session
 *      tend.c          what the helper does between the program's calls
 *
 * Nothing here knows CUDA: a front end supplies struct time_driver. Any thread may call; a forked
 * child finds this memory wiped. Calls of the driver that only ask are made under `looking` and
 * `parking`; calls that put something into a stream are made under `marking` and the stream's own
 * lock.
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
/* Maximum streams of one look; further ones are found busy or empty one look later. */
#define TIME_LOOK_STREAMS 256u
/* Markers of one round: in the stream that fills the round, and in other streams. */
#define TIME_ROUND_MARKERS 4u

enum stream_work {
        STREAM_EMPTY,
        STREAM_BUSY,
        STREAM_ASKED, /* a look asks whether it is empty; a submission makes it busy again */
};

/* More than one thread has, or had, credit for the stream. */
#define STREAM_MANY UINT32_MAX

/* One wait that parks a stream: untimed events before and behind the wait. */
struct park {
        void *before; /* NULL: passed */
        void *behind;
};

/* A wait shorter than this may have found work that completed long before. */
#define TIME_BLOCKED_NS UINT64_C(10000)

#define TIME_PARKS 64u
/* Maximum parked streams of a device. With more, a stream that is ordered behind a parked one
 * counts as in flight. */
#define TIME_WAITING 16u

/* A stream's part in the implicit order with its context's default stream. */
enum stream_order {
        STREAM_UNORDERED,
        STREAM_DEFAULT, /* waits for all blocking streams, and they wait for it */
        STREAM_BLOCKING,
};

/* A stream as the front end names it. */
struct stream_name {
        uint64_t key; /* never 0 */
        uint64_t handle;
        uint64_t context;
        enum stream_order order;
        bool is_of_thread; /* a thread's own default stream; other threads cannot name it */
};

/* A stream of this process. Its entry is reused after the stream was destroyed. */
struct time_stream {
        _Atomic uint64_t key;    /* 0: the entry is free. Written last (release) */
        _Atomic uint64_t handle; /* the front end's handle */
        uint64_t context;
        enum stream_order order;
        _Atomic bool is_of_thread;
        struct time_device *device;
        _Atomic uint32_t grants;      /* how often credit for it was given */
        _Atomic uint64_t used_ns;     /* when credit for it was last given, or a marker passed */
        _Atomic uint32_t work;        /* enum stream_work */
        _Atomic uint32_t user;        /* number of the only thread that has credit; STREAM_MANY */
        _Atomic uint32_t is_captured; /* by our own hooks: its work goes into a graph */
        _Atomic uint32_t is_gone;     /* destroyed: the driver is not asked about it */
        _Atomic uint32_t is_touched;  /* it may hold work that is not metered as GPU time */
        _Atomic uint32_t marked_gate; /* the hold in which its end marker was placed; 0: none */
        /* marker behind the last of its work, for a destroyed stream or one that not every
         * thread can ask about; NULL: none. Written under `lock` */
        void *_Atomic end_marker;
        /* held across begin and end of captures, and while we ask the driver about it */
        struct lock lock;
        /* guards what follows; never held across a call that adds to the stream, which blocks
         * while the stream is full */
        struct lock parking;
        struct park park[TIME_PARKS]; /* oldest first */
        _Atomic uint32_t parker;      /* number of the thread that adds a wait right now; 0: none */
        uint32_t parker_grants;       /* the value of `grants` when it began */
        _Atomic uint32_t parks;       /* written under `parking` */
        /* when it was first seen parked, if it still is; else 0. Written under the device's
         * lock, as is the next */
        _Atomic uint64_t parked_ns;
        uint64_t queued_ns; /* GPU time, by weights, admitted behind the wait since then */
        uint32_t place;     /* its index in the device's list of busy streams */
        /* number of its markers in rounds, complete or not; written under the device's lock */
        _Atomic uint32_t markers;
};

/* What this module calls in the driver. Any thread between relax(true) and relax(false) may call
 * these; record() needs neither. */
struct time_driver {
        /* Records an event behind all that the stream holds now; NULL: no event is available. */
        void *(*record)(struct time_stream *stream);
        /* Whether the marker has passed. A destroyed stream or context has nothing in flight. */
        bool (*is_passed)(struct time_stream *stream, void *marker);
        /* Whether this thread can neither ask about the stream now nor add to it, unless it is
         * about to submit to it. */
        bool (*is_unseen)(const struct time_stream *stream);
        /* Whether the stream is empty; not called for a captured or unseen stream. */
        bool (*is_empty)(struct time_stream *stream);
        /* Returns the marker for reuse. */
        void (*drop)(struct time_stream *stream, void *marker);
        /* From now on, until the matching relax(false), calls of this thread disturb no other
         * thread's capture, and its current context changes only by our calls. */
        void (*relax)(bool is_relaxed);
};

struct time_marker {
        struct time_stream *stream;
        void *marker; /* NULL: passed */
};

/* What is kept about a device of the session. */
struct time_device {
        struct account account;
        const struct time_driver *driver;
        _Atomic uint32_t is_ready;   /* the fields above are valid (release) */
        _Atomic uint32_t epoch;      /* raising it ends every credit of this device */
        _Atomic uint32_t is_filling; /* the bucket ran dry: no submission until it has filled */
        _Atomic uint64_t looked_ns;  /* when the last look began */
        _Atomic uint64_t shut_ns;    /* when the lease was last seen to shut the gate */
        _Atomic uint32_t wanted;     /* threads in device_stop_looks() that wait for `looking` */
        _Atomic uint32_t standing;   /* threads that wait at the gate, and look meanwhile */
        _Atomic uint32_t blocked;    /* threads in a wait of the program for work of the device */
        _Atomic uint64_t blocked_ns; /* since when there are any */
        struct lock looking;         /* held during a look, also across driver calls that ask */
        /* held while a round is ended, also while its markers wait for space in a full stream;
         * looks go on meanwhile */
        struct lock marking;

        struct lock lock; /* guards what follows; never held across a call of the driver */
        struct flight flight;
        struct window window;
        struct stuck stuck;
        /* the stream whose submission last passed that way; valid while stuck_is_open() */
        struct time_stream *let_into;
        struct time_marker marker[WINDOW_ROUNDS][TIME_ROUND_MARKERS];
        bool is_unmarked[WINDOW_ROUNDS]; /* no event was available: complete when the flight ends */
        uint32_t busy_count;
        struct time_stream *busy[TIME_STREAMS];
        _Atomic uint32_t waiting_count;            /* written under that lock */
        struct time_stream *waiting[TIME_WAITING]; /* parked, or with a wait ahead */
};

/* -- streams.c -------------------------------------------------------------------------------- */

/* The device of a row of the page, attached; NULL when the session is gone. */
struct time_device *device_of(int row, const struct time_driver *driver);

/* The index-th ready device, for the helper; NULL: there are no more. */
struct time_device *device_at(unsigned index);

/* The stream with that key (never 0) of the front end; NULL: not known yet. No lock. */
struct time_stream *stream_find(uint64_t key);

/* As stream_find(), but makes the stream if needed. NULL: every entry has a stream with work. */
struct time_stream *stream_make(const struct stream_name *name, struct time_device *device);

/* Notes that this thread is about to submit to the stream, which has work from now on. */
void stream_use(struct time_stream *stream, uint64_t now_ns);

/* Notes that the stream is about to be destroyed; its remaining work counts until it completes. */
void stream_forget(struct time_stream *stream);

/* Call before a context may be destroyed, which blocks until its work completes. Until
 * context_resume() its streams are not asked about, their work counts as in flight, and no round is
 * marked. Looks at other streams go on. One context at a time; 0: it is not known which one, so all
 * are held. */
void context_hold(uint64_t context);
void context_resume(void);

/* Whether context_hold() covers the stream, so that it must not be asked about. */
bool stream_is_ending(const struct time_stream *stream);

/* Between context_hold() and context_resume(): the context was destroyed between `began_ns` and
 * now. All its work has completed, and its events are gone. */
void streams_end(uint64_t context, uint64_t began_ns);

/* Calls `each` for all streams. A stream's context and handle may change meanwhile, if it is
 * destroyed and its entry reused. */
void streams_each(void (*each)(struct time_stream *stream, void *data), void *data);

/*
 * Notes that the program begins to wait, at `now_ns`, for this thread's last submission; ends with
 * wait_over(). A look that finds nothing in flight meanwhile does so just before the wait returns,
 * so the flight ends then, as it would with the wait. NULL: the thread has submitted nothing
 * metered.
 */
struct time_device *wait_blocks(uint64_t now_ns);
void wait_over(struct time_device *device);

/*
 * The program waited from `began_ns` until now, and the driver reported that all earlier work of
 * the stream, or of all streams of the context, has completed. Streams to which only this thread
 * submits are empty.
 */
void stream_told(struct time_stream *stream, uint64_t began_ns);

/*
 * The program waited for an event from `began_ns` until now. Usually the event is behind all that
 * the thread has submitted. So if the wait blocked, the driver is asked whether the stream of the
 * thread's last submission is empty.
 */
void stream_told_event(uint64_t began_ns);
void streams_told(uint64_t context, uint64_t began_ns);

/* -- park.c ----------------------------------------------------------------------------------- */

/* Call before and after a wait for the host or for a word in memory is added to the stream. Work
 * behind the wait is not in flight until the wait is over. If another thread adds to the stream at
 * the same time, the wait is ignored, because its position is unknown. */
void stream_park_begin(struct time_stream *stream);
void stream_park_end(struct time_stream *stream, bool is_there);

/* Whether the stream is parked, or all that it holds is ordered behind a parked stream. */
bool stream_is_parked(struct time_stream *stream);

/* Under the device's lock: when work of `ns` of GPU time may be admitted behind the stream's wait.
 * One submission, or `round_ns` of work, may be admitted at once. 0: the stream has no wait. */
uint64_t stream_queue_due_ns(const struct time_stream *stream, uint64_t ns, uint64_t round_ns,
                             uint32_t cap_ppm);

/* Whether any stream of any device is parked; a stream that waits for its event may be parked
 * too. */
bool streams_wait(void);

/* Forgets the stream's waits; its entry will belong to another stream. */
void stream_park_forget(struct time_stream *stream);
/* Forgets our events in the stream, which are gone with its context. */
void stream_park_lose(struct time_stream *stream);

/* -- look.c ----------------------------------------------------------------------------------- */

/* Looks at what is in flight; does nothing if another look began since `due_ns`. */
void device_look(struct time_device *device, uint64_t due_ns);

/* Stops looks until device_resume_looks(): waits for a running look, and no new one begins, however
 * often threads look. */
void device_stop_looks(struct time_device *device);
void device_resume_looks(struct time_device *device);

/* Whether the stream is empty, by the driver. False for a captured stream, because asking would end
 * the capture, and for a stream to which a thread adds right now, which may block while the stream
 * is full. */
bool stream_is_empty(struct time_stream *stream);

/* Under the device's lock: when the account needs the next look; CLOCK_NEVER: no stream has
 * work. */
uint64_t device_look_ns(const struct time_device *device);
/* As device_look_ns(), while another session waits for this one to drain. */
uint64_t device_awaited_look_ns(const struct time_device *device);

/* Places a marker behind what this thread has just submitted, for threads that cannot ask about the
 * stream. */
void stream_mark_end(struct time_stream *stream);
/* Removes that marker: it says nothing about later submissions. */
void stream_unmark_end(struct time_stream *stream);
/* Whether the stream's end marker has passed, so that the stream is empty. */
bool stream_is_told_over(struct time_stream *stream);

/* Places markers behind all submissions so far, because a round is full. */
void device_mark(struct time_device *device, struct time_stream *stream);

/* Under the device's lock: these streams were found empty, and `parked` others are parked.
 * `end_ns`: when a wait of the program for the device ended, or now if no look came between; 0: the
 * end is sampled. */
struct emptied {
        struct time_stream *const *stream;
        unsigned count;
        unsigned parked;
        uint64_t end_ns;
};

void device_empty(struct time_device *device, const struct emptied *emptied);

/* -- gate.c ----------------------------------------------------------------------------------- */

struct gate_ask {
        uint64_t key;     /* the program's name of the stream, ... */
        uint64_t context; /* ... and the context in which it has this name; 0: in any */
        uint32_t hint;    /* hint of the submission (window.h) */
};

/* Waits until this thread may submit to the stream, and gives it credit (credit.h). False: it gets
 * no credit, and submits unmetered. */
bool gate_wait_turn(struct time_stream *stream, const struct gate_ask *ask);

/* Moves this thread's credit to another stream. False: not possible; the thread must ask at the
 * gate. Between credit_enter() and credit_leave(). */
bool gate_switch(uint64_t key);

/* Gives unlimited credit for unmetered work, until the limits change or a scheduler starts. */
void gate_leave_open(const struct account *account, uint64_t key, uint64_t context);
void gate_leave_open_for_ever(void);

/* Ends all credit of the process, except that of gate_leave_open_for_ever(). */
void gate_end_credit(void);

/* Ends this thread's credit, and returns the unused part to the window. */
void gate_return_credit(void);

/* -- drain.c ---------------------------------------------------------------------------------- */

/* Notes that a call is about to add work to the stream that touches a device's memory but is no
 * submission. */
void stream_touch(struct time_stream *stream);

/* In a hold of the session, before this thread waits for its end: places markers in streams that
 * only this thread can name, so that the helper sees when they are empty. */
void streams_mark_in_hold(void);

/* Clears the note of stream_touch() for streams that are empty by now, so that their entries can be
 * reused. */
void streams_untouch(const struct time_driver *driver);

/* While the session is held (limits_page.gate): reports this process as drained, once it is. Called
 * by the helper. Returns when to look again. */
uint64_t drain_tend(uint64_t now_ns);

/* Whether the session is held and this process has answered that hold. */
bool drain_is_answered(void);

/* -- tend.c ----------------------------------------------------------------------------------- */

/* Wakes the helper for a flight that began. */
void tend_soon(void);

/* Makes the helper run another task after it has answered holds. One task a process. */
void tend_also(uint64_t (*task)(uint64_t now_ns));

#endif
