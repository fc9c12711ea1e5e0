/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns begin and end.
 *
 *      nobody else wants        FREE, until somebody does
 *      the lease is over        the next one is picked; if it is another, CLOSE
 *      the holder is done       the same, at once
 *      rt comes                 the same, at once, but for a turn that outranks it
 *
 * After CLOSE the next one waits until what runs is done; or until that is believed to be so near
 * that its gate is better opened now, since waking up takes as long. An rt member does not wait.
 * Nobody waits longer than SCHED_PATIENCE_NS, or until a told end by SCHED_PATIENCE_MOST_NS.
 * Whatever is told wrongly or never, the next one opens then at the latest.
 *
 * Who is let in wakes up late where processors are short, and could miss every turn: after one that
 * was missed, leases count from when their holder is expected to come.
 */
#include "core/sched_parts.h"

static void due_at(struct sched_device *device, const struct step *step, int64_t at_ns)
{
        if (at_ns > step->now_ns)
                device->due_ns = least_of(device->due_ns, at_ns);
}

/* One action a member and a step, the latest; an alarm besides. */
void act(struct step *step, const struct sched_action *action)
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
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (sched->member[i].terms.class == SCHED_CLASS_RT)
                        return true;
        }
        return false;
}

/* Where many want it turns are longer, for each costs the scheduler as much. */
int64_t turn_lease_ns(const struct sched *sched, unsigned device)
{
        int64_t least_ns = SCHED_LEASE_LEAST_NS, wanting = 0;

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (sched->member[i].terms.class == SCHED_CLASS_RT)
                        return SCHED_LEASE_RT_NS;
                wanting += sched->member[i].is_wanting;
        }
        least_ns += most_of(wanting - SCHED_LEASE_FEW, 0) * SCHED_LEASE_EACH_NS;
        least_ns = most_of(least_ns, SCHED_LEASE_GAPS * sched->device[device].gap_ns);
        return least_of(least_ns, SCHED_LEASE_MOST_NS);
}

/* Who sleeps until half of what it has in flight is done wakes up too late for the rest of it, if
 * that takes longer; then the device stands still in its turn, and rt has nothing of that. How late
 * is its own word, good for a lease beside rt at most, and for nothing where it is clamped. */
static int64_t target_beside_rt(const struct sched_member *member)
{
        if (member->terms.is_clamped)
                return SCHED_TARGET_RT_NS;
        return most_of(SCHED_TARGET_RT_NS, least_of(2 * member->wake_ns, SCHED_LEASE_RT_NS));
}

static int64_t target_of(const struct sched *sched, const struct sched_member *member)
{
        if (member->terms.class < SCHED_CLASS_RT && turn_has_rt(sched, member->device))
                return target_beside_rt(member);
        /* A cap is overrun by what is in flight. */
        if (member->mode == SCHED_MODE_FREE && member->terms.cap_ppm == SCHED_WHOLE_PPM)
                return SCHED_TARGET_FREE_NS;
        return SCHED_TARGET_LEASED_NS;
}

/* -- Closing ---------------------------------------------------------------------------------- */

static void close_one(struct step *step, unsigned i)
{
        drain_begin(&step->sched->member[i], step->now_ns);
        act(step, &(struct sched_action){ .type = SCHED_CLOSE, .member = (uint16_t)i });
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

/* By so much its gate opens before what runs is done. Who wakes up very late may come sooner for
 * once, which costs some time slices; always to come too late would cost more. How late is its own
 * word, so it is believed up to the shortest lease: else a gate would open beside any drain. */
static int64_t early_ns(const struct sched *sched, const struct sched_member *next)
{
        int64_t sure_ns = least_of(next->wake_ns, SCHED_WAKE_MOST_NS);
        int64_t most_ns = least_of(turn_lease_ns(sched, next->device), SCHED_LEASE_LEAST_NS);

        if (next->terms.is_clamped)
                return sure_ns;
        return most_of(sure_ns, least_of(next->wake_ns - SCHED_WAKE_EARLY_NS, most_ns));
}

/* When `next` need not wait for `other` any more, which is on the device. */
static int64_t past_ns(const struct sched *sched, unsigned place, const struct sched_member *next)
{
        const struct sched_member *other = &sched->member[place];
        int64_t end_ns;

        if (is_open(other))
                return SCHED_NEVER;
        if (!other->is_draining)
                return 0;
        if (next->terms.class == SCHED_CLASS_RT)
                return 0;
        end_ns = other->terms.is_clamped ? other->empty_ns : sched_drain_ns(sched, (uint16_t)place);
        /* Who is not done by then is not waited for in vain either. */
        if (end_ns > time_after(other->close_ns, SCHED_PATIENCE_MOST_NS))
                return time_after(other->close_ns, SCHED_PATIENCE_NS);
        return end_ns - early_ns(sched, next);
}

static int64_t may_open_ns(const struct sched *sched, unsigned unit)
{
        int64_t at_ns = 0;
        unsigned i = unit;

        do {
                const struct sched_member *one = &sched->member[i];

                for (unsigned j = sched->device[one->device].first; j != NOBODY;
                     j = sched->member[j].next) {
                        if (!unit_is_same(sched, i, j))
                                at_ns = most_of(at_ns, past_ns(sched, j, one));
                }
                i = one->mate;
        } while (i != unit);
        return at_ns;
}

static void open_one(struct step *step, unsigned i, enum sched_mode mode, int64_t end_ns)
{
        struct sched_member *member = &step->sched->member[i];
        struct sched_device *device = &step->sched->device[member->device];

        if (!is_open(member)) {
                member->open_ns = step->now_ns;
                member->is_begun = false;
                member->is_asleep = !member->is_draining;
                member->is_after = drain_meet(step, i);
                member->shared_ns = 0;
                member->leases++;
                if (member->is_wanting)
                        histogram_add(&device->times.wait[member->terms.class],
                                      step->now_ns - member->wait_since_ns);
        }
        if (mode == SCHED_MODE_FREE)
                member->ahead_ns = 0; /* it keeps its cap itself, by all that it measured */
        member->mode = (uint8_t)mode;
        member->is_draining = false;
        member->end_ns = end_ns;
        member->told_target_ns = target_of(step->sched, member);
        member->told_rate_ppm = member->terms.cap_ppm;
        act(step, &(struct sched_action){
                          .type = mode == SCHED_MODE_FREE ? SCHED_FREE : SCHED_OPEN,
                          .member = (uint16_t)i,
                          .rate_ppm = member->terms.cap_ppm,
                          .bank_ns = member->bank_fine / FINE,
                          .end_ns = end_ns,
                          .target_ns = member->told_target_ns,
                  });
}

/* A gang's is long, as its turn begins when the last of its devices is free, and the others wait;
 * the shortest where rt is on one of them, so that it is served. */
static int64_t unit_lease_ns(const struct sched *sched, const struct pick *pick)
{
        const struct sched_member *first = &sched->member[pick->member];
        int64_t longest_ns = 0, missed_ns = 0;
        bool has_rt = false, is_wide = false;
        unsigned i = pick->member;

        do {
                const struct sched_member *member = &sched->member[i];

                has_rt |= turn_has_rt(sched, member->device);
                longest_ns = most_of(longest_ns, turn_lease_ns(sched, member->device));
                missed_ns = most_of(missed_ns, member->missed_ns);
                is_wide |= member->device != first->device;
                i = member->mate;
        } while (i != pick->member);
        if (is_wide && pick->turn == SCHED_TURN_FAIR && first->terms.class > SCHED_CLASS_BATCH)
                longest_ns = most_of(longest_ns, SCHED_LEASE_GANG_NS);
        return missed_ns + (has_rt ? SCHED_LEASE_RT_NS : longest_ns);
}

static void open_unit(struct step *step, const struct pick *pick)
{
        int64_t end_ns = time_after(step->now_ns, unit_lease_ns(step->sched, pick));
        unsigned i = pick->member;

        do {
                struct sched_member *member = &step->sched->member[i];

                member->turn = (uint8_t)pick->turn;
                member->is_protected = pick->is_urgent;
                open_one(step, i, SCHED_MODE_OPEN, end_ns);
                i = member->mate;
        } while (i != pick->member);
        gang_release(step->sched, pick->member);
}

/* -- FREE ------------------------------------------------------------------------------------- */

static bool is_free_told(const struct sched *sched, const struct sched_member *member)
{
        return member->mode == SCHED_MODE_FREE &&
               member->told_target_ns == target_of(sched, member) &&
               member->told_rate_ppm == member->terms.cap_ppm;
}

/* Who may be FREE: the unit that wants, if only one does; if none does, the only one there is. */
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

/* One of it must not be left to itself. */
static bool is_unit_barred(const struct sched *sched, unsigned unit)
{
        unsigned i = unit;

        do {
                if (sched->member[i].terms.is_clamped)
                        return true;
                i = sched->member[i].mate;
        } while (i != unit);
        return false;
}

/* Nobody is in the way of one unit. */
static bool free_give(struct step *step, unsigned device)
{
        struct sched *sched = step->sched;
        int64_t due_ns = SCHED_NEVER;
        unsigned unit = free_candidate(sched, device), i = unit;

        if (unit == NOBODY || is_unit_barred(sched, unit))
                return false;
        if (!unit_is_alone(sched, unit, step->now_ns, &due_ns)) {
                due_at(&sched->device[device], step, due_ns);
                return false;
        }
        do {
                if (!is_free_told(sched, &sched->member[i])) {
                        sched->member[i].turn = SCHED_TURN_FAIR;
                        sched->member[i].is_protected = false;
                        open_one(step, i, SCHED_MODE_FREE, SCHED_NEVER);
                }
                i = sched->member[i].mate;
        } while (i != unit);
        gang_release(sched, unit);
        return true;
}

/* -- What is to be done on a device ----------------------------------------------------------- */

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
        /* A gang's turn is cut short by no other gang: three that meet in pairs would starve one.
         */
        if (claim != NOBODY && member->mate == holder && claim != holder &&
            gang_has_all(sched, claim))
                return true;
        return member->terms.class < SCHED_CLASS_RT && pick_has_rt(step, member->device);
}

static bool is_over(struct step *step, unsigned holder)
{
        const struct sched *sched = step->sched;
        const struct sched_member *member = &sched->member[holder];

        if (member->mode == SCHED_MODE_FREE)
                return is_contested(sched, holder);
        if (!unit_wants(sched, holder) || is_revoked(step, holder))
                return true;
        return step->now_ns >= member->end_ns && unit_decider(sched, holder) == member->device;
}

/* When something comes of itself that those who wait are waiting for. */
static void due_waiting(const struct step *step, unsigned device)
{
        struct sched_device *here = &step->sched->device[device];

        for (unsigned i = here->first; i != NOBODY; i = step->sched->member[i].next) {
                const struct sched_member *member = &step->sched->member[i];

                if (!member->is_wanting || is_open(member))
                        continue;
                due_at(here, step, account_may_ns(member, step->now_ns));
                if (member->terms.class < SCHED_CLASS_RT)
                        due_at(here, step, here->hold_ns);
        }
}

/* A drain that ends by the clock is of interest where somebody may wait for it. Who is held up has
 * a look at what was its end, too: it may be done. */
static void due_draining(const struct step *step, unsigned device)
{
        struct sched_device *here = &step->sched->device[device];
        bool is_free = holder_of(step->sched, device) == NOBODY;

        for (unsigned i = here->first; i != NOBODY; i = step->sched->member[i].next) {
                bool is_beside = drain_is_beside(step->sched, i);

                if (!step->sched->member[i].is_draining)
                        continue;
                if (is_beside)
                        due_at(here, step, step->sched->member[i].empty_ns);
                if (is_beside || is_free)
                        due_at(here, step, sched_drain_ns(step->sched, (uint16_t)i));
        }
}

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
        if (holder == NOBODY || is_over(step, holder))
                turn_pass(step, device, holder);
        else
                due_at(here, step, step->sched->member[holder].end_ns);
        due_waiting(step, device);
        due_draining(step, device);
}
