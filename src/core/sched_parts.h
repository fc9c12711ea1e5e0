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
 * A *unit* is a gang, or a member without a gang; any member may stand for its unit. Each event
 * first settles the accounts of every device up to now (and finds the late drains), then changes
 * the members that it names, and then each device decides from the present state. So no decision is
 * made in advance and overtaken by events.
 */
#ifndef ALIQUOT_CORE_SCHED_PARTS_H
#define ALIQUOT_CORE_SCHED_PARTS_H

#include "common/minmax.h"
#include "core/sched.h"

#define NOBODY SCHED_MEMBERS
#define FINE INT64_C(1000000)
/* Longer times are cut to this, so that a product with FINE or a weight fits in 64 bits. */
#define NS_MAX (INT64_MAX / FINE / 4)

/* Shared by the functions of one call of sched_step(). */
struct step {
        struct sched *sched;
        const struct sched_event *event;
        int64_t now_ns;
        struct sched_actions *ret;
        bool is_again; /* one device's decision may affect another device: decide once more */
};

/* Saturating addition; SCHED_NEVER means "never". Both are at least 0. */
static inline int64_t time_after(int64_t at_ns, int64_t ns)
{
        return at_ns > SCHED_NEVER - ns ? SCHED_NEVER : at_ns + ns;
}

/* Virtual times wrap around. Two that are compared differ by far less than half of the range. */
static inline int64_t vtime_ahead(uint64_t a, uint64_t b)
{
        return (int64_t)(a - b);
}

static inline bool is_open(const struct sched_member *member)
{
        return member->mode == SCHED_MODE_OPEN || member->mode == SCHED_MODE_FREE;
}

/* Whether the member occupies the device: its work runs or may be submitted now, or the device is
 * kept for it until the rest of its gang can open. */
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
/* Begins the member's turn. The time for which the device was kept for it counts as part of the
 * turn. */
void account_begin(struct sched_member *member);
/* Drops usage that the member has not reported yet. */
void account_forget(struct sched_member *member);
/* Credits a late beginning of a turn: on a device with rt members the guarantee does not pay for
 * `late_ns`, within bounds. */
void account_refund(const struct sched *sched, struct sched_member *member, int64_t late_ns);
/* Advances the virtual time of each class to that of its least served member, and limits how far a
 * member that wants the device may lag behind to two leases. */
void account_level(struct sched *sched, unsigned device);
/* Whether the member's cap lets it run now. */
bool account_may(const struct sched_member *member);
/* When the member's cap lets it run next, assuming that no usage is reported meanwhile. */
int64_t account_may_ns(const struct sched_member *member, int64_t now_ns);

/* -- sched_drain.c ---------------------------------------------------------------------------- */

/* Begins a drain: the member's gate has just closed. */
void drain_begin(struct sched_member *member, int64_t now_ns);
/* Ends a drain: the member reported that none of its work is in flight. */
void drain_said(const struct step *step, unsigned member);
/* Ends a drain, if there is one, because nothing shows work of the member in flight. */
void drain_end(struct sched *sched, struct sched_member *member, int64_t now_ns);
/* Until when other members wait for its drain; 0: they do not wait. */
int64_t drain_deadline_ns(const struct sched_member *member);
/* Until when the member gets no turn while other members are on its device or could be; 0: it may
 * have a turn. */
int64_t drain_pass_ns(const struct sched_member *member);
/* Settles the accounts of a device up to now, and finds the drains that are late. */
void drain_settle(struct sched *sched, unsigned device, int64_t now_ns);

/* -- sched_pick.c ----------------------------------------------------------------------------- */

/* The member whose turn is next, and why. */
struct pick {
        unsigned member; /* NOBODY */
        enum sched_turn turn;
        bool is_urgent; /* the pick goes before the classes */
};

struct pick pick_next(struct step *step, unsigned device);
/* Whether a member that could open now outranks the holder and so ends its turn. */
bool pick_revokes(struct step *step, unsigned holder);
/* Whether `sleeper`, which wants nothing now, will end the turn of `holder` when it comes back. */
bool pick_would_outrank(const struct sched *sched, unsigned sleeper, unsigned holder);

/* -- sched_gang.c ----------------------------------------------------------------------------- */

bool unit_is_same(const struct sched *sched, unsigned a, unsigned b);
/* Why a unit goes before the classes: one of its members wants the device and would starve, or is a
 * whole turn behind its guarantee. */
enum urgency { URGENT_NOT, URGENT_OWED, URGENT_FLOOR };
/* The urgency of one member, whether it wants the device or not. */
enum urgency member_urgency(const struct sched *sched, const struct sched_member *member);
/* Whether the unit is alone on all of its devices: no other member is open or on them, and no other
 * wanted them for SCHED_QUIET_NS. Lowers `due_ns` to when that may become true. */
bool unit_is_alone(const struct sched *sched, unsigned member, int64_t now_ns, int64_t *due_ns);

/* Whether another gang claims the first device that the unit has not claimed yet. */
bool gang_is_blocked(const struct sched *sched, unsigned member);
/* Claims as many of the unit's devices as it can, in ascending order. True: it has all of them. */
bool gang_gather(struct step *step, unsigned member);
bool gang_has_all(const struct sched *sched, unsigned member);
/* The member on this device of a gang that has claimed all its devices and does not run yet;
 * NOBODY: there is none. */
unsigned gang_kept_for(const struct sched *sched, unsigned device);
void gang_release(struct sched *sched, unsigned member);
/* Drops the claims of gangs that cannot use them any more. */
void gang_sweep(struct sched *sched);

void gang_link(struct sched *sched, unsigned member);
void gang_unlink(struct sched *sched, unsigned member);

/* -- sched_unit.c ----------------------------------------------------------------------------- */

/* Computes struct sched_unit of each unit from its members; runs before any decision. */
void units_sum_up(struct sched *sched);
/* Orders the units of a device again, after its virtual times have changed. */
void units_order(struct sched *sched, unsigned device);

/* Whether a member of the unit wants its device; unit_may(): whether the caps let all members
 * run. */
static inline bool unit_wants(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.wants;
}

static inline bool unit_may(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.may;
}

/* The device whose order decides when the unit opens: the one with the greatest weight of other
 * units that want it. */
static inline unsigned unit_decider(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.decider;
}

static inline enum urgency unit_urgency(const struct sched *sched, unsigned member)
{
        return (enum urgency)sched->member[member].unit.urgency;
}

/* Whether the unit may pass: it is urgent, or no unit of a higher class wants one of its
 * devices. */
static inline bool unit_has_way(const struct sched *sched, unsigned member)
{
        return sched->member[member].unit.has_way;
}

/* How far the unit is ahead in the order of the member's device. Of several members on one device,
 * the one with the most held time counts, so that together they get no more than one fair share. */
static inline int64_t unit_ahead(const struct sched *sched, unsigned member)
{
        return sched->member[member].ahead;
}

/* -- sched_turn.c ----------------------------------------------------------------------------- */

/* Closes the gates of all members of the unit. */
void turn_close(struct step *step, unsigned member);
/* Opens and closes gates on a device as due now, and computes when the next decision is due. */
void turn_decide(struct step *step, unsigned device);
bool turn_has_rt(const struct sched *sched, unsigned device);
int64_t turn_lease_ns(const struct sched *sched, unsigned device);

void add_action(struct step *step, const struct sched_action *action);

#endif
