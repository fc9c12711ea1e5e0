/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/accounts.h"

#include <stddef.h>

/* Searches from the owner's hash on. An entry that was used once remains marked as used, so an
 * owner's account is before the first entry that was never used. */
struct owner_account *accounts_find(struct accounts *accounts, uint32_t uid, uint64_t now_ns)
{
        const uint32_t first = uid * UINT32_C(2654435761) >> 16;
        struct owner_account *paid_back = NULL;

        for (unsigned i = 0; i < ACCOUNTS_PLACES; i++) {
                struct owner_account *account = &accounts->place[(first + i) % ACCOUNTS_PLACES];

                if (account->is_taken && account->uid == uid)
                        return account;
                if (!paid_back && account->full_ns <= now_ns)
                        paid_back = account;
                if (!account->is_taken)
                        break;
        }
        if (!paid_back)
                return &accounts->others;
        *paid_back = (struct owner_account){ .is_taken = true, .uid = uid };
        return paid_back;
}

uint64_t accounts_room(const struct owner_account *account, const struct account_terms *terms,
                       uint64_t now_ns)
{
        const uint64_t owed_ns = account->full_ns > now_ns ? account->full_ns - now_ns : 0;
        const uint64_t used_ns = owed_ns / terms->share;

        return used_ns < terms->burst_ns ? terms->burst_ns - used_ns : 0;
}

void accounts_charge(struct owner_account *account, const struct account_terms *terms,
                     uint64_t now_ns, uint64_t used_ns)
{
        if (account->full_ns < now_ns)
                account->full_ns = now_ns;
        account->full_ns += terms->share * used_ns;
}
