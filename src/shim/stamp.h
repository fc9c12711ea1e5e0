/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver's time stamps are believed, and what the time between two of them says of the work
 * in between. Whatever a driver answers, and wherever the host was held up, one value is wrong for
 * a while at most, and never makes work free:
 *
 * An *anchor* is a moment of the driver's time and when it was by the host's clock. A stamp that
 * would lie before its event was asked for, or after now, shows that the anchor is wrong by so
 * much, and moves it: so it is right as soon as a stamp shows it, however late it was taken. What
 * lies before or after such a stamp is what was expected; so is what ended, by its stamp, when it
 * was seen not to have ended, since that may be a driver which tells late. A driver whose stamps
 * show it again and again tells no times.
 *
 * Work is taken for shorter than the time between its two markers by half of it at most, however
 * long the host took to launch it: who returns late from a launch may be told of its end. Where the
 * host was away, so that the stream may have been idle unseen, the work is what was expected, as
 * far as that can be; after DOUBTS such intervals in a row one is believed as it is.
 *
 * Pure, nanoseconds; whoever has the lock.
 */
#ifndef ALIQUOT_SHIM_STAMP_H
#define ALIQUOT_SHIM_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* Stamps for which an anchor was far off, by which a driver tells no times: so many in a row, or
 * three times as many where every second one is. */
#define STAMP_MOVES 8u
#define STAMP_DOUBTS 16u
/* Of an interval, before its work began, at most. */
#define STAMP_LEAD_NS UINT64_C(50000)

struct anchor {
        int64_t base_ns; /* by the host's clock */
        uint32_t moves;  /* 3 for each stamp that it was far off for, less 1 for each other */
};

/* After a driver told no times: a new one, which is believed less. */
static inline struct anchor anchor_again(int64_t base_ns)
{
        return (struct anchor){ base_ns, 3 * (STAMP_MOVES - 2) };
}

/* The driver's milliseconds in ns. False: that is no time. */
bool stamp_ns(float ms, int64_t *ret_ns);

/* A stamp, as it is believed. */
struct stamp {
        int64_t at_ns;
        bool is_moved; /* far: nothing is learned from it */
        bool is_early; /* the caller's: its event was seen to be to come even later */
};

/* An event `apart_ns` after the anchor that was not passed before asked_ns and found so at now_ns,
 * as it is believed: between the two, but for what milliseconds are rounded by. False: the driver
 * tells no times. */
bool anchor_place(struct anchor *anchor, int64_t apart_ns, int64_t asked_ns, int64_t now_ns,
                  struct stamp *ret);

/* Work between two markers. */
struct sample {
        uint64_t apart_ns;  /* the markers */
        uint64_t lead_ns;   /* of that, before the work began, by the host's clock; 0: none */
        uint64_t unseen_ns; /* the host was away so long and the stream may have been idle */
        uint64_t paid_ns;   /* was expected */
        bool is_moved;      /* one of the stamps */
        bool is_early;      /* the later one */
};

/* What it took. `doubts`: of the stream, 0 at first. *ret_is_sure: worth learning from. */
uint64_t sample_took_ns(const struct sample *sample, uint32_t *doubts, bool *ret_is_sure);

#endif
