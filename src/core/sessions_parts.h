/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core/sessions share, and nobody else.
 *
 *      sessions.c          an event finds its function; GPUs, what is restored, what failed
 *      sessions_ask.c      what somebody asks for: create, change, renew, release
 *      sessions_end.c      endings, from the first action to the last
 *      sessions_entry.c    entries in the state, and what TICK has to do with each
 *      sessions_policy.c   what the rules let who asks have
 *      sessions_room.c     who fits where
 *      sessions_check.c    what makes sense at all
 *
 * Functions that return bool answer yes or no: no means that `ret` says why and nothing else was
 * changed. Each event looks first, at everything that could be refused, and then changes the state
 * and says the actions.
 */
#ifndef ALIQUOT_CORE_SESSIONS_PARTS_H
#define ALIQUOT_CORE_SESSIONS_PARTS_H

#include <string.h>

#include "common/sums.h"
#include "core/sessions.h"

/* What the parts of one call of sessions_step() share. */
struct sessions_step {
        struct sessions *node;
        const struct sessions_event *event;
        uint64_t now_ns;
        struct sessions_actions *ret;
        struct policy_grant grant; /* of who asks */
};

static inline bool uuid_is_same(const uint8_t a[16], const uint8_t b[16])
{
        return memcmp(a, b, 16) == 0;
}

/* Which of the session's shares has the UUID; share_count: none. */
static inline unsigned share_find(const struct sessions_one *one, const uint8_t uuid[16])
{
        unsigned i = 0;

        while (i < one->share_count && !uuid_is_same(one->share[i].uuid, uuid))
                i++;
        return i;
}

/* Notes the refusal and returns false, for `return refuse(...)`. */
static inline bool refuse(struct sessions_actions *ret, enum sessions_answer answer,
                          const char *field)
{
        ret->answer = answer;
        ret->field = field;
        return false;
}

static inline void act(struct sessions_actions *ret, enum sessions_action_type type,
                       const struct sessions_one *one)
{
        ret->action[ret->count++] = (struct sessions_action){ .type = type, .session = one };
}

static inline void tell(struct sessions_actions *ret, enum sessions_note note,
                        const struct sessions_one *one)
{
        ret->action[ret->count++] =
                (struct sessions_action){ .type = SESSIONS_TELL, .note = note, .session = one };
}

/* -- sessions_entry.c ------------------------------------------------------------------------- */

#define NOWHERE SESSIONS_MOST

/* The entry of that name, and a free one; NOWHERE: there is none. */
unsigned entry_named(const struct sessions *node, const char *name);
unsigned entry_free(const struct sessions *node);

/* Keeps what an entry was before it is changed, for SESSIONS_FAILED. */
void entry_remember(struct sessions *node, unsigned index);
void entry_fill(struct sessions *node, unsigned index, const struct sessions_one *one);
/* Frees the entry; its fields stay for whoever carries the actions out. */
void entry_empty(struct sessions *node, unsigned index);

/* When the state that the session is in now ends by itself; whatever was planned is forgotten. */
void entry_plan(struct sessions *node, unsigned index, uint64_t now_ns);
/* The session's actions are to come again: at once, in SESSIONS_RETRY_NS, or in twice the time that
 * they were last put off by. */
void entry_owe_at_once(struct sessions *node, unsigned index);
void entry_owe(struct sessions *node, unsigned index, uint64_t now_ns);
void entry_owe_later(struct sessions *node, unsigned index, uint64_t now_ns);
/* The next one with something to do, from .tick_from on; NOWHERE. */
unsigned entry_due(const struct sessions *node, uint64_t now_ns);

/* -- sessions_end.c --------------------------------------------------------------------------- */

void raise_version(struct sessions_one *one);

/* Begins the end of an open session, in the way of its .ending. */
void end_begin(const struct sessions_step *step, unsigned index, enum sessions_note why);
/* Sends SIGKILL to whoever still runs in a session that is ending. */
void end_kill(const struct sessions_step *step, unsigned index);
/* Nobody else comes in, and whoever runs gets the signal of its state. */
void end_shut(const struct sessions_step *step, unsigned index);
/* Forgets a session in which nobody runs any more. */
void end_bury(const struct sessions_step *step, unsigned index);
/* Repeats the actions of the session's state, whatever that is. */
void end_repeat(const struct sessions_step *step, unsigned index);

/* -- sessions_ask.c --------------------------------------------------------------------------- */

void ask_create(const struct sessions_step *step);
void ask_change(const struct sessions_step *step);
void ask_renew(const struct sessions_step *step);
void ask_release(const struct sessions_step *step);

/* -- sessions_policy.c ------------------------------------------------------------------------ */

/* The longest TTL that may be asked for; 0: any, and none at all. */
uint64_t ruled_ttl_ns(const struct sessions_step *step);
bool ruled_may_last(const struct sessions_step *step, uint64_t ttl_ns);

/* A cap that is not said is the largest that who asks may have; not of a session that had more
 * before the rule came (`had` NULL: it is new). */
void ruled_cap(const struct sessions_step *step, const struct sessions_one *had,
               struct sessions_one *one);

/* Whether the rules let who asks have this new session, or make `wanted` of `one`. */
bool ruled_may_create(const struct sessions_step *step, const struct sessions_one *one);
bool ruled_may_change(const struct sessions_step *step, const struct sessions_one *one,
                      const struct sessions_one *wanted);

/* GPUs from which no share is to be chosen for who asks: bit per entry of the node's .gpu. */
uint32_t ruled_barred(const struct sessions_step *step);

/* -- sessions_room.c -------------------------------------------------------------------------- */

/* Whether a new session gets what it asks for; the GPUs are chosen in `one` if it leaves that. */
bool room_admit(const struct sessions *node, const struct sessions_wish *wish,
                struct sessions_one *one, struct sessions_actions *ret);

/* Whether `one` of this node may have the shares of `wanted`, which are on the same GPUs. */
bool room_regrant(const struct sessions *node, const struct sessions_one *one,
                  const struct sessions_one *wanted, struct sessions_actions *ret);

/* -- sessions_check.c ------------------------------------------------------------------------- */

/* Whether a session's own fields make sense; with `is_chosen_here`, its UUIDs are not looked at. */
bool check_session(const struct sessions_one *one, bool is_chosen_here,
                   struct sessions_actions *ret);

#endif
