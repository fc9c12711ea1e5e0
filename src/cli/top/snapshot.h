/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of the node: its GPUs, sessions and their processes, as `aliquot top` reads them at
 * every tick.
 *
 * All text is printable ASCII, except labels, which are as the user wrote them. An unknown value is
 * -1, "" or 0, as the comment of its field says, and is shown as unknown. Sessions are ordered by
 * name.
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
        uint32_t pid; /* pid in this program's PID namespace; 0: it is in one that we cannot see */
        const char *user;
        uint64_t bytes; /* memory that it holds on all GPUs */
};

/* The GPU time that a session's programs counted on a GPU, in ns since their start. */
struct snapshot_ran {
        uint64_t at_ns;     /* time of the reading, by clock_now_ns(); 0: not measured */
        uint64_t busy_ns;   /* time for which the GPU worked for the session */
        uint64_t waited_ns; /* time that launches waited; the waits of all launches are added */
};

/* What the session's launches waited for, as the daemon counts it. */
struct snapshot_told {
        uint64_t at_ns; /* time of the daemon's answer; 0: no daemon counts */
        /* waited because of the session's own cap, and for other sessions */
        uint64_t throttled_ns, queued_ns;
};

/* A session's time on one GPU. */
struct snapshot_time {
        uint32_t cap_ppm;       /* PAGE_WHOLE_PPM or 0: no cap */
        uint32_t guarantee_ppm; /* 0: no guarantee, or unknown */
        bool is_leased;         /* a scheduler controls its GPU time with leases */
        /* it takes turns with other sessions, as its leases say; the scheduler then also keeps the
         * cap */
        bool takes_turns;
        bool is_at_work;  /* it ran or waited within the last second */
        bool is_degraded; /* other sessions use the GPU too, and no daemon gives leases */
        uint64_t debt_ns; /* debt of its cap: GPU time used beyond it */
        char finding[24]; /* reason of the daemon's report; "": not reported */
        struct snapshot_ran ran;
        struct snapshot_told told;
};

/* A session on one GPU. */
struct snapshot_share {
        uint8_t uuid[16];
        int device;           /* index of the GPU in the snapshot; -1: not a GPU of this machine */
        uint64_t limit_bytes; /* PAGE_UNLIMITED: no limit */
        uint64_t card_bytes;  /* memory of the card; 0: unknown */
        uint64_t used_bytes;
        unsigned row; /* row in the session's page, and index in usage_process.bytes */
        struct snapshot_time time;
};

#define SNAPSHOT_LABELS_BYTES 1024u
#define SNAPSHOT_USUAL_WEIGHT 100u

struct snapshot_session {
        char name[PAGE_NAME_BYTES];
        char broken[160]; /* why all other values are unknown; "": they are known */
        bool is_held;     /* its gate is closed by the daemon: its work waits */
        bool is_daemons;  /* a daemon created it, as its own page says */
        struct maps_file slots;
        uint64_t default_limit_bytes;
        uint64_t used_bytes; /* used memory on all GPUs */
        unsigned share_count;
        struct snapshot_share share[PAGE_DEVICES];
        unsigned process_count;
        struct snapshot_process *process;
        unsigned hidden_count; /* number of processes of which nothing else is known */
        /* Values from the daemon; -1, false and "" without a daemon. */
        int64_t left_seconds; /* time until its TTL ends; -1: no TTL */
        bool is_ending;
        bool is_clamped;  /* it holds more memory than its ledger says */
        bool is_reported; /* it uses more GPU time than it claims */
        bool has_daemon;  /* a daemon reports its terms */
        char on_end[16];
        unsigned weight; /* 0: unknown */
        char priority[16];
        char gang[PAGE_NAME_BYTES];         /* "": no gang */
        char labels[SNAPSHOT_LABELS_BYTES]; /* "key=value key=value"; may be cut */
};

struct snapshot_device {
        uint8_t uuid[16];
        char short_uuid[UUID_TEXT_BYTES];
        int index; /* -1: a GPU that only sessions' pages mention */
        bool is_instance;
        char name[96];
        uint64_t total_bytes;
        /* as the driver reports it; without a driver, the sum over the sessions */
        uint64_t used_bytes;
        uint64_t sessions_bytes; /* part of used_bytes that is charged to sessions */
        struct gauges gauges;
};

struct snapshot {
        /* why the GPUs are shown without values from the driver; "": they are not */
        char note[200];
        bool is_silent;          /* a daemon that should answer does not */
        uint64_t silent_seconds; /* for how long; 0: a single answer is missing */
        unsigned device_count;
        struct snapshot_device device[SETTINGS_GPUS];
        size_t session_count;
        struct snapshot_session *session;
};

/* Returns part / whole in thousandths, at most 1000; 0 if the whole is unknown. */
unsigned snapshot_permille(uint64_t part, uint64_t whole);

/* Returns the maximum memory that a session may have on a GPU: its limit, or else the whole card;
 * 0: unknown. */
uint64_t snapshot_share_whole(const struct snapshot_share *share);

/* Returns the used part of the maximum, on the GPU on which that part is largest. */
unsigned snapshot_fill(const struct snapshot_session *session);

unsigned snapshot_processes(const struct snapshot_session *session);

/* Returns whether a daemon reports the session's terms, beyond its figures. */
bool snapshot_has_terms(const struct snapshot_session *session);

/* Returns the session's limit if all its GPUs have the same one. False: they differ. */
bool snapshot_limit(const struct snapshot_session *session, uint64_t *ret_bytes);

bool snapshot_has_cap(const struct snapshot_time *time);

/* Returns whether any GPU time is promised, or measured, for the share. */
bool snapshot_has_time(const struct snapshot_share *share);

/* Returns whether a line with the session's terms is needed in addition to its figures: its GPU
 * time is guaranteed or measured, or its class is not the default. */
bool snapshot_has_rank(const struct snapshot_session *session);

/* Sets is_degraded in each share. The snapshot must be complete otherwise. */
void snapshot_judge(struct snapshot *snapshot);

/* Returns the used memory of a GPU that is not the sessions'. */
uint64_t snapshot_others(const struct snapshot_device *device);

#endif
