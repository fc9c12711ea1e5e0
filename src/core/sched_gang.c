/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: members that open and close together. A unit of several members is a gang.
 *
 * A unit waits in the order of one device, its decider: the device on which other units that want
 * it have the greatest weight in sum. So the unit gets its fair share on that device and no more on
 * any other. When its turn comes, it claims its devices in ascending order, and stops at a device
 * that another gang has claimed. A gang that has a claim waits only for devices with higher
 * numbers, so no two gangs wait for each other. A claim alone does not keep other members off a
 * device. When the unit has claimed all its devices, all members that are open on them are closed
 * at the same instant (except other gangs, which finish their turns). They drain at the same time,
 * and the unit opens on all its devices.
 *
 * A gang does not claim a device while a single member has a better right to it: a guarantee that
 * is further behind, or less use by weight. A device that is idle until the gang's other devices
 * are free is charged to the gang. Otherwise a slow drain on one device would take time from the
 * members of another device.
 */
#include "common/minmax.h"
#include "core/sched_parts.h"

static unsigned mate_of(const struct sched *sched, unsigned i)
{
        return sched->member[i].mate;
}

/* Returns the member that names the unit in claims: the one with the lowest index. */
static unsigned head_of(const struct sched *sched, unsigned member)
{
        unsigned head = member;

        for (unsigned i = mate_of(sched, member); i != member; i = mate_of(sched, i))
                head = min_u32(i, head);
        return head;
}

bool unit_is_same(const struct sched *sched, unsigned a, unsigned b)
{
        const struct sched_member *one = &sched->member[a], *other = &sched->member[b];

        return a == b || (one->terms.gang != 0 && one->terms.gang == other->terms.gang);
}

enum urgency member_urgency(const struct sched *sched, const struct sched_member *member)
{
        int64_t turn_fine = turn_lease_ns(sched, member->device) * FINE;

        if (member->floor_fine >= turn_fine)
                return URGENT_FLOOR;
        return member->owed_fine >= turn_fine ? URGENT_OWED : URGENT_NOT;
}

/* -- The devices of a unit -------------------------------------------------------------------- */

/* Whether no other unit uses the member's device or has wanted it within SCHED_QUIET_NS. Lowers
 * `due_ns` to the time at which that may become true. */
static bool is_alone_here(const struct sched *sched, unsigned member, int64_t now_ns,
                          int64_t *due_ns)
{
        bool is_alone = true;

        for (unsigned i = sched->device[sched->member[member].device].first; i != NOBODY;
             i = sched->member[i].next) {
                const struct sched_member *other = &sched->member[i];
                int64_t quiet_ns = time_after(other->idle_ns, SCHED_QUIET_NS);

                if (unit_is_same(sched, i, member))
                        continue;
                if (is_open(other) || other->is_draining || unit_wants(sched, i))
                        return false;
                if (quiet_ns > now_ns) {
                        *due_ns = min_i64(*due_ns, quiet_ns);
                        is_alone = false;
                }
        }
        return is_alone;
}

bool unit_is_alone(const struct sched *sched, unsigned member, int64_t now_ns, int64_t *due_ns)
{
        uint32_t seen = 0;
        unsigned i = member;

        do {
                uint32_t device = 1u << sched->member[i].device;

                if (!(seen & device) && !is_alone_here(sched, i, now_ns, due_ns))
                        return false;
                seen |= device;
                i = mate_of(sched, i);
        } while (i != member);
        return true;
}

/* -- Claims ----------------------------------------------------------------------------------- */

bool gang_is_blocked(const struct sched *sched, unsigned member)
{
        const struct sched_unit *unit = &sched->member[member].unit;

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                unsigned claim = sched->device[d].claim;

                if ((unit->devices & 1u << d) && claim != unit->head)
                        return claim != NOBODY;
        }
        return false;
}

/* Whether the gang's member on the other member's device is ahead of it in virtual time by more
 * than a turn. */
static bool is_ahead_of(const struct sched *sched, unsigned head, const struct sched_member *other)
{
        int64_t turn = turn_lease_ns(sched, other->device) * SCHED_WEIGHT_MAX;
        unsigned i = head;

        do {
                const struct sched_member *one = &sched->member[i];

                if (one->device == other->device && one->terms.class == other->terms.class &&
                    vtime_ahead(one->vtime, other->vtime) > turn / other->terms.weight)
                        return true;
                i = mate_of(sched, i);
        } while (i != head);
        return false;
}

/* Whether member i must get its device before the gang of `head` does. That is so if i is in no
 * gang, wants the device, is below its cap, and either its guarantee is more urgent than the
 * gang's; or nothing of the gang is urgent, the gang was chosen by its position on another device
 * (unit_decider()), and on the device of i the gang has had more virtual time than i by over a
 * turn. Members of other gangs never come first, because two gangs could then wait for each other
 * forever. */
static bool has_better_right(const struct sched *sched, unsigned i, unsigned head)
{
        const struct sched_member *other = &sched->member[i];
        enum urgency urgency = unit_urgency(sched, head);

        if (other->mate != i || !other->is_wanting || !account_may(other))
                return false;
        if (member_urgency(sched, other) > urgency)
                return true;
        return urgency == URGENT_NOT && unit_decider(sched, head) != other->device &&
               is_ahead_of(sched, head, other);
}

static bool is_for_others(const struct sched *sched, unsigned device, unsigned head)
{
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (has_better_right(sched, i, head))
                        return true;
        }
        return false;
}

bool gang_gather(struct step *step, unsigned member)
{
        unsigned head = head_of(step->sched, member);

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                struct sched_device *device = &step->sched->device[d];

                if (device->claim == head || !(step->sched->member[head].unit.devices & 1u << d))
                        continue;
                if (device->claim != NOBODY || is_for_others(step->sched, d, head))
                        return false;
                device->claim = head;
                step->is_again = true; /* the members that are open on that device must close */
        }
        return true;
}

bool gang_has_all(const struct sched *sched, unsigned member)
{
        unsigned head = head_of(sched, member), i = member;

        do {
                if (sched->device[sched->member[i].device].claim != head)
                        return false;
                i = mate_of(sched, i);
        } while (i != member);
        return true;
}

unsigned gang_kept_for(const struct sched *sched, unsigned device)
{
        unsigned head = sched->device[device].claim, i = head;

        if (head == NOBODY || !gang_has_all(sched, head))
                return NOBODY;
        while (sched->member[i].device != device)
                i = mate_of(sched, i);
        return i;
}

void gang_release(struct sched *sched, unsigned member)
{
        unsigned head = head_of(sched, member);

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                if (sched->device[d].claim == head)
                        sched->device[d].claim = NOBODY;
        }
}

void gang_sweep(struct sched *sched)
{
        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                unsigned head = sched->device[d].claim;

                if (head != NOBODY && !(unit_wants(sched, head) && unit_may(sched, head) &&
                                        unit_has_way(sched, head)))
                        gang_release(sched, head);
        }
}

/* -- The ring of a gang ----------------------------------------------------------------------- */

/* Returns the member of the same gang on that device; NOBODY if there is none. */
static unsigned find_mate(const struct sched *sched, unsigned member, unsigned device)
{
        unsigned i = sched->device[device].first;

        while (i != NOBODY &&
               (i == member || sched->member[i].terms.gang != sched->member[member].terms.gang))
                i = sched->member[i].next;
        return i;
}

void gang_link(struct sched *sched, unsigned member)
{
        struct sched_member *one = &sched->member[member];

        one->mate = member;
        for (unsigned d = 0; one->terms.gang != 0 && d < SCHED_DEVICES; d++) {
                unsigned i = find_mate(sched, member, d);

                if (i == NOBODY)
                        continue;
                gang_release(sched, i); /* the gang's head may change */
                one->mate = sched->member[i].mate;
                sched->member[i].mate = member;
                return;
        }
}

void gang_unlink(struct sched *sched, unsigned member)
{
        unsigned before = member;

        gang_release(sched, member);
        while (mate_of(sched, before) != member)
                before = mate_of(sched, before);
        sched->member[before].mate = sched->member[member].mate;
        sched->member[member].mate = member;
}
