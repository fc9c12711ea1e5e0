/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of a node: who is admitted, with what, until when. Decisions only.
 *
 *      sessions_init(&node, &policy);
 *      sessions_step(&node, &event, now, &actions);    // for every event, in order
 *
 * An event goes in (a GPU is there, somebody asks for a session, time has passed, the last process
 * left), actions come out, in the order in which they are to be carried out (enum
 * sessions_action_type says which).
 *
 * What is saved always covers what others can see: SAVE comes before the actions that they see,
 * FORGET after the last of them. So whoever carries out can die between any two actions: after
 * SESSIONS_RESTORE of what was saved and SESSIONS_TICK, what was left over comes out again. All
 * actions are idempotent for that, also where there is no folder (a reboot): then SHUT, the signals
 * and REMOVE have nothing to do. Every TELL but a GPU's follows its SAVE or FORGET with nothing but
 * other TELLs between, so that they can be one transaction; it is not repeated.
 *
 * The state changes within the step as if every action succeeded; where one fails all the same, the
 * rest of its step is left undone and SESSIONS_FAILED is the very next step.
 *
 * Time is the wall clock in nanoseconds, since a session's end survives a reboot. It may jump: a
 * session never ends before its TTL has passed on the clock that the caller gives, and a clock that
 * goes back only makes it later. All memory is the caller's (struct sessions: 7 MiB); nothing here
 * allocates or blocks, and one step is a few walks over the sessions, and one for each GPU, at
 * most. One thread.
 *
 * Units: bytes; nanoseconds. Texts are NUL-terminated and were checked by the caller to be UTF-8
 * without control characters; names by settings_check_name()'s rule.
 */
#ifndef ALIQUOT_CORE_SESSIONS_H
#define ALIQUOT_CORE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy.h"

#define SESSIONS_MOST 4096u
/* The last entries, for sessions of root and of the daemon's own user. */
#define SESSIONS_KEPT 64u
#define SESSIONS_GPUS 16u /* of a node, and so of a session */
#define SESSIONS_NAME_BYTES 64u
#define SESSIONS_LABELS_BYTES 512u /* canonical JSON object of strings; opaque here */
#define SESSIONS_CONTAINER_BYTES 72u
#define SESSIONS_CGROUP_BYTES 320u
#define SESSIONS_ACTIONS 8u /* the most that one step gives; they are about one session */
/* What failed is owed again after so long. A session that outlives SIGKILL gets another after so
 * long, then after twice as long each time, up to the most: many that cannot be ended are little
 * work. */
#define SESSIONS_RETRY_NS UINT64_C(1000000000)
#define SESSIONS_RETRY_MOST_NS UINT64_C(60000000000)

/* The most memory of a card that the sessions may be promised together. The card: what the reserve
 * leaves of it. No single session gets more than that, whatever the rule. */
enum sessions_overcommit {
        SESSIONS_STRICT, /* no more than the card */
        SESSIONS_RATIO,  /* no more than ratio_percent of it */
        SESSIONS_NONE,   /* whatever is asked */
};

/* What happens to the programs of a session when it ends with some still running. */
enum sessions_ending {
        SESSIONS_DENY_NEW, /* they keep what they have and get nothing more */
        SESSIONS_TERM,     /* the same, and SIGTERM; after the grace period SIGKILL */
        SESSIONS_KILL,     /* SIGKILL at once */
};

/* How a GPU is chosen for who names none: by what is not promised yet of it. With SESSIONS_NONE
 * that can be less than nothing. Ties: the first. */
enum sessions_choice {
        SESSIONS_BEST_FIT,     /* the least that is enough; where nothing is enough, the most */
        SESSIONS_LEAST_LOADED, /* the most */
};

struct sessions_policy {
        enum sessions_overcommit overcommit;
        uint32_t ratio_percent; /* with SESSIONS_RATIO: 100..10000 */
        uint64_t reserve_bytes; /* of each card, promised to nobody */
        /* Of who says nothing of it. With ttl_most_ns the least hard that others than root and the
         * admin may ask for. */
        enum sessions_ending ending;
        enum sessions_choice choice;
        uint64_t ttl_ns;      /* of who says nothing of it; 0: ttl_most_ns */
        uint64_t ttl_most_ns; /* the longest that may be asked; 0: any, and none at all */
        uint64_t grace_ns;    /* SESSIONS_TERM: from SIGTERM to SIGKILL */
        uint32_t owner_most;  /* sessions of one owner, but not root or the admin; 0: any number */
};

struct sessions_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes; /* what a driver can give of it; the reserve is part of that */
        bool is_here;        /* gone: its sessions keep their shares of it; given to nobody */
};

#define SESSIONS_WHOLE_MILLI_PERCENT 100000u

/* What a session may use of one GPU. Compute is carried for who enforces it. */
struct sessions_share {
        uint8_t uuid[16];
        uint64_t memory_bytes;
        /* What it counts for, and the most that its ledger can explain: memory_bytes, or what is
         * held still of a higher limit, which no change takes back. Set here alone;
         * SESSIONS_RESTORE believes it. */
        uint64_t ceiling_bytes;
        uint32_t compute_milli_percent;   /* 0, and the whole: no cap */
        uint32_t guarantee_milli_percent; /* 0: none */
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
        SESSIONS_KILLING, /* closed; who still runs gets SIGKILL */
};

struct sessions_one {
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16]; /* random; the same name later is another id */
        uint32_t owner_uid;
        uint32_t weight;     /* 1..10000; 100 is usual */
        uint8_t priority;    /* 0 batch, 1 normal, 2 rt */
        uint8_t state;       /* enum sessions_state */
        uint8_t ending;      /* enum sessions_ending */
        uint8_t share_count; /* 1..SESSIONS_GPUS */
        bool is_context_free;
        uint64_t host_bytes; /* of the host's memory, in place of the GPUs'; 0: none */
        /* Its memory may leave its one GPU. On a GPU all sessions that swap share one promise, as
         * large as the largest of theirs. */
        bool swaps;
        uint64_t created_ns;
        uint64_t expires_ns; /* 0: never */
        uint64_t ttl_ns;     /* what a renewal without one gives, from then on; 0: none */
        uint64_t ended_ns;   /* when it left OPEN */
        uint64_t version;    /* raised by every change but a renewal with its own TTL; never 0 */
        struct sessions_share share[SESSIONS_GPUS];
        char gang[SESSIONS_NAME_BYTES]; /* those of one owner have their turns together; "": none */
        char labels[SESSIONS_LABELS_BYTES];
        struct sessions_container container;
};

/* What SESSIONS_TICK has to do with a session, and when. */
struct sessions_due {
        uint64_t at_ns; /* 0: nothing */
        /* Of actions that may not have been carried out: how far ahead they were planned. 0: it is
         * its state's next. */
        uint64_t owed_ns;
};

/* To be read by anybody and written by sessions_step() alone. A session keeps its entry. */
struct sessions {
        struct sessions_policy policy;
        struct policy rules; /* who may take what; none bounds root and the admin */
        unsigned gpu_count;
        struct sessions_gpu gpu[SESSIONS_GPUS];
        unsigned count;   /* sessions */
        unsigned entries; /* one above the last entry that is not free: bounds every walk */
        struct sessions_one session[SESSIONS_MOST];
        /* Private to the core's sessions. */
        struct sessions_due due[SESSIONS_MOST];
        uint32_t name_sum[SESSIONS_MOST]; /* of the name of who is there; 0: nobody */
        unsigned tick_from;         /* where the next TICK begins to look: all get their turn */
        unsigned last;              /* the entry that the last step changed; SESSIONS_MOST: none */
        bool was_tick;              /* that step was TICK */
        struct sessions_one before; /* what that entry was before it */
};

enum sessions_event_type {
        SESSIONS_GPU_HERE, /* .gpu (is_here is not read): new, or here again, or of another size */
        SESSIONS_GPU_GONE, /* .gpu.uuid */
        /* .policy, and .rules if it is not NULL: for what comes; nobody who was admitted is put
         * out. No actions. */
        SESSIONS_POLICY,
        /* .session: as it was saved. Before everything else; no actions before the next TICK. */
        SESSIONS_RESTORE,
        /*
         * .session: name, id, owner, shares, weight, priority, gang, context, labels, container as
         * they are;
         * ttl_ns and ending if .change_bits have them, else by the policy. And .wish.
         */
        SESSIONS_CREATE,
        /*
         * Those of .session's fields that .change_bits have; all or none. .version: 0, or it must
         * be the session's. Memory can always shrink, also on a GPU that is gone; what it gives
         * back is others' after SESSIONS_HELD.
         */
        SESSIONS_CHANGE,
        /* .ttl_ns from now, which becomes its own; 0: its own, or ttl_most_ns if that is less. */
        SESSIONS_RENEW,
        /*
         * Not forced: only while no process of it lives (.is_busy), and whoever slips in is left
         * alone (its ending becomes deny-new). Forced: its ending is done to those that run; forced
         * while it is ending: SIGKILL. .version as in CHANGE.
         */
        SESSIONS_RELEASE,
        /*
         * No process of it lives. Told after SHUT and after the signals if it is so, and as soon as
         * it becomes so later; of an open session it may be told or not.
         */
        SESSIONS_EMPTY,
        /*
         * .session's shares, by UUID: at most .memory_bytes of it are held since the last change of
         * its memory. What lies above that and its limit is given back.
         */
        SESSIONS_HELD,
        SESSIONS_TICK, /* Time has passed. One session a step: is_more. */
        /*
         * An action of the step before failed, on .name. is_unsaved (SAVE or FORGET): the session
         * is as before that step; but what TICK ended ends all the same, with SHUT and its signal:
         * whoever starts anew finds again that its time is over. Another action of CREATE: REMOVE
         * FORGET TELL(gone). Any other: what is saved holds, and its actions are owed in
         * SESSIONS_RETRY_NS.
         */
        SESSIONS_FAILED,
};

/* Of SESSIONS_CREATE and SESSIONS_CHANGE: which fields of .session were said. */
enum sessions_change {
        SESSIONS_HAS_MEMORY = 1 << 0,  /* of the shares named by UUID; the others keep theirs */
        SESSIONS_HAS_COMPUTE = 1 << 1, /* likewise; cap and guarantee */
        SESSIONS_HAS_TTL = 1 << 2,     /* ttl_ns, from now; 0: none */
        SESSIONS_HAS_ENDING = 1 << 3,
        SESSIONS_HAS_LABELS = 1 << 4,
        SESSIONS_HAS_WEIGHT = 1 << 5,
        SESSIONS_HAS_PRIORITY = 1 << 6,
        SESSIONS_HAS_GANG = 1 << 7,
};

/* For who names no GPU: the shares' UUIDs are chosen here, each another GPU. */
struct sessions_wish {
        bool is_chosen_here;
        bool has_choice;
        uint32_t barred; /* set here: bit per entry of .gpu of the node: not for who asks */
        uint8_t choice;  /* enum sessions_choice, if has_choice; else the policy's */
        uint64_t free_least_bytes; /* only GPUs with so much room before this session */
};

struct sessions_event {
        enum sessions_event_type type;
        const char *name; /* of the session meant: CHANGE, RENEW, RELEASE, EMPTY, HELD, FAILED;
                             borrowed */
        uint32_t uid;     /* who asks; 0 and admin may do everything, others with their own */
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
        /* .gpu, .wanted_bytes, and .free_bytes there (of a change: with what it has already). */
        SESSIONS_NO_ROOM,
        /* None such here, none that large, or not so many; .gpu if it was named, .wanted_bytes, and
         * .free_bytes: the most that one session can have there, or of any that is left. */
        SESSIONS_NO_GPU,
        /* .gpu: the guarantees on it would come to more than its whole time; of that
         * .wanted_milli_percent was asked for and .free_milli_percent is left. `field` is
         * "guarantee". */
        SESSIONS_NO_TIME,
        SESSIONS_EXISTS,   /* the name is taken, by whomever */
        SESSIONS_UNKNOWN,  /* also another owner's: its existence is not told */
        SESSIONS_STALE,    /* .version is not the session's */
        SESSIONS_BUSY,     /* programs run, and it was not forced */
        SESSIONS_FULL,     /* no entry, or no GPU's; owner_most: .field is "owner" */
        SESSIONS_TOO_LONG, /* TTL above ttl_most_ns */
        SESSIONS_RULED,    /* more than a rule gives who asks: .excess */
        SESSIONS_CLOSED,   /* it is ending: that can be forced, and nothing else */
        SESSIONS_BAD,      /* .field says which */
};

/*
 * By the event:
 *
 *      CREATE           SAVE TELL(created) MAKE
 *      CHANGE           SAVE TELL(changed), LIMIT if its programs or turns have to do with it:
 *                       memory, compute, weight, priority or gang
 *      RENEW            SAVE TELL(renewed); nothing if it has no TTL and asks for none
 *      RELEASE, or TICK at the end of the TTL (TELL(expired)), by the session's ending:
 *        deny-new       SAVE TELL(released) SHUT
 *        term           SAVE TELL(released) TELL(terminated) SHUT SIGTERM
 *        kill           SAVE TELL(released) TELL(killed) SHUT SIGKILL
 *      TICK when the grace is over, or RELEASE forced of one that is ending
 *                       SAVE TELL(killed) SHUT SIGKILL
 *      EMPTY            REMOVE FORGET TELL(gone), of one that is ending; nothing of an open one
 *      HELD             SAVE if something is given back; else nothing
 *      TICK, what is owed after RESTORE and FAILED, and again and again while KILLING, by the state
 *                       MAKE LIMIT, or SHUT, or SHUT SIGTERM, or SHUT SIGKILL
 *      GPU_HERE, _GONE  TELL, if it is news
 */
enum sessions_action_type {
        SESSIONS_SAVE,    /* .session is written so that it survives */
        SESSIONS_MAKE,    /* its folder, if it is not there, with its limits */
        SESSIONS_LIMIT,   /* its limits are written to its page */
        SESSIONS_SHUT,    /* new programs and new charges are refused; those that run stay */
        SESSIONS_SIGTERM, /* to every process of it, if any */
        SESSIONS_SIGKILL,
        SESSIONS_FORGET, /* no longer saved */
        SESSIONS_REMOVE, /* its folder */
        SESSIONS_TELL,   /* .note: for the audit trail and who listens */
};

enum sessions_note {
        SESSIONS_NOTE_CREATED,
        SESSIONS_NOTE_CHANGED,
        SESSIONS_NOTE_RENEWED,
        SESSIONS_NOTE_EXPIRED,
        SESSIONS_NOTE_RELEASED,   /* asked for */
        SESSIONS_NOTE_TERMINATED, /* whoever of it runs gets SIGTERM */
        SESSIONS_NOTE_KILLED,     /* whoever of it runs gets SIGKILL */
        SESSIONS_NOTE_GONE,       /* nothing of it is left */
        SESSIONS_NOTE_GPU_HERE,   /* .session is NULL: struct sessions_actions.gpu */
        SESSIONS_NOTE_GPU_GONE,
};

struct sessions_action {
        enum sessions_action_type type;
        enum sessions_note note;
        const struct sessions_one *session; /* inside the state */
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
        enum sessions_answer answer; /* to who asked, or what was wrong with the event */
        const char *field;           /* what it is about, by the API's name (static), or NULL */
        const struct sessions_one *session; /* the one that it was about; NULL if refused */
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

/* NULL, or which setting makes no sense: "overcommit", "ratio", "on_end", "choice", "ttl". */
const char *sessions_check_policy(const struct sessions_policy *policy);

/* The policy is one that sessions_check_policy() lets pass. */
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
 * When SESSIONS_TICK is due: before that it gives no action, then it does. 0: not before another
 * event. After a clock that went back, what is owed can be due earlier: in SESSIONS_RETRY_NS.
 */
uint64_t sessions_next_ns(const struct sessions *node);

#endif
