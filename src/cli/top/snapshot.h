/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at the node: its GPUs, the sessions, and the processes in them, as `aliquot top` reads
 * them at every tick.
 *
 * Text in it is printable ASCII. What is not known is -1, "" or 0, each field says which, and is
 * shown as such: nothing is made up. Sessions are in the order of their names.
 */
#ifndef ALIQUOT_CLI_TOP_SNAPSHOT_H
#define ALIQUOT_CLI_TOP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/uuid.h"
#include "machine/gauges.h"
#include "proto/page.h"
#include "settings/settings.h"
#include "store/usage.h"

struct snapshot_process {
        struct usage_process said;
        uint32_t pid; /* here; 0: in a PID namespace that we do not see */
        const char *user;
        uint64_t bytes; /* on all GPUs */
};

/* A session on one GPU. */
struct snapshot_share {
        uint8_t uuid[16];
        int device;           /* its place in the snapshot; -1: not one of this machine's */
        uint64_t limit_bytes; /* PAGE_UNLIMITED: none */
        uint64_t card_bytes;  /* 0: not known */
        uint64_t used_bytes;
        unsigned row; /* of the session's page, and of usage_process.bytes */
};

#define SNAPSHOT_LABELS_BYTES 1024u

struct snapshot_session {
        char name[PAGE_NAME_BYTES];
        char broken[160]; /* why nothing else is known of it; "": all is */
        bool is_held;     /* its gate is shut: work waits */
        uint64_t slots_inode;
        uint64_t default_limit_bytes;
        uint64_t used_bytes; /* on all GPUs */
        unsigned share_count;
        struct snapshot_share share[PAGE_DEVICES];
        unsigned process_count;
        struct snapshot_process *process;
        unsigned hidden_count; /* processes that we know nothing else of */
        /* As a daemon says; -1, false and "" where none does. */
        int64_t left_seconds; /* until its time is over; -1: it has no end */
        bool is_ending;
        char on_end[16];
        char labels[SNAPSHOT_LABELS_BYTES]; /* "key=value key=value" */
};

struct snapshot_device {
        uint8_t uuid[16];
        char short_uuid[UUID_TEXT_BYTES];
        int index; /* -1: a GPU that only sessions know */
        bool is_instance;
        char name[96];
        uint64_t total_bytes;
        uint64_t used_bytes;     /* as the driver says; without one, by sessions */
        uint64_t sessions_bytes; /* of that, as charged */
        struct gauges gauges;
};

struct snapshot {
        char note[200]; /* why GPUs are shown without the driver's word; "": they are not */
        unsigned device_count;
        struct snapshot_device device[SETTINGS_GPUS];
        size_t session_count;
        struct snapshot_session *session;
};

/* Thousandths, at most 1000; 0 where the whole is not known. */
unsigned snapshot_permille(uint64_t part, uint64_t whole);

/* What a session can have of a GPU: its limit, else the card; 0: not known. */
uint64_t snapshot_share_whole(const struct snapshot_share *share);

/* Of the GPU on which the session is nearest to what it can have. */
unsigned snapshot_fill(const struct snapshot_session *session);

unsigned snapshot_processes(const struct snapshot_session *session);

/* Whether a daemon says more of it than its figures. */
bool snapshot_has_terms(const struct snapshot_session *session);

/* Its limit where all its GPUs have the same; false: they have not. */
bool snapshot_limit(const struct snapshot_session *session, uint64_t *ret_bytes);

/* What others than sessions hold of a GPU. */
uint64_t snapshot_others(const struct snapshot_device *device);

#endif
