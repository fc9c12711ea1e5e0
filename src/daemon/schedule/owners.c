/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/owners.h"

#include "common/minmax.h"

#define DEBT_MAX_NS INT64_C(1000000000) /* maximum debt; it is repaid within OWNER_PART seconds */

static bool is_free(const struct owner *owner)
{
        return owner->sessions == 0 && !owner->is_distrusted;
}

/* Returns an entry for a new owner. If all entries belong to distrusted owners, one without
 * sessions is forgotten. */
static unsigned free_entry(struct owners *owners)
{
        unsigned at = 0;

        while (at < owners->entries && !is_free(&owners->owner[at]))
                at++;
        for (unsigned i = 0; at == OWNERS_MAX && i < OWNERS_MAX; i++) {
                if (owners->owner[i].sessions == 0)
                        at = i;
        }
        if (at == owners->entries)
                owners->entries++;
        return at;
}

unsigned owners_join(struct owners *owners, uint64_t payer, uint64_t now_ns)
{
        unsigned at = 0;

        while (at < owners->entries && owners->owner[at].payer != payer)
                at++;
        if (at == owners->entries) {
                at = free_entry(owners);
                owners->owner[at] = (struct owner){ .payer = payer,
                                                    .level_ns = OWNER_BURST_NS,
                                                    .filled_ns = now_ns };
        }
        owners->owner[at].sessions++;
        return at;
}

void owners_leave(struct owners *owners, unsigned index)
{
        owners->owner[index].sessions--;
}

static int64_t level_ns(const struct owner *owner, uint64_t now_ns)
{
        uint64_t passed_ns = now_ns > owner->filled_ns ? now_ns - owner->filled_ns : 0;
        int64_t filled_ns = (int64_t)min_u64(passed_ns / OWNER_PART, INT64_MAX / 4);

        return min_i64(owner->level_ns + filled_ns, OWNER_BURST_NS);
}

bool owners_may(const struct owners *owners, unsigned index, uint64_t now_ns)
{
        return level_ns(&owners->owner[index], now_ns) >= 0;
}

void owners_cause(struct owners *owners, unsigned index)
{
        owners->owner[index].caused++;
        owners->caused++;
}

void owners_charge(struct owners *owners, unsigned index, uint64_t ns, uint64_t now_ns)
{
        struct owner *owner = &owners->owner[index];
        int64_t paid_ns = (int64_t)min_u64(ns, DEBT_MAX_NS);

        owner->level_ns = max_i64(level_ns(owner, now_ns) - paid_ns, -DEBT_MAX_NS);
        owner->filled_ns = now_ns;
}

void owners_pay(struct owners *owners, uint64_t ns, uint64_t now_ns)
{
        for (unsigned i = 0; i < owners->entries && owners->caused; i++) {
                struct owner *owner = &owners->owner[i];

                if (!owner->caused)
                        continue;
                owners_charge(owners, i, ns * owner->caused / owners->caused, now_ns);
                owner->caused = 0;
        }
        owners->caused = 0;
}

bool owners_distrust(struct owners *owners, unsigned index)
{
        bool was_distrusted = owners->owner[index].is_distrusted;

        owners->owner[index].is_distrusted = true;
        return !was_distrusted;
}
