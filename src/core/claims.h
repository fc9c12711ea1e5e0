/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what sessions say that they used of a GPU's time is what the driver shows. Decisions
 * only.
 *
 *      claims_begin(&claims)                           // a look at the GPUs begins
 *      claims_see(&claims, &policy, &sight)            // each session with a process on a GPU
 *      claims_end(&claims, &policy, elapsed_ns)
 *      while (claims_next(&claims, &policy, now, &action))
 *              ...                                     // what is to be done, one by one
 *
 * Two charges. *Understated*: the driver shows more than the session's meter and the tolerance.
 * *Above its cap*: where the session keeps its cap by itself, the driver shows more than the cap
 * and the tolerance, and what is above is not owed. The debt is the session's own word, too: it
 * covers what is above by no more than itself, and than a minute.
 *
 * Meter and driver cannot be read at one instant, the driver tells whole percents of its own
 * periods, and work is measured when it is over. So both are summed up in windows of a second; what
 * is unexplained has to come to half a second, and to grow in three windows in a row, or in most of
 * some more. What is claimed may be shown a window later. Work that is in flight and not measured
 * yet is waited for, for five seconds. A session that was not measured (no cap, no scheduler) may
 * have much in flight when it begins to be: the first window that explains all begins its account,
 * or half a minute.
 *
 * Who is guilty stays so until all was explained for CLAIMS_HONEST_NS on end. Under CLAMP what was
 * unexplained is charged, and from then on what the driver shows beyond what the scheduler saw it
 * hold. Each further clamp of the same session on the same GPU ends after twice as long, up to
 * CLAIMS_DOUBLINGS times; each CLAIMS_FORGIVEN_NS on end in which all was explained, after a clamp,
 * takes one of those back. So lies that are too short to be paid for come to one in ten minutes,
 * whatever the pauses between them. A window counts for no more than a second: a daemon that slept
 * has not seen anybody be honest.
 *
 * All memory is the caller's; nothing here allocates or blocks. One thread. Units: nanoseconds.
 */
#ifndef ALIQUOT_CORE_CLAIMS_H
#define ALIQUOT_CORE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/watch.h"

/* At once. Who finds no room takes that of a session that is not there and is no longer clamped,
 * but for its doublings; or is judged when there is room. */
#define CLAIMS_CASES 1024u
#define CLAIMS_WHOLE_PPM 1000000u
#define CLAIMS_HONEST_NS UINT64_C(10000000000)    /* end the first clamp */
#define CLAIMS_DOUBLINGS 6u                       /* so the longest ends after 640 s */
#define CLAIMS_FORGIVEN_NS UINT64_C(600000000000) /* take one doubling back */

struct claims_policy {
        uint32_t answer;            /* enum watch_answer */
        uint32_t tolerance_percent; /* of the GPU's time */
        uint64_t grace_ns;          /* from SIGTERM to SIGKILL */
};

/* A session on a GPU, as one look found it. */
struct claims_sight {
        uint8_t session[16];
        uint8_t share;       /* which of the session's GPUs */
        bool is_measured;    /* it has a cap or a scheduler watches it, and the driver tells */
        bool is_in_flight;   /* by its own word */
        uint32_t cap_ppm;    /* of the GPU's time; CLAIMS_WHOLE_PPM: none */
        uint64_t elapsed_ns; /* since the look before */
        uint64_t shown_ns;   /* by the driver, it used at least so much meanwhile */
        uint64_t busy_ns;    /* its meter; ever since */
        uint64_t held_ns;    /* by the scheduler; ever since */
        uint64_t owed_ns;    /* of its cap, now; while it keeps that by itself */
        bool is_free;        /* it does: no lease holds */
        uint64_t leases;     /* that it had; ever since */
};

/* What was found. */
enum claims_why {
        CLAIMS_UNDERSTATED,
        CLAIMS_ABOVE_CAP,
};

struct claims_case {
        uint8_t session[16]; /* zero: the case is free */
        uint8_t share;
        bool is_seen;     /* in this look */
        bool is_absent;   /* in the latest whole one */
        bool is_settling; /* what was in flight before it was measured may still run */
        bool is_guilty, is_told, is_clamped, is_termed, is_killed;
        uint32_t cap_ppm;
        uint64_t busy_ns, held_ns; /* as last read */
        uint64_t owed_ns, leases;
        bool is_in_flight;
        /* The window so far. */
        bool is_free; /* all the time */
        uint64_t window_ns, shown_ns, claimed_ns, granted_ns;
        /* What windows left behind. */
        int64_t understated_ns, above_ns, beyond_ns;
        uint64_t silent_ns, settled_ns;
        unsigned score;
        uint64_t honest_ns;   /* on end; no more than a clamp asks for at most */
        uint64_t spotless_ns; /* since the latest clamp, or what was forgiven last */
        unsigned clamps;      /* that are not forgiven */
        uint64_t charge_ns, charge_beyond_ns; /* to be charged */
        uint64_t termed_ns;
        /* Of the window that convicted. */
        enum claims_why why;
        uint64_t told_window_ns, told_shown_ns, told_claimed_ns;
};

/* Begins as zeroes. To be read by anybody. */
struct claims {
        unsigned places; /* one above the last case that is not free */
        struct claims_case file[CLAIMS_CASES];
        unsigned next; /* of no interest outside */
};

enum claims_action_type {
        CLAIMS_TELL,    /* .answer: what comes of it */
        CLAIMS_SIGTERM, /* to all processes of the session on that GPU */
        CLAIMS_SIGKILL, /* the same */
        CLAIMS_CLAMP,   /* nothing it says is believed from now on */
        CLAIMS_CHARGE,  /* .ns that it used, .beyond_ns of it without having held so much */
        CLAIMS_RELEASE, /* it is believed again */
};

struct claims_action {
        enum claims_action_type type;
        enum watch_answer answer;
        uint8_t session[16];
        uint8_t share;
        uint64_t ns, beyond_ns;
        enum claims_why why; /* TELL and CLAMP; and of the window that did it: */
        uint64_t window_ns, shown_ns, claimed_ns;
};

/* One that holds. */
struct claims_clamp {
        enum claims_why why;
        unsigned times;   /* that it was clamped, this one included, without those forgiven */
        uint64_t left_ns; /* until it ends at the earliest: if all is explained from now on */
        uint64_t window_ns, shown_ns, claimed_ns; /* of the window that convicted */
};

void claims_begin(struct claims *claims);
void claims_see(struct claims *claims, const struct claims_policy *policy,
                const struct claims_sight *sight);

/* Who was not seen used nothing in `elapsed_ns`. */
void claims_end(struct claims *claims, const struct claims_policy *policy, uint64_t elapsed_ns);

bool claims_next(struct claims *claims, const struct claims_policy *policy, uint64_t now_ns,
                 struct claims_action *ret);

/* What could not be told: the next look does. */
void claims_untold(struct claims *claims, const uint8_t session[16], unsigned share);

/* False: it is not clamped, and *ret is as it was. */
bool claims_clamp(const struct claims *claims, const uint8_t session[16], unsigned share,
                  struct claims_clamp *ret);

/* There is no such session any more. */
void claims_forget(struct claims *claims, const uint8_t session[16]);

/*
 * What a session used at least where the driver shows `shown_ns` for its processes and `all_ns` for
 * everybody's, in `elapsed_ns`. A driver that counts a program as busy while another one has its
 * slice shows more than there is; the others may have used all that is shown of them.
 */
uint64_t claims_least(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns);

#endif
