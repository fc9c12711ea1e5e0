/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes facts about each unit (a gang, or a member without a gang; sched_parts.h) once per step.
 * The decisions need these facts for every pair of members. If they were computed each time, the
 * time of a step would grow with the cube of the number of a gang's members.
 *
 * Which members want the device, their terms (class, weight, ...) and their accounts change before
 * the decisions of a step, never during them. The virtual times of a device change when
 * account_level() runs; then the order of the device's units is computed again.
 */
#include "core/sched_parts.h"

/* For one device: the total weight of the members whose units want it, and the highest classes of
 * the units that want it and may run. */
struct rivals {
        uint64_t weight;
        /* highest class, and highest class of units other than top_head's; -1: there is none */
        int top, top_of_others;
        /* the unit of the highest class, by its head */
        unsigned top_head;
};

static void device_count(struct sched *sched, unsigned device)
{
        struct sched_device *here = &sched->device[device];
        unsigned wanting = 0, wanting_below_rt = 0, rt_members = 0;

        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next) {
                const struct sched_member *member = &sched->member[i];
                bool is_rt = member->terms.class == SCHED_CLASS_RT;

                rt_members += is_rt;
                wanting += member->is_wanting;
                wanting_below_rt += member->is_wanting && !is_rt;
        }
        here->rt_members = rt_members;
        here->wanting = wanting;
        here->wanting_below_rt = wanting_below_rt;
}

/* Sums up a unit in two passes over the ring of its members. */
static void unit_sum_up(struct sched *sched, unsigned member)
{
        struct sched_unit unit = { .head = member, .may = true, .step = sched->steps };
        unsigned i = member;

        do {
                const struct sched_member *one = &sched->member[i];
                enum urgency own = one->is_wanting ? member_urgency(sched, one) : URGENT_NOT;

                unit.head = i < unit.head ? i : unit.head;
                unit.devices |= 1u << one->device;
                unit.wants |= one->is_wanting;
                unit.may &= account_may(one);
                unit.urgency = own > unit.urgency ? (uint8_t)own : unit.urgency;
                i = one->mate;
        } while (i != member);
        do {
                sched->member[i].unit = unit;
                i = sched->member[i].mate;
        } while (i != member);
}

static void rivals_add(struct rivals *rivals, const struct sched_member *member)
{
        int class = member->terms.class;

        if (!member->unit.wants)
                return;
        rivals->weight += member->terms.weight;
        if (!member->unit.may)
                return;
        if (member->unit.head == rivals->top_head) {
                rivals->top = class > rivals->top ? class : rivals->top;
        } else if (class > rivals->top) {
                rivals->top_of_others = rivals->top;
                rivals->top = class;
                rivals->top_head = member->unit.head;
        } else if (class > rivals->top_of_others) {
                rivals->top_of_others = class;
        }
}

/* Returns the unit's deciding device: the one on which other units have the greatest weight; of
 * equal ones, the first. */
static unsigned decider(const struct sched_unit *unit, const struct rivals rivals[],
                        const uint64_t own_weight[])
{
        unsigned found = SCHED_DEVICES;
        uint64_t most = 0;

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                uint64_t sum = rivals[d].weight - (unit->wants ? own_weight[d] : 0);

                if ((unit->devices & 1u << d) && (found == SCHED_DEVICES || sum > most)) {
                        found = d;
                        most = sum;
                }
        }
        return found;
}

static bool has_way_here(const struct sched_member *member, const struct rivals *rivals)
{
        bool is_own = rivals->top_head == member->unit.head;

        return (is_own ? rivals->top_of_others : rivals->top) <= member->terms.class;
}

static void unit_compare(struct sched *sched, unsigned member, const struct rivals rivals[])
{
        uint64_t own_weight[SCHED_DEVICES] = { 0 };
        struct sched_unit *unit = &sched->member[member].unit;
        unsigned i = member;

        unit->has_way = true;
        do {
                const struct sched_member *one = &sched->member[i];

                own_weight[one->device] += one->terms.weight;
                unit->has_way = unit->has_way && has_way_here(one, &rivals[one->device]);
                i = one->mate;
        } while (i != member);
        unit->has_way = unit->has_way || unit->urgency != URGENT_NOT;
        unit->decider = (uint8_t)decider(unit, rivals, own_weight);
        for (i = sched->member[member].mate; i != member; i = sched->member[i].mate)
                sched->member[i].unit = *unit;
}

static void compare_all(struct sched *sched)
{
        struct rivals rivals[SCHED_DEVICES];

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                rivals[d] = (struct rivals){ .top = -1, .top_of_others = -1, .top_head = NOBODY };
                for (unsigned i = sched->device[d].first; i != NOBODY; i = sched->member[i].next)
                        rivals_add(&rivals[d], &sched->member[i]);
        }
        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                for (unsigned i = sched->device[d].first; i != NOBODY; i = sched->member[i].next) {
                        if (sched->member[i].unit.head == i)
                                unit_compare(sched, i, rivals);
                }
        }
}

void units_sum_up(struct sched *sched)
{
        sched->steps++;
        for (unsigned d = 0; d < SCHED_DEVICES; d++)
                device_count(sched, d);
        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                for (unsigned i = sched->device[d].first; i != NOBODY; i = sched->member[i].next) {
                        if (sched->member[i].unit.step != sched->steps)
                                unit_sum_up(sched, i);
                }
        }
        compare_all(sched);
        for (unsigned d = 0; d < SCHED_DEVICES; d++)
                units_order(sched, d);
}

void units_order(struct sched *sched, unsigned device)
{
        const struct sched_device *here = &sched->device[device];

        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next)
                sched->member[sched->member[i].unit.head].unit.max_ahead = INT64_MIN;
        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next) {
                const struct sched_member *member = &sched->member[i];
                int64_t *most = &sched->member[member->unit.head].unit.max_ahead;

                *most = max_i64(*most,
                                vtime_ahead(member->vtime, here->vtime[member->terms.class]));
        }
        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next)
                sched->member[i].ahead = sched->member[sched->member[i].unit.head].unit.max_ahead;
}
