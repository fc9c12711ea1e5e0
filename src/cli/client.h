/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the daemon that serves a runtime folder: HTTP with JSON over its socket
 * (docs/decisions/004).
 *
 *      client_find(&store, &err)               whether a daemon serves the folder
 *      client_create(), _show(), ...           each is one request
 *      client_events()                         client_events.h: a request that goes on
 *
 * If the daemon refuses, the error is one line that names the field and says what is free: -ENOENT
 * no such session, -EEXIST the name is taken, -EBUSY in use, -ESHUTDOWN ending, -ENOSPC no room,
 * -ESTALE changed by another request meanwhile, -EACCES not allowed, -EINVAL anything else in the
 * request. CLIENT_AWAY means no answer: a daemon that is there and silent, or with which this build
 * cannot communicate. The command must then do nothing without the daemon.
 *
 * client.c needs libcurl and jansson; a build without them has client_none.c. One thread.
 */
#ifndef ALIQUOT_CLI_CLIENT_H
#define ALIQUOT_CLI_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/uuid.h"
#include "proto/page.h"
#include "store/store.h"
#include "store/usage.h"

#define CLIENT_AWAY (-EHOSTDOWN)
#define CLIENT_LABELS 16u
#define CLIENT_WORD_BYTES 40u

/* Whether this build can ask a daemon at all. */
extern const bool client_is_built;

/* 1: a daemon serves the folder; 0: none does. Waits for a daemon that is starting. */
int client_find(const struct store *store, struct error *err);

/* What prevents a program that joins by socket from writing the session's limits: 1 a read-only
 * mount, 0 only the file's mode. */
int client_protection(const struct store *store, struct error *err);

/* The report that a session uses more GPU time than it claims. */
struct client_finding {
        char why[CLIENT_WORD_BYTES]; /* "understated", "above-cap"; "": there is no report */
        char since[CLIENT_WORD_BYTES];
        uint32_t shown_ppm, claimed_ppm; /* of the GPU, at the time of the finding */
};

struct client_share {
        char uuid[UUID_TEXT_BYTES];
        uint64_t memory_bytes;
        uint64_t used_bytes;
        uint64_t card_bytes; /* 0: not known */
        /* Of its time; only in answers. PAGE_WHOLE_PPM: no cap, 0: no guarantee. */
        uint32_t cap_ppm, guarantee_ppm;
        /* The GPU time that it got since it first launched; only in answers. False: it never
         * launched. */
        bool has_time;
        uint64_t busy_ns, queued_ns, throttled_ns, debt_ns;
        struct client_finding finding;
};

/* What a command asks of a session; NULL or 0: not given. All borrowed. */
struct client_wish {
        const char *name; /* of a new session */
        unsigned share_count;
        const struct client_share *share;
        const char *memory;  /* with any_gpus: for each GPU that the daemon chooses */
        const char *compute; /* percent, of each of its GPUs */
        const char *guarantee;
        const char *priority;
        const char *gang; /* "": no gang */
        uint32_t weight;
        unsigned any_gpus;
        const char *gpu; /* without memory: the only GPU */
        bool has_ttl;
        uint64_t ttl_ns; /* 0 with has_ttl: no TTL */
        const char *on_end;
        bool is_context_free;
        uint64_t host_bytes; /* SETTINGS_HOST_SPARE: as much as the daemon gives by itself */
        bool swaps;          /* without memory: as much as one may have of its GPU */
        bool says_swap;      /* of a new one; else the daemon chooses whether it swaps */
        const char *device_name;
        unsigned label_count;
        const char *const *label; /* "key=value"; "key=" removes the label */
};

/* How turns of memory are dealt on the node. */
struct client_rules {
        char mode[16];
        uint64_t turn_ns; /* 0: by the cost of a change */
};

/* Where the memory of a session that swaps is, and its turns. */
struct client_swap {
        struct client_rules rules;
        uint64_t resident_bytes, out_bytes, pinned_bytes;
        char state[CLIENT_WORD_BYTES]; /* "": unknown, as are the next fields */
        uint64_t holds, held_ns, moved_bytes;
        uint64_t hold_ns; /* of the present hold; 0: it runs */
};

/* A session as the daemon reports it. */
struct client_session {
        char name[PAGE_NAME_BYTES];
        char state[CLIENT_WORD_BYTES];
        char on_end[CLIENT_WORD_BYTES];
        char priority[CLIENT_WORD_BYTES];
        char gang[PAGE_NAME_BYTES]; /* "": no gang */
        uint32_t weight;
        char expires_at[CLIENT_WORD_BYTES]; /* ISO 8601; "": never */
        uint32_t owner;
        uint64_t version;
        uint64_t ttl_ns; /* 0: no TTL */
        unsigned processes;
        bool is_context_free;
        uint64_t host_bytes; /* host memory in place of GPU memory; 0: none */
        uint64_t host_used_bytes;
        bool swaps; /* host memory then holds what has left the GPU */
        struct client_swap swap;
        bool is_clamped; /* it gets no new memory */
        unsigned label_count;
        char label[CLIENT_LABELS][PAGE_NAME_BYTES * 2]; /* "key=value", as given */
        unsigned share_count;
        struct client_share share[PAGE_DEVICES];
};

int client_create(const struct store *store, const struct client_wish *wish, struct error *err);
int client_show(const struct store *store, const char *name, struct client_session *ret,
                struct error *err);

/* Receives each session; `session` is borrowed for the call. A negative result ends the list. */
struct client_listener {
        int (*each)(const struct client_session *session, void *context);
        void *context;
        long patience_ms; /* for each answer of the daemon; 0: as for any other */
        const char *only; /* only sessions that are "clamped" or "reported"; NULL: all */
};

/* Tells of every session that we may see, by name. A negative answer is returned. */
int client_list(const struct store *store, const struct client_listener *listener,
                struct error *err);

/* A process of a session as the daemon reports it; each share's used_bytes is what it holds. */
struct client_process {
        uint32_t pid; /* 0: in a PID namespace that the daemon does not see */
        uint32_t uid;
        char command[CLIENT_WORD_BYTES];
        char cgroup[USAGE_CGROUP_BYTES]; /* "": not known */
        unsigned share_count;
        struct client_share share[PAGE_DEVICES];
};

/* Calls `each` for every process of a session. `process` is borrowed for the call. */
int client_processes(const struct store *store, const char *name,
                     void (*each)(const struct client_process *process, void *context),
                     void *context, struct error *err);

/* Changes the session if its version is still that of `seen`; labels are merged with its own. */
int client_change(const struct store *store, const struct client_session *seen,
                  const struct client_wish *wish, struct error *err);

/* Changes what is not NULL; `turn`: a duration, or "none". For administrators. */
int client_rule(const struct store *store, const char *mode, const char *turn,
                struct client_rules *ret, struct error *err);
int client_renew(const struct store *store, const char *name, const struct client_wish *wish,
                 struct error *err);

/* 1: the session ends, and some of its programs still run and are not being killed. */
int client_remove(const struct store *store, const char *name, bool is_forced, struct error *err);

#endif
