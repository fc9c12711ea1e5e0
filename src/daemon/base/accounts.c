/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/accounts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* Searches from the owner's hash on. An entry that was used once remains marked as used, so an
 * owner's account is before the first entry that was never used. */
struct owner_account *accounts_find(struct accounts *accounts, uint64_t payer, uint64_t now_ns)
{
        const uint32_t first = (uint32_t)payer * UINT32_C(2654435761) >> 16;
        struct owner_account *paid_back = NULL;

        for (unsigned i = 0; i < ACCOUNTS_PLACES; i++) {
                struct owner_account *account = &accounts->place[(first + i) % ACCOUNTS_PLACES];

                if (account->is_taken && account->payer == payer)
                        return account;
                if (!paid_back && account->full_ns <= now_ns)
                        paid_back = account;
                if (!account->is_taken)
                        break;
        }
        if (!paid_back)
                return &accounts->others;
        *paid_back = (struct owner_account){ .is_taken = true, .payer = payer };
        return paid_back;
}

uint64_t accounts_room(const struct owner_account *account, const struct account_terms *terms,
                       uint64_t now_ns)
{
        const uint64_t owed_ns = account->full_ns > now_ns ? account->full_ns - now_ns : 0;
        const uint64_t used_ns = owed_ns / terms->share;

        return used_ns < terms->burst_ns ? terms->burst_ns - used_ns : 0;
}

const char *accounts_name(uint64_t payer, char ret[ACCOUNTS_NAME_BYTES])
{
        if (accounts_is_container(payer))
                snprintf(ret, ACCOUNTS_NAME_BYTES, "a container");
        else
                snprintf(ret, ACCOUNTS_NAME_BYTES, "user %" PRIu64, payer);
        return ret;
}

void accounts_charge(struct owner_account *account, const struct account_terms *terms,
                     uint64_t now_ns, uint64_t used_ns)
{
        if (account->full_ns < now_ns)
                account->full_ns = now_ns;
        account->full_ns += terms->share * used_ns;
}
