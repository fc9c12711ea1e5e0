/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of sessions on a node: decides which sessions exist, with how much of each GPU, and
 * until when. It only decides; the caller carries the decisions out.
 *
 *      sessions_init(&node, &policy);
 *      sessions_step(&node, &event, now, &actions);    // for every event, in order
 *
 * The caller gives each event to sessions_step(): a GPU appeared, a user requests a session, time
 * has passed, a session's last process exited. It gets back the actions that the event causes, in
 * the order in which it must carry them out (see enum sessions_action_type).
 *
 * The saved state always covers what others can see: SAVE comes before the visible actions, FORGET
 * after the last of them. So the caller may die between any two actions. After a restart it sends
 * SESSIONS_RESTORE for each saved session and SESSIONS_TICK, and gets the unfinished actions again.
 * For that reason all actions are idempotent, even if the session's folder does not exist (after a
 * reboot): SHUT, the signals and REMOVE then have nothing to do. Every TELL except a GPU's follows
 * its SAVE or FORGET with only other TELLs between, so that one transaction can hold them; a TELL
 * is not repeated.
 *
 * A step changes the state as if every action succeeds. If an action fails, the caller skips the
 * rest of that step's actions, and the very next step is SESSIONS_FAILED.
 *
 * Time is the wall clock in nanoseconds, since a session's end survives a reboot. The clock may
 * jump: a session never ends before its TTL has passed on the clock that the caller gives, and a
 * clock that goes back only makes the end later. All memory is the caller's (struct sessions: 7
 * MiB). No function allocates or blocks. One step walks over the sessions a few times, and at most
 * once for each GPU. One thread.
 *
 * Sizes are in bytes, times in nanoseconds. Texts are NUL-terminated, and the caller has checked
 * that they are UTF-8 without control characters; names follow settings_check_name().
 */
#ifndef ALIQUOT_CORE_SESSIONS_H
#define ALIQUOT_CORE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy.h"

#define SESSIONS_MAX 4096u
/* Number of entries that only sessions of root and of the daemon's own user may use. */
#define SESSIONS_KEPT 64u
#define SESSIONS_GPUS 16u /* maximum number of GPUs of a node, and so of a session */
#define SESSIONS_NAME_BYTES 64u
/* size of a canonical JSON object of strings; this module does not interpret it */
#define SESSIONS_LABELS_BYTES 512u
#define SESSIONS_CONTAINER_BYTES 72u
#define SESSIONS_CGROUP_BYTES 320u
#define SESSIONS_ACTIONS 8u /* maximum number of actions of one step; all are about one session */
/* Delay after which failed actions are repeated. Also the delay after which a session that
 * outlives SIGKILL gets SIGKILL again; it doubles each time, up to SESSIONS_RETRY_MAX_NS, so that
 * many such sessions cause little work. */
#define SESSIONS_RETRY_NS UINT64_C(1000000000)
#define SESSIONS_RETRY_MAX_NS UINT64_C(60000000000)

/* How much memory of a card may be promised to all sessions together. "The card" is its memory
 * less the reserve. No single session gets more than the card, whatever the setting. */
enum sessions_overcommit {
        SESSIONS_STRICT, /* at most the card */
        SESSIONS_RATIO,  /* at most ratio_percent of the card */
        SESSIONS_NONE,   /* no limit on the sum */
};

/* What happens to the programs that still run when their session ends. */
enum sessions_ending {
        SESSIONS_DENY_NEW, /* they keep what they have; new programs and new charges are refused */
        /* as SESSIONS_DENY_NEW, and they get SIGTERM, and SIGKILL after the grace period */
        SESSIONS_TERM,
        SESSIONS_KILL, /* they get SIGKILL at once */
};

/* How the daemon chooses a GPU if the request names none. It compares the memory of each GPU that
 * is not yet promised, which can be negative with SESSIONS_NONE. If GPUs are equal, it chooses the
 * first. */
enum sessions_choice {
        /* the GPU with the least memory that is enough; if none has enough, with the most */
        SESSIONS_BEST_FIT,
        SESSIONS_LEAST_LOADED, /* the GPU with the most memory */
};

struct sessions_policy {
        enum sessions_overcommit overcommit;
        uint32_t ratio_percent; /* with SESSIONS_RATIO: from 100 to 10000 */
        uint64_t reserve_bytes; /* memory of each card that is never promised */
        /* The ending if the request gives none. If ttl_max_ns is set, it is also the mildest
         * ending that users other than root and the admin may request. */
        enum sessions_ending ending;
        enum sessions_choice choice;
        uint64_t ttl_ns;     /* TTL if the request gives none; 0: ttl_max_ns */
        uint64_t ttl_max_ns; /* maximum TTL; 0: no maximum, and sessions without TTL are allowed */
        uint64_t grace_ns;   /* SESSIONS_TERM: time from SIGTERM to SIGKILL */
        /* maximum number of sessions of one owner, except root and the admin; 0: no maximum */
        uint32_t owner_max;
};

struct sessions_gpu {
        uint8_t uuid[16];
        /* memory of the card that the driver can allocate for programs; policy.reserve_bytes is
         * not subtracted from it */
        uint64_t card_bytes;
        /* False: the GPU is gone. Its sessions keep their shares; no session gets a new one. */
        bool is_here;
};

#define SESSIONS_WHOLE_MILLI_PERCENT 100000u

/* What a session may use of one GPU. This module stores the compute limits; the scheduler enforces
 * them. */
struct sessions_share {
        uint8_t uuid[16];
        uint64_t memory_bytes;
        /* The memory that counts as promised, and the most that the session may hold. It is
         * memory_bytes, or more if the session still holds memory from a higher limit, which a
         * lower limit does not take back. Only this module sets it; SESSIONS_RESTORE trusts the
         * saved value. */
        uint64_t ceiling_bytes;
        uint32_t compute_milli_percent; /* the cap; 0 or SESSIONS_WHOLE_MILLI_PERCENT: no cap */
        /* the guaranteed part of the GPU's time; 0: no guarantee */
        uint32_t guarantee_milli_percent;
};

/* The container that a session belongs to. Stored for the code that creates and ends sessions of
 * containers; set when the session is created, and never changed. */
struct sessions_container {
        /* profile through which the session was requested; "": it belongs to no container */
        char profile[SESSIONS_NAME_BYTES];
        char id[SESSIONS_CONTAINER_BYTES];  /* the container's name in its runtime */
        char cgroup[SESSIONS_CGROUP_BYTES]; /* folder of the container's control group */
        uint64_t inode;                     /* inode of that folder */
};

enum sessions_state {
        SESSIONS_FREE, /* the entry is free */
        SESSIONS_OPEN,
        SESSIONS_ENDING,  /* closed to new programs; some programs may still run */
        SESSIONS_KILLING, /* closed; programs that still run get SIGKILL */
};

struct sessions_one {
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16]; /* random; a later session with the same name has another id */
        uint32_t owner_uid;
        uint32_t weight;     /* the session's share of turns: 1..10000, usually 100 */
        uint8_t priority;    /* enum sched_class: 0 batch, 1 normal, 2 rt */
        uint8_t state;       /* enum sessions_state */
        uint8_t ending;      /* enum sessions_ending */
        uint8_t share_count; /* number of shares: 1..SESSIONS_GPUS */
        bool is_context_free;
        /* memory of the host that the session may use in place of GPU memory; 0: none */
        uint64_t host_bytes;
        /* Whether the session's memory may be swapped out of its one GPU. All sessions that swap
         * on a GPU count together as one promise, as large as the largest of them. */
        bool swaps;
        uint64_t created_ns;
        uint64_t expires_ns; /* when the session ends; 0: never */
        uint64_t ttl_ns;     /* length of a renewal that gives no TTL; 0: the session has no TTL */
        uint64_t ended_ns;   /* when the session left SESSIONS_OPEN */
        /* raised by every change except a renewal with the session's own TTL; never 0 */
        uint64_t version;
        struct sessions_share share[SESSIONS_GPUS];
        /* sessions of one owner with the same gang get their turns together; "": no gang */
        char gang[SESSIONS_NAME_BYTES];
        char labels[SESSIONS_LABELS_BYTES];
        struct sessions_container container;
};

/* When SESSIONS_TICK has work to do for a session, and which. */
struct sessions_due {
        uint64_t at_ns; /* when the work is due; 0: there is none */
        /* Not 0: actions that may have failed are to be repeated; this is the planned delay. 0:
         * the session's next state is due, such as the end of its TTL. */
        uint64_t owed_ns;
};

/* The state of a node. Any code may read it; only sessions_step() writes it. A session keeps its
 * entry. */
struct sessions {
        struct sessions_policy policy;
        /* the rules that say what users may have; root and the admin are exempt */
        struct policy rules;
        unsigned gpu_count;
        struct sessions_gpu gpu[SESSIONS_GPUS];
        unsigned count;   /* number of sessions */
        unsigned entries; /* one above the last entry in use */
        struct sessions_one session[SESSIONS_MAX];
        /* The fields from here to the end are private to the files of core/sessions. */
        struct sessions_due due[SESSIONS_MAX];
        uint32_t name_sum[SESSIONS_MAX]; /* hash of each session's name; 0: the entry is free */
        /* the entry from which the next TICK searches, so that every session gets its turn */
        unsigned tick_from;
        unsigned last;              /* the entry that the last step changed; SESSIONS_MAX: none */
        bool was_tick;              /* the last step was a TICK */
        struct sessions_one before; /* that entry as it was before the last step */
};

/* The events. A field of struct sessions_event that an event uses is named with a leading dot. */
enum sessions_event_type {
        /* .gpu (its is_here is not read): a GPU is new, is back, or has another size. */
        SESSIONS_GPU_HERE,
        SESSIONS_GPU_GONE, /* .gpu.uuid: the GPU is gone */
        /* .policy, and .rules if it is not NULL: they apply to later requests; existing sessions
         * keep what they have. No actions. */
        SESSIONS_POLICY,
        /* .session: a session as it was saved. Comes before all other events; its actions follow
         * with the next TICK. */
        SESSIONS_RESTORE,
        /*
         * .session: the new session. Its name, id, owner, shares, weight, priority, gang, context,
         * labels and container are used as given; ttl_ns and ending if .change_bits names them,
         * else those of the policy. .wish: how to choose GPUs.
         */
        SESSIONS_CREATE,
        /*
         * Changes the fields of .session named in .change_bits: all of them or none. .version: 0,
         * or it must equal the session's version. Memory can always shrink, even on a GPU that is
         * gone. What it gives back becomes free for other sessions after SESSIONS_HELD.
         */
        SESSIONS_CHANGE,
        /* Renews the session by .ttl_ns from now, which becomes the session's TTL. If .ttl_ns is
         * 0, renews it by its own TTL, or by ttl_max_ns if that is less. */
        SESSIONS_RENEW,
        /*
         * Ends the session. Not forced: only if no process of the session lives (.is_busy is
         * false); a process that enters at the last moment may stay (the ending becomes deny-new).
         * Forced: the session's ending applies to its processes; if the session is ending already,
         * they get SIGKILL. .version: as for CHANGE.
         */
        SESSIONS_RELEASE,
        /*
         * No process of the session lives. After SHUT and after the signals the caller sends this
         * event as soon as it is true. For an open session the event is optional.
         */
        SESSIONS_EMPTY,
        /*
         * .session's shares, by UUID: the session has held at most .memory_bytes of each GPU since
         * the last change of its memory. Promised memory above that and above the limit becomes
         * free.
         */
        SESSIONS_HELD,
        /* Time has passed. One step handles one session; see sessions_actions.is_more. */
        SESSIONS_TICK,
        /*
         * An action of the last step, about the session .name, failed. If is_unsaved (SAVE or
         * FORGET failed), the session is again as before that step; but an end that TICK found
         * takes effect, with SHUT and the signal, because after a restart the TTL is over anyway.
         * If another action of CREATE failed, the actions are REMOVE FORGET TELL(gone). If any
         * other action failed, the saved state holds, and its actions are repeated in
         * SESSIONS_RETRY_NS.
         */
        SESSIONS_FAILED,
};

/* Bits for .change_bits: the fields of .session that a CREATE or CHANGE gives. */
enum sessions_change {
        /* memory of the shares named by UUID; other shares keep theirs */
        SESSIONS_HAS_MEMORY = 1 << 0,
        /* cap and guarantee of the shares named by UUID; other shares keep theirs */
        SESSIONS_HAS_COMPUTE = 1 << 1,
        SESSIONS_HAS_TTL = 1 << 2, /* ttl_ns, counted from now; 0: no TTL */
        SESSIONS_HAS_ENDING = 1 << 3,
        SESSIONS_HAS_LABELS = 1 << 4,
        SESSIONS_HAS_WEIGHT = 1 << 5,
        SESSIONS_HAS_PRIORITY = 1 << 6,
        SESSIONS_HAS_GANG = 1 << 7,
};

/* How to choose the GPUs if the request names none: this module sets the UUIDs of the shares, each
 * to another GPU. */
struct sessions_wish {
        /* the request names no GPU */
        bool is_chosen_here;
        /* the request gives `choice` */
        bool has_choice;
        /* set by this module: a bit for each entry of the node's .gpu that the requester may not
         * use */
        uint32_t barred;
        uint8_t choice; /* enum sessions_choice; without has_choice, the policy's choice applies */
        /* choose only GPUs with at least so much free memory before this session */
        uint64_t free_min_bytes;
};

struct sessions_event {
        enum sessions_event_type type;
        /* session of CHANGE, RENEW, RELEASE, EMPTY, HELD, FAILED; borrowed for the step */
        const char *name;
        /* the requester; user 0 and the admin may do everything, others only with their own
         * sessions */
        uint32_t uid;
        bool is_admin;
        bool is_forced;
        bool is_busy;
        bool is_unsaved;
        uint32_t change_bits;
        /* CREATE: number of removed sessions of this owner that still occupy memory */
        uint32_t remains;
        /* The requester's groups and profile, which select the rules. A request through a profile
         * is bounded by the profile's rules, whoever sends it. Borrowed for the step. */
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* NULL: not through a profile */
        uint64_t version;
        uint64_t ttl_ns;
        struct sessions_wish wish;
        struct sessions_gpu gpu;
        struct sessions_policy policy;
        const struct policy *rules;         /* borrowed for the step */
        const struct sessions_one *session; /* borrowed for the step */
};

enum sessions_answer {
        SESSIONS_YES,
        /* There is not enough memory on .gpu: the request needs .wanted_bytes there, and may have
         * .free_bytes (for a change, this includes what the session has). */
        SESSIONS_NO_ROOM,
        /* The node does not have that GPU, or none that large, or not so many. .gpu is set if the
         * request named one. The request needs .wanted_bytes; .free_bytes is the most that one
         * session can have on that GPU, or on any of the remaining GPUs. */
        SESSIONS_NO_GPU,
        /* With .wanted_milli_percent, the guarantees on .gpu would exceed its whole time;
         * .free_milli_percent is left. .field is "guarantee". */
        SESSIONS_NO_TIME,
        SESSIONS_EXISTS, /* the name is in use */
        /* There is no such session. Also the answer about another owner's session, so that its
         * existence stays secret. */
        SESSIONS_UNKNOWN,
        SESSIONS_STALE, /* .version is neither 0 nor the session's version */
        SESSIONS_BUSY,  /* programs of the session run, and the request was not forced */
        /* There is no free entry for a session or a GPU. If owner_max is the reason, .field is
         * "owner". */
        SESSIONS_FULL,
        SESSIONS_TOO_LONG, /* the TTL is above ttl_max_ns */
        SESSIONS_RULED,    /* a rule allows the requester less than that, see .excess */
        SESSIONS_CLOSED,   /* the session is ending, and the request is not a forced release */
        SESSIONS_BAD,      /* the event is invalid in .field */
};

/*
 * The actions of each event:
 *
 *      CREATE           SAVE TELL(created) MAKE
 *      CHANGE           SAVE TELL(changed), and LIMIT if memory, compute, weight, priority or gang
 *                       changed
 *      RENEW            SAVE TELL(renewed); none if neither the session nor the request has a TTL
 *      RELEASE, or TICK at the end of the TTL (then TELL(expired)), by the session's ending:
 *        deny-new       SAVE TELL(released) SHUT
 *        term           SAVE TELL(released) TELL(terminated) SHUT SIGTERM
 *        kill           SAVE TELL(released) TELL(killed) SHUT SIGKILL
 *      TICK when the grace period is over, or a forced RELEASE of an ending session
 *                       SAVE TELL(killed) SHUT SIGKILL
 *      EMPTY            REMOVE FORGET TELL(gone) if the session is ending; none if it is open
 *      HELD             SAVE if memory becomes free; else none
 *      TICK after RESTORE or FAILED, and repeatedly while KILLING, by the session's state:
 *                       MAKE LIMIT, or SHUT, or SHUT SIGTERM, or SHUT SIGKILL
 *      GPU_HERE, _GONE  TELL, if the GPU was not here, or not gone, before
 */
enum sessions_action_type {
        SESSIONS_SAVE,    /* write .session to durable storage */
        SESSIONS_MAKE,    /* create the session's folder, if it does not exist, with its limits */
        SESSIONS_LIMIT,   /* write the session's limits to its page */
        SESSIONS_SHUT,    /* refuse new programs and new charges; running programs stay */
        SESSIONS_SIGTERM, /* send SIGTERM to every process of the session */
        SESSIONS_SIGKILL, /* send SIGKILL to every process of the session */
        SESSIONS_FORGET,  /* delete the session from durable storage */
        SESSIONS_REMOVE,  /* remove the session's folder */
        SESSIONS_TELL,    /* report .note to the audit trail and to subscribers */
};

enum sessions_note {
        SESSIONS_NOTE_CREATED,
        SESSIONS_NOTE_CHANGED,
        SESSIONS_NOTE_RENEWED,
        SESSIONS_NOTE_EXPIRED,
        SESSIONS_NOTE_RELEASED,   /* a request ended the session */
        SESSIONS_NOTE_TERMINATED, /* the session's processes get SIGTERM */
        SESSIONS_NOTE_KILLED,     /* the session's processes get SIGKILL */
        SESSIONS_NOTE_GONE,       /* the session is removed */
        SESSIONS_NOTE_GPU_HERE,   /* .session is NULL; see struct sessions_actions.gpu */
        SESSIONS_NOTE_GPU_GONE,
};

struct sessions_action {
        enum sessions_action_type type;
        enum sessions_note note;
        const struct sessions_one *session; /* points into struct sessions */
};

/* Which rule a request exceeds, for SESSIONS_RULED. */
struct sessions_excess {
        enum policy_key key;
        uint64_t rules; /* a bit for each of the node's .rules that sets the bound */
        /* the bound, and the requested value */
        uint64_t most, asked;
};

/* The result of a step. Pointers into struct sessions hold until the next step, even for a session
 * that was just deleted: its entry is free then, but the fields keep their values. */
struct sessions_actions {
        /* the answer to the request, or what is wrong with the event */
        enum sessions_answer answer;
        /* the field that the answer is about, by the API's name (static), or NULL */
        const char *field;
        /* the session that the event is about; NULL if refused */
        const struct sessions_one *session;
        uint8_t gpu[16];
        uint64_t wanted_bytes;
        uint64_t free_bytes;
        uint32_t wanted_milli_percent;
        uint32_t free_milli_percent;
        struct sessions_excess excess;
        bool is_more; /* TICK: there is more to do; call the step again with the same time */
        unsigned count;
        struct sessions_action action[SESSIONS_ACTIONS];
};

/* Checks a policy. Returns NULL, or the name of the invalid setting: "overcommit", "ratio",
 * "on_end", "choice" or "ttl". */
const char *sessions_check_policy(const struct sessions_policy *policy);

/* Initializes the state. `policy` must have passed sessions_check_policy(). */
void sessions_init(struct sessions *ret, const struct sessions_policy *policy);

/* Takes one event into account, and writes the answer and the resulting actions to `ret`. */
void sessions_step(struct sessions *node, const struct sessions_event *event, uint64_t now_ns,
                   struct sessions_actions *ret);

/* Returns the session with this name; NULL if there is none. */
const struct sessions_one *sessions_find(const struct sessions *node, const char *name);

/* Returns who pays for what the session's programs make the daemon do: the owner's uid, or for a
 * container, whose session belongs to the daemon's user, a number from 2^32 to 2^63 that depends
 * only on the container's id. */
uint64_t sessions_payer(const struct sessions_one *session);

/* Sets `ret` to the bounds that the rules set for the requester of this event (.uid, .is_admin,
 * .group, .profile). */
void sessions_grant(const struct sessions *node, const struct sessions_event *event,
                    struct policy_grant *ret);

/* Sets `ret` to the answer that this SESSIONS_CREATE would get now from the rules and the owner's
 * own sessions. Does not check for room, a free entry or an equal name, so that the answer shows
 * nothing about other owners' sessions. Changes nothing. */
void sessions_try(struct sessions *node, const struct sessions_event *event,
                  struct sessions_actions *ret);

/* Return memory of a GPU in bytes. sessions_promised(): the memory promised to all sessions, where
 * those that swap count together as the largest of them. sessions_promised_plain(): the memory
 * promised to sessions that do not swap. sessions_room(): the most that one more session that does
 * not swap can get (0: nothing is left, or the GPU is not here). */
uint64_t sessions_promised(const struct sessions *node, const uint8_t uuid[16]);
uint64_t sessions_promised_plain(const struct sessions *node, const uint8_t uuid[16]);
uint64_t sessions_room(const struct sessions *node, const uint8_t uuid[16]);

/* Whether more of the GPU is promised than the policy allows now. */
bool sessions_is_over(const struct sessions *node, const uint8_t uuid[16]);

/*
 * Returns when SESSIONS_TICK is due; an earlier TICK gives no action. 0: only after another event.
 * If the clock has gone back, repeated actions may be due earlier, within SESSIONS_RETRY_NS.
 */
uint64_t sessions_next_ns(const struct sessions *node);

#endif
