/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Picks the member whose turn is next on a device.
 *
 * First comes a member that would starve (the floor), then one that is a whole turn behind its
 * guarantee, then the members by class. Within a class, first comes the member that is behind its
 * guarantee for the longest time, if any is behind; then the member with the least virtual time. A
 * member above its hard cap gets no turn, whatever it is owed. A late member gets none while other
 * members are there.
 *
 * If a member wants the device again after a pause, it ends the holder's turn if it ranks higher in
 * this order; in virtual time it must be more than a turn behind. Except for rt members, this
 * happens only as often as the device can afford: the time lost in hand-overs is measured and
 * bounded.
 */
#include "core/sched_parts.h"

/* What the order compares of a member. */
struct member_rank {
        unsigned member;
        unsigned urgency; /* enum urgency */
        unsigned class;
        /* how long the member should have had the device by its guarantee; 0: nothing is owed */
        int64_t owed_ns;
        int64_t ahead; /* how far the member's unit is ahead of the virtual time of its class */
};

static int64_t owed_ns(const struct sched_member *member)
{
        if (member->owed_fine <= 0 || member->terms.guarantee_ppm == 0)
                return 0;
        return max_i64(member->owed_fine / member->terms.guarantee_ppm, 1);
}

static struct member_rank rank_of(const struct sched *sched, unsigned i)
{
        const struct sched_member *member = &sched->member[i];

        return (struct member_rank){ .member = i,
                                     .urgency = unit_urgency(sched, i),
                                     .class = member->terms.class,
                                     .owed_ns = owed_ns(member),
                                     .ahead = unit_ahead(sched, i) };
}

static bool is_before(const struct member_rank *a, const struct member_rank *b)
{
        if (a->urgency != b->urgency)
                return a->urgency > b->urgency;
        if (a->urgency == 0 && a->class != b->class)
                return a->class > b->class;
        if (a->owed_ns != b->owed_ns)
                return a->owed_ns > b->owed_ns;
        if (a->ahead != b->ahead)
                return a->ahead < b->ahead;
        return a->member < b->member;
}

static bool is_alone(const struct sched *sched, unsigned i)
{
        return sched->member[i].mate == i;
}

/* Whether another member is on this member's device, or could be now. */
static bool has_company(const struct sched *sched, unsigned i)
{
        for (unsigned j = sched->device[sched->member[i].device].first; j != NOBODY;
             j = sched->member[j].next) {
                const struct sched_member *other = &sched->member[j];

                if (j != i && (is_on(other) ||
                               (is_alone(sched, j) && other->is_wanting && account_may(other))))
                        return true;
        }
        return false;
}

/* Whether the member is late and must wait for its own drain. A gang need not: its work on one
 * device may wait for work that it has yet to submit on another device. */
static bool is_passed_over(const struct sched *sched, unsigned i)
{
        return is_alone(sched, i) && drain_pass_ns(&sched->member[i]) > sched->now_ns &&
               has_company(sched, i);
}

/* Whether the member waits for a turn in the order of its device, and could run. */
static bool is_candidate(const struct sched *sched, unsigned i)
{
        const struct sched_member *member = &sched->member[i];

        if (!unit_wants(sched, i) || !unit_may(sched, i) || is_passed_over(sched, i))
                return false;
        return is_alone(sched, i) ||
               (unit_decider(sched, i) == member->device && unit_has_way(sched, i));
}

/* Whether the device is kept idle for an rt member that ran a moment ago, and not for this
 * member. */
static bool is_held_off(const struct step *step, const struct member_rank *rank, unsigned device)
{
        return rank->class < SCHED_CLASS_RT && rank->urgency == 0 &&
               step->now_ns < step->sched->device[device].hold_ns;
}

/* Whether the member can use a turn now. A gang that cannot claim one of its devices cannot; then
 * the next best member gets the turn. */
static bool is_usable(struct step *step, unsigned i)
{
        return is_alone(step->sched, i) || gang_gather(step, i);
}

/* Finds the best candidate, or the best one that ranks below `after`. Returns false if there is
 * none. */
static bool rank_best(struct step *step, unsigned device, const struct member_rank *after,
                      struct member_rank *ret)
{
        const struct sched *sched = step->sched;
        bool is_found = false;

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                struct member_rank rank;

                if (!is_candidate(sched, i) || (!is_alone(sched, i) && gang_is_blocked(sched, i)))
                        continue;
                rank = rank_of(sched, i);
                if (is_held_off(step, &rank, device) || (after && !is_before(after, &rank)))
                        continue;
                if (!is_found || is_before(&rank, ret))
                        *ret = rank;
                is_found = true;
        }
        return is_found;
}

static enum sched_turn turn_kind_of(const struct member_rank *rank)
{
        if (rank->urgency == URGENT_FLOOR)
                return SCHED_TURN_FLOOR;
        return rank->urgency == URGENT_OWED || rank->owed_ns > 0 ? SCHED_TURN_OWED
                                                                 : SCHED_TURN_FAIR;
}

static struct pick picked(const struct member_rank *rank)
{
        return (struct pick){ .member = rank->member,
                              .turn = turn_kind_of(rank),
                              .is_urgent = rank->urgency > 0 };
}

struct pick pick_next(struct step *step, unsigned device)
{
        unsigned claim = step->sched->device[device].claim;
        struct member_rank rank = { 0 }, last;
        const struct member_rank *after = NULL;

        if (claim != NOBODY && gang_has_all(step->sched, claim)) {
                rank = rank_of(step->sched, claim);
                return picked(&rank);
        }
        while (rank_best(step, device, after, &rank)) {
                if (is_usable(step, rank.member))
                        return picked(&rank);
                last = rank;
                after = &last;
        }
        return (struct pick){ .member = NOBODY };
}

/* -- Turns that end early --------------------------------------------------------------------- */

/* Whether member `a` is behind the holder in virtual time by more than a turn of its own. */
static bool has_lag(const struct sched *sched, const struct member_rank *a,
                    const struct member_rank *holder)
{
        const struct sched_member *member = &sched->member[a->member];
        int64_t turn = turn_lease_ns(sched, member->device) * SCHED_WEIGHT_MAX;

        return holder->ahead - a->ahead > turn / member->terms.weight;
}

/* Whether member `a` ranks so far above the holder that it may end the holder's turn. */
static bool is_above(const struct sched *sched, const struct member_rank *a,
                     const struct member_rank *holder)
{
        if (a->urgency != holder->urgency)
                return a->urgency > holder->urgency;
        if (a->urgency == 0 && a->class != holder->class)
                return a->class > holder->class;
        if (a->owed_ns > 0 || holder->owed_ns > 0)
                return holder->owed_ns == 0;
        return has_lag(sched, a, holder);
}

/* Whether the device can afford two more hand-overs, to the interrupting member and back. If so,
 * takes them from the budget. */
static bool can_afford_cut(struct sched_device *device)
{
        int64_t fine = 2 * device->gap_ns * FINE;

        if (device->cut_fine < fine)
                return false;
        device->cut_fine -= fine;
        return true;
}

/* Whether member i ends the holder's turn. A member that has wanted the device all along does not,
 * unless its class is higher: it takes the next turn instead. A gang's turn is ended only by an rt
 * member, or by a member on the gang's deciding device: on other devices the gang has another
 * rank. */
static bool is_revoking(struct step *step, unsigned i, const struct member_rank *holder)
{
        const struct sched *sched = step->sched;
        const struct sched_member *member = &sched->member[i];
        struct member_rank rank;

        if (member->terms.class < SCHED_CLASS_RT &&
            unit_decider(sched, holder->member) != member->device)
                return false;
        if (is_open(member) || !is_candidate(sched, i) || unit_is_same(sched, i, holder->member))
                return false;
        rank = rank_of(sched, i);
        if (!member->is_back && rank.class <= holder->class)
                return false;
        return is_above(sched, &rank, holder) && !is_held_off(step, &rank, member->device) &&
               is_usable(step, i);
}

bool pick_revokes(struct step *step, unsigned holder)
{
        const struct sched *sched = step->sched;
        unsigned device = sched->member[holder].device;
        const struct member_rank rank = rank_of(sched, holder);

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (is_revoking(step, i, &rank) &&
                    (sched->member[i].terms.class == SCHED_CLASS_RT ||
                     can_afford_cut(&step->sched->device[device])))
                        return true;
        }
        return false;
}

bool pick_would_outrank(const struct sched *sched, unsigned sleeper, unsigned holder)
{
        const struct member_rank top = rank_of(sched, holder);
        struct member_rank rank = rank_of(sched, sleeper);

        rank.urgency = member_urgency(sched, &sched->member[sleeper]);
        return account_may(&sched->member[sleeper]) && is_above(sched, &rank, &top);
}
