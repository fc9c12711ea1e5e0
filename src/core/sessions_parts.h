/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of core/sessions; no other file includes it.
 *
 *      sessions.c          finds the function of an event; GPUs, restored sessions, failed actions
 *      sessions_ask.c      requests: create, change, renew, release
 *      sessions_end.c      endings, from the first action to the last
 *      sessions_entry.c    entries in the state, and what TICK has to do with each
 *      sessions_policy.c   what the rules allow a requester
 *      sessions_room.c     which sessions fit on which GPUs
 *      sessions_check.c    whether a session's fields are valid
 *
 * If a function that checks a request returns false, `ret` has the reason and nothing else has
 * changed. Each event first makes every check that could refuse it; then it changes the state and
 * lists the actions.
 */
#ifndef ALIQUOT_CORE_SESSIONS_PARTS_H
#define ALIQUOT_CORE_SESSIONS_PARTS_H

#include <string.h>

#include "common/sums.h"
#include "core/sessions.h"

/* What the functions of one call of sessions_step() share. */
struct sessions_step {
        struct sessions *node;
        const struct sessions_event *event;
        uint64_t now_ns;
        struct sessions_actions *ret;
        struct policy_grant grant; /* the bounds that the rules set for the requester */
};

static inline bool uuid_is_same(const uint8_t a[16], const uint8_t b[16])
{
        return memcmp(a, b, 16) == 0;
}

/* Returns the index of the session's share with this UUID; share_count if there is none. */
static inline unsigned share_find(const struct sessions_one *one, const uint8_t uuid[16])
{
        unsigned i = 0;

        while (i < one->share_count && !uuid_is_same(one->share[i].uuid, uuid))
                i++;
        return i;
}

/* Stores the refusal in `ret`. Returns false, so that a caller can write `return
 * refuse_event(...)`. */
static inline bool refuse_event(struct sessions_actions *ret, enum sessions_answer answer,
                                const char *field)
{
        ret->answer = answer;
        ret->field = field;
        return false;
}

static inline void add_action(struct sessions_actions *ret, enum sessions_action_type type,
                              const struct sessions_one *one)
{
        ret->action[ret->count++] = (struct sessions_action){ .type = type, .session = one };
}

static inline void add_note(struct sessions_actions *ret, enum sessions_note note,
                            const struct sessions_one *one)
{
        ret->action[ret->count++] =
                (struct sessions_action){ .type = SESSIONS_TELL, .note = note, .session = one };
}

/* -- sessions_entry.c ------------------------------------------------------------------------- */

/* The index that means "no entry". */
#define NOWHERE SESSIONS_MAX

/* entry_named() returns the entry with that name, entry_free() a free entry; NOWHERE if there is
 * none. */
unsigned entry_named(const struct sessions *node, const char *name);
unsigned entry_free(const struct sessions *node);

/* Keeps a copy of the entry as it is before a change, for SESSIONS_FAILED. */
void entry_remember(struct sessions *node, unsigned index);
/* Puts a session into a free entry. */
void entry_fill(struct sessions *node, unsigned index, const struct sessions_one *one);
/* Frees the entry. Its fields keep their values for the caller that carries the actions out. */
void entry_empty(struct sessions *node, unsigned index);

/* Plans when TICK ends the session's present state; replaces the earlier plan. */
void entry_plan(struct sessions *node, unsigned index, uint64_t now_ns);
/* Plan to repeat the session's actions. entry_owe_at_once(): at once. entry_owe(): after
 * SESSIONS_RETRY_NS. entry_owe_later(): after twice the last delay. */
void entry_owe_at_once(struct sessions *node, unsigned index);
void entry_owe(struct sessions *node, unsigned index, uint64_t now_ns);
void entry_owe_later(struct sessions *node, unsigned index, uint64_t now_ns);
/* Returns the next entry that is due, searching from .tick_from on; NOWHERE if there is none. */
unsigned entry_due(const struct sessions *node, uint64_t now_ns);

/* -- sessions_end.c --------------------------------------------------------------------------- */

void raise_version(struct sessions_one *one);

/* Begins the end of an open session, as the session's .ending says. `why` is the note to report. */
void end_begin(const struct sessions_step *step, unsigned index, enum sessions_note why);
/* Sends SIGKILL to the processes that still run in an ending session. */
void end_kill(const struct sessions_step *step, unsigned index);
/* Closes the session to new processes, and sends its processes the signal that its state
 * demands. */
void end_shut(const struct sessions_step *step, unsigned index);
/* Removes a session in which no process runs any more. */
void end_bury(const struct sessions_step *step, unsigned index);
/* Repeats the actions of the session's present state. */
void end_repeat(const struct sessions_step *step, unsigned index);

/* -- sessions_ask.c --------------------------------------------------------------------------- */

void ask_create(const struct sessions_step *step);
void ask_change(const struct sessions_step *step);
void ask_renew(const struct sessions_step *step);
void ask_release(const struct sessions_step *step);

/* -- sessions_policy.c ------------------------------------------------------------------------ */

/* Returns the longest TTL that the requester may have; 0: there is no bound, and no TTL is
 * needed. */
uint64_t ruled_ttl_ns(const struct sessions_step *step);
/* Whether the requester may have this TTL; 0: no TTL. */
bool ruled_may_last(const struct sessions_step *step, uint64_t ttl_ns);

/* If the request gives no cap, sets the largest cap that the rules allow the requester. Leaves a
 * session alone that had more before the rule came. `had`: the session before the change; NULL: it
 * is new. */
void ruled_cap(const struct sessions_step *step, const struct sessions_one *had,
               struct sessions_one *one);

/* Whether the rules allow the requester this new session, or the change of `one` to `wanted`. */
bool ruled_may_create(const struct sessions_step *step, const struct sessions_one *one);
bool ruled_may_change(const struct sessions_step *step, const struct sessions_one *one,
                      const struct sessions_one *wanted);

/* Returns the GPUs that must not be chosen for the requester: a bit for each entry of the node's
 * .gpu. */
uint32_t ruled_barred(const struct sessions_step *step);

/* -- sessions_room.c -------------------------------------------------------------------------- */

/* Whether there is room for a new session. Chooses the GPUs in `one` if the request names none. */
bool room_admit(const struct sessions *node, const struct sessions_wish *wish,
                struct sessions_one *one, struct sessions_actions *ret);

/* Whether there is room to change the shares of `one`, a session of this node, to those of
 * `wanted`, on the same GPUs. */
bool room_regrant(const struct sessions *node, const struct sessions_one *one,
                  const struct sessions_one *wanted, struct sessions_actions *ret);

/* -- sessions_check.c ------------------------------------------------------------------------- */

/* Whether the session's fields are valid. With `is_chosen_here`, the UUIDs are not checked. */
bool check_session(const struct sessions_one *one, bool is_chosen_here,
                   struct sessions_actions *ret);

#endif
