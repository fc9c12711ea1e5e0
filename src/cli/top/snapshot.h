/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of the node: its GPUs, sessions and their processes, as `aliquot top` reads them at
 * every tick.
 *
 * All text is printable ASCII, except labels, which are as their user wrote them. An unknown value
 * is -1, "" or 0, as each field says, and is shown as unknown: no value is invented. Sessions are
 * in the order of their names.
 */
#ifndef ALIQUOT_CLI_TOP_SNAPSHOT_H
#define ALIQUOT_CLI_TOP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/maps.h"
#include "common/uuid.h"
#include "machine/gauges.h"
#include "proto/page.h"
#include "settings/resolve.h"
#include "store/usage.h"

struct snapshot_process {
        struct usage_process said;
        uint32_t pid; /* here; 0: in a PID namespace that we do not see */
        const char *user;
        uint64_t bytes; /* on all GPUs */
};

/* What a session's programs counted of their time on a GPU, since the beginning; ns. */
struct snapshot_ran {
        uint64_t at_ns;     /* time of the reading, by clock_now_ns(); 0: not measured */
        uint64_t busy_ns;   /* the GPU worked for it */
        uint64_t waited_ns; /* sum of all launches' waits */
};

/* What they waited for, as a daemon counts it. */
struct snapshot_told {
        uint64_t at_ns;                   /* 0: none does */
        uint64_t throttled_ns, queued_ns; /* for its own cap, for others */
};

/* A session's time on one GPU. */
struct snapshot_time {
        uint32_t cap_ppm;       /* PAGE_WHOLE_PPM or 0: none */
        uint32_t guarantee_ppm; /* 0: none, or not known */
        bool is_leased;         /* a scheduler watches */
        bool takes_turns;       /* with others, by its leases: the cap is kept there, too */
        bool is_at_work;        /* it ran or waited within the last second */
        bool is_degraded;       /* other sessions use the GPU too, and no daemon gives leases */
        uint64_t debt_ns;       /* of its cap */
        char finding[24];       /* why a daemon reports it; "": it does not */
        struct snapshot_ran ran;
        struct snapshot_told told;
};

/* A session on one GPU. */
struct snapshot_share {
        uint8_t uuid[16];
        int device;           /* its place in the snapshot; -1: not one of this machine's */
        uint64_t limit_bytes; /* PAGE_UNLIMITED: none */
        uint64_t card_bytes;  /* 0: not known */
        uint64_t used_bytes;
        unsigned row; /* of the session's page, and of usage_process.bytes */
        struct snapshot_time time;
};

#define SNAPSHOT_LABELS_BYTES 1024u
#define SNAPSHOT_USUAL_WEIGHT 100u

struct snapshot_session {
        char name[PAGE_NAME_BYTES];
        char broken[160]; /* why all other values are unknown; "": they are known */
        bool is_held;     /* its gate is shut: work waits */
        bool is_daemons;  /* a daemon made it, by its own page */
        struct maps_file slots;
        uint64_t default_limit_bytes;
        uint64_t used_bytes; /* on all GPUs */
        unsigned share_count;
        struct snapshot_share share[PAGE_DEVICES];
        unsigned process_count;
        struct snapshot_process *process;
        unsigned hidden_count; /* processes that we know nothing else of */
        /* From the daemon; -1, false and "" without one. */
        int64_t left_seconds; /* until its TTL has passed; -1: no TTL */
        bool is_ending;
        bool is_clamped;  /* it was seen to hold memory that it does not say */
        bool is_reported; /* it is seen to use GPU time that it does not say */
        bool has_daemon;  /* a daemon reports on it */
        char on_end[16];
        unsigned weight; /* 0: not known */
        char priority[16];
        char gang[PAGE_NAME_BYTES];         /* "": none */
        char labels[SNAPSHOT_LABELS_BYTES]; /* "key=value key=value"; may be cut */
};

struct snapshot_device {
        uint8_t uuid[16];
        char short_uuid[UUID_TEXT_BYTES];
        int index; /* -1: a GPU that only sessions know */
        bool is_instance;
        char name[96];
        uint64_t total_bytes;
        uint64_t used_bytes;     /* by the driver; without one, the sum of the sessions */
        uint64_t sessions_bytes; /* of that, as charged */
        struct gauges gauges;
};

struct snapshot {
        char note[200]; /* why GPUs are shown without the driver's word; "": they are not */
        bool is_silent; /* a daemon does not answer that should */
        uint64_t silent_seconds; /* how long it has not answered; 0: one answer is missing */
        unsigned device_count;
        struct snapshot_device device[SETTINGS_GPUS];
        size_t session_count;
        struct snapshot_session *session;
};

/* Thousandths, at most 1000; 0 where the whole is not known. */
unsigned snapshot_permille(uint64_t part, uint64_t whole);

/* The maximum that a session may have of a GPU: its limit, else the card; 0: unknown. */
uint64_t snapshot_share_whole(const struct snapshot_share *share);

/* For the GPU on which the session is nearest to its maximum. */
unsigned snapshot_fill(const struct snapshot_session *session);

unsigned snapshot_processes(const struct snapshot_session *session);

/* Whether a daemon reports more than figures about it. */
bool snapshot_has_terms(const struct snapshot_session *session);

/* Its limit where all its GPUs have the same; false: they have not. */
bool snapshot_limit(const struct snapshot_session *session, uint64_t *ret_bytes);

bool snapshot_has_cap(const struct snapshot_time *time);

/* Whether anything is promised or measured of its time on a GPU. */
bool snapshot_has_time(const struct snapshot_share *share);

/* Whether its terms are shown apart from its figures: its time on a GPU is guaranteed or measured,
 * or its class is not the default. */
bool snapshot_has_rank(const struct snapshot_session *session);

/* Sets is_degraded for each share; the rest of the snapshot must be complete. */
void snapshot_judge(struct snapshot *snapshot);

/* What others than sessions hold of a GPU. */
uint64_t snapshot_others(const struct snapshot_device *device);

#endif
