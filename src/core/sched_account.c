/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each member has used, is owed, and may still use.
 *
 * Three accounts fill with time and are emptied by use: the token bucket of a hard cap (by busy
 * time), what a guarantee is behind, and what the floor is behind (both by held time, and only
 * while the member wants something that its cap allows). A fourth, the virtual time, only grows.
 * Every nanosecond that somebody is on a device, or that it is kept for a gang, is charged to
 * exactly one member.
 */
#include "core/sched_parts.h"

#define LAG_LEASES 4
/* Further ahead than any kernel explains: it has not been looked at for days and has wrapped. */
#define STALE (INT64_C(1) << 50)

static int64_t lag_most(const struct sched *sched, const struct sched_member *member)
{
        return LAG_LEASES * turn_lease_ns(sched, member->device) * SCHED_WEIGHT_MOST /
               member->terms.weight;
}

/* -- What fills with time --------------------------------------------------------------------- */

static int64_t filled(int64_t fine, uint32_t ppm, int64_t ns, int64_t most_fine)
{
        return min_i64(fine + (int64_t)ppm * ns, max_i64(fine, most_fine));
}

/* Whether a kernel of some member of the device runs on far beyond its turn. */
static bool has_long_drain(const struct sched *sched, unsigned device, int64_t now_ns)
{
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                const struct sched_member *member = &sched->member[i];

                if (member->is_draining && !member->is_late &&
                    now_ns - member->close_ns > SCHED_LEASE_MOST_NS)
                        return true;
        }
        return false;
}

/* Capacity of the token bucket. An idle member keeps 20 ms of its cap. A member that waits for
 * others keeps 100 ms plus what it earned during their long kernels, and has it until it is used
 * up: else waiting would make it fall short of its cap. For the same reason, time on the device
 * that is not reported yet (silent_ns) makes the bucket larger: it will be billed. */
static int64_t bucket_most_fine(struct sched_member *member, int64_t ns, bool is_long)
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
                member->long_fine = min_i64(member->long_fine + cap * ns, cap * SCHED_LONG_MOST_NS);
        return cap * SCHED_BUCKET_WAIT_NS + member->long_fine + member->silent_ns * FINE;
}

static void bucket_fill(struct sched_member *member, int64_t ns, bool is_long)
{
        int64_t most_fine = bucket_most_fine(member, ns, is_long);

        if (!member->is_wanting)
                member->bucket_fine = min_i64(member->bucket_fine, most_fine);
        member->bucket_fine = filled(member->bucket_fine, member->terms.cap_ppm, ns, most_fine);
        if (!is_on(member))
                member->saved_fine = member->bucket_fine;
}

/* Short pauses are part of what was promised, or who pauses after each step could not have it. */
static bool is_promised(const struct sched_member *member, int64_t now_ns)
{
        return member->is_wanting || (member->leases > 0 && member->gap_ns < SCHED_GAP_MOST_NS &&
                                      now_ns - member->idle_ns < SCHED_GAP_MOST_NS);
}

/* While a long kernel of another is waited for, no more can be owed than is lost by it. */
static void promises_fill(struct sched_member *member, int64_t ns, uint32_t floor_ppm,
                          int64_t now_ns, bool is_long)
{
        const int64_t lease = SCHED_LEASE_MOST_NS * FINE; /* a whole turn can always be owed */
        int64_t span_ns = SCHED_PROMISE_SPAN_NS + (is_long ? SCHED_LONG_MOST_NS : 0);
        uint32_t promised = member->terms.guarantee_ppm;

        if (!account_may(member))
                return;
        if (promised > 0 && is_promised(member, now_ns))
                member->owed_fine =
                        filled(member->owed_fine, promised, ns, promised * span_ns + lease);
        if (!member->is_wanting)
                return;
        member->refund_fine =
                filled(member->refund_fine, SCHED_REFUND_PPM, ns, SCHED_REFUND_MOST_NS * FINE);
        member->floor_fine = filled(member->floor_fine, floor_ppm, ns,
                                    floor_ppm * SCHED_PROMISE_SPAN_NS + lease);
}

/* The floor is divided among those below rt who want something. */
static uint32_t floor_of(const struct sched *sched, unsigned device)
{
        uint32_t wanting = sched->device[device].wanting_below_rt;

        return SCHED_FLOOR_PPM / (wanting > 0 ? wanting : 1);
}

/* -- What use takes --------------------------------------------------------------------------- */

/* A turn that was given because of a promise pays it, to the last nanosecond and beyond: what it
 * overruns is not promised again. Any other use pays what is behind, and no more. */
static int64_t paid(int64_t fine, int64_t ns, bool is_its_turn)
{
        if (is_its_turn)
                return max_i64(fine - ns * FINE, -SCHED_ALARM_NS * FINE);
        return fine > 0 ? max_i64(fine - ns * FINE, 0) : fine;
}

/* Its turn came by another order than that of the device: by a promise, or by that of another
 * device of its gang. */
static bool is_turn_of_elsewhere(const struct sched *sched, const struct sched_member *member)
{
        unsigned i = (unsigned)(member - sched->member);

        return member->turn == SCHED_TURN_OWED ||
               (member->mate != i && unit_decider(sched, i) != member->device);
}

/* What such a turn gives runs ahead of the others a little at most: else they would be served
 * alone, for as long, when the guarantee or the gang ends. */
static void vtime_charge(const struct sched *sched, struct sched_member *member, int64_t ns)
{
        const struct sched_device *device = &sched->device[member->device];
        uint64_t mark = device->vtime[member->terms.class] + (uint64_t)lag_most(sched, member);
        int64_t scaled = ns * SCHED_WEIGHT_MOST + member->vtime_rest;
        uint64_t before = member->vtime;

        member->vtime += (uint64_t)(scaled / member->terms.weight);
        member->vtime_rest = scaled % member->terms.weight;
        if (vtime_ahead(member->vtime, mark) > 0 && is_turn_of_elsewhere(sched, member))
                member->vtime = vtime_ahead(before, mark) > 0 ? before : mark;
}

static void bucket_take(struct sched_member *member, int64_t ns)
{
        member->bucket_fine = max_i64(member->bucket_fine - ns * FINE, -NS_MOST * FINE);
}

static void charge(const struct sched *sched, struct sched_member *member, int64_t ns)
{
        vtime_charge(sched, member, ns);
        /* Who rides along with the one of its gang that is owed something owes nothing for it. */
        member->owed_fine =
                paid(member->owed_fine, ns,
                     member->turn == SCHED_TURN_OWED && member->terms.guarantee_ppm > 0);
        if (is_open(member) || !member->is_late) /* what runs on beside others is no turn */
                member->floor_fine = paid(member->floor_fine, ns, member->turn == SCHED_TURN_FLOOR);
        member->held_ns += ns;
}

/* Nobody is on the device, as the gang that is next waits for another of its devices. */
static void charge_kept(struct sched *sched, unsigned device, int64_t ns)
{
        unsigned i = gang_kept_for(sched, device);
        struct sched_member *member = i == NOBODY ? NULL : &sched->member[i];

        if (!member)
                return;
        member->vtime += (uint64_t)(ns * SCHED_WEIGHT_MOST / member->terms.weight);
        member->kept_ns = min_i64(member->kept_ns + ns, NS_MOST);
}

/* Not before: who is no longer behind its floor would lose the device while it waits. */
void account_begin(struct sched_member *member)
{
        member->floor_fine =
                paid(member->floor_fine, member->kept_ns, member->turn == SCHED_TURN_FLOOR);
        member->kept_ns = 0;
}

static void wait_count(struct sched_member *member, int64_t ns)
{
        /* In FREE what it may not use it waits for by itself, and says so by being idle. */
        if (is_open(member) || !member->is_wanting)
                return;
        member->wait_ns += ns;
        if (!account_may(member))
                member->throttled_ns += ns;
}

static void untold_add(struct sched_member *member, int64_t ns)
{
        member->untold_ns = min_i64(member->untold_ns + ns, NS_MOST);
        member->silent_ns = min_i64(member->silent_ns + ns, SCHED_ALARM_NS);
}

static void budgets_fill(struct sched_device *device, int64_t ns)
{
        device->hold_fine =
                min_i64(device->hold_fine + SCHED_HOLD_PPM * ns, 10 * SCHED_HOLD_MOST_NS * FINE);
        device->cut_fine =
                min_i64(device->cut_fine + SCHED_CUT_PPM * ns, 10 * SCHED_HOLD_MOST_NS * FINE);
}

void account_settle(struct sched *sched, unsigned device, int64_t now_ns)
{
        struct sched_device *here = &sched->device[device];
        int64_t ns = min_i64(now_ns - here->at_ns, NS_MOST), on = 0, nth = 0;
        uint32_t floor_ppm;
        bool is_long;

        here->at_ns = now_ns;
        if (ns == 0)
                return;
        floor_ppm = floor_of(sched, device);
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
                        charge(sched, member, ns / on + (nth++ < ns % on));
                /* In FREE one may work before anybody has noticed that it wants to. */
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

/* Never more than it was on the device; over its turns, as it tells by samples: of one turn more
 * than that, of another one less, or that it was less than it told before. */
void account_use(const struct step *step, unsigned i)
{
        struct sched_member *member = &step->sched->member[i];
        int64_t told_ns =
                clamp_i64(step->event->ns, -SCHED_AHEAD_MOST_NS, NS_MOST) + member->ahead_ns;
        int64_t ns = max_i64(min_i64(told_ns, member->untold_ns), -member->billed_ns);

        member->ahead_ns = min_i64(max_i64(told_ns - ns, 0), SCHED_AHEAD_MOST_NS);
        member->untold_ns -= ns;
        member->silent_ns = 0;
        member->billed_ns += ns;
        bucket_take(member, ns);
}

void account_forget(struct sched_member *member)
{
        member->untold_ns = member->silent_ns = 0;
}

/* When it began is its own word, so this has a bound over time: nobody gains much by saying that it
 * comes late to each turn. */
void account_refund(const struct sched *sched, struct sched_member *member, int64_t late_ns)
{
        int64_t fine = min_i64(max_i64(min_i64(late_ns, NS_MOST), 0) * FINE, member->refund_fine);

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

static void lift(struct sched *sched, struct sched_member *member)
{
        uint64_t vtime = sched->device[member->device].vtime[member->terms.class];
        int64_t ahead = vtime_ahead(member->vtime, vtime), most = lag_most(sched, member);

        if (ahead < -most)
                member->vtime = vtime - (uint64_t)most;
        else if (ahead > STALE)
                member->vtime = vtime;
}

/* A gang has its place in the order of one device; in that of the others it only rides along. Who
 * is FREE has the device, and keeps its cap itself. */
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
