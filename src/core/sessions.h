/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of sessions on a node: decides which session exists, with how much of each GPU, and
 * until when. It only decides; the caller carries the decisions out.
 *
 *      sessions_init(&node, &policy);
 *      sessions_step(&node, &event, now, &actions);    // for every event, in order
 *
 * An event goes in: a GPU appeared, a user asks for a session, time has passed, a session's last
 * process exited. Actions come out, in the order in which the caller carries them out (see enum
 * sessions_action_type).
 *
 * The saved state always covers what others can see: SAVE comes before the visible actions, FORGET
 * after the last of them. So the caller may die between any two actions. After SESSIONS_RESTORE of
 * the saved sessions and SESSIONS_TICK, the unfinished actions come out again. For that all actions
 * are idempotent, also where there is no folder (after a reboot): SHUT, the signals and REMOVE then
 * have nothing to do. Every TELL except a GPU's follows its SAVE or FORGET with only other TELLs
 * between, so that one transaction can hold them; it is not repeated.
 *
 * A step changes the state as if every action succeeds. If an action fails, the caller skips the
 * rest of that step's actions, and the very next step is SESSIONS_FAILED.
 *
 * Time is the wall clock in nanoseconds, since a session's end survives a reboot. It may jump: a
 * session never ends before its TTL has passed on the clock that the caller gives, and a clock that
 * goes back only makes it later. All memory is the caller's (struct sessions: 7 MiB); nothing here
 * allocates or blocks, and one step is a few walks over the sessions, and one for each GPU, at
 * most. One thread.
 *
 * Units: bytes; nanoseconds. Texts are NUL-terminated, and the caller has checked that they are
 * UTF-8 without control characters; names follow settings_check_name().
 */
#ifndef ALIQUOT_CORE_SESSIONS_H
#define ALIQUOT_CORE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy.h"

#define SESSIONS_MAX 4096u
/* The last entries are kept for sessions of root and of the daemon's own user. */
#define SESSIONS_KEPT 64u
#define SESSIONS_GPUS 16u /* maximum of a node, and so of a session */
#define SESSIONS_NAME_BYTES 64u
#define SESSIONS_LABELS_BYTES 512u /* canonical JSON object of strings; opaque here */
#define SESSIONS_CONTAINER_BYTES 72u
#define SESSIONS_CGROUP_BYTES 320u
#define SESSIONS_ACTIONS 8u /* the most that one step gives; they are about one session */
/* What failed is owed again after so long. A session that outlives SIGKILL gets another after so
 * long, then after twice as long each time, up to the most: many that cannot be ended are little
 * work. */
#define SESSIONS_RETRY_NS UINT64_C(1000000000)
#define SESSIONS_RETRY_MAX_NS UINT64_C(60000000000)

/* The limit on the memory of a card that all sessions together may be promised. "The card" is its
 * memory less the reserve. No single session gets more than the card, whatever the rule. */
enum sessions_overcommit {
        SESSIONS_STRICT, /* at most the card */
        SESSIONS_RATIO,  /* at most ratio_percent of the card */
        SESSIONS_NONE,   /* no limit on the sum */
};

/* What happens to the programs of a session when it ends with some still running. */
enum sessions_ending {
        SESSIONS_DENY_NEW, /* they keep what they have; new programs and new charges are refused */
        SESSIONS_TERM,     /* the same, and SIGTERM; after the grace period SIGKILL */
        SESSIONS_KILL,     /* SIGKILL at once */
};

/* How the daemon chooses a GPU when the request names none: by the memory not yet promised. With
 * SESSIONS_NONE this can be negative. Equal GPUs: the first. */
enum sessions_choice {
        SESSIONS_BEST_FIT,     /* the least that is enough; if none is enough, the most */
        SESSIONS_LEAST_LOADED, /* the most */
};

struct sessions_policy {
        enum sessions_overcommit overcommit;
        uint32_t ratio_percent; /* with SESSIONS_RATIO: 100..10000 */
        uint64_t reserve_bytes; /* of each card, never promised */
        /* The ending if the request gives none. If ttl_most_ns is set, it is also the mildest
         * ending that users other than root and the admin may ask for. */
        enum sessions_ending ending;
        enum sessions_choice choice;
        uint64_t ttl_ns;      /* TTL if the request gives none; 0: ttl_most_ns */
        uint64_t ttl_most_ns; /* maximum TTL; 0: no maximum, and sessions without TTL are allowed */
        uint64_t grace_ns;    /* SESSIONS_TERM: from SIGTERM to SIGKILL */
        /* maximum sessions of one owner, except root and the admin; 0: no maximum */
        uint32_t owner_most;
};

struct sessions_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes; /* what the driver can give of it, including the reserve */
        /* false: the GPU is gone. Its sessions keep their shares; no session gets a new one */
        bool is_here;
};

#define SESSIONS_WHOLE_MILLI_PERCENT 100000u

/* What a session may use of one GPU. This module stores the compute limits; the scheduler enforces
 * them. */
struct sessions_share {
        uint8_t uuid[16];
        uint64_t memory_bytes;
        /* The memory that counts as promised, and the most that the session may hold: memory_bytes,
         * or the memory still held from a higher limit, which a lower limit does not take back.
         * Only this module sets it; SESSIONS_RESTORE trusts it. */
        uint64_t ceiling_bytes;
        uint32_t compute_milli_percent;   /* 0 or the whole: no cap */
        uint32_t guarantee_milli_percent; /* 0: no guarantee */
};

/* The container that a session belongs to. Carried for who makes and ends such sessions: said when
 * it is made, and never changed. */
struct sessions_container {
        char profile[SESSIONS_NAME_BYTES]; /* by which it was asked for; "": it is no container's */
        char id[SESSIONS_CONTAINER_BYTES]; /* its runtime's name for it */
        char cgroup[SESSIONS_CGROUP_BYTES]; /* the folder of its control group */
        uint64_t inode;                     /* of that folder */
};

enum sessions_state {
        SESSIONS_FREE, /* the entry is free */
        SESSIONS_OPEN,
        SESSIONS_ENDING,  /* closed to new programs; some may still run */
        SESSIONS_KILLING, /* closed; processes that still run get SIGKILL */
};

struct sessions_one {
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16]; /* random; a later session of the same name has another id */
        uint32_t owner_uid;
        uint32_t weight;     /* 1..10000; usually 100 */
        uint8_t priority;    /* 0 batch, 1 normal, 2 rt */
        uint8_t state;       /* enum sessions_state */
        uint8_t ending;      /* enum sessions_ending */
        uint8_t share_count; /* 1..SESSIONS_GPUS */
        bool is_context_free;
        uint64_t host_bytes; /* of the host's memory, instead of GPU memory; 0: none */
        /* The session's memory may leave its one GPU. All sessions that swap on a GPU count
         * together as one promise, as large as the largest of them. */
        bool swaps;
        uint64_t created_ns;
        uint64_t expires_ns; /* 0: never */
        uint64_t ttl_ns;     /* what a renewal without TTL gives, from its time on; 0: no TTL */
        uint64_t ended_ns;   /* when it left SESSIONS_OPEN */
        /* every change raises it, except a renewal with the session's own TTL; never 0 */
        uint64_t version;
        struct sessions_share share[SESSIONS_GPUS];
        /* sessions of one owner with the same gang have their turns together; "": no gang */
        char gang[SESSIONS_NAME_BYTES];
        char labels[SESSIONS_LABELS_BYTES];
        struct sessions_container container;
};

/* When SESSIONS_TICK has work to do for a session. */
struct sessions_due {
        uint64_t at_ns; /* 0: nothing */
        /* For actions that may have failed: the delay that was planned. 0: the state's next step is
         * due. */
        uint64_t owed_ns;
};

/* Any code may read it; only sessions_step() writes it. A session keeps its entry. */
struct sessions {
        struct sessions_policy policy;
        struct policy rules; /* who may take what; none bounds root and the admin */
        unsigned gpu_count;
        struct sessions_gpu gpu[SESSIONS_GPUS];
        unsigned count;   /* sessions */
        unsigned entries; /* one above the last entry in use; bounds every walk */
        struct sessions_one session[SESSIONS_MAX];
        /* Private to the files of core/sessions. */
        struct sessions_due due[SESSIONS_MAX];
        uint32_t name_sum[SESSIONS_MAX]; /* hash of the session's name; 0: the entry is free */
        /* where the next TICK begins to look, so that every session gets its turn */
        unsigned tick_from;
        unsigned last;              /* the entry that the last step changed; SESSIONS_MAX: none */
        bool was_tick;              /* the last step was TICK */
        struct sessions_one before; /* the entry as it was before the last step */
};

enum sessions_event_type {
        /* .gpu (is_here is not read): a GPU is new, is back, or has another size */
        SESSIONS_GPU_HERE,
        SESSIONS_GPU_GONE, /* .gpu.uuid */
        /* .policy, and .rules if it is not NULL: for what comes; nobody who was admitted is put
         * out. No actions. */
        SESSIONS_POLICY,
        /* .session: as it was saved. Comes before all other events; actions follow with the next
         * TICK. */
        SESSIONS_RESTORE,
        /*
         * .session: name, id, owner, shares, weight, priority, gang, context, labels, container as
         * they are;
         * ttl_ns and ending if .change_bits have them, else by the policy. And .wish.
         */
        SESSIONS_CREATE,
        /*
         * Changes the fields of .session named in .change_bits: all of them or none. .version: 0,
         * or it must equal the session's. Memory can always shrink, also on a GPU that is gone;
         * other sessions get what it gives back after SESSIONS_HELD.
         */
        SESSIONS_CHANGE,
        /* Renews by .ttl_ns from now, which becomes the session's TTL; 0: its own TTL, or
         * ttl_most_ns if that is less. */
        SESSIONS_RENEW,
        /*
         * Not forced: only if no process of the session lives (.is_busy); a process that enters at
         * the last moment is left alone (the ending becomes deny-new). Forced: the session's ending
         * applies to its processes; forced again while it is ending: SIGKILL. .version as in
         * CHANGE.
         */
        SESSIONS_RELEASE,
        /*
         * No process of the session lives. The caller sends this after SHUT and after the signals
         * if it is true then, else as soon as it becomes true; for an open session it is optional.
         */
        SESSIONS_EMPTY,
        /*
         * .session's shares, by UUID: at most .memory_bytes of each have been held since the last
         * change of the session's memory. What lies above that and above the limit becomes free.
         */
        SESSIONS_HELD,
        SESSIONS_TICK, /* Time has passed. Handles one session a step; see is_more. */
        /*
         * An action of the last step, on .name, failed. is_unsaved (SAVE or FORGET failed): the
         * session is again as before that step. But an end that TICK found takes effect, with SHUT
         * and its signal: after a restart the TTL is over anyway. Another action of CREATE failed:
         * REMOVE FORGET TELL(gone). Any other: the saved state holds, and its actions are repeated
         * in SESSIONS_RETRY_NS.
         */
        SESSIONS_FAILED,
};

/* The fields of .session that CREATE and CHANGE have. */
enum sessions_change {
        SESSIONS_HAS_MEMORY = 1 << 0, /* of the shares named by UUID; the others stay as they are */
        SESSIONS_HAS_COMPUTE = 1 << 1, /* likewise; cap and guarantee */
        SESSIONS_HAS_TTL = 1 << 2,     /* ttl_ns, from now; 0: none */
        SESSIONS_HAS_ENDING = 1 << 3,
        SESSIONS_HAS_LABELS = 1 << 4,
        SESSIONS_HAS_WEIGHT = 1 << 5,
        SESSIONS_HAS_PRIORITY = 1 << 6,
        SESSIONS_HAS_GANG = 1 << 7,
};

/* For a request that names no GPU: this module chooses the UUIDs of the shares, each another
 * GPU. */
struct sessions_wish {
        bool is_chosen_here;
        bool has_choice;
        uint32_t barred; /* set here: bit per entry of .gpu of the node: not for who asks */
        uint8_t choice;  /* enum sessions_choice, if has_choice; else the policy's */
        uint64_t free_least_bytes; /* only GPUs with so much room before this session */
};

struct sessions_event {
        enum sessions_event_type type;
        const char *name; /* the session of CHANGE, RENEW, RELEASE, EMPTY, HELD, FAILED; borrowed */
        /* the user who asks; 0 and the admin may do everything, others only with their own
         * sessions */
        uint32_t uid;
        bool is_admin;
        bool is_forced;
        bool is_busy;
        bool is_unsaved;
        uint32_t change_bits;
        uint32_t remains; /* CREATE: removed sessions of its owner that still take room */
        /* By which groups and profile the rules are found for who asks. A profile is bounded
         * whoever asks by it. Borrowed for the step. */
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* NULL: by none */
        uint64_t version;
        uint64_t ttl_ns;
        struct sessions_wish wish;
        struct sessions_gpu gpu;
        struct sessions_policy policy;
        const struct policy *rules;         /* borrowed for the step */
        const struct sessions_one *session; /* likewise */
};

enum sessions_answer {
        SESSIONS_YES,
        /* .gpu, .wanted_bytes, and .free_bytes there (for a change: including what the session
         * has). */
        SESSIONS_NO_ROOM,
        /* No such GPU here, none that large, or not so many. .gpu if the request named it,
         * .wanted_bytes, and .free_bytes: the most that one session can have there, or on any
         * remaining GPU. */
        SESSIONS_NO_GPU,
        /* .gpu: with .wanted_milli_percent, the guarantees on it would exceed its whole time;
         * .free_milli_percent is left. `field` is "guarantee". */
        SESSIONS_NO_TIME,
        SESSIONS_EXISTS, /* the name is taken */
        /* no such session; also for another owner's session, so that its existence stays secret */
        SESSIONS_UNKNOWN,
        SESSIONS_STALE, /* .version is not the session's version */
        SESSIONS_BUSY,  /* programs run, and the request was not forced */
        /* no free entry, for a session or a GPU; because of owner_most: .field is "owner" */
        SESSIONS_FULL,
        SESSIONS_TOO_LONG, /* TTL above ttl_most_ns */
        SESSIONS_RULED,    /* more than a rule gives who asks: .excess */
        SESSIONS_CLOSED,   /* it is ending: that can be forced, and nothing else */
        SESSIONS_BAD,      /* .field says which */
};

/*
 * The actions of each event:
 *
 *      CREATE           SAVE TELL(created) MAKE
 *      CHANGE           SAVE TELL(changed), and LIMIT if memory, compute, weight, priority or gang
 *                       changed
 *      RENEW            SAVE TELL(renewed); none if the session has no TTL and the request none
 *      RELEASE, or TICK at the end of the TTL (TELL(expired)), by the session's ending:
 *        deny-new       SAVE TELL(released) SHUT
 *        term           SAVE TELL(released) TELL(terminated) SHUT SIGTERM
 *        kill           SAVE TELL(released) TELL(killed) SHUT SIGKILL
 *      TICK when the grace period is over, or a forced RELEASE of an ending session
 *                       SAVE TELL(killed) SHUT SIGKILL
 *      EMPTY            REMOVE FORGET TELL(gone) if the session is ending; none if it is open
 *      HELD             SAVE if memory becomes free; else none
 *      TICK after RESTORE or FAILED, and repeatedly while KILLING, by the state:
 *                       MAKE LIMIT, or SHUT, or SHUT SIGTERM, or SHUT SIGKILL
 *      GPU_HERE, _GONE  TELL, if it is a change
 */
enum sessions_action_type {
        SESSIONS_SAVE,    /* write .session to durable storage */
        SESSIONS_MAKE,    /* create the session's folder, if it does not exist, with its limits */
        SESSIONS_LIMIT,   /* write the session's limits to its page */
        SESSIONS_SHUT,    /* refuse new programs and new charges; running programs stay */
        SESSIONS_SIGTERM, /* to every process of the session, if any */
        SESSIONS_SIGKILL,
        SESSIONS_FORGET, /* delete it from storage */
        SESSIONS_REMOVE, /* remove the session's folder */
        SESSIONS_TELL,   /* report .note to the audit trail and to subscribers */
};

enum sessions_note {
        SESSIONS_NOTE_CREATED,
        SESSIONS_NOTE_CHANGED,
        SESSIONS_NOTE_RENEWED,
        SESSIONS_NOTE_EXPIRED,
        SESSIONS_NOTE_RELEASED,   /* by a request */
        SESSIONS_NOTE_TERMINATED, /* the session's processes get SIGTERM */
        SESSIONS_NOTE_KILLED,     /* the session's processes get SIGKILL */
        SESSIONS_NOTE_GONE,       /* the session is removed */
        SESSIONS_NOTE_GPU_HERE,   /* .session is NULL; see struct sessions_actions.gpu */
        SESSIONS_NOTE_GPU_GONE,
};

struct sessions_action {
        enum sessions_action_type type;
        enum sessions_note note;
        const struct sessions_one *session; /* points into the state */
};

/* Of SESSIONS_RULED. */
struct sessions_excess {
        enum policy_key key;
        uint64_t rules; /* bit per rule of the node's .rules that has the bound */
        uint64_t most, asked;
};

/* What points into the state holds until the next step, also of a session that is forgotten (its
 * entry is free then, its fields are still there). */
struct sessions_actions {
        enum sessions_answer
                answer;    /* the answer to the request, or what is wrong with the event */
        const char *field; /* the field concerned, by the API's name (static), or NULL */
        const struct sessions_one *session; /* the session concerned; NULL if refused */
        uint8_t gpu[16];
        uint64_t wanted_bytes;
        uint64_t free_bytes;
        uint32_t wanted_milli_percent;
        uint32_t free_milli_percent;
        struct sessions_excess excess;
        bool is_more; /* TICK: there is more to do; step again with the same time */
        unsigned count;
        struct sessions_action action[SESSIONS_ACTIONS];
};

/* NULL, or the name of the invalid setting: "overcommit", "ratio", "on_end", "choice", "ttl". */
const char *sessions_check_policy(const struct sessions_policy *policy);

/* The policy has passed sessions_check_policy(). */
void sessions_init(struct sessions *ret, const struct sessions_policy *policy);

void sessions_step(struct sessions *node, const struct sessions_event *event, uint64_t now_ns,
                   struct sessions_actions *ret);

/* The session with this name; NULL: there is none. */
const struct sessions_one *sessions_find(const struct sessions *node, const char *name);

/* What the rules give who asks for this event (.uid, .is_admin, .group, .profile). */
void sessions_grant(const struct sessions *node, const struct sessions_event *event,
                    struct policy_grant *ret);

/* What the rules, and no other session of another owner, answer to this SESSIONS_CREATE now.
 * Nothing changes. */
void sessions_try(struct sessions *node, const struct sessions_event *event,
                  struct sessions_actions *ret);

/* What of a GPU is promised, by what counts of each session, and the most that one more session may
 * get that does not swap (0: nothing is left, or the GPU is not here). Sessions that swap count
 * together as the largest of them; sessions_promised_plain() leaves them out. */
uint64_t sessions_promised(const struct sessions *node, const uint8_t uuid[16]);
uint64_t sessions_promised_plain(const struct sessions *node, const uint8_t uuid[16]);
uint64_t sessions_room(const struct sessions *node, const uint8_t uuid[16]);

/* Whether more of the GPU is promised than the policy allows now. */
bool sessions_is_over(const struct sessions *node, const uint8_t uuid[16]);

/*
 * When SESSIONS_TICK is due; an earlier TICK gives no action. 0: only after another event. After a
 * clock that went back, repeated actions may be due earlier, in SESSIONS_RETRY_NS.
 */
uint64_t sessions_next_ns(const struct sessions *node);

#endif
