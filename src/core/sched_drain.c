/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains: a member's work that still runs after the member's gate closed.
 *
 * A member whose gate closed drains until it reports that none of its work is in flight. The other
 * members wait for that until a deadline: SCHED_DRAIN_LENGTHS times the usual length of this
 * member's completed drains, within bounds. A drain that never ends does not change that length. A
 * member that passes the deadline is late: the next member opens beside it, until it has drained. A
 * member that sends RESTS has drained even without a report: it died or stopped.
 *
 * If a late member got a turn at once, it would submit more work behind the rest of its last turn.
 * Beside other members both would take longer, would not end within the turn, and would not show
 * how long drains take. So a late member gets no turn until it has drained, but not for ever: the
 * work in flight may wait for work that the member has yet to submit. rt members are exempt: they
 * wait for no drain and end soon.
 */
#include "core/sched_parts.h"

void drain_begin(struct sched_member *member, int64_t now_ns)
{
        member->close_ns = now_ns;
        member->is_draining = member->is_wanting;
        member->is_cut = member->is_wanting;
        member->wait_since_ns = now_ns;
}

int64_t drain_deadline_ns(const struct sched_member *member)
{
        int64_t usual_ns = SCHED_DRAIN_LENGTHS * member->drain_ns;

        if (!member->is_draining || member->is_late)
                return 0;
        return member->close_ns + clamp_i64(usual_ns, SCHED_DRAIN_MIN_NS, SCHED_DRAIN_MAX_NS);
}

int64_t drain_pass_ns(const struct sched_member *member)
{
        int64_t late_ns = member->close_ns - member->late_since_ns;

        if (!member->is_draining || !member->is_late || member->terms.class == SCHED_CLASS_RT)
                return 0;
        return member->close_ns + clamp_i64(late_ns, SCHED_PASS_MIN_NS, SCHED_PASS_MAX_NS);
}

void drain_end(struct sched *sched, struct sched_member *member, int64_t now_ns)
{
        struct sched_device *device = &sched->device[member->device];

        member->is_late = false; /* the member has drained even if its gate is open again */
        if (!member->is_draining)
                return;
        member->is_draining = false;
        member->overrun_ns += now_ns - member->close_ns;
        device->drained_ns = now_ns;
        if (member->is_cut)
                histogram_add(&device->times.yield, now_ns - member->close_ns);
        account_forget(member);
}

void drain_said(const struct step *step, unsigned i)
{
        struct sched_member *member = &step->sched->member[i];
        int64_t ns = min_i64(step->now_ns - member->close_ns, SCHED_DRAIN_MAX_NS);

        /* The usual length grows quickly and shrinks slowly, because drains vary with the
         * kernels. */
        if (member->is_draining)
                member->drain_ns += (ns - member->drain_ns) / (ns > member->drain_ns ? 2 : 16);
        drain_end(step->sched, member, step->now_ns);
}

void drain_settle(struct sched *sched, unsigned device, int64_t now_ns)
{
        account_settle(sched, device, now_ns);
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                struct sched_member *member = &sched->member[i];

                if (!member->is_draining || member->is_late || drain_deadline_ns(member) > now_ns)
                        continue;
                member->is_late = true;
                member->late_since_ns = member->close_ns;
        }
}
