/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/budget.h"

static uint32_t place_of(const uint8_t id[16])
{
        return (uint32_t)(id[0] | id[1] << 8);
}

static bool has_room(const struct budget *budget, uint64_t now_ns)
{
        return budget->full_ns <= now_ns + BUDGET_SHARE * (BUDGET_BURST_NS - budget->most_ns);
}

uint64_t budget_begin(struct budget *budget, const uint8_t id[16], uint64_t now_ns)
{
        const uint32_t place = place_of(id);
        const bool is_anothers = now_ns < budget->turn_ns && budget->turn != place;

        if (has_room(budget, now_ns) && !is_anothers) {
                budget->turn_ns = 0;
                return budget->most_ns;
        }
        if (!budget->is_dear[place])
                return BUDGET_CHEAP_NS;
        if (now_ns >= budget->turn_ns) {
                budget->turn = place;
                budget->turn_ns = now_ns + BUDGET_TURN_NS;
        } else if (!is_anothers) {
                budget->turn_ns = now_ns + BUDGET_TURN_NS; /* it still waits */
        }
        return 0;
}

void budget_end(struct budget *budget, const uint8_t id[16], uint64_t now_ns, uint64_t used_ns)
{
        const uint64_t empty_ns = now_ns + BUDGET_SHARE * BUDGET_BURST_NS;

        budget->is_dear[place_of(id)] = used_ns > BUDGET_CHEAP_NS;
        if (used_ns <= BUDGET_CHEAP_NS)
                return;
        if (budget->full_ns < now_ns)
                budget->full_ns = now_ns;
        budget->full_ns += BUDGET_SHARE * used_ns;
        /* Work for those who were not dear before goes on when it is out: no debt grows of that. */
        if (budget->full_ns > empty_ns)
                budget->full_ns = empty_ns;
}
