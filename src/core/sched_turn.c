/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begins and ends turns.
 *
 *      no other member wants the device    FREE, until another member does
 *      the lease is over                   pick the next member; if it is another one, CLOSE
 *      the holder rests                    CLOSE at once, and pick the next member
 *      an outranking member comes back     CLOSE at once
 *
 * After CLOSE the next member waits until the last one has drained, or until the deadline of that
 * drain. So wrong or missing reports delay it at most until the deadline. An rt member that comes
 * back does not wait.
 *
 * Where processors are short, a process wakes up late when its turn opens and could miss every
 * turn. After a missed turn, leases are longer by the time by which the holder is expected to wake
 * up late.
 */
#include "core/sched_parts.h"

/* Plans a decision for `at_ns`, if that is later than now and earlier than the one planned. */
static void due_at(struct sched_device *device, const struct step *step, int64_t at_ns)
{
        if (at_ns > step->now_ns)
                device->due_ns = min_i64(device->due_ns, at_ns);
}

/* Adds an action. Keeps only the latest action per member in a step; alarms are kept separately. */
void add_action(struct step *step, const struct sched_action *action)
{
        struct sched_actions *ret = step->ret;
        unsigned kept = 0;

        for (unsigned i = 0; i < ret->count; i++) {
                if (ret->action[i].member != action->member ||
                    (ret->action[i].type == SCHED_ALARM) != (action->type == SCHED_ALARM))
                        ret->action[kept++] = ret->action[i];
        }
        ret->action[kept++] = *action;
        ret->count = kept;
}

/* -- How long, how much ----------------------------------------------------------------------- */

bool turn_has_rt(const struct sched *sched, unsigned device)
{
        return sched->device[device].rt_members > 0;
}

/* With many members that want the device turns are longer, because each turn costs the scheduler
 * the same. */
int64_t turn_lease_ns(const struct sched *sched, unsigned device)
{
        int64_t min_ns = SCHED_LEASE_MIN_NS, wanting = sched->device[device].wanting;
        int64_t gap_ns = sched->device[device].gap_ns;

        if (turn_has_rt(sched, device))
                return min_i64(max_i64(SCHED_LEASE_RT_NS, SCHED_LEASE_RT_GAPS * gap_ns),
                               SCHED_LEASE_MIN_NS);
        min_ns += max_i64(wanting - SCHED_LEASE_FEW, 0) * SCHED_LEASE_EACH_NS;
        min_ns = max_i64(min_ns, SCHED_LEASE_GAPS * (gap_ns + sched->unseen_ns));
        return min_i64(min_ns, SCHED_LEASE_MAX_NS);
}

/* Returns how much work the holder may have in flight beside a sleeping member that would
 * outrank it. The sleeping member would have to wait that long. */
static int64_t target_beside(const struct sched_member *sleeper)
{
        if (sleeper->terms.class == SCHED_CLASS_RT)
                return SCHED_TARGET_RT_NS;
        return clamp_i64(sleeper->gap_ns / 4, SCHED_TARGET_MIN_NS, SCHED_TARGET_MAX_NS);
}

/* Whether member i may soon end the holder's turn. An rt member may, unless it wants the device
 * all the time and the holder's turn serves a guarantee, because guarantees go before classes.
 * Any other member may if it sleeps, usually returns within SCHED_GAP_MAX_NS and would outrank
 * the holder. */
static bool is_expected(const struct sched *sched, unsigned i, unsigned holder)
{
        const struct sched_member *one = &sched->member[i], *other = &sched->member[holder];

        if (unit_is_same(sched, i, holder) || is_open(one))
                return false;
        if (one->terms.class == SCHED_CLASS_RT)
                return other->terms.class < SCHED_CLASS_RT &&
                       (!one->is_wanting || one->is_back || other->turn != SCHED_TURN_OWED);
        return !one->is_wanting && one->gap_ns < SCHED_GAP_MAX_NS &&
               one->idle_ns > sched->now_ns - SCHED_NEIGHBOUR_NS &&
               pick_would_outrank(sched, i, holder);
}

/* Returns when another unit last wanted the holder's device; SCHED_NEVER: there is no other
 * unit. */
static int64_t others_active_ns(const struct sched *sched, unsigned holder)
{
        int64_t at_ns = SCHED_NEVER;

        for (unsigned i = sched->device[sched->member[holder].device].first; i != NOBODY;
             i = sched->member[i].next) {
                const struct sched_member *other = &sched->member[i];
                int64_t active_ns =
                        other->is_wanting || other->is_draining ? sched->now_ns : other->idle_ns;

                if (!unit_is_same(sched, i, holder))
                        at_ns = at_ns == SCHED_NEVER ? active_ns : max_i64(at_ns, active_ns);
        }
        return at_ns;
}

/* Returns how much work a FREE member may have in flight: 2 ms under a cap or if another member
 * was active within SCHED_NEIGHBOUR_NS, 50 ms if the others have slept for longer, 0 (no bound)
 * if it is alone. */
static int64_t target_free(const struct sched *sched, unsigned holder)
{
        int64_t active_ns = others_active_ns(sched, holder);

        /* Work in flight can overrun a cap, so it is bounded. */
        if (sched->member[holder].terms.cap_ppm < SCHED_WHOLE_PPM)
                return SCHED_TARGET_LEASED_NS;
        if (active_ns == SCHED_NEVER)
                return 0;
        return sched->now_ns - active_ns < SCHED_NEIGHBOUR_NS ? SCHED_TARGET_LEASED_NS
                                                              : SCHED_TARGET_QUIET_NS;
}

/* Returns how much work the holder may have in flight; 0: no bound. */
static int64_t target_of(const struct sched *sched, unsigned holder)
{
        const struct sched_member *member = &sched->member[holder];
        int64_t target_ns = SCHED_TARGET_LEASED_NS;

        if (member->mode == SCHED_MODE_FREE)
                target_ns = target_free(sched, holder);
        for (unsigned i = sched->device[member->device].first; i != NOBODY;
             i = sched->member[i].next) {
                int64_t beside_ns = target_beside(&sched->member[i]);

                if (is_expected(sched, i, holder) && (target_ns == 0 || beside_ns < target_ns))
                        target_ns = beside_ns;
        }
        return target_ns;
}

/* -- Closing ---------------------------------------------------------------------------------- */

static void close_one(struct step *step, unsigned i)
{
        drain_begin(&step->sched->member[i], step->now_ns);
        add_action(step, &(struct sched_action){ .type = SCHED_CLOSE, .member = i });
}

void turn_close(struct step *step, unsigned member)
{
        unsigned i = member;

        do {
                if (is_open(&step->sched->member[i])) {
                        step->sched->member[i].mode = SCHED_MODE_CLOSED;
                        close_one(step, i);
                }
                i = step->sched->member[i].mate;
        } while (i != member);
        step->is_again = true;
}

/* -- Opening ---------------------------------------------------------------------------------- */

/* Whether the member does not wait for drains. An rt member that comes back will soon be done,
 * so it does not wait. An rt member that never pauses waits: otherwise it would run beside the
 * guaranteed turns of others, and only half of the time would be billed. */
static bool is_hurried(const struct sched_member *member)
{
        return member->terms.class == SCHED_CLASS_RT && member->is_back;
}

/* Returns the devices on which the unit waits for drains, a bit for each. A unit that did not
 * wait when it opened does not wait when its turn is prolonged. */
static uint32_t patient_devices(const struct sched *sched, unsigned unit)
{
        uint32_t devices = 0;
        unsigned i = unit;

        do {
                const struct sched_member *one = &sched->member[i];

                if (!is_hurried(one) && !is_open(one))
                        devices |= 1u << one->device;
                i = one->mate;
        } while (i != unit);
        return devices;
}

/* Returns when the unit may open, as far as others' drains matter; SCHED_NEVER: not while
 * another is open. */
static int64_t may_open_ns(const struct sched *sched, unsigned unit)
{
        uint32_t devices = sched->member[unit].unit.devices;
        uint32_t patient = patient_devices(sched, unit);
        int64_t at_ns = 0;

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                for (unsigned j = devices & 1u << d ? sched->device[d].first : NOBODY; j != NOBODY;
                     j = sched->member[j].next) {
                        if (unit_is_same(sched, unit, j))
                                continue;
                        if (is_open(&sched->member[j]))
                                return SCHED_NEVER;
                        if (patient & 1u << d)
                                at_ns = max_i64(at_ns, drain_deadline_ns(&sched->member[j]));
                }
        }
        return at_ns;
}

static void open_one(struct step *step, unsigned i, enum sched_mode mode, int64_t end_ns)
{
        struct sched_member *member = &step->sched->member[i];
        struct sched_device *device = &step->sched->device[member->device];

        if (!is_open(member)) {
                member->open_ns = step->now_ns;
                member->is_begun = member->is_back = false;
                member->leases++;
                if (member->is_wanting)
                        histogram_add(&device->times.wait[member->terms.class],
                                      step->now_ns - member->wait_since_ns);
        }
        member->mode = (uint8_t)mode;
        member->is_draining = false;
        member->end_ns = end_ns;
        member->told_target_ns = target_of(step->sched, i);
        add_action(step, &(struct sched_action){
                                 .type = mode == SCHED_MODE_FREE ? SCHED_FREE : SCHED_OPEN,
                                 .member = i,
                                 .end_ns = end_ns,
                                 .target_ns = member->told_target_ns,
                         });
}

/* Returns the length of the unit's lease. A gang's lease is long, because its turn begins only
 * when the last of its devices is free. If a device has an rt member, the lease is that device's
 * short one, so that the rt member is served. */
static int64_t unit_lease_ns(const struct sched *sched, const struct pick *pick)
{
        const struct sched_member *first = &sched->member[pick->member];
        int64_t longest_ns = 0, missed_ns = 0, rt_ns = SCHED_NEVER;
        bool is_wide = false;
        unsigned i = pick->member;

        do {
                const struct sched_member *member = &sched->member[i];
                int64_t lease_ns = turn_lease_ns(sched, member->device);

                if (turn_has_rt(sched, member->device))
                        rt_ns = min_i64(rt_ns, lease_ns);
                longest_ns = max_i64(longest_ns, lease_ns);
                missed_ns = max_i64(missed_ns, member->missed_ns);
                is_wide |= member->device != first->device;
                i = member->mate;
        } while (i != pick->member);
        if (is_wide && pick->turn == SCHED_TURN_FAIR && first->terms.class > SCHED_CLASS_BATCH)
                longest_ns = max_i64(longest_ns, SCHED_LEASE_GANG_NS);
        return missed_ns + (rt_ns < SCHED_NEVER ? rt_ns : longest_ns);
}

static void open_unit(struct step *step, const struct pick *pick)
{
        int64_t end_ns = time_after(step->now_ns, unit_lease_ns(step->sched, pick));
        unsigned i = pick->member;

        do {
                struct sched_member *member = &step->sched->member[i];

                member->turn = (uint8_t)pick->turn;
                member->is_protected = pick->is_urgent;
                account_begin(member);
                open_one(step, i, SCHED_MODE_OPEN, end_ns);
                i = member->mate;
        } while (i != pick->member);
        gang_release(step->sched, pick->member);
}

/* -- FREE ------------------------------------------------------------------------------------- */

/* Whether the member is FREE and knows its present bound of work in flight. */
static bool is_free_told(const struct sched *sched, unsigned i)
{
        const struct sched_member *member = &sched->member[i];

        return member->mode == SCHED_MODE_FREE && member->told_target_ns == target_of(sched, i);
}

/* Returns the unit that may be FREE: the one that wants the device, if only one does; if none
 * does, the only unit of the device. */
static unsigned free_candidate(const struct sched *sched, unsigned device)
{
        unsigned wanting = NOBODY, any = NOBODY;
        bool is_only = true;

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (any != NOBODY && !unit_is_same(sched, any, i))
                        is_only = false;
                any = i;
                if (!unit_wants(sched, i))
                        continue;
                if (wanting != NOBODY && !unit_is_same(sched, wanting, i))
                        return NOBODY;
                wanting = i;
        }
        if (wanting != NOBODY)
                return wanting;
        return is_only ? any : NOBODY;
}

/* Plans a decision for the time at which the FREE unit has no recent neighbour any more. */
static void due_quiet(const struct step *step, unsigned device, unsigned unit)
{
        int64_t active_ns = others_active_ns(step->sched, unit);

        if (active_ns != SCHED_NEVER)
                due_at(&step->sched->device[device], step, active_ns + SCHED_NEIGHBOUR_NS);
}

/* Opens a unit as FREE if no other unit is in its way. Returns true if the unit is FREE now. */
static bool free_give(struct step *step, unsigned device)
{
        struct sched *sched = step->sched;
        int64_t due_ns = SCHED_NEVER;
        unsigned unit = free_candidate(sched, device), i = unit;

        if (unit == NOBODY)
                return false;
        if (!unit_is_alone(sched, unit, step->now_ns, &due_ns)) {
                due_at(&sched->device[device], step, due_ns);
                return false;
        }
        do {
                if (!is_free_told(sched, i)) {
                        sched->member[i].turn = SCHED_TURN_FAIR;
                        open_one(step, i, SCHED_MODE_FREE, SCHED_NEVER);
                }
                i = sched->member[i].mate;
        } while (i != unit);
        gang_release(sched, unit);
        due_quiet(step, device, unit);
        return true;
}

/* -- What to do on a device ------------------------------------------------------------------- */

static unsigned holder_of(const struct sched *sched, unsigned device)
{
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (is_open(&sched->member[i]))
                        return i;
        }
        return NOBODY;
}

static bool is_contested(const struct sched *sched, unsigned holder)
{
        unsigned device = sched->member[holder].device;

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (!unit_is_same(sched, i, holder) && unit_wants(sched, i))
                        return true;
        }
        return false;
}

static bool is_revoked(struct step *step, unsigned holder)
{
        const struct sched *sched = step->sched;
        const struct sched_member *member = &sched->member[holder];
        unsigned claim = sched->device[member->device].claim;

        if (member->is_protected)
                return false;
        /* A gang's turn is not cut short by another gang: if three gangs met in pairs, one would
         * starve. */
        if (claim != NOBODY && member->mate == holder && claim != holder &&
            gang_has_all(sched, claim))
                return true;
        return pick_revokes(step, holder);
}

static bool is_turn_over(struct step *step, unsigned holder)
{
        const struct sched *sched = step->sched;
        const struct sched_member *member = &sched->member[holder];

        if (member->mode == SCHED_MODE_FREE)
                return is_contested(sched, holder);
        if (!unit_wants(sched, holder) || is_revoked(step, holder))
                return true;
        return step->now_ns >= member->end_ns && unit_decider(sched, holder) == member->device;
}

/* Plans decisions for the times at which a waiting member may get a turn without an event. */
static void due_waiting(const struct step *step, unsigned device)
{
        struct sched_device *here = &step->sched->device[device];

        for (unsigned i = here->first; i != NOBODY; i = step->sched->member[i].next) {
                const struct sched_member *member = &step->sched->member[i];

                if (!member->is_wanting || is_open(member))
                        continue;
                due_at(here, step, account_may_ns(member, step->now_ns));
                due_at(here, step, drain_pass_ns(member));
                if (member->terms.class < SCHED_CLASS_RT)
                        due_at(here, step, here->hold_ns);
        }
}

/* Plans decisions for the deadlines of drains. A drain that is late already has no deadline. */
static void due_draining(const struct step *step, unsigned device)
{
        struct sched_device *here = &step->sched->device[device];

        for (unsigned i = here->first; i != NOBODY; i = step->sched->member[i].next) {
                int64_t deadline_ns = drain_deadline_ns(&step->sched->member[i]);

                if (deadline_ns > 0)
                        due_at(here, step, deadline_ns);
        }
}

/* Passes the device on: closes the holder, unless it is picked again, and opens the next member. */
static void turn_pass(struct step *step, unsigned device, unsigned holder)
{
        struct sched *sched = step->sched;
        struct pick pick = pick_next(step, device);
        int64_t at_ns;

        if (holder != NOBODY &&
            (pick.member == NOBODY || !unit_is_same(sched, pick.member, holder)))
                turn_close(step, holder);
        if (pick.member == NOBODY)
                return;
        at_ns = may_open_ns(sched, pick.member);
        if (at_ns > time_after(step->now_ns, sched->coarse_ns)) {
                due_at(&sched->device[device], step, at_ns);
                return;
        }
        open_unit(step, &pick);
        due_at(&sched->device[device], step, sched->member[pick.member].end_ns);
}

void turn_decide(struct step *step, unsigned device)
{
        struct sched_device *here = &step->sched->device[device];
        unsigned holder;

        here->due_ns = SCHED_NEVER;
        if (here->first == NOBODY)
                return;
        account_level(step->sched, device);
        if (free_give(step, device))
                return;
        holder = holder_of(step->sched, device);
        if (holder == NOBODY || is_turn_over(step, holder))
                turn_pass(step, device, holder);
        else
                due_at(here, step, step->sched->member[holder].end_ns);
        due_waiting(step, device);
        due_draining(step, device);
}
