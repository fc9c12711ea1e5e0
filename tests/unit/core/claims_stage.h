/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stories about core/claims begin with: one session, which is looked at once a second, and
 * what it shows and claims in percent of that.
 */
#ifndef TESTS_UNIT_CORE_CLAIMS_STAGE_H
#define TESTS_UNIT_CORE_CLAIMS_STAGE_H

#include <string.h>

#include "core/claims.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define PERCENT (SECOND / 100)
#define NEVER 1000u

static struct claims claims;
static struct claims_policy policy;
static struct claims_sight sight; /* of the only session, as last seen */
static uint64_t now_ns;
static struct claims_action action[8];
static unsigned actions;
static uint64_t charged_ns, beyond_ns;

static inline int begin_anew(void **state)
{
        memset(&claims, 0, sizeof(claims));
        policy = (struct claims_policy){ .answer = WATCH_CLAMP,
                                         .tolerance_percent = 10,
                                         .grace_ns = 2 * SECOND };
        sight = (struct claims_sight){ .session = { 1 },
                                       .is_measured = true,
                                       .is_free = true,
                                       .cap_ppm = 500000,
                                       .elapsed_ns = SECOND };
        now_ns = SECOND;
        charged_ns = beyond_ns = 0;
        return 0;
}

static inline bool is_clamped_on(unsigned share)
{
        struct claims_clamp clamp;

        return claims_clamp(&claims, sight.session, share, &clamp);
}

static inline void look_at(bool is_there)
{
        claims_begin(&claims);
        if (is_there)
                claims_see(&claims, &policy, &sight);
        claims_end(&claims, &policy, sight.elapsed_ns);
        actions = 0;
        while (actions < 8 && claims_next(&claims, &policy, now_ns, &action[actions])) {
                charged_ns += action[actions].ns;
                beyond_ns += action[actions].beyond_ns;
                actions++;
        }
        assert_true(actions < 8);
        now_ns += SECOND;
}

/* It held the GPU for what it used. */
static inline void look(unsigned shown, unsigned claimed)
{
        sight.shown_ns = shown * PERCENT;
        sight.busy_ns += claimed * PERCENT;
        sight.held_ns += shown * PERCENT;
        look_at(true);
}

static inline bool did(enum claims_action_type type)
{
        for (unsigned i = 0; i < actions; i++) {
                if (action[i].type == type)
                        return true;
        }
        return false;
}

/* Looks until that is done; at which look it was, or NEVER. */
static inline unsigned look_until(enum claims_action_type type, unsigned shown, unsigned claimed)
{
        for (unsigned i = 1; i < NEVER; i++) {
                look(shown, claimed);
                if (did(type))
                        return i;
        }
        return NEVER;
}

#define STORY(name) cmocka_unit_test_setup(name, begin_anew)

#endif
