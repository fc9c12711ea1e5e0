/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps the core with an event, and writes the resulting leases into the sessions' pages.
 */
#include "daemon/schedule/members.h"

#include "common/log.h"

void members_tell_closed(struct members *self, uint32_t at, uint64_t now_ns)
{
        const struct member *member = &self->member[at];

        seat_tell(member->seated->seat, member->share, PAGE_MODE_CLOSED,
                  self->sched.member[at].is_wanting ? 0 : now_ns, 0);
}

static void carry_out_action(struct members *self, const struct sched_action *action,
                             uint64_t now_ns)
{
        struct member *member = &self->member[action->member];
        struct seated *seated = member->seated;
        enum page_mode mode = PAGE_MODE_CLOSED;

        if (!seated)
                return;
        if (action->type == SCHED_ALARM) {
                log_line(LOG_WARN, "session %s is more than 10 s of GPU time above its cap",
                         seated->seat->limits->name);
                return;
        }
        if (action->type == SCHED_FREE)
                mode = PAGE_MODE_FREE;
        else if (action->type == SCHED_OPEN)
                mode = PAGE_MODE_OPEN;
        if (mode == PAGE_MODE_CLOSED) {
                member->missed_ns = member->is_begun ? 0 : member->leased_ns;
                member->is_begun = false;
                member->close_ns = now_ns;
                self->has_closed = true;
                members_tell_closed(self, action->member, now_ns);
                return;
        }
        member->open_ns = now_ns;
        if (member->look_ns > now_ns + MEMBER_IDLE_NS)
                /* if its gate opened with its gang's, it may rest */
                member->look_ns = now_ns + MEMBER_IDLE_NS;
        member->leased_ns = mode == PAGE_MODE_OPEN ? now_ns : 0;
        seat_tell(seated->seat, member->share, mode,
                  mode == PAGE_MODE_OPEN ? (uint64_t)action->end_ns : 0,
                  (uint64_t)action->target_ns);
}

void members_begin_watch(struct members *self, struct seated *seated, uint64_t now_ns)
{
        seated->is_watched = true;
        seated->beat_ns = now_ns;
        seat_beat(seated->seat, now_ns);
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                uint32_t at = seated->member[i];
                struct seat_claim claim;

                if (at == NO_MEMBER || !seat_read(seated->seat, i, now_ns, &claim))
                        continue;
                self->member[at].busy_ns = claim.busy_ns;
                self->member[at].active_ns = now_ns;
                self->member[at].look_ns = now_ns + MEMBER_IDLE_NS + 1;
                seat_nudge(seated->seat,
                           i); /* so that processes that run without reading the lease read it */
        }
}

/* Ignores the usage in each member's next claim, because the last reading may be from before the
 * thread was away. */
static void begin_anew(struct members *self, const struct seated *seated)
{
        for (unsigned i = 0; i < seated->seat->share_count; i++) {
                if (seated->member[i] != NO_MEMBER)
                        self->member[seated->member[i]].is_anew = true;
        }
}

void members_pass_time(struct members *self, uint64_t now_ns)
{
        bool was_away = now_ns > self->now_ns + PAGE_SCHEDULER_SILENT_NS, is_needed = false;

        self->now_ns = now_ns > self->now_ns ? now_ns : self->now_ns;
        for (unsigned i = 0; was_away && i < self->entries; i++) {
                if (!self->seated[i].seat || !self->seated[i].is_watched)
                        continue;
                members_begin_watch(self, &self->seated[i], now_ns);
                begin_anew(self, &self->seated[i]);
                is_needed = true;
        }
        if (is_needed)
                sched_skip(&self->sched, (int64_t)now_ns);
}

bool members_step(struct members *self, const struct sched_event *event, uint64_t now_ns)
{
        members_pass_time(self, now_ns);
        sched_step(&self->sched, event, (int64_t)now_ns, &self->actions);
        if (self->actions.refused)
                return false;
        for (unsigned i = 0; i < self->actions.count; i++)
                carry_out_action(self, &self->actions.action[i], now_ns);
        return true;
}

void members_tell(struct members *self, uint32_t member, enum sched_event_type type, int64_t ns,
                  uint64_t now_ns)
{
        const struct sched_event event = { .type = type, .member = member, .ns = ns };

        members_step(self, &event, now_ns);
}

void members_tick(struct members *self, uint64_t now_ns)
{
        const struct sched_event tick = { .type = SCHED_TICK };

        members_step(self, &tick, now_ns);
}
