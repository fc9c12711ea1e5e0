/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of core/sched; no other file includes it.
 *
 *      sched.c             finds the function of an event; adds and removes members
 *      sched_account.c     accounts: what each member used, is owed, and may still use
 *      sched_pick.c        picks the member whose turn is next
 *      sched_turn.c        begins and ends turns; computes when a decision is due
 *      sched_drain.c       watches drains: work that outlasts its turn
 *      sched_gang.c        gangs: members that open and close together
 *      sched_unit.c        sums up what is known of each unit
 *      sched_check.c       checks a member's terms
 *
 * A *unit* is a gang, or a member without a gang. A function that takes a unit accepts any member
 * of it. Each event first settles the accounts of every device up to now (and finds the late
 * drains), then changes the members that the event names, and then each device decides from the
 * present state. So no decision is made in advance, where a later event could make it wrong.
 */
#ifndef ALIQUOT_CORE_SCHED_PARTS_H
#define ALIQUOT_CORE_SCHED_PARTS_H

#include "common/minmax.h"
#include "core/sched.h"

#define NOBODY SCHED_MEMBERS
#define FINE INT64_C(1000000)
/* The longest time in an account: longer ones are cut, so that a product with FINE or a weight
 * fits in 64 bits. */
#define NS_MAX (INT64_MAX / FINE / 4)

/* What the functions of one call of sched_step() share. */
struct step {
        struct sched *sched;
        const struct sched_event *event;
        int64_t now_ns;
        struct sched_actions *ret;
        /* one device's decision may affect another device, so all devices decide once more */
        bool is_again;
};

/* Returns at_ns + ns, at most SCHED_NEVER. Both parameters must be at least 0. */
static inline int64_t time_after(int64_t at_ns, int64_t ns)
{
        return at_ns > SCHED_NEVER - ns ? SCHED_NEVER : at_ns + ns;
}

/* Returns how far `a` is ahead of `b`. Virtual times wrap around; two that are compared differ by
 * far less than half of the range. */
static inline int64_t vtime_ahead(uint64_t a, uint64_t b)
{
        return (int64_t)(a - b);
}

static inline bool is_open(const struct sched_member *member)
{
        return member->mode == SCHED_MODE_OPEN || member->mode == SCHED_MODE_FREE;
}

/* Whether the member occupies the device: the member's work runs or may be submitted now, or the
 * device is kept for the member until the rest of its gang can open. */
static inline bool is_on(const struct sched_member *member)
{
        if (member->is_draining)
                return true;
        return member->mode == SCHED_MODE_OPEN ||
               (member->mode == SCHED_MODE_FREE && member->is_wanting);
}

/* -- sched_account.c -------------------------------------------------------------------------- */

/* Settles the accounts of all members of a device up to now. */
void account_settle(struct sched *sched, unsigned device, int64_t now_ns);
/* Bills the usage that the event USED reports. */
void account_use(const struct step *step, unsigned member);
/* Begins the member's turn. The time for which the device was kept idle for the member counts as
 * part of the turn. */
void account_begin(struct sched_member *member);
/* Drops the time on the device that no report of the member has billed yet. */
void account_forget(struct sched_member *member);
/* Credits the late beginning of a turn: on a device with rt members the guarantee does not pay for
 * `late_ns`, up to the bounds of SCHED_REFUND_MAX_NS and SCHED_REFUND_PPM. */
void account_refund(const struct sched *sched, struct sched_member *member, int64_t late_ns);
/* Advances the virtual time of each class to that of the class's least served member. Also limits
 * how far a member that wants the device may lag behind that time. */
void account_level(struct sched *sched, unsigned device);
/* Whether the member's cap lets it run now: there is no cap, or the bucket is not empty. */
bool account_may(const struct sched_member *member);
/* Returns when the member's cap lets it run next, if no usage is reported until then. */
int64_t account_may_ns(const struct sched_member *member, int64_t now_ns);

/* -- sched_drain.c ---------------------------------------------------------------------------- */

/* Begins a drain when the member's gate has just closed. */
void drain_begin(struct sched_member *member, int64_t now_ns);
/* Ends a drain because the member reported that none of its work is in flight. */
void drain_said(const struct step *step, unsigned member);
/* Ends a drain, if there is one, because nothing shows that work of the member is in flight. */
void drain_end(struct sched *sched, struct sched_member *member, int64_t now_ns);
/* Returns until when other members wait for this member's drain; 0: they do not wait. */
int64_t drain_deadline_ns(const struct sched_member *member);
/* Returns until when the member gets no turn while other members are on its device or could be; 0:
 * the member may have a turn. */
int64_t drain_pass_ns(const struct sched_member *member);
/* Settles the accounts of a device up to now, and marks the members whose drains are late. */
void drain_settle(struct sched *sched, unsigned device, int64_t now_ns);

/* -- sched_pick.c ----------------------------------------------------------------------------- */

/* The result of pick_next(): the member whose turn is next, and why. */
struct pick {
        unsigned member; /* the index of the member; NOBODY: there is none */
        enum sched_turn turn;
        bool is_urgent; /* the pick goes before the classes, so its turn may not be ended early */
};

/* Picks the member that gets the device's next turn. */
struct pick pick_next(struct step *step, unsigned device);
/* Whether a member that could open now outranks the holder and so ends the holder's turn. */
bool pick_revokes(struct step *step, unsigned holder);
/* Whether `sleeper`, which wants nothing now, will end the turn of `holder` when it wants the
 * device again. */
bool pick_would_outrank(const struct sched *sched, unsigned sleeper, unsigned holder);

/* -- sched_gang.c ----------------------------------------------------------------------------- */

/* Whether the members `a` and `b` belong to the same unit. */
bool unit_is_same(const struct sched *sched, unsigned a, unsigned b);
/* Why a unit goes before the classes: one of its members wants the device and would starve
 * (URGENT_FLOOR), or is a whole turn behind its guarantee (URGENT_OWED). */
enum urgency { URGENT_NOT, URGENT_OWED, URGENT_FLOOR };
/* Returns the urgency of one member, whether it wants the device or not. */
enum urgency member_urgency(const struct sched *sched, const struct sched_member *member);
/* Whether the unit is alone on all of its devices: no other member is open or draining there, and
 * no other member wanted them within SCHED_QUIET_NS. Lowers `due_ns` to the time at which that may
 * become true. */
bool unit_is_alone(const struct sched *sched, unsigned member, int64_t now_ns, int64_t *due_ns);

/* Whether another gang claims the first device that the unit has not claimed yet. */
bool gang_is_blocked(const struct sched *sched, unsigned member);
/* Claims as many of the unit's devices as possible, in ascending order. Returns true if the unit
 * has now claimed all of them. */
bool gang_gather(struct step *step, unsigned member);
/* Whether the unit has claimed all of its devices. */
bool gang_has_all(const struct sched *sched, unsigned member);
/* If a gang has claimed this device and all its others, and does not run yet, returns its member
 * on this device; else NOBODY. */
unsigned gang_kept_for(const struct sched *sched, unsigned device);
/* Drops all claims of the unit. */
void gang_release(struct sched *sched, unsigned member);
/* Drops the claims of gangs that do not want, or may not use, their devices any more. */
void gang_sweep(struct sched *sched);

/* gang_link() adds a member to the ring of its gang; gang_unlink() removes it from there. */
void gang_link(struct sched *sched, unsigned member);
void gang_unlink(struct sched *sched, unsigned member);

/* -- sched_unit.c ----------------------------------------------------------------------------- */

/* Computes struct sched_unit of every unit from the unit's members; called before any decision. */
void units_sum_up(struct sched *sched);
/* Recomputes the order of a device's units after the device's virtual times have changed. */
void units_order(struct sched *sched, unsigned device);

/* Whether at least one member of the unit wants its device. */
static inline bool unit_wants(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.wants;
}

/* Whether the caps of all members of the unit let them run. */
static inline bool unit_may(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.may;
}

/* Returns the device whose order decides when the unit opens: the one on which the other units
 * that want it have the greatest weight in sum. */
static inline unsigned unit_decider(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.decider;
}

static inline enum urgency unit_urgency(const struct sched *sched, unsigned member)
{
        return (enum urgency)sched->member[member].unit.urgency;
}

/* Whether no class keeps the unit waiting: the unit is urgent, or no unit of a higher class wants
 * one of the unit's devices. */
static inline bool unit_has_way(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.has_way;
}

/* Returns how far the unit is ahead in the order of the member's device. If the unit has several
 * members on the device, the one with the most held time counts, so that together they get no more
 * than one fair share. */
static inline int64_t unit_ahead(const struct sched *sched, unsigned member)
{
        return sched->member[member].ahead;
}

/* -- sched_turn.c ----------------------------------------------------------------------------- */

/* Closes the gates of all members of the unit. */
void turn_close(struct step *step, unsigned member);
/* Opens and closes the gates on a device as due now, and computes when the next decision is due. */
void turn_decide(struct step *step, unsigned device);
/* Whether the device has an rt member. */
bool turn_has_rt(const struct sched *sched, unsigned device);
/* Returns the present length of a lease on the device. */
int64_t turn_lease_ns(const struct sched *sched, unsigned device);

/* Adds an action to the step's result, in place of an earlier one about the same member; an
 * alarm is kept besides. */
void add_action(struct step *step, const struct sched_action *action);

#endif
