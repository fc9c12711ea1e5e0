/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events in any order, true or not, with any numbers and a clock that jumps: the scheduler
 * keeps its promises to everybody else.
 *
 * After each step: a refusal has changed nothing and gives no action; one unit at most is open on a
 * device; nobody who is above a cap is opened; no bucket rose faster than its cap; what is
 * due lies ahead.
 */
#include <string.h>

#include "core/sched.h"
#include "input.h"

#define MEMBERS 10u
#define FINE INT64_C(1000000)

static struct sched sched;
static struct sched_actions actions;
static struct sched_member before[MEMBERS];
static int64_t now_ns;

/* Times of the policy and the ends of the range more often than others. */
static int64_t next_ns(void)
{
        static const int64_t known[] = { INT64_MAX,         INT64_MIN,         0,
                                         SCHED_LEASE_RT_NS, SCHED_QUIET_NS,    SCHED_LEASE_MIN_NS,
                                         SCHED_HOLD_MAX_NS, SCHED_DRAIN_MIN_NS };
        uint8_t which = next_byte();

        if (which < 96)
                return which * 50 * SCHED_US;
        if (which < 192)
                return known[which % 8];
        return (int64_t)next_number();
}

/* -- What must hold --------------------------------------------------------------------------- */

static bool is_open(const struct sched_member *member)
{
        return member->mode == SCHED_MODE_OPEN || member->mode == SCHED_MODE_FREE;
}

static bool may(const struct sched_member *member)
{
        return member->terms.cap_ppm == SCHED_WHOLE_PPM || member->bucket_fine > 0;
}

static void check_open(unsigned i)
{
        const struct sched_member *member = &sched.member[i];

        for (unsigned j = 0; j < i; j++) {
                const struct sched_member *other = &sched.member[j];
                bool is_gang = member->terms.gang != 0 && member->terms.gang == other->terms.gang;

                check(is_gang || other->device != member->device || !is_open(member) ||
                      !is_open(other));
        }
}

/* What a session takes back of what it said that it used, as it was sampled. */
static int64_t taken_back_ns(const struct sched_event *event, unsigned i)
{
        if (event->type != SCHED_USED || event->member != i || event->ns >= 0)
                return 0;
        return event->ns > -INT64_MAX ? -event->ns : INT64_MAX;
}

/* A step may settle a time in parts, so a long one, each part of which is cut, says little. */
static void check_bucket(unsigned i, int64_t ns, int64_t back_ns)
{
        const struct sched_member *was = &before[i], *member = &sched.member[i];
        int64_t max_ns = INT64_MAX / FINE / 4;

        if (was->mode == SCHED_MODE_NONE || member->mode == SCHED_MODE_NONE || ns > 2 * max_ns ||
            back_ns > max_ns)
                return;
        if (member->bucket_fine > -max_ns * FINE)
                check(member->bucket_fine <=
                      was->bucket_fine + was->terms.cap_ppm * ns + back_ns * FINE);
}

static void check_actions(void)
{
        check(actions.count <= SCHED_ACTIONS);
        for (unsigned i = 0; i < actions.count; i++) {
                const struct sched_action *action = &actions.action[i];

                check(action->member < MEMBERS);
                check(sched.member[action->member].mode != SCHED_MODE_NONE);
                check(action->type != SCHED_OPEN || may(&sched.member[action->member]));
                check(action->type != SCHED_OPEN || action->end_ns > sched.now_ns);
        }
}

/* Each is in its device's list once, and in one ring. */
static void check_lists(void)
{
        unsigned listed = 0, here = 0;

        for (unsigned d = 0; d < SCHED_DEVICES; d++) {
                for (unsigned i = sched.device[d].first; i != SCHED_MEMBERS;
                     i = sched.member[i].next) {
                        check(i < MEMBERS && sched.member[i].device == d && ++listed <= MEMBERS);
                        check(sched.member[sched.member[i].mate].mode != SCHED_MODE_NONE);
                }
        }
        for (unsigned i = 0; i < MEMBERS; i++)
                here += sched.member[i].mode != SCHED_MODE_NONE;
        check(here == listed);
}

static void step(const struct sched_event *event)
{
        int64_t was_ns = sched.now_ns;

        memcpy(before, sched.member, sizeof(before));
        sched_step(&sched, event, now_ns, &actions);
        if (actions.refused) {
                check(actions.count == 0 && sched.now_ns == was_ns);
                check(memcmp(before, sched.member, sizeof(before)) == 0);
                return;
        }
        check_actions();
        check_lists();
        for (unsigned i = 0; i < MEMBERS; i++) {
                check_open(i);
                check_bucket(i, sched.now_ns - was_ns, taken_back_ns(event, i));
        }
        check(sched_next_ns(&sched) > sched.now_ns);
}

/* -- Events ----------------------------------------------------------------------------------- */

static void fill_terms(struct sched_terms *terms)
{
        static const uint32_t parts[] = { SCHED_WHOLE_PPM, 1, 0, UINT32_MAX, 250000, 999999 };
        uint8_t bits = next_byte();

        terms->cap_ppm = parts[next_byte() % 6];
        terms->guarantee_ppm = bits & 1 ? parts[next_byte() % 6] : 0;
        terms->weight = bits & 2 ? next_byte() * 40u : 100;
        terms->gang = bits & 4 ? next_byte() % 3 : 0;
        terms->class = bits >> 3 & 3;
}

static void one_event(void)
{
        struct sched_event event = { .type = next_byte() % (SCHED_TICK + 2) };
        uint8_t bits = next_byte();

        event.member = bits % (MEMBERS + 1);
        if (event.member == MEMBERS)
                event.member = bits & 128 ? UINT32_MAX : SCHED_MEMBERS;
        event.device = bits >> 4 & 3;
        if (event.device == 3)
                event.device = next_byte();
        if (event.type == SCHED_USED || event.type == SCHED_BEGAN || event.type == SCHED_MISSED)
                event.ns = next_ns();
        if (event.type == SCHED_ADD || event.type == SCHED_CHANGE)
                fill_terms(&event.terms);
        step(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        sched_init(&sched);
        now_ns = 0;
        input_begin(data, size);
        while (input.left > 0) {
                uint8_t what = next_byte();

                if (what % 4 == 0) {
                        int64_t next = next_ns();

                        now_ns = what & 64 ? next : (int64_t)((uint64_t)now_ns + next);
                } else if (what % 4 == 1 && sched_next_ns(&sched) != SCHED_NEVER) {
                        now_ns = sched_next_ns(&sched);
                }
                one_event();
        }
        return 0;
}
