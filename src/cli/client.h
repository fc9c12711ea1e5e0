/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon of a runtime folder, asked over its socket: HTTP with JSON (docs/decisions/004).
 *
 *      client_find(&store, &err)               who serves the folder
 *      client_create(), _show(), ...           each is one request
 *      client_events()                         client_events.h: one that goes on
 *
 * What the daemon refuses is an error with one line that names the field and says what is free:
 * -ENOENT no such session, -EEXIST the name is taken, -EBUSY in use, -ESHUTDOWN ending, -ENOSPC no
 * room, -ESTALE changed by another meanwhile, -EACCES not ours, -EINVAL anything else of the
 * request. CLIENT_AWAY is no answer: a daemon that is there and silent, or that this build cannot
 * speak with. Nothing is then done without it.
 *
 * client.c needs libcurl and jansson; client_none.c stands for it in a build without. One thread.
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

/* 1: a daemon serves the folder; 0: none does. One that is starting is waited for. */
int client_find(const struct store *store, struct error *err);

/* What keeps who joins a session by its socket from writing its limits: 1 a read-only mount, 0 the
 * file's mode alone. */
int client_protection(const struct store *store, struct error *err);

/* That a session is seen to use more of a GPU's time than it says. */
struct client_finding {
        char why[CLIENT_WORD_BYTES]; /* "understated", "above-cap"; "": it is not */
        char since[CLIENT_WORD_BYTES];
        uint32_t shown_ppm, claimed_ppm; /* of the GPU, when it was found */
};

struct client_share {
        char uuid[UUID_TEXT_BYTES];
        uint64_t memory_bytes;
        uint64_t used_bytes;
        uint64_t card_bytes; /* 0: not known */
        /* Of its time; told, not wished. PAGE_WHOLE_PPM is no cap, 0 no guarantee. */
        uint32_t cap_ppm, guarantee_ppm;
        /* What it had of its GPU's time since it first launched; told, and false: it never did. */
        bool has_time;
        uint64_t busy_ns, queued_ns, throttled_ns, debt_ns;
        struct client_finding finding;
};

/* What is asked of a session; what is NULL or 0 is not said. All borrowed. */
struct client_wish {
        const char *name; /* of a new one */
        unsigned share_count;
        const struct client_share *share;
        const char *memory;  /* with any_gpus: for each GPU that the daemon chooses */
        const char *compute; /* percent, of each of its GPUs */
        const char *guarantee;
        const char *priority;
        const char *gang; /* "": to be in none */
        uint32_t weight;
        unsigned any_gpus;
        const char *gpu; /* without memory: the one */
        bool has_ttl;
        uint64_t ttl_ns; /* 0 with has_ttl: none */
        const char *on_end;
        bool is_context_free;
        uint64_t host_bytes; /* SETTINGS_HOST_SPARE: as much as the daemon gives by itself */
        bool swaps;          /* without memory: as much as one may have of its GPU */
        bool says_swap;      /* of a new one; else the daemon chooses whether it swaps */
        const char *device_name;
        unsigned label_count;
        const char *const *label; /* "key=value"; "key=" takes it away */
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
        char state[CLIENT_WORD_BYTES]; /* "": not told, as what follows */
        uint64_t holds, held_ns, moved_bytes;
        uint64_t hold_ns; /* of the present hold; 0: it runs */
};

/* A session as the daemon sees it. */
struct client_session {
        char name[PAGE_NAME_BYTES];
        char state[CLIENT_WORD_BYTES];
        char on_end[CLIENT_WORD_BYTES];
        char priority[CLIENT_WORD_BYTES];
        char gang[PAGE_NAME_BYTES]; /* "": none */
        uint32_t weight;
        char expires_at[CLIENT_WORD_BYTES]; /* ISO 8601; "": never */
        uint32_t owner;
        uint64_t version;
        uint64_t ttl_ns; /* 0: none */
        unsigned processes;
        bool is_context_free;
        uint64_t host_bytes; /* of the host's memory in place of GPUs'; 0: none */
        uint64_t host_used_bytes;
        bool swaps; /* then of the host is told what has left the GPU */
        struct client_swap swap;
        bool is_clamped; /* it gets no new memory */
        unsigned label_count;
        char label[CLIENT_LABELS][PAGE_NAME_BYTES * 2]; /* "key=value", as they were given */
        unsigned share_count;
        struct client_share share[PAGE_DEVICES];
};

int client_create(const struct store *store, const struct client_wish *wish, struct error *err);
int client_show(const struct store *store, const char *name, struct client_session *ret,
                struct error *err);

/* Who is told of each session; `session` is borrowed for the call. A negative answer ends it. */
struct client_listener {
        int (*each)(const struct client_session *session, void *context);
        void *context;
        long patience_ms; /* for each answer of the daemon; 0: as for any other */
        const char *only; /* of those alone that are "clamped", or "reported"; NULL: of all */
};

/* Tells of every session that we may see, by name. A negative answer is returned. */
int client_list(const struct store *store, const struct client_listener *listener,
                struct error *err);

/* A process of a session as the daemon sees it; what it holds is each share's used_bytes. */
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

/* Against the version that the session had when it was last looked at; labels are merged into those
 * it has. */
int client_change(const struct store *store, const struct client_session *seen,
                  const struct client_wish *wish, struct error *err);

/* Changes what is not NULL; `turn`: a duration, or "none". For administrators. */
int client_rule(const struct store *store, const char *mode, const char *turn,
                struct client_rules *ret, struct error *err);
int client_renew(const struct store *store, const char *name, const struct client_wish *wish,
                 struct error *err);

/* 1: it ends, and some of its programs still run and are not being killed. */
int client_remove(const struct store *store, const char *name, bool is_forced, struct error *err);

#endif
