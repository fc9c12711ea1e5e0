/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core/sched share, and nobody else.
 *
 *      sched.c             an event finds its function; who comes and goes
 *      sched_account.c     what each has used, is owed, and may still use
 *      sched_pick.c        whose turn is next
 *      sched_turn.c        turns begin and end; when something is due
 *      sched_drain.c       what was launched in a turn comes to its end after it
 *      sched_gang.c        units: members that open and close together
 *      sched_unit.c        what is known of each unit
 *      sched_check.c       what makes sense at all
 *
 * A *unit* is a gang, or a member that is in none; any of its members stands for it. Each event
 * first settles every device's accounts up to now (and notes which drains are late), then changes
 * what it is about, then lets each device decide anew from what is; so no decision is ever planned
 * and overtaken.
 */
#ifndef ALIQUOT_CORE_SCHED_PARTS_H
#define ALIQUOT_CORE_SCHED_PARTS_H

#include "common/minmax.h"
#include "core/sched.h"

#define NOBODY SCHED_MEMBERS
#define FINE INT64_C(1000000)
/* Longer times are cut to this, so that no product with FINE or a weight leaves 64 bits. */
#define NS_MOST (INT64_MAX / FINE / 4)

/* What the parts of one call of sched_step() share. */
struct step {
        struct sched *sched;
        const struct sched_event *event;
        int64_t now_ns;
        struct sched_actions *ret;
        bool is_again; /* what one device decided may matter to another: each looks once more */
};

/* Times stop at the end of what 64 bits hold: there they mean "never". Both are at least 0. */
static inline int64_t time_after(int64_t at_ns, int64_t ns)
{
        return at_ns > SCHED_NEVER - ns ? SCHED_NEVER : at_ns + ns;
}

/* Virtual times wrap around; what lies between two that matter is far less than half of the range.
 */
static inline int64_t vtime_ahead(uint64_t a, uint64_t b)
{
        return (int64_t)(a - b);
}

static inline bool is_open(const struct sched_member *member)
{
        return member->mode == SCHED_MODE_OPEN || member->mode == SCHED_MODE_FREE;
}

/* What it launches or has launched uses the device now; or it is open because its gang is, and the
 * device is kept for it. */
static inline bool is_on(const struct sched_member *member)
{
        if (member->is_draining)
                return true;
        return member->mode == SCHED_MODE_OPEN ||
               (member->mode == SCHED_MODE_FREE && member->is_wanting);
}

/* -- sched_account.c -------------------------------------------------------------------------- */

void account_settle(struct sched *sched, unsigned device, int64_t now_ns);
void account_use(const struct step *step, unsigned member);
/* Its turn begins: the time for which a device was kept for it is part of it. */
void account_begin(struct sched_member *member);
/* Forgets what the member's accounts had still to tell. */
void account_forget(struct sched_member *member);
/* Its turn began so late: beside rt what is owed to it does not pay for that, within reason. */
void account_refund(const struct sched *sched, struct sched_member *member, int64_t late_ns);
/* The virtual times of a device: that of each class moves up to who has had least, and nobody who
 * wants lags behind it by more than two leases. */
void account_level(struct sched *sched, unsigned device);
/* Whether the member's cap lets it run now. */
bool account_may(const struct sched_member *member);
/* When the member's cap lets it run next, if no usage is told meanwhile. */
int64_t account_may_ns(const struct sched_member *member, int64_t now_ns);

/* -- sched_drain.c ---------------------------------------------------------------------------- */

/* Begins a drain: the member's gate has just closed. */
void drain_begin(struct sched_member *member, int64_t now_ns);
/* Ends a drain: the member said that nothing of it is in flight any more. */
void drain_said(const struct step *step, unsigned member);
/* Ends a drain, if there is one: nothing of the member is in flight, by whatever is known. */
void drain_end(struct sched *sched, struct sched_member *member, int64_t now_ns);
/* Until when others wait for it, while it drains; 0: they do not. */
int64_t drain_deadline_ns(const struct sched_member *member);
/* Until when it is passed over while others are on its device or could be; 0: it is not. */
int64_t drain_pass_ns(const struct sched_member *member);
/* The accounts of a device up to now, and which drains are late by then. */
void drain_settle(struct sched *sched, unsigned device, int64_t now_ns);

/* -- sched_pick.c ----------------------------------------------------------------------------- */

/* The member whose turn is next, and why. */
struct pick {
        unsigned member; /* NOBODY */
        enum sched_turn turn;
        bool is_urgent; /* outranks the classes */
};

struct pick pick_next(struct step *step, unsigned device);
/* A member that could open now ends the turn of the holder, which it outranks. */
bool pick_revokes(struct step *step, unsigned holder);
/* Does `sleeper` end the turn of `holder` when it comes back? It does not want anything now. */
bool pick_would_outrank(const struct sched *sched, unsigned sleeper, unsigned holder);

/* -- sched_gang.c ----------------------------------------------------------------------------- */

bool unit_is_same(const struct sched *sched, unsigned a, unsigned b);
/* Why a unit goes before the classes: somebody of it who wants would starve, or is a whole turn
 * behind its guarantee. */
enum urgency { URGENT_NOT, URGENT_OWED, URGENT_FLOOR };
/* The urgency of one member, whether it wants anything or not. */
enum urgency member_urgency(const struct sched *sched, const struct sched_member *member);
/* On all of its devices nobody else is on or open, and wants anything or has for SCHED_QUIET_NS.
 * `due_ns` is lowered to when that could be so. */
bool unit_is_alone(const struct sched *sched, unsigned member, int64_t now_ns, int64_t *due_ns);

/* The first of its devices that it has not claimed, another gang has: it cannot claim more. */
bool gang_is_blocked(const struct sched *sched, unsigned member);
/* Claims as many of its devices as it can, in their order; whether it has all of them. */
bool gang_gather(struct step *step, unsigned member);
bool gang_has_all(const struct sched *sched, unsigned member);
/* The member of a gang that has all of its devices and does not run yet; NOBODY: there is none. */
unsigned gang_kept_for(const struct sched *sched, unsigned device);
void gang_release(struct sched *sched, unsigned member);
/* Drops the claims of gangs that cannot use them any more. */
void gang_sweep(struct sched *sched);

void gang_link(struct sched *sched, unsigned member);
void gang_unlink(struct sched *sched, unsigned member);

/* -- sched_unit.c ----------------------------------------------------------------------------- */

/* Sums up each unit from its members; called before anything is decided. */
void units_sum_up(struct sched *sched);
/* Orders the units of a device anew, after its virtual times have changed. */
void units_order(struct sched *sched, unsigned device);

/* Whether a member of the unit wants its device; unit_may(): whether all its members may run. */
static inline bool unit_wants(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.wants;
}

static inline bool unit_may(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.may;
}

/* The device whose order decides when the unit opens: the one where the others that want weigh
 * most. */
static inline unsigned unit_decider(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.decider;
}

static inline enum urgency unit_urgency(const struct sched *sched, unsigned member)
{
        return (enum urgency)sched->member[member].unit.urgency;
}

/* It is urgent, or nobody of a higher class wants one of its devices. */
static inline bool unit_has_way(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.has_way;
}

/* How far it is ahead in the order of the member's device: of several there the one that has had
 * most counts, so that together they take no more than is fair. */
static inline int64_t unit_ahead(const struct sched *sched, unsigned member)
{
        return sched->member[member].ahead;
}

/* -- sched_turn.c ----------------------------------------------------------------------------- */

/* Closes the gates of all members of the unit. */
void turn_close(struct step *step, unsigned member);
/* Decides whose gate on a device opens or closes now, and when the next decision is due. */
void turn_decide(struct step *step, unsigned device);
bool turn_has_rt(const struct sched *sched, unsigned device);
int64_t turn_lease_ns(const struct sched *sched, unsigned device);

void act(struct step *step, const struct sched_action *action);

#endif
