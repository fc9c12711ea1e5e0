/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time of this process: which streams have work in flight, and when a thread may submit more.
 *
 * A *submission* is a call that gives a device's processors work: kernel, graph, fill, copy within
 * the device. The process is in *flight* from a submission until all streams that were submitted to
 * are known to be empty; that is what a session is billed (account.h). Nothing is asked of a
 * kernel: neither how long it takes nor when it ran.
 *
 * When a flight ends is known, cheapest first: by what the program itself waits for
 * (stream_told()); by markers, events behind some submissions (window.h); by looks at streams whose
 * marker has not told (flight.h). A look that finds a stream empty believes it only if no thread
 * could submit meanwhile: it raises the device's epoch, which ends every credit, has all threads
 * see that (fence.h), and asks once more.
 *
 *      streams.c       streams of this process, and which of them have work
 *      park.c          streams that wait for somebody
 *      look.c          looks, markers, the end of a flight
 *      stuck.c         what is in flight waits for what is not let in
 *      gate.c          waits for the lease, the bucket and the window; gives credit
 *      drain.c         answers a hold of the session
 *      tend.c          what the helper does between the program's calls
 *
 * Nothing here knows CUDA: a front end supplies struct time_driver. Any thread; wiped in a forked
 * child. Across calls of the driver `looking` and `parking` are held where these only ask,
 * `marking` and a stream's own lock where they put something into a stream.
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
/* Looked at together; beyond that some of them are found busy or empty one look later. */
#define TIME_LOOK_STREAMS 256u
/* Markers of one round: in the stream that fills it, and in others. */
#define TIME_ROUND_MARKERS 4u

enum stream_work {
        STREAM_EMPTY,
        STREAM_BUSY,
        STREAM_ASKED, /* a look asks whether it is empty; a submission makes it busy again */
};

/* More than one thread has, or had, credit for the stream. */
#define STREAM_MANY UINT32_MAX

/* What makes a stream wait for somebody: untimed events before and behind it. */
struct park {
        void *before; /* NULL: passed */
        void *behind;
};

/* A wait that is shorter may have found work that had been over for long. */
#define TIME_BLOCKED_NS UINT64_C(10000)

#define TIME_PARKS 64u
/* Streams of a device that wait for somebody: of more than these, what is ordered behind one is
 * taken for in flight. */
#define TIME_WAITING 16u

/* A stream's part in the order of its context's default stream. */
enum stream_order {
        STREAM_UNORDERED,
        STREAM_DEFAULT, /* what it does begins when all blocking ones are done, and they wait for it
                         */
        STREAM_BLOCKING,
};

/* A stream as the front end names it. */
struct stream_name {
        uint64_t key; /* never 0 */
        uint64_t handle;
        uint64_t context;
        enum stream_order order;
        bool is_of_thread; /* a thread's own default stream, which no other one can name */
};

/* A stream of this process. Its place is used again when the stream was destroyed. */
struct time_stream {
        _Atomic uint64_t key;    /* 0: free. Written last (release) */
        _Atomic uint64_t handle; /* the front end's */
        uint64_t context;
        enum stream_order order;
        _Atomic bool is_of_thread;
        struct time_device *device;
        _Atomic uint32_t grants;      /* credit for it was given so often */
        _Atomic uint64_t used_ns;     /* credit for it was last given, or a marker passed */
        _Atomic uint32_t work;        /* enum stream_work */
        _Atomic uint32_t user;        /* number of the one thread that has credit; STREAM_MANY */
        _Atomic uint32_t is_captured; /* by our own hooks: into a graph */
        _Atomic uint32_t is_gone;     /* destroyed: nothing is asked of it */
        _Atomic uint32_t is_touched;  /* what is nobody's GPU time may be in flight in it */
        _Atomic uint32_t marked_gate; /* the hold in which its end marker was put; 0: none */
        void *_Atomic end_marker; /* behind the last of its work, of one that is gone or that not
                                   * everybody can ask about; NULL: none. Written under `lock` */
        struct lock lock; /* held across begin and end of captures, and across what we ask of it */
        struct lock parking; /* of the following; never held across what takes a place in the
                              * stream, since that may take as long as the stream is full */
        struct park park[TIME_PARKS]; /* the oldest first */
        _Atomic uint32_t
                parker; /* number of the thread that puts one there, and is told apart; 0: none */
        uint32_t parker_grants;     /* when it began */
        _Atomic uint32_t parks;     /* written under it */
        _Atomic uint64_t parked_ns; /* it was first seen to wait for somebody, and still is; 0: it
                                     * does not. Written under the device's lock, as the next */
        uint64_t queued_ns;         /* of GPU time, by weights, let in behind the wait since */
        uint32_t place;             /* in the device's list of busy ones */
        _Atomic uint32_t
                markers; /* of it, of rounds in flight or over; written under the device's lock */
};

/* The driver, as far as time needs it. Each may be called in any thread that is between
 * relax(true) and relax(false), but for record(), which needs neither. */
struct time_driver {
        /* An event behind all that the stream holds now; NULL: none could be had. */
        void *(*record)(struct time_stream *stream);
        /* A stream or context that is gone has nothing in flight. */
        bool (*is_passed)(struct time_stream *stream, void *marker);
        /* This thread can neither ask about it now nor put anything in it, unless it is about to
         * submit to it. */
        bool (*is_unseen)(const struct time_stream *stream);
        /* Whether nothing is left of the stream; not asked of one that is captured, or unseen. */
        bool (*is_empty)(struct time_stream *stream);
        /* Gives the marker back, to be used again. */
        void (*drop)(struct time_stream *stream, void *marker);
        /* From now on (until false, as often) calls of this thread disturb no capture of another
         * one, and its context stays the same but for what we do. */
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
        _Atomic uint32_t is_ready; /* the above are filled in (release) */
        _Atomic uint32_t epoch;    /* raised: no credit of this device is good any more */
        _Atomic uint32_t
                is_filling; /* the bucket ran dry: nothing is submitted until it has filled */
        _Atomic uint64_t looked_ns;  /* the last look began */
        _Atomic uint64_t shut_ns;    /* the gate was last seen shut, by the lease */
        _Atomic uint32_t wanted;     /* threads in device_stop_looks() that wait for `looking` */
        _Atomic uint32_t standing;   /* threads that wait at the gate, and look meanwhile */
        _Atomic uint32_t blocked;    /* threads in a wait of the program's for work of the device */
        _Atomic uint64_t blocked_ns; /* since when there are some */
        struct lock looking; /* held by who looks, also across calls of the driver that ask */
        struct lock marking; /* held by who ends a round, also while its markers find no place in a
                              * full stream: looks go on meanwhile */

        struct lock lock; /* guards what follows; never held across a call of the driver */
        struct flight flight;
        struct window window;
        struct stuck stuck;
        struct time_stream *let_into; /* by it, last; while stuck_is_open() */
        struct time_marker marker[WINDOW_ROUNDS][TIME_ROUND_MARKERS];
        bool is_unmarked[WINDOW_ROUNDS]; /* there was no event to be had: over with the flight */
        uint32_t busy_count;
        struct time_stream *busy[TIME_STREAMS];
        _Atomic uint32_t waiting_count;            /* written under that lock */
        struct time_stream *waiting[TIME_WAITING]; /* have something to wait for */
};

/* -- streams.c -------------------------------------------------------------------------------- */

/* The device of a page's row, attached; NULL when the session has gone. */
struct time_device *device_of(int row, const struct time_driver *driver);

/* The devices that are ready, one by one, for the helper; NULL: there is none further. */
struct time_device *device_at(unsigned index);

/* The stream with that key (never 0), as the front end makes it out; NULL: not known yet. No lock.
 */
struct time_stream *stream_find(uint64_t key);

/* The same, made if need be. NULL: every place is taken by a stream with work. */
struct time_stream *stream_make(const struct stream_name *name, struct time_device *device);

/* This thread is about to submit to it: it has work from now on. */
void stream_use(struct time_stream *stream, uint64_t now_ns);

/* The stream is about to be destroyed: what it still runs counts until it is done. */
void stream_forget(struct time_stream *stream);

/* A context may be about to be destroyed, which takes as long as its work does: until
 * context_resume() nobody asks about its streams, whose work counts as in flight, and no round is
 * marked. Looks at others go on. One context at a time; 0: nobody knows which, so all are held. */
void context_hold(uint64_t context);
void context_resume(void);

/* Its context is held so: nothing is asked of it. */
bool stream_is_ending(const struct time_stream *stream);

/* Between the two: it was destroyed, from `began_ns` until now, and all that was in flight in it is
 * done. Events of it are gone. */
void streams_end(uint64_t context, uint64_t began_ns);

/* Calls `each` for all streams. Whose context and handle each has may change meanwhile, where it is
 * destroyed and another one made. */
void streams_each(void (*each)(struct time_stream *stream, void *data), void *data);

/*
 * The program begins to wait for what this thread submitted last, at `now_ns`; until wait_over(). A
 * look that finds nothing in flight meanwhile finds it just before the wait returns, so the flight
 * ends then, as it would with the wait. NULL: it has submitted nothing that is metered.
 */
struct time_device *wait_blocks(uint64_t now_ns);
void wait_over(struct time_device *device);

/*
 * The program waited, from `began_ns` until now, and the driver said that all that had been
 * submitted to the stream, or to all streams of the context, by then is done. Streams that only
 * this thread submits to are empty.
 */
void stream_told(struct time_stream *stream, uint64_t began_ns);

/*
 * The program waited for an event, from `began_ns` until now. Mostly that stands behind all that
 * the thread has submitted: where the wait blocked, the driver is asked whether the stream of its
 * last submission is empty.
 */
void stream_told_event(uint64_t began_ns);
void streams_told(uint64_t context, uint64_t began_ns);

/* -- park.c ----------------------------------------------------------------------------------- */

/* Something that waits for somebody is about to be put in the stream, and was put there. What
 * stands behind it is not in flight until that is over. Not where another thread puts something
 * there, too: nobody knows on which side of the wait that is. */
void stream_park_begin(struct time_stream *stream);
void stream_park_end(struct time_stream *stream, bool is_there);

/* The stream has come to such a wait, and no further; or what it holds is ordered behind a stream
 * that has. */
bool stream_is_parked(struct time_stream *stream);

/* Under the device's lock: when what takes `ns` of GPU time may be let in behind what the stream
 * waits for, of which one, or `round_ns`, may be at once; 0: it does not wait. */
uint64_t stream_queue_due_ns(const struct time_stream *stream, uint64_t ns, uint64_t round_ns,
                             uint32_t cap_ppm);

/* Whether some stream waits, on whatever device: so may one that waits for an event of that. */
bool streams_wait(void);

/* Forgets what the stream waited for: its place is another stream's from now on. */
void stream_park_forget(struct time_stream *stream);
/* Forgets our events in the stream, which are gone with its context. */
void stream_park_lose(struct time_stream *stream);

/* -- look.c ----------------------------------------------------------------------------------- */

/* What is in flight, now; nothing if somebody has looked since `due_ns`. */
void device_look(struct time_device *device, uint64_t due_ns);

/* Between the two nobody looks: what began before is over. They are waited for, and wait for this
 * thread, also where a look begins as soon as the last one is over. */
void device_stop_looks(struct time_device *device);
void device_resume_looks(struct time_device *device);

/* The driver says that nothing of it is left. False for one whose work is recorded, which is not
 * asked, as that would end the recording, and for one into which something is put right now, which
 * takes long where it is full. */
bool stream_is_empty(struct time_stream *stream);

/* Under the device's lock: when that is due for the account; CLOCK_NEVER: no stream has work. */
uint64_t device_look_ns(const struct time_device *device);
/* As device_look_ns(), while another session waits to hear that nothing is in flight. */
uint64_t device_awaited_look_ns(const struct time_device *device);

/* Places a marker behind what this thread has just submitted, for those who look: they cannot ask
 * about the stream. */
void stream_mark_end(struct time_stream *stream);
/* What is submitted from now on has none: the one that is there says nothing. */
void stream_unmark_end(struct time_stream *stream);
/* Whether the stream's marker says that nothing of the stream is left. */
bool stream_is_told_over(struct time_stream *stream);

/* Places markers behind what was submitted until now: a round is full. */
void device_mark(struct time_device *device, struct time_stream *stream);

/* Under the device's lock: the streams were found empty, and `parked` others wait for somebody.
 * `end_ns`: when a wait of the program ended at it, or now where nobody looked meanwhile; 0: it is
 * sampled. */
struct emptied {
        struct time_stream *const *stream;
        unsigned count;
        unsigned parked;
        uint64_t end_ns;
};

void device_empty(struct time_device *device, const struct emptied *emptied);

/* -- gate.c ----------------------------------------------------------------------------------- */

struct gate_ask {
        uint64_t key;     /* how the program names the stream, ... */
        uint64_t context; /* ... which is that one in this context; 0: in any */
        uint32_t hint;    /* of the submission */
};

/* Waits until this thread may submit to the stream, and gives it credit for that (credit.h). False:
 * it may have none, and submits unmetered. */
bool gate_wait_turn(struct time_stream *stream, const struct gate_ask *ask);

/* The credit that this thread has is for the stream that it names so from now on. False: it is not,
 * and the thread asks at the gate. Between credit_enter() and credit_leave(). */
bool gate_switch(uint64_t key);

/* Credit without end, for what is not metered: until the limits change, or a scheduler comes. */
void gate_leave_open(const struct account *account, uint64_t key, uint64_t context);
void gate_leave_open_for_ever(void);

/* Ends all credit of the process, except that of gate_leave_open_for_ever(). */
void gate_end_credit(void);

/* This thread's credit ends: what it did not use is the window's again. */
void gate_return_credit(void);

/* -- drain.c ---------------------------------------------------------------------------------- */

/* A call that is about to be made leaves something to the stream which touches a device's memory,
 * and is no submission. */
void stream_touch(struct time_stream *stream);

/* The session is held, and this thread waits for the end of that: puts a marker behind what it left
 * in streams which it alone can name, so that the helper sees when that is over. */
void streams_mark_in_hold(void);

/* Forgets it of streams that are empty by now: their places may be used again. */
void streams_untouch(const struct time_driver *driver);

/* While the session is held (limits_page.gate): says that this process is drained, once it is. The
 * helper calls. When it is to look again. */
uint64_t drain_tend(uint64_t now_ns);

/* Whether the session is held and this process has answered that hold. */
bool drain_is_answered(void);

/* -- tend.c ----------------------------------------------------------------------------------- */

/* Wakes the helper, which is to look at a flight that began. */
void tend_soon(void);

/* Has the helper run another task after it has answered holds. One task a process. */
void tend_also(uint64_t (*task)(uint64_t now_ns));

#endif
