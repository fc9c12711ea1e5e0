/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sights in any order, with any numbers: the score stays in its bounds, a report is made at its
 * top alone and ends at nothing, and is told once.
 */
#include "core/claims.h"
#include "input.h"

#define SECOND UINT64_C(1000000000)

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

static void see(struct claim *claim)
{
        const struct claim before = *claim;
        uint8_t bits = next_byte();
        const struct claims_policy policy = { .is_off = (bits & 0x0f) == 0x0f,
                                              .tolerance_percent = 1 + next_byte() % 100u };
        const struct claims_sight sight = { .is_measured = bits & 0x70,
                                            .is_free = bits & 0x40,
                                            .leases = bits & 1,
                                            .cap_ppm = next_byte() * 5000u,
                                            .elapsed_ns = next_ns(),
                                            .shown_ns = next_ns(),
                                            .busy_ns = next_ns(),
                                            .owed_ns = next_ns() };
        bool is_news = claims_see(claim, &policy, &sight);

        check(is_news == (claim->is_reported && !before.is_reported));
        check(claim->score <= CLAIMS_SCORE_MAX);
        check(!is_news || claim->score == CLAIMS_SCORE_MAX);
        check(!claim->is_reported || claim->score > 0);
        check(!policy.is_off || !claim->is_reported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct claim claim = { 0 };

        input_begin(data, size);
        while (input.left > 0)
                see(&claim);
        return 0;
}
