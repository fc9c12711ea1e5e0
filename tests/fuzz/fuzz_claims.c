/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sights in any order, with any numbers: no case is lost or doubled, a clamp has its end, what
 * is charged is bounded, and the questions after a look come to an end.
 */
#include <string.h>

#include "core/claims.h"
#include "input.h"

#define SECOND UINT64_C(1000000000)
#define ACTIONS_MOST (5u * 16u)

static struct claims claims;

static uint64_t next_ns(void)
{
        static const uint64_t known[] = { 0,          1,          SECOND / 2,     SECOND,
                                          3 * SECOND, UINT64_MAX, UINT64_MAX / 2, 11 * SECOND };
        uint8_t which = next_byte();

        if (which < 128)
                return known[which % 8];
        if (which < 224)
                return which * (SECOND / 100);
        return next_number();
}

static void see(const struct claims_policy *policy, uint64_t elapsed_ns)
{
        struct claims_sight sight = { .elapsed_ns = elapsed_ns };
        uint8_t bits = next_byte();

        sight.session[0] = 1 + (bits & 3);
        sight.share = bits >> 2 & 3;
        sight.is_measured = bits & 0x70;
        sight.is_in_flight = bits & 0x80;
        sight.is_free = bits & 0x40;
        sight.leases = bits & 1;
        sight.cap_ppm = next_byte() * 5000u;
        sight.shown_ns = next_ns();
        sight.busy_ns = next_ns();
        sight.held_ns = next_ns();
        sight.owed_ns = next_ns();
        claims_see(&claims, policy, &sight);
}

static void check_cases(void)
{
        static const uint8_t nobody[16];

        check(claims.places <= 16);
        for (unsigned i = 0; i < claims.places; i++) {
                for (unsigned j = 0; j < i; j++)
                        check(memcmp(claims.file[i].session, nobody, 16) == 0 ||
                              claims.file[i].share != claims.file[j].share ||
                              memcmp(claims.file[i].session, claims.file[j].session, 16) != 0);
        }
}

static void check_clamps(void)
{
        for (unsigned i = 0; i < claims.places; i++) {
                const struct claims_case *one = &claims.file[i];
                struct claims_clamp clamp;

                check(one->clamps <= CLAIMS_DOUBLINGS + 1);
                if (!claims_clamp(&claims, one->session, one->share, &clamp))
                        continue;
                check(clamp.times > 0 && clamp.times == one->clamps);
                check(clamp.left_ns <= CLAIMS_HONEST_NS << (clamp.times - 1));
        }
}

static void answer(const struct claims_policy *policy)
{
        struct claims_action action;
        uint64_t now_ns = next_ns();
        unsigned count = 0;

        while (claims_next(&claims, policy, now_ns, &action)) {
                struct claims_clamp clamp;
                bool is_clamped = claims_clamp(&claims, action.session, action.share, &clamp);

                check(++count <= ACTIONS_MOST);
                check(action.type != CLAIMS_CLAMP || is_clamped);
                check(action.type != CLAIMS_CHARGE || (is_clamped && action.ns > 0));
                check(action.type != CLAIMS_RELEASE || !is_clamped);
                check(action.beyond_ns <= action.ns);
        }
        check_clamps();
        for (unsigned i = 0; i < claims.places; i++)
                check(!claims.file[i].is_clamped || policy->answer == WATCH_CLAMP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        memset(&claims, 0, sizeof(claims));
        input_begin(data, size);
        while (input.left > 0) {
                uint8_t bits = next_byte();
                const struct claims_policy policy = { .answer = bits % 5,
                                                      .tolerance_percent = 1 + next_byte() % 100u,
                                                      .grace_ns = SECOND };
                uint64_t elapsed_ns = next_ns();

                claims_begin(&claims);
                for (unsigned i = bits >> 4; i > 0; i--)
                        see(&policy, elapsed_ns);
                claims_end(&claims, &policy, elapsed_ns);
                if (bits == 255)
                        claims_forget(&claims, (const uint8_t[16]){ 1 + (next_byte() & 3) });
                answer(&policy);
                check_cases();
        }
        return 0;
}
