/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the scheduler: dispatches each event to its function, then lets each device decide.
 *
 * sched.h has the contract, sched_parts.h the list of the files, docs/compute.md the reasons.
 */
#include "core/sched.h"

#include <string.h>

#include "core/sched_parts.h"

/* A member that opened this long after the last drain did not wait for that drain. */
#define GAP_OLD_NS (1 * SCHED_MS)
#define NOW_MAX (SCHED_NEVER / 2) /* 146 years; SCHED_NEVER is later than every planned time */
/* how often the devices may decide again in one step; the next step does the rest */
#define PASSES 4

/* Returns the smoothed mean with a new value. A value longer than any lease is cut, since it has
 * another cause. */
static int64_t smoothed(int64_t old_ns, int64_t new_ns)
{
        return old_ns + (min_i64(new_ns, SCHED_LEASE_MAX_NS) - old_ns) / 8;
}

/* -- Members that sleep and come back --------------------------------------------------------- */

static bool rt_wants(const struct sched *sched, unsigned device)
{
        for (unsigned i = sched->device[device].first; i != NOBODY; i = sched->member[i].next) {
                if (sched->member[i].terms.class == SCHED_CLASS_RT && sched->member[i].is_wanting)
                        return true;
        }
        return false;
}

/* An rt member stops wanting its device. If it usually comes back soon, keeps the device idle
 * for it, within a budget of lost time. */
static void rt_leaves(const struct step *step, unsigned i)
{
        const struct sched_member *member = &step->sched->member[i];
        struct sched_device *device = &step->sched->device[member->device];
        int64_t hold_ns;

        if (member->terms.class != SCHED_CLASS_RT || rt_wants(step->sched, member->device) ||
            member->gap_ns > SCHED_HOLD_MAX_NS)
                return;
        hold_ns = min_i64(2 * member->gap_ns, SCHED_HOLD_MAX_NS);
        if (device->hold_fine < hold_ns * FINE)
                return;
        device->hold_fine -= hold_ns * FINE;
        device->hold_ns = step->now_ns + hold_ns;
}

/* An rt member wants its device again. Returns the unused part of the time for which the device
 * was kept. */
static void rt_comes(const struct step *step, unsigned i)
{
        const struct sched_member *member = &step->sched->member[i];
        struct sched_device *device = &step->sched->device[member->device];

        if (member->terms.class != SCHED_CLASS_RT || device->hold_ns <= step->now_ns)
                return;
        device->hold_fine += (device->hold_ns - step->now_ns) * FINE;
        device->hold_ns = step->now_ns;
}

/* Learns the usual pause of a member that wants the device again. Takes a mean, so that one long
 * pause does not hide many short ones. */
static void gap_learn(struct sched_member *member, int64_t now_ns)
{
        int64_t gap_ns = min_i64(now_ns - member->idle_ns, SCHED_GAP_MAX_NS);

        if (member->leases == 0)
                return; /* the member has not worked yet */
        member->gap_ns = member->gap_ns == SCHED_NEVER ? gap_ns : smoothed(member->gap_ns, gap_ns);
}

int64_t sched_grace_ns(const struct sched *sched, uint32_t member)
{
        int64_t gap_ns = sched->member[member].gap_ns;

        return gap_ns >= 2 * SCHED_GRACE_SHORT_NS && gap_ns < SCHED_GAP_MAX_NS
                       ? SCHED_GRACE_SHORT_NS
                       : SCHED_GRACE_NS;
}

/* -- Members are added, changed and removed --------------------------------------------------- */

static void list_add(struct sched *sched, unsigned member)
{
        struct sched_device *device = &sched->device[sched->member[member].device];

        sched->member[member].next = device->first;
        device->first = member;
}

static void list_take(struct sched *sched, unsigned member)
{
        uint32_t *link = &sched->device[sched->member[member].device].first;

        while (*link != member)
                link = &sched->member[*link].next;
        *link = sched->member[member].next;
}

static void add_member(const struct step *step)
{
        unsigned i = step->event->member;
        struct sched_member *member = &step->sched->member[i];
        unsigned device = step->event->device;

        *member = (struct sched_member){
                .terms = step->event->terms,
                .device = (uint8_t)device,
                .mode = SCHED_MODE_CLOSED,
                .idle_ns = step->now_ns - SCHED_NEIGHBOUR_NS,
                .gap_ns = SCHED_NEVER,
                .vtime = step->sched->device[device].vtime[step->event->terms.class],
        };
        step->sched->entries = max_u32(step->sched->entries, i + 1);
        list_add(step->sched, i);
        gang_link(step->sched, i);
}

static void terms_set(const struct step *step, unsigned i)
{
        struct sched_member *member = &step->sched->member[i];
        const struct sched_terms *terms = &step->event->terms;
        bool is_moved = terms->gang != member->terms.gang;
        int64_t max_fine = (int64_t)terms->cap_ppm * SCHED_BUCKET_SPAN_NS;

        if (terms->class != member->terms.class)
                member->vtime = step->sched->device[member->device].vtime[terms->class];
        if (is_moved)
                gang_unlink(step->sched, i);
        member->terms = *terms;
        /* The bucket may have filled beyond what the new cap allows. */
        member->bucket_fine = min_i64(member->bucket_fine, max_fine);
        member->long_fine = 0;
        if (terms->guarantee_ppm == 0)
                member->owed_fine = min_i64(member->owed_fine, 0);
        if (is_moved)
                gang_link(step->sched, i);
}

static void change_member(struct step *step)
{
        unsigned i = step->event->member;
        const struct sched_member *member = &step->sched->member[i];
        const struct sched_terms *terms = &step->event->terms;

        if (terms->gang != member->terms.gang)
                turn_close(step, i);
        terms_set(step, i);
}

static void remove_member(const struct step *step)
{
        unsigned i = step->event->member;
        struct sched_member *member = &step->sched->member[i];

        if (member->is_wanting) {
                member->is_wanting = false;
                rt_leaves(step, i);
        }
        gang_unlink(step->sched, i);
        list_take(step->sched, i);
        *member = (struct sched_member){ .mode = SCHED_MODE_NONE };
}

/* -- Events of members ------------------------------------------------------------------------ */

static void begin_wanting(const struct step *step)
{
        unsigned i = step->event->member;
        struct sched_member *member = &step->sched->member[i];

        if (member->is_wanting)
                return;
        /* Level the virtual times before the member counts as wanting, so that it starts from
         * the present virtual time of the others. */
        account_level(step->sched, member->device);
        rt_comes(step, i);
        gap_learn(member, step->now_ns);
        member->is_wanting = true;
        member->is_back = !is_open(member);
        member->wait_since_ns = step->now_ns;
}

static void end_wanting(const struct step *step)
{
        unsigned i = step->event->member;
        struct sched_member *member = &step->sched->member[i];

        if (!member->is_wanting)
                return;
        member->is_wanting = member->is_back = false;
        member->idle_ns = step->now_ns;
        drain_end(step->sched, member, step->now_ns);
        account_forget(member);
        rt_leaves(step, i);
}

/* Notes the first launch of a turn, and measures the hand-over gap if the device passed directly
 * from one member to another. It did not if this member opened long after the other had drained,
 * opened while another member still drains, or was at work before it opened. */
static void note_begin(const struct step *step)
{
        struct sched_member *member = &step->sched->member[step->event->member];
        struct sched_device *device = &step->sched->device[member->device];
        int64_t ago_ns = min_i64(max_i64(step->event->ns, 0), step->now_ns - member->open_ns);
        int64_t at_ns = step->now_ns - ago_ns, gap_ns = at_ns - device->drained_ns;

        if (!is_open(member) || member->is_begun)
                return;
        member->is_begun = true;
        account_refund(step->sched, member, at_ns - member->open_ns);
        member->missed_ns =
                min_i64(member->missed_ns, smoothed(member->missed_ns, at_ns - member->open_ns));
        if (gap_ns < 0 || step->event->ns > ago_ns ||
            device->drained_ns < member->open_ns - GAP_OLD_NS)
                return;
        device->gap_ns = smoothed(device->gap_ns, gap_ns);
        histogram_add(&device->times.handover, gap_ns);
}

/* Notes how late a member came to a gate that had closed again. */
static void note_miss(const struct step *step)
{
        struct sched_member *member = &step->sched->member[step->event->member];

        member->missed_ns = min_i64(max_i64(step->event->ns, member->missed_ns), SCHED_LATE_MAX_NS);
}

/* -- A step ----------------------------------------------------------------------------------- */

static const char *refusal(const struct sched *sched, const struct sched_event *event)
{
        const struct sched_member *member;

        if (event->type > SCHED_TICK)
                return "type";
        if (event->type == SCHED_TICK)
                return NULL;
        if (event->member >= SCHED_MEMBERS)
                return "member";
        member = &sched->member[event->member];
        if ((member->mode == SCHED_MODE_NONE) != (event->type == SCHED_ADD))
                return "member";
        if (event->type == SCHED_ADD)
                return sched_check(sched, SCHED_MEMBERS, event->device, &event->terms);
        if (event->type == SCHED_CHANGE)
                return sched_check(sched, event->member, member->device, &event->terms);
        return NULL;
}

/* Sends SCHED_ALARM if the member's debt has just passed SCHED_ALARM_NS. */
static void alarm_raise(struct step *step, unsigned i)
{
        struct sched_member *member = &step->sched->member[i];

        if (member->bucket_fine >= 0)
                member->is_alarmed = false;
        if (member->is_alarmed || member->bucket_fine >= -SCHED_ALARM_NS * FINE)
                return;
        member->is_alarmed = true;
        add_action(step, &(struct sched_action){ .type = SCHED_ALARM, .member = i });
}

static void take_event(struct step *step)
{
        switch (step->event->type) {
        case SCHED_ADD:
                add_member(step);
                break;
        case SCHED_CHANGE:
                change_member(step);
                break;
        case SCHED_REMOVE:
                remove_member(step);
                break;
        case SCHED_WANT:
                begin_wanting(step);
                break;
        case SCHED_RESTS:
                end_wanting(step);
                break;
        case SCHED_BEGAN:
                note_begin(step);
                break;
        case SCHED_MISSED:
                note_miss(step);
                break;
        case SCHED_USED:
                account_use(step, step->event->member);
                alarm_raise(step, step->event->member);
                break;
        case SCHED_DRAINED:
                drain_said(step, step->event->member);
                break;
        case SCHED_TICK:
                break;
        }
}

static void decide(struct step *step)
{
        for (unsigned pass = 0; pass < PASSES; pass++) {
                step->is_again = false;
                gang_sweep(step->sched);
                for (unsigned d = 0; d < SCHED_DEVICES; d++)
                        turn_decide(step, d);
                if (!step->is_again)
                        return;
        }
}

void sched_init(struct sched *ret)
{
        memset(ret, 0, offsetof(struct sched, member[min_u32(ret->entries, SCHED_MEMBERS)]));
        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                ret->device[d] = (struct sched_device){ .first = NOBODY,
                                                        .claim = NOBODY,
                                                        .due_ns = SCHED_NEVER };
        }
}

static void pass_time(struct sched *sched, int64_t now_ns)
{
        sched->now_ns = max_i64(sched->now_ns, min_i64(now_ns, NOW_MAX));
}

void sched_skip(struct sched *sched, int64_t now_ns)
{
        pass_time(sched, now_ns);
        for (unsigned d = 0; d < SCHED_DEVICES; d++)
                sched->device[d].at_ns = sched->now_ns;
}

void sched_step(struct sched *sched, const struct sched_event *event, int64_t now_ns,
                struct sched_actions *ret)
{
        struct step step = { .sched = sched, .event = event, .ret = ret };

        ret->count = 0;
        ret->refused = refusal(sched, event);
        if (ret->refused)
                return;
        pass_time(sched, now_ns);
        step.now_ns = sched->now_ns;
        for (unsigned d = 0; d < SCHED_DEVICES; d++)
                drain_settle(sched, d, step.now_ns);
        take_event(&step);
        units_sum_up(sched);
        decide(&step);
}

int64_t sched_next_ns(const struct sched *sched)
{
        int64_t next_ns = SCHED_NEVER;

        for (unsigned d = 0; d < SCHED_DEVICES; d++)
                next_ns = min_i64(next_ns, sched->device[d].due_ns);
        return next_ns;
}
