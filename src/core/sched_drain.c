/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was launched in a turn comes to its end after it.
 *
 * A member whose gate closed drains until it says that it is done, or until the time that it told
 * (RESIDUAL): the clock is believed, so nobody need look. Who is beside others then is held up by
 * their slices, and is taken for done as much later, SCHED_LENDS_NS at most: its process may have
 * died, or stopped. Of who is clamped the clock says nothing. Who opened in the slack at the end of
 * a drain holds up nobody.
 */
#include "core/sched_parts.h"

void drain_begin(struct sched_member *member, int64_t now_ns)
{
        member->close_ns = now_ns;
        member->is_draining = true;
        member->is_cut = member->is_wanting;
        member->wait_since_ns = now_ns;
        member->is_lending = false;
        member->left_ns = SCHED_WAKE_MOST_NS; /* until it has woken up and says it */
        member->lends_ns = 0;
        member->empty_ns = member->done_ns = member->is_wanting ? SCHED_NEVER : now_ns;
}

static bool has_others_on(const struct sched *sched, unsigned member)
{
        for (unsigned i = sched->device[sched->member[member].device].first; i != NOBODY;
             i = sched->member[i].next) {
                const struct sched_member *other = &sched->member[i];

                if (i != member && is_on(other) && !(is_open(other) && other->is_after))
                        return true;
        }
        return false;
}

bool drain_is_beside(const struct sched *sched, unsigned member)
{
        return sched->member[member].shared_ns > 2 * SCHED_WAKE_MOST_NS ||
               has_others_on(sched, member);
}

int64_t sched_drain_ns(const struct sched *sched, uint16_t place)
{
        const struct sched_member *member = &sched->member[place];
        int64_t held_up_ns = 0;

        if (!member->is_draining || member->empty_ns == SCHED_NEVER || member->terms.is_clamped)
                return SCHED_NEVER;
        if (has_others_on(sched, place))
                held_up_ns = SCHED_LENDS_NS;
        else if (drain_is_beside(sched, place))
                held_up_ns = least_of(member->shared_ns, SCHED_LENDS_NS);
        return time_after(member->empty_ns, held_up_ns);
}

/* From here on it is known who uses what of an overlap. Once a turn: it could else lend its time
 * for ever. */
static void lend(struct sched_member *member, int64_t now_ns)
{
        if (member->is_lending || member->done_ns == SCHED_NEVER)
                return;
        member->is_lending = true;
        member->left_ns = most_of(member->done_ns - now_ns, 0);
        member->lends_ns = SCHED_LENDS_NS;
}

/* What ends later than anybody may be held up says nothing of what is left. */
void drain_residual(const struct step *step, unsigned place)
{
        struct sched_member *member = &step->sched->member[place];
        int64_t ns = most_of(step->event->ns, 0);
        int64_t left_ns = most_of(ns - most_of(step->event->slack_ns, 0), 0);

        if (!member->is_draining)
                return;
        member->empty_ns = time_after(step->now_ns, ns);
        member->done_ns = ns < SCHED_LENDS_NS ? step->now_ns + left_ns : SCHED_NEVER;
        if (drain_is_beside(step->sched, place))
                lend(member, step->now_ns);
}

bool drain_meet(const struct step *step, unsigned place)
{
        bool is_after = true;

        for (unsigned i = step->sched->device[step->sched->member[place].device].first; i != NOBODY;
             i = step->sched->member[i].next) {
                struct sched_member *other = &step->sched->member[i];

                if (i == place || !other->is_draining || other->done_ns <= step->now_ns)
                        continue;
                if (step->sched->member[place].terms.class == SCHED_CLASS_RT)
                        lend(other, step->now_ns);
                is_after = false;
        }
        return is_after;
}

/* Within the clock's slack and a wake-up it was done when it had said that it would be: only the
 * news of it are late, and who comes next has opened by then. */
static void finish(struct sched *sched, struct sched_member *member, int64_t at_ns)
{
        struct sched_device *device = &sched->device[member->device];
        int64_t yielded_ns = at_ns;

        member->is_draining = false;
        member->overrun_ns += at_ns - member->close_ns;
        device->drained_ns = least_of(at_ns, most_of(member->done_ns, member->close_ns));
        if (at_ns <= time_after(member->empty_ns, SCHED_WAKE_MOST_NS))
                yielded_ns = device->drained_ns;
        if (member->is_cut)
                histogram_add(&device->times.yield, yielded_ns - member->close_ns);
}

void drain_end(const struct step *step, unsigned place)
{
        struct sched_member *member = &step->sched->member[place];

        if (!member->is_draining)
                return;
        finish(step->sched, member, step->now_ns);
        account_forget(member);
}

static unsigned first_over(const struct sched *sched, unsigned device, int64_t now_ns)
{
        int64_t first_ns = now_ns;
        unsigned found = NOBODY;

        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                int64_t end_ns = sched_drain_ns(sched, (uint16_t)i);

                if (end_ns > first_ns)
                        continue;
                first_ns = end_ns;
                found = i;
        }
        return found;
}

/* What it measured may be told after that, and counts; it may also have taken longer. */
void drain_settle(struct sched *sched, unsigned device, int64_t now_ns)
{
        unsigned i;

        while ((i = first_over(sched, device, now_ns)) != NOBODY) {
                struct sched_member *member = &sched->member[i];
                int64_t at_ns = most_of(sched_drain_ns(sched, (uint16_t)i),
                                        most_of(sched->device[device].at_ns, member->close_ns));

                account_settle(sched, device, least_of(at_ns, now_ns));
                finish(sched, member, least_of(at_ns, now_ns));
                member->is_over = true;
                if (!member->is_lending)
                        member->lends_ns = SCHED_LENDS_NS;
                member->late_ns = member->untold_ns;
                member->untold_ns = 0;
        }
        account_settle(sched, device, now_ns);
}
