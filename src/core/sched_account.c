/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's accounts: the time that each member used, is owed, and may still use.
 *
 * Three accounts fill as time passes, and use empties them: the token bucket of a hard cap, how far
 * the member is behind its guarantee, and how far it is behind the floor. Busy time empties the
 * bucket. Held time empties the other two; they fill only while the member wants the device and its
 * cap lets it run. A fourth account, the virtual time, only grows. Each nanosecond in which a
 * member is on a device, or in which the device is kept for a gang, is charged to exactly one
 * member.
 */
#include "core/sched_parts.h"

/* How many leases a member's virtual time may lag behind, or may be moved ahead by a guarantee. */
#define LAG_LEASES 4
/* A virtual time that is further ahead than this was not updated for days and has wrapped: no
 * kernel explains it. */
#define STALE (INT64_C(1) << 50)

/* Returns LAG_LEASES leases in virtual time of the member. */
static int64_t lag_max(const struct sched *sched, const struct sched_member *member)
{
        return LAG_LEASES * turn_lease_ns(sched, member->device) * SCHED_WEIGHT_MAX /
               member->terms.weight;
}

/* -- Accounts that fill with time ------------------------------------------------------------- */

/* Returns the account after `ns` of filling at `ppm`, at most `max_fine`; an account above that
 * stays. */
static int64_t filled(int64_t fine, uint32_t ppm, int64_t ns, int64_t max_fine)
{
        return min_i64(fine + (int64_t)ppm * ns, max_i64(fine, max_fine));
}

/* Whether a kernel of any member of the device still runs long after that member's turn. */
static bool has_long_drain(const struct sched *sched, unsigned device, int64_t now_ns)
{
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                const struct sched_member *member = &sched->member[i];

                if (member->is_draining && !member->is_late &&
                    now_ns - member->close_ns > SCHED_LEASE_MAX_NS)
                        return true;
        }
        return false;
}

/* Returns the capacity of the token bucket. An idle member keeps 20 ms of its cap. A member that
 * waits for others keeps 100 ms, plus what it earned during their long kernels, until that is
 * used up: otherwise waiting would make it fall short of its cap. For the same reason, time on
 * the device that is not reported yet (silent_ns) makes the bucket larger, because that time
 * will be billed. */
static int64_t bucket_max_fine(struct sched_member *member, int64_t ns, bool is_long)
{
        int64_t cap = member->terms.cap_ppm, usual_fine = cap * SCHED_BUCKET_SPAN_NS;

        if (!member->is_wanting) {
                member->long_fine = 0;
                return usual_fine;
        }
        if (is_on(member)) {
                member->saved_fine = min_i64(member->saved_fine, member->bucket_fine);
                member->long_fine =
                        min_i64(member->long_fine, max_i64(member->saved_fine - usual_fine, 0));
                return max_i64(usual_fine, member->saved_fine) + (member->silent_ns + ns) * FINE;
        }
        if (is_long)
                member->long_fine = min_i64(member->long_fine + cap * ns, cap * SCHED_LONG_MAX_NS);
        return cap * SCHED_BUCKET_WAIT_NS + member->long_fine + member->silent_ns * FINE;
}

static void bucket_fill(struct sched_member *member, int64_t ns, bool is_long)
{
        int64_t max_fine = bucket_max_fine(member, ns, is_long);

        if (!member->is_wanting)
                member->bucket_fine = min_i64(member->bucket_fine, max_fine);
        member->bucket_fine = filled(member->bucket_fine, member->terms.cap_ppm, ns, max_fine);
        if (!is_on(member))
                member->saved_fine = member->bucket_fine;
}

/* Whether the guarantee goes on filling. It does in a short pause; otherwise a program that
 * pauses after each step would miss its guarantee. */
static bool is_promised(const struct sched_member *member, int64_t now_ns)
{
        return member->is_wanting || (member->leases > 0 && member->gap_ns < SCHED_GAP_MAX_NS &&
                                      now_ns - member->idle_ns < SCHED_GAP_MAX_NS);
}

/* Fills the accounts of the guarantee and the floor. While the device waits for a long kernel of
 * another member, at most the time lost to that kernel is owed. */
static void promises_fill(struct sched_member *member, int64_t ns, uint32_t floor_ppm,
                          int64_t now_ns, bool is_long)
{
        /* room for a whole turn, so that a whole turn can always be owed */
        const int64_t lease = SCHED_LEASE_MAX_NS * FINE;
        int64_t span_ns = SCHED_PROMISE_SPAN_NS + (is_long ? SCHED_LONG_MAX_NS : 0);
        uint32_t promised = member->terms.guarantee_ppm;

        if (!account_may(member))
                return;
        if (promised > 0 && is_promised(member, now_ns))
                member->owed_fine =
                        filled(member->owed_fine, promised, ns, promised * span_ns + lease);
        if (!member->is_wanting)
                return;
        member->refund_fine =
                filled(member->refund_fine, SCHED_REFUND_PPM, ns, SCHED_REFUND_MAX_NS * FINE);
        member->floor_fine = filled(member->floor_fine, floor_ppm, ns,
                                    floor_ppm * SCHED_PROMISE_SPAN_NS + lease);
}

/* Returns each member's part of the floor. The floor is divided among the members below rt that
 * want the device. */
static uint32_t floor_ppm_of(const struct sched *sched, unsigned device)
{
        uint32_t wanting = sched->device[device].wanting_below_rt;

        return SCHED_FLOOR_PPM / (wanting > 0 ? wanting : 1);
}

/* -- Use empties accounts --------------------------------------------------------------------- */

/* Returns the account after `ns` of use. A turn that was given to pay this account pays all of
 * `ns`, even below zero, so that its overrun is not owed again. Any other use pays at most what
 * is owed. */
static int64_t paid(int64_t fine, int64_t ns, bool is_its_turn)
{
        if (is_its_turn)
                return max_i64(fine - ns * FINE, -SCHED_ALARM_NS * FINE);
        return fine > 0 ? max_i64(fine - ns * FINE, 0) : fine;
}

/* Whether this turn did not follow from the order of this device: it was given by a guarantee,
 * or by the order of another device of the gang. */
static bool is_turn_of_elsewhere(const struct sched *sched, const struct sched_member *member)
{
        unsigned i = (unsigned)(member - sched->member);

        return member->turn == SCHED_TURN_OWED ||
               (member->mate != i && unit_decider(sched, i) != member->device);
}

/* Charges virtual time. A turn that did not follow from the order of this device moves the
 * member ahead of the others by at most LAG_LEASES leases. Otherwise the others would run
 * without it for as long once the guarantee or the gang ends. */
static void vtime_charge(const struct sched *sched, struct sched_member *member, int64_t ns)
{
        const struct sched_device *device = &sched->device[member->device];
        uint64_t mark = device->vtime[member->terms.class] + (uint64_t)lag_max(sched, member);
        int64_t scaled = ns * SCHED_WEIGHT_MAX + member->vtime_rest;
        uint64_t before = member->vtime;

        member->vtime += (uint64_t)(scaled / member->terms.weight);
        member->vtime_rest = scaled % member->terms.weight;
        if (vtime_ahead(member->vtime, mark) > 0 && is_turn_of_elsewhere(sched, member))
                member->vtime = vtime_ahead(before, mark) > 0 ? before : mark;
}

static void bucket_take(struct sched_member *member, int64_t ns)
{
        member->bucket_fine = max_i64(member->bucket_fine - ns * FINE, -NS_MAX * FINE);
}

static void charge_member(const struct sched *sched, struct sched_member *member, int64_t ns)
{
        vtime_charge(sched, member, ns);
        /* A gang's turn that was given for one member's guarantee is not charged to the other
         * members' guarantees. */
        member->owed_fine =
                paid(member->owed_fine, ns,
                     member->turn == SCHED_TURN_OWED && member->terms.guarantee_ppm > 0);
        if (is_open(member) ||
            !member->is_late) /* work that runs late, beside other members, is no turn */
                member->floor_fine = paid(member->floor_fine, ns, member->turn == SCHED_TURN_FLOOR);
        member->held_ns += ns;
}

/* Charges the time in which the device is idle because it is kept for a gang that waits for its
 * other devices. */
static void charge_kept(struct sched *sched, unsigned device, int64_t ns)
{
        unsigned i = gang_kept_for(sched, device);
        struct sched_member *member = i == NOBODY ? NULL : &sched->member[i];

        if (!member)
                return;
        member->vtime += (uint64_t)(ns * SCHED_WEIGHT_MAX / member->terms.weight);
        member->kept_ns = min_i64(member->kept_ns + ns, NS_MAX);
}

/* The kept time is charged only when the turn begins: if it paid the floor earlier, the unit
 * would lose its claim while it waits. */
void account_begin(struct sched_member *member)
{
        member->floor_fine =
                paid(member->floor_fine, member->kept_ns, member->turn == SCHED_TURN_FLOOR);
        member->kept_ns = 0;
}

static void wait_count(struct sched_member *member, int64_t ns)
{
        /* A FREE member enforces its cap itself; while it waits for its cap it counts as idle. */
        if (is_open(member) || !member->is_wanting)
                return;
        member->wait_ns += ns;
        if (!account_may(member))
                member->throttled_ns += ns;
}

static void untold_add(struct sched_member *member, int64_t ns)
{
        member->untold_ns = min_i64(member->untold_ns + ns, NS_MAX);
        member->silent_ns = min_i64(member->silent_ns + ns, SCHED_ALARM_NS);
}

static void budgets_fill(struct sched_device *device, int64_t ns)
{
        device->hold_fine =
                min_i64(device->hold_fine + SCHED_HOLD_PPM * ns, 10 * SCHED_HOLD_MAX_NS * FINE);
        device->cut_fine =
                min_i64(device->cut_fine + SCHED_CUT_PPM * ns, 10 * SCHED_HOLD_MAX_NS * FINE);
}

void account_settle(struct sched *sched, unsigned device, int64_t now_ns)
{
        struct sched_device *here = &sched->device[device];
        int64_t ns = min_i64(now_ns - here->at_ns, NS_MAX), on = 0, nth = 0;
        uint32_t floor_ppm;
        bool is_long;

        here->at_ns = now_ns;
        if (ns == 0)
                return;
        floor_ppm = floor_ppm_of(sched, device);
        is_long = has_long_drain(sched, device, now_ns);
        budgets_fill(here, ns);
        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next)
                on += is_on(&sched->member[i]);
        if (on == 0)
                charge_kept(sched, device, ns);
        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next) {
                struct sched_member *member = &sched->member[i];

                bucket_fill(member, ns, is_long);
                promises_fill(member, ns, floor_ppm, now_ns, is_long);
                wait_count(member, ns);
                if (on > 0 && is_on(member))
                        charge_member(sched, member, ns / on + (nth++ < ns % on));
                /* A FREE member may work before its WANT arrives. */
                if (is_on(member) || member->mode == SCHED_MODE_FREE)
                        untold_add(member, ns);
        }
}

/* -- The hard cap ----------------------------------------------------------------------------- */

bool account_may(const struct sched_member *member)
{
        return member->terms.cap_ppm == SCHED_WHOLE_PPM || member->bucket_fine > 0;
}

int64_t account_may_ns(const struct sched_member *member, int64_t now_ns)
{
        int64_t wait_ns = -member->bucket_fine / member->terms.cap_ppm + 1;

        return account_may(member) ? now_ns : time_after(now_ns, wait_ns);
}

/* Bills the usage that the member reports, but no more than the time on the device that it has not
 * reported yet (untold_ns). Reports come from samples, so one may be too high for its turn and the
 * next too low. The excess is kept in ahead_ns, and the member's later time on the device pays for
 * it. */
void account_use(const struct step *step, unsigned i)
{
        struct sched_member *member = &step->sched->member[i];
        int64_t told_ns =
                clamp_i64(step->event->ns, -SCHED_AHEAD_MAX_NS, NS_MAX) + member->ahead_ns;
        int64_t ns = max_i64(min_i64(told_ns, member->untold_ns), -member->billed_ns);

        member->ahead_ns = min_i64(max_i64(told_ns - ns, 0), SCHED_AHEAD_MAX_NS);
        member->untold_ns -= ns;
        member->silent_ns = 0;
        member->billed_ns += ns;
        bucket_take(member, ns);
}

void account_forget(struct sched_member *member)
{
        member->untold_ns = member->silent_ns = 0;
}

/* The member itself reports when it began, so the refund has a bound over time: a member gains
 * little by falsely reporting that it begins each turn late. */
void account_refund(const struct sched *sched, struct sched_member *member, int64_t late_ns)
{
        int64_t fine = min_i64(max_i64(min_i64(late_ns, NS_MAX), 0) * FINE, member->refund_fine);

        if (member->turn != SCHED_TURN_OWED || member->terms.guarantee_ppm == 0 ||
            !turn_has_rt(sched, member->device))
                return;
        member->refund_fine -= fine;
        member->owed_fine += fine;
}

int64_t sched_bucket_ns(const struct sched *sched, uint32_t member)
{
        return sched->member[member].bucket_fine / FINE;
}

/* -- Virtual time ----------------------------------------------------------------------------- */

/* Limits how far the member lags behind the virtual time of its class. */
static void lift(struct sched *sched, struct sched_member *member)
{
        uint64_t vtime = sched->device[member->device].vtime[member->terms.class];
        int64_t ahead = vtime_ahead(member->vtime, vtime), most = lag_max(sched, member);

        if (ahead < -most)
                member->vtime = vtime - (uint64_t)most;
        else if (ahead > STALE)
                member->vtime = vtime;
}

/* Whether the member counts in the order of its device. A member of a gang counts only on the
 * gang's deciding device. A FREE member counts even if its cap is used up, because it enforces
 * the cap itself. */
static bool counts(const struct sched *sched, unsigned i)
{
        const struct sched_member *member = &sched->member[i];

        return unit_wants(sched, i) && (account_may(member) || member->mode == SCHED_MODE_FREE) &&
               unit_decider(sched, i) == member->device;
}

static void level_class(struct sched *sched, unsigned device, unsigned class)
{
        struct sched_device *here = &sched->device[device];
        int64_t least = INT64_MAX;

        for (unsigned i = here->first; i != NOBODY; i = sched->member[i].next) {
                const struct sched_member *member = &sched->member[i];

                if (member->terms.class == class && counts(sched, i))
                        least = min_i64(least, vtime_ahead(member->vtime, here->vtime[class]));
        }
        if (least > 0 && least < INT64_MAX)
                here->vtime[class] += (uint64_t)least;
}

void account_level(struct sched *sched, unsigned device)
{
        for (unsigned class = SCHED_CLASS_BATCH; class <= SCHED_CLASS_RT; class ++)
                level_class(sched, device, class);
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (unit_wants(sched, i))
                        lift(sched, &sched->member[i]);
        }
        units_order(sched, device);
}
