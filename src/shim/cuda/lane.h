/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a program's work takes on the device, measured by events in its own streams.
 *
 * A *lane* is a stream of a context. A *marker* is an event of ours, recorded in the lane before or
 * after a launch: never in a stream that is being captured, never with a synchronisation, never a
 * callback. Between two markers of a lane the device worked if the stream was never idle, which is
 * known when the first was still to come as the second was placed, or when nothing but one launch
 * is between them. Such an interval is measured: its part that no other lane covers (spans.h) is
 * what the work took. Launches of which nothing of the kind is known are charged what measured ones
 * take on average. So a program that keeps its stream full is measured whole, by a marker now and
 * then; of one that waits for each short launch, some launches are measured, picked at random.
 *
 * What is put in a stream between two launches and is no work of the device breaks the lane
 * (pause.h): the next marker begins anew. If that may be a wait, and everything before that marker
 * is done while it is still to come, the lane is *blocked*: what was launched behind it cannot
 * begin, and is not in the way of what is launched elsewhere. Nobody knows what was put in a stream
 * before its lane was made, so a lane begins broken.
 *
 * A lane's markers belong to who holds the lane (lane_try()); nobody waits for a lane, because who
 * holds it may stand in the driver: a launch that finds it held goes unmarked. Everything here is
 * wiped in a forked child.
 */
#ifndef ALIQUOT_SHIM_CUDA_LANE_H
#define ALIQUOT_SHIM_CUDA_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/work.h"
#include "shim/estimate.h"

/* To come in a stream at a time; of those, behind a wait or what nothing is known of; and placed
 * since the last one was passed. Each takes a place of those that a driver has for what is not
 * done, and may stand behind what only the program ends, once it has filled the others. */
#define LANE_MARKERS 32u
#define LANE_BEHIND 6u
#define LANE_UNMOVED 16u
#define LANES 128u

struct timeline;

struct marker {
        bool is_end;      /* measures from the marker before it */
        bool is_twin;     /* of the marker before it: tells what markers take */
        bool is_behind;   /* a wait, perhaps: begins anew after one */
        uint32_t pieces;  /* launches in between */
        uint64_t paid_ns; /* for them */
        uint64_t own_ns;  /* of that, for those that were paid for by their own cost */
        uint64_t what;    /* the one kernel or graph in between, to be learned; 0: launches */
        uint32_t age;     /* cost_begin()'s */
        bool is_compound;
        bool is_unknown;    /* was, when it was launched */
        bool is_drawn;      /* the one launch in between was picked at random */
        bool is_of_burst;   /* of launches that are part of a burst which is measured (burst.h) */
        uint32_t burst;     /* and which tells of others */
        uint32_t last_of;   /* the one that ends here */
        uint64_t lead_ns;   /* the work began so long after the marker before it was passed */
        uint64_t unseen_ns; /* the stream may have been idle so long in between */
        uint64_t asked_ns;  /* host's time before it was recorded, ... */
        uint64_t placed_ns; /* ... and after */
};

/* What was put in a stream since its lane last began anew, beside launches. */
enum lane_break {
        LANE_WHOLE,
        LANE_BROKEN, /* something that ends by itself */
        LANE_WAITS   /* something that may wait for anybody */
};

struct lane {
        _Atomic uint32_t is_held;
        _Atomic uint64_t context;  /* 0 = free; written last (release), under lanes_lock */
        _Atomic uint64_t key;      /* stream_key() */
        CUstream stream;           /* with the default stream spelt out */
        struct work *_Atomic work; /* others may look */
        struct timeline *timeline; /* NULL: no events to be had */
        /* Then, by the host's clock: the first launch since it was idle, when it was last seen not
           to be, and work->gated_ns at that first launch; and when to try events again. */
        uint64_t began_ns, working_ns, gated_ns;
        bool is_behind; /* that one stands behind work from when there were events */
        uint64_t retime_ns;
        _Atomic uint64_t used_at_ns;

        /* Launched since the newest marker. */
        _Atomic uint32_t since;
        _Atomic uint64_t since_ns; /* paid for them */
        /* Of those, paid for by their own cost. */
        _Atomic uint32_t own_since;
        _Atomic uint64_t own_since_ns;

        _Atomic uint32_t broken; /* enum lane_break; any thread says so */

        /* Of the holder: */
        CUevent event[LANE_MARKERS];
        struct marker marker[LANE_MARKERS];
        uint32_t first;                 /* markers to come, oldest first */
        uint32_t unmoved;               /* placed since one was passed */
        uint32_t behind;                /* from the newest one on that tells of a wait's end, or of
                                           what may be one; 0: there is none */
        _Atomic uint32_t count;         /* others may look, also at the next three */
        _Atomic uint64_t blocked_at_ns; /* it was seen to be, then; 0: it is not */
        _Atomic uint64_t in_flight_ns;  /* its part of the work's */
        struct motion motion;
        uint32_t gap_bits;      /* so many launches go to the next passage: 1 << that on average */
        bool is_drawing;        /* the launch that is measured next is picked at random */
        uint32_t unmeasured;    /* launches of which the next one picked will tell, ... */
        uint64_t unmeasured_ns; /* ... and what was paid for them */
        uint64_t longest_ns;    /* that one alone took, of late */
        uint64_t thread;        /* that used it last, ... */
        uint64_t shared_at_ns;  /* ... when another one had before */
        bool has_bursts;        /* the program waits for it by calls (burst.h) */
        bool is_measuring;      /* the burst that is under way, ... */
        bool is_picked;         /* ... which was picked at random, and tells of others */
        bool has_left;          /* some launched since the newest marker are theirs to be told */
        uint64_t left_ns;       /* paid for those of them that are of the burst under way */
        uint32_t wary;          /* so many are still measured launch by launch */
        uint32_t burst;         /* number of the last one that was picked */
        uint32_t summed;        /* of one of them, what it took so far: */
        bool is_burst_sure;
        uint64_t burst_ns;
        uint32_t bursts;         /* that nothing measured; their launches are the unmeasured ones */
        uint32_t bursts_to_skip; /* so many more, to the next one that is measured */
        uint64_t burst_mean_ns;  /* of many */
        uint32_t doubts;         /* intervals in a row that were not believed */
        uint64_t busy_ns;        /* host's time when it was last known to have a marker to come, */
        uint64_t unpassed_ns;    /* and when the oldest of them was last seen not to be passed */
        bool has_last, is_last_moved; /* (shim/stamp.h) */
        _Atomic int64_t last_ns; /* of the newest marker passed; while there are others, no later
                                    interval begins before it */
        struct estimate piece;   /* others may look: written under the work's lock */
};

/* The lane of a stream (default streams spelt out) in a context that is its own; NULL: too many. */
struct lane *lane_find(CUcontext context, CUstream stream, struct work *work);

/* The one that there is; NULL: none. */
struct lane *lane_peek(CUcontext context, CUstream stream);

/* The same as lane_find(), and waits for one for a second. */
struct lane *lane_await(CUcontext context, CUstream stream, struct work *work);

bool lane_try(struct lane *lane);
void lane_drop(struct lane *lane);

/* Still that stream's: who waited, or does not hold it, may find that others were given it. */
bool lane_is_of(struct lane *lane, CUcontext context, CUstream stream);
/* lane_try(), if it is. */
bool lane_try_of(struct lane *lane, CUcontext context, CUstream stream);

/* Settles what has been passed. */
void lane_reap(struct lane *lane);

/* A marker is still to come. */
static inline bool lane_is_pending(const struct lane *lane)
{
        return load_relaxed(&lane->count) > 0;
}

/* What may be in the stream now (`how`) is no work: its lane, if it has one, begins anew. */
static inline void lane_break(struct lane *lane, enum lane_break how)
{
        uint32_t whole = LANE_WHOLE;

        if (how == LANE_WAITS)
                store_release(&lane->broken, LANE_WAITS);
        else
                cas_acq_rel(&lane->broken, &whole, (uint32_t)how);
}

/* The stream is idle: what was a wait is over. */
static inline void lane_note_idle(struct lane *lane)
{
        uint32_t waits = LANE_WAITS;

        cas_acq_rel(&lane->broken, &waits, LANE_BROKEN);
}

/* lane_break() of all lanes of the context. */
void lanes_break(CUcontext context, enum lane_break how);

/* The stream is about to be destroyed: nobody puts anything more in it until a program launches in
 * one of that name. Waits for nobody for long. */
void lanes_leave_stream(CUstream stream);

static inline uint32_t lane_least(uint32_t a, uint32_t b)
{
        return a < b ? a : b;
}

/* So many more markers may be placed. The lane is held. */
static inline uint32_t lane_places(const struct lane *lane)
{
        uint32_t places =
                lane_least(LANE_MARKERS - load_relaxed(&lane->count), LANE_UNMOVED - lane->unmoved);

        /* What comes next stands behind something else. */
        if (!lane->behind || load_acquire(&lane->broken) != LANE_WHOLE)
                return places;
        return lane_least(places, LANE_BEHIND - lane_least(lane->behind, LANE_BEHIND));
}

/* For one that may as well be left out, as what it would end is then told by a later one; or that
 * is worth nothing without a second one. */
static inline bool lane_has_room(const struct lane *lane)
{
        return lane_places(lane) > 1;
}

/* For one that ends those since the newest: where few places are left it has to tell of much. */
static inline bool lane_is_worth_one(const struct lane *lane)
{
        bool is_much = load_relaxed(&lane->since_ns) >= load_relaxed(&lane->in_flight_ns);

        return lane_places(lane) > (is_much ? 1 : LANE_UNMOVED / 2);
}

/* When the oldest of them was placed; 0: there is none. */
uint64_t lane_oldest_ns(const struct lane *lane);

/* Launches that no marker follows. */
struct launched {
        uint32_t pieces;
        uint64_t paid_ns; /* for them */
        uint32_t own;     /* of them, paid for by their own cost, ... */
        uint64_t own_ns;  /* ... which was this */
};

/* They are in the lane, behind the newest marker. Any thread. */
static inline void lane_count(struct lane *lane, const struct launched *launched)
{
        add_relaxed(&lane->since, launched->pieces);
        add_relaxed(&lane->since_ns, launched->paid_ns);
        if (!launched->own)
                return;
        add_relaxed(&lane->own_since, launched->own);
        add_relaxed(&lane->own_since_ns, launched->own_ns);
}

/* Places a marker. `end`: its pieces, of which `paid_ns` was taken; NULL begins anew. Without room,
 * or an event to be had, nothing is placed: false. */
bool lane_mark(struct lane *lane, const struct marker *end);

/* One more marker would measure all that was launched since the newest, and nothing else. */
static inline bool lane_is_whole(const struct lane *lane)
{
        return !lane->has_left && (lane->is_measuring || !lane->has_bursts);
}

/* Places one behind what was launched since the newest: it ends that. False: it could not. */
bool lane_mark_since(struct lane *lane);

/* From a marker in an idle stream to the launch after it, which took the host until now: for so
 * long the stream stayed idle, as far as that is believed (shim/stamp.h). */
uint64_t lane_lead_ns(struct lane *lane);

/* A burst that is measured ends; one that was picked tells of those that were not. */
void lane_mark_last(struct lane *lane, bool is_telling);

/* Of a burst that is not measured, and to its end: the next one that is picked will tell of it. */
void lane_leave_part(struct lane *lane);
void lane_leave_burst(struct lane *lane);

/* Launches that no marker measures, and will not: all of them are charged at the average, or their
 * own cost. */
void lane_settle_since(struct lane *lane);

/* No marker measures those since the newest: if the next one to be measured is picked at random,
 * each is charged what that takes, else the average. */
void lane_leave_since(struct lane *lane);

/* Without events: a launch comes. */
void lane_begin_untimed(struct lane *lane);

/* Without events, else nothing: the lane is idle, or it is not. What was launched since took at
 * least until it was last seen to work and at most until now. A launch waits for the one before it
 * then, so that is nearly what it took; where the program waited at the gate, or comes back later,
 * it is the average, or as long as twice that. Now and then events are tried again. */
void lane_look_untimed(struct lane *lane, bool is_idle);

/* What is expected of a launch. */
struct expected {
        struct estimate estimate; /* how long it takes, less what works at the same time */
        bool is_own;              /* that is its own cost, or a guess: not the average's */
        bool is_unknown;          /* a guess */
        bool is_pending;          /* and one is under way that will tell */
};

/* Of a kernel or graph in the lane; `what` is 0 for anything. */
struct expected lane_expect(struct lane *lane, uint64_t what, bool is_compound);

/* Launches of unknown length that are still to be measured. */
uint32_t lane_unknown(const struct lane *lane);

#endif
