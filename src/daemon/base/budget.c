/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/budget.h"

static const struct account_terms own = { BUDGET_OWN_SHARE, BUDGET_OWN_BURST_NS };

static uint32_t session_key_of(const struct budget_work *work)
{
        return (uint32_t)(work->id[0] | work->id[1] << 8);
}

static bool has_room(const struct budget *budget, uint64_t now_ns)
{
        return budget->full_ns <= now_ns + BUDGET_SHARE * (BUDGET_BURST_NS - budget->max_ns);
}

static void reserve_turn(struct budget *budget, uint32_t place, uint64_t now_ns)
{
        const bool is_anothers = now_ns < budget->turn_ns && budget->turn != place;

        if (is_anothers)
                return;
        budget->turn = place;
        budget->turn_ns = now_ns + BUDGET_TURN_NS;
}

static uint64_t granted(struct budget *budget, const struct budget_work *work, uint64_t now_ns)
{
        const uint32_t place = session_key_of(work);
        const bool is_anothers = now_ns < budget->turn_ns && budget->turn != place;
        uint64_t room_ns;

        budget->is_own = !has_room(budget, now_ns) || is_anothers;
        if (!budget->is_own) {
                budget->turn_ns = 0;
                return budget->max_ns;
        }
        room_ns =
                accounts_room(accounts_find(&budget->accounts, work->payer, now_ns), &own, now_ns);
        if (room_ns >= BUDGET_OWN_MIN_NS)
                return room_ns < budget->max_ns ? room_ns : budget->max_ns;
        reserve_turn(budget, place, now_ns);
        return 0;
}

uint64_t budget_begin(struct budget *budget, const struct budget_work *work, uint64_t now_ns)
{
        budget->left_ns = granted(budget, work, now_ns);
        return budget->left_ns;
}

uint64_t budget_left(const struct budget *budget)
{
        return budget->left_ns;
}

void budget_end(struct budget *budget, const struct budget_work *work, uint64_t now_ns,
                uint64_t used_ns)
{
        struct owner_account *account = accounts_find(&budget->accounts, work->payer, now_ns);
        const uint64_t room_ns = accounts_room(account, &own, now_ns);
        const uint64_t own_ns = used_ns < room_ns ? used_ns : room_ns;

        budget->left_ns -= used_ns < budget->left_ns ? used_ns : budget->left_ns;
        accounts_charge(account, &own, now_ns, budget->is_own ? used_ns : own_ns);
        if (used_ns == own_ns)
                return;
        if (budget->full_ns < now_ns)
                budget->full_ns = now_ns;
        budget->full_ns += BUDGET_SHARE * (used_ns - own_ns);
}
