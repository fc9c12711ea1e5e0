/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the daemon that serves a runtime folder: HTTP with JSON over the daemon's socket
 * (docs/decisions/004).
 *
 *      client_find(&store, &err)               whether a daemon serves the folder
 *      client_create(), _show(), ...           one request each
 *      client_events()                         client_events.h: a request that continues
 *
 * If the daemon refuses a request, the error is one line with the field and with what is free:
 * -ENOENT no such session, -EEXIST the name is in use, -EBUSY the session is in use, -ESHUTDOWN it
 * is ending, -ENOSPC no room, -ESTALE changed by another request meanwhile, -EACCES not allowed,
 * -EINVAL any other mistake in the request. CLIENT_AWAY means no answer: the daemon runs but is
 * silent, or this build cannot communicate with it. The command must then not act without the
 * daemon.
 *
 * client.c needs libcurl and jansson; a build without them has client_none.c. For one thread.
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

/* Whether this build can send requests to a daemon at all. */
extern const bool client_is_built;

/* Looks for the daemon of the folder, and waits for one that is starting. 1: a daemon serves the
 * folder; 0: none does. */
int client_find(const struct store *store, struct error *err);

/* Returns what prevents a program that joins through a session's socket from writing the session's
 * limits: 1 a read-only mount, 0 only the file's mode. */
int client_protection(const struct store *store, struct error *err);

/* The report that a session uses more GPU time than it claims. */
struct client_finding {
        char why[CLIENT_WORD_BYTES]; /* "understated", "above-cap"; "": there is no report */
        char since[CLIENT_WORD_BYTES];
        /* parts of the GPU's time, as they were when the report was made */
        uint32_t shown_ppm, claimed_ppm;
};

struct client_share {
        char uuid[UUID_TEXT_BYTES];
        uint64_t memory_bytes;
        uint64_t used_bytes;
        uint64_t card_bytes; /* memory of the card; 0: not known */
        /* Parts of the GPU's time; only in responses. PAGE_WHOLE_PPM: no cap; 0: no guarantee. */
        uint32_t cap_ppm, guarantee_ppm;
        /* GPU time since the session's first launch; only in responses. `has_time` false: it never
         * launched anything. */
        bool has_time;
        uint64_t busy_ns, queued_ns, throttled_ns, debt_ns;
        struct client_finding finding;
};

/* What a command requests for a session; NULL or 0: not given. All pointers are borrowed. */
struct client_wish {
        const char *name; /* name of a new session */
        unsigned share_count;
        const struct client_share *share;
        const char *memory;  /* used with any_gpus: memory on each GPU that the daemon chooses */
        const char *compute; /* cap of GPU time in percent, on each of its GPUs */
        const char *guarantee;
        const char *priority;
        const char *gang; /* "": no gang */
        uint32_t weight;
        unsigned any_gpus;
        const char *gpu; /* the only GPU, if no memory is requested */
        bool has_ttl;
        uint64_t ttl_ns; /* 0 with has_ttl: the session gets no TTL */
        const char *on_end;
        bool is_context_free;
        uint64_t host_bytes; /* SETTINGS_HOST_SPARE: as much as the daemon gives by default */
        /* the session swaps; without `memory`, it gets the maximum for one session on its GPU */
        bool swaps;
        /* `swaps` is given for a new session; else the daemon chooses whether it swaps */
        bool says_swap;
        const char *device_name;
        unsigned label_count;
        const char *const *label; /* labels as "key=value"; "key=" removes the label */
};

/* The node's rules for swapping: sessions that swap get turns, in which their memory is on the
 * card. */
struct client_rules {
        char mode[16];
        uint64_t turn_ns; /* length of a turn; 0: chosen by the cost of a change */
};

/* Where the memory of a session that swaps is, and the state of its turns. */
struct client_swap {
        struct client_rules rules;
        uint64_t resident_bytes, out_bytes, pinned_bytes;
        char state[CLIENT_WORD_BYTES]; /* "": unknown, as are the fields below */
        uint64_t holds, held_ns, moved_bytes;
        /* how long the session has been waiting for its turn; 0: it has its turn */
        uint64_t hold_ns;
};

/* A session as the daemon reports it. */
struct client_session {
        char name[PAGE_NAME_BYTES];
        char state[CLIENT_WORD_BYTES];
        char on_end[CLIENT_WORD_BYTES];
        char priority[CLIENT_WORD_BYTES];
        char gang[PAGE_NAME_BYTES]; /* "": no gang */
        uint32_t weight;
        char expires_at[CLIENT_WORD_BYTES]; /* ISO 8601; "": never expires */
        uint32_t owner;
        uint64_t version;
        uint64_t ttl_ns; /* 0: no TTL */
        unsigned processes;
        bool is_context_free;
        uint64_t host_bytes; /* maximum host memory in place of GPU memory; 0: none */
        uint64_t host_used_bytes;
        bool swaps; /* it swaps: the host memory then holds what has left the GPU */
        struct client_swap swap;
        bool is_clamped; /* the daemon lets it have no new memory */
        unsigned label_count;
        char label[CLIENT_LABELS][PAGE_NAME_BYTES * 2]; /* "key=value", as the user gave it */
        unsigned share_count;
        struct client_share share[PAGE_DEVICES];
};

int client_create(const struct store *store, const struct client_wish *wish, struct error *err);
int client_show(const struct store *store, const char *name, struct client_session *ret,
                struct error *err);

/* Receives the sessions of client_list(), one call for each; `session` is borrowed for the call. A
 * negative return value ends the list. */
struct client_listener {
        int (*each)(const struct client_session *session, void *context);
        void *context;
        long patience_ms; /* timeout for each response of the daemon; 0: the default */
        const char *only; /* list only sessions that are "clamped" or "reported"; NULL: all */
};

/* Lists all sessions that this user may see, ordered by name. A negative value returned by `each`
 * is returned. */
int client_list(const struct store *store, const struct client_listener *listener,
                struct error *err);

/* A process of a session as the daemon reports it. The used_bytes of each share are what the
 * process holds. */
struct client_process {
        uint32_t pid; /* 0: it is in a PID namespace that the daemon cannot see */
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

/* Changes the session if its version is still that of `seen`. The requested labels are merged with
 * the session's. */
int client_change(const struct store *store, const struct client_session *seen,
                  const struct client_wish *wish, struct error *err);

/* Changes the node's rules for swapping, except those that are NULL. `turn`: a duration, or "none".
 * For administrators. */
int client_rule(const struct store *store, const char *mode, const char *turn,
                struct client_rules *ret, struct error *err);
int client_renew(const struct store *store, const char *name, const struct client_wish *wish,
                 struct error *err);

/* Removes a session. Returns 1 if some of its programs still run and are not being killed: the
 * session then ends later. */
int client_remove(const struct store *store, const char *name, bool is_forced, struct error *err);

#endif
