/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases that the model is searched in, by name.
 *
 *      model                 the usual cases: a minute at most, less than 2 GiB
 *      model --full          all of them: some 10 minutes, and up to 16 GiB
 *      model CASE...         these
 *      --expect-broken       0 only if a rule is broken in the case: for mutations
 *      --raw                 without the reductions, which must not change an answer
 *
 * A case is PROCESSES x SLOTS x OPERATIONS of each process. Every process may be killed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/machine_clock.h"
#include "model.h"

/* Room, in states; about 100 bytes each are touched. */
#define USUAL_ROOM UINT64_C(8000000)
#define FULL_ROOM UINT64_C(140000000)

static const struct {
        struct config config;
        bool is_full_only;
} cases[] = {
        { { "2x2x2", 2, 2, 1, 2, 2, 1, 1, { 2 }, .solo_of = 1 } },
        { { "2x2x2 live limit", 2, 2, 1, 2, 2, 1, 3, { 2, 1, 2 }, .solo_of = 1 } },
        { { "2x2x2 sizes", 2, 2, 1, 2, 2, 2, 1, { 3 }, .solo_of = 1 } },
        { { "2x2x3", 2, 2, 1, 3, 2, 1, 1, { 2 }, .solo_of = 1 } },
        { { "2x2x2 two devices", 2, 2, 2, 2, 2, 1, 1, { 2 }, .solo_of = 1 } },
        { { "3x2x1", 3, 2, 1, 1, 3, 1, 1, { 1 }, .solo_of = 1 } },
        { { "3x2x1 live limit", 3, 2, 1, 1, 3, 1, 3, { 1, 0, 2 }, .solo_of = 1 } },
        { { "3x2x1 two devices", 3, 2, 2, 1, 3, 1, 1, { 1 }, .solo_of = 1 } },
        { { "3x2x2", 3, 2, 1, 2, 3, 1, 1, { 2 }, .solo_of = 1 } },
        { { "3x2x2 limit 1", 3, 2, 1, 2, 3, 1, 1, { 1 }, .solo_of = 1 } },
        { { "3x2x2 limit 0", 3, 2, 1, 2, 3, 1, 1, { 0 }, .solo_of = 1 } },
        { { "3x2x2 limit 9", 3, 2, 1, 2, 3, 1, 1, { 9 }, .solo_of = 1 } },
        { { "3x2x2 sizes", 3, 2, 1, 2, 3, 2, 1, { 3 }, .solo_of = 16 } },
        { { "3x2x2 live limit", 3, 2, 1, 2, 3, 1, 3, { 2, 1, 3 }, .solo_of = 16 } },
        { { "3x2x3", 3, 2, 1, 3, 3, 1, 1, { 2 }, .solo_of = 16 } },
        { { "3x3x1", 3, 3, 1, 1, 3, 1, 1, { 1 }, .solo_of = 1 } },
        { { "3x3x2", 3, 3, 1, 2, 3, 1, 1, { 2 }, .solo_of = 16 } },
        { { "4x2x1", 4, 2, 1, 1, 4, 1, 1, { 1 }, .solo_of = 1 } },
        { { "4x2x2", 4, 2, 1, 2, 4, 1, 1, { 2 }, .solo_of = 16 } },
        { { "3x2x2 two devices", 3, 2, 2, 2, 3, 1, 1, { 2 }, .solo_of = 16 }, true },
        { { "3x2x4", 3, 2, 1, 4, 3, 1, 1, { 2 }, .solo_of = 16 }, true },
        { { "3x3x2 live limit", 3, 3, 1, 2, 3, 1, 3, { 2, 1, 3 }, .solo_of = 16 }, true },
        { { "4x2x2 live limit", 4, 2, 1, 2, 4, 1, 3, { 2, 1, 3 }, .solo_of = 16 }, true },
        { { "4x3x1", 4, 3, 1, 1, 4, 1, 1, { 1 }, .solo_of = 16 }, true },
        { { "3x3x3", 3, 3, 1, 3, 3, 1, 1, { 2 }, .solo_of = 64 }, true },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Whether the case came out as expected. */
static bool run_case(const struct config *config, uint64_t room, bool is_broken_expected)
{
        uint64_t began_ns = clock_machine_ns();
        struct outcome outcome = search(config, room, !is_broken_expected);

        printf("%-20s %10" PRIu64 " states %11" PRIu64 " transitions %6.1f s  %s\n", config->name,
               outcome.states, outcome.transitions, (double)(clock_machine_ns() - began_ns) / 1e9,
               outcome.broken ? outcome.broken : "good");
        fflush(stdout);
        return (outcome.broken != NULL) == is_broken_expected;
}

int main(int argc, char **argv)
{
        bool is_full = false, is_broken_expected = false, is_raw = false, is_named = false;
        bool is_good = true;

        for (int i = 1; i < argc; i++) {
                is_full |= strcmp(argv[i], "--full") == 0;
                is_broken_expected |= strcmp(argv[i], "--expect-broken") == 0;
                is_raw |= strcmp(argv[i], "--raw") == 0;
                is_named |= argv[i][0] != '-';
        }
        for (size_t c = 0; c < CASES; c++) {
                struct config config = cases[c].config;
                bool is_wanted = !is_named && (is_full || !cases[c].is_full_only);

                for (int i = 1; i < argc; i++)
                        is_wanted |= strcmp(argv[i], config.name) == 0;
                config.is_raw = is_raw;
                if (is_wanted)
                        is_good &= run_case(
                                &config, cases[c].is_full_only || is_raw ? FULL_ROOM : USUAL_ROOM,
                                is_broken_expected);
        }
        return is_good ? 0 : 1;
}
