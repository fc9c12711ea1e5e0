/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a session may launch on a device now: the policy of the gate. Nanoseconds; no CUDA type.
 *
 * Who wants to launch asks for some pieces of work of one expected length. Granted pieces are paid
 * for from the bank at once, all of them; what they took is settled when it was measured. Else the
 * answer says what to wait for. In this order:
 *
 *   lease    the scheduler of the node says closed, or the lease is over: wait for its next word. A
 *            scheduler that fell silent is not obeyed.
 *   window   what is in flight reaches the target: wait until some of it is done.
 *   bank     the cap's bucket is empty: wait until it has filled.
 *   turn     of a session with a cap or a lease, one process launches at a time: an interval
 *            between two events of a process is its own work only while no other works. Turns end
 *            by the clock, so a dead holder is waited for no longer than a living one; who had the
 *            last one stands back for a moment if others want one. Without either the turn is taken
 *            where it is free, since it also says that work is in flight, and not waited for.
 *
 * What is used while there is no cap is not taken from the bank.
 *
 * Every function is pure but for the session's page and given `now_ns`; any thread of any process.
 */
#ifndef ALIQUOT_SHIM_ADMIT_H
#define ALIQUOT_SHIM_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

/* In flight at most, when nobody else says; and without a cap, where a newcomer waits for it. */
#define ADMIT_TARGET_NS UINT64_C(20000000)
#define ADMIT_LOOSE_NS UINT64_C(10000000)
/* Pieces granted at a time, at most. */
#define ADMIT_PIECES 4096u
#define ADMIT_TURN_NS UINT64_C(5000000)

/* A device of the session, for one process. */
struct admit {
        const struct limits_page *limits;
        const struct limits_device *device;
        struct slots_page *slots;
        struct page_meter *meter;
        uint32_t slot; /* PAGE_SLOTS: this process has none, and takes no turns */
};

/* What holds for the device now. */
struct terms {
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: none */
        uint32_t mode;    /* enum page_mode; FREE unless a scheduler speaks */
        bool is_watched;  /* a scheduler speaks */
        bool is_daemons;  /* or may at any time: the session is a daemon's */
        bool is_excused;  /* closed, and nobody waits to hear that all is done */
        uint32_t turn;    /* of the lease; even */
        uint64_t end_ns;
        uint64_t target_ns; /* never 0 */
};

struct terms admit_terms(const struct admit *admit, uint64_t now_ns);

/* Launches must be counted and measured. False: no cap, and no scheduler can come. */
static inline bool terms_are_strict(const struct terms *terms)
{
        return terms->is_watched || terms->is_daemons || terms->cap_ppm != PAGE_WHOLE_PPM;
}

/* Nothing holds but the window: whoever comes next must not stand behind a full queue. */
static inline bool terms_are_loose(const struct terms *terms)
{
        return terms->mode == PAGE_MODE_FREE && terms->cap_ppm == PAGE_WHOLE_PPM;
}

enum admit_reason { ADMIT_GRANTED, ADMIT_LEASE, ADMIT_WINDOW, ADMIT_BANK, ADMIT_TURN };

struct admit_ask {
        uint64_t piece_ns;     /* expected of each piece */
        uint64_t careful_ns;   /* not less: for how many at a time */
        uint32_t pieces;       /* at most */
        uint64_t in_flight_ns; /* of this process on the device, expected */
        uint64_t left_ns;      /* of that, expected to be still to do */
        uint64_t look_ns;      /* until that is worth a look */
        bool is_sure;          /* all of it is work that is known */
        bool is_stuck;         /* the caller's own window is full whatever the sum says */
        uint64_t waited_ns;    /* so far; 0: has not */
        bool has_stood_back;   /* was told to wait for a turn last */
};

struct admit_answer {
        enum admit_reason reason;
        uint32_t pieces; /* granted and paid for; 0: wait */
        bool is_owing;   /* the bank will have to be waited for, too */
        struct terms terms;
        const _Atomic uint32_t *word; /* wait while it is `seen`, ... */
        uint32_t seen;
        uint64_t deadline_ns; /* ... no longer than to this, then ask again */
};

struct admit_answer admit_ask(const struct admit *admit, const struct admit_ask *ask,
                              uint64_t now_ns);

/* Lets `pieces` through whatever holds, and counts it: what runs waits for what stands before the
 * gate. */
void admit_escape(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns);

/* Work of which none was measured: what is settled next is what samples say of it. */
void admit_note_sampled(const struct admit *admit, uint64_t took_ns);

/* Work for which `paid_ns` was taken turned out to have taken `took_ns`. */
void admit_settle(const struct admit *admit, uint64_t paid_ns, uint64_t took_ns, uint32_t pieces,
                  uint64_t now_ns);

/* Paid for and never launched. */
void admit_refund(const struct admit *admit, uint64_t paid_ns, uint64_t now_ns);

/* A wait is over. */
void admit_note_wait(const struct admit *admit, uint64_t waited_ns);

/* Work is in flight: for the scheduler. Rings for it when this is the first for some time. */
void admit_note_active(const struct admit *admit, uint64_t now_ns);

/* Others' work may have been on the device at the same time as some that began then. */
bool admit_is_shared(const struct admit *admit, uint64_t began_ns, uint64_t now_ns);

/* All that was granted should be done then; 0: that is not known. For the scheduler. */
void admit_note_done(const struct admit *admit, uint64_t done_ns);

/* This process has nothing more in flight and launches nothing: its turn is another's, and its
 * lease too. */
void admit_yield(const struct admit *admit, uint64_t now_ns);

#endif
