/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for several devices under a cap; together.h has the contract.
 */
#include "shim/time/together.h"

#include "common/atomic.h"
#include "common/minmax.h"
#include "shim/time/bucket.h"

static struct account account_of(const struct account *account, unsigned at)
{
        return (struct account){ .limits = account->limits,
                                 .device = &account->limits->device[at],
                                 .slots = account->slots,
                                 .meter = &account->slots->meter[at],
                                 .at = at };
}

int64_t together_opening_ns(const struct together *others, const struct terms *terms)
{
        int64_t alone_ns = account_opening_ns(terms);

        return others->is_used ? max_i64(bucket_top_ns(terms->cap_ppm) / 2, alone_ns) : alone_ns;
}

static void add_account(struct together *all, const struct account *other, uint64_t now_ns)
{
        struct terms terms = account_terms(other, now_ns);
        struct account_use use;
        int64_t opening_ns;

        if (!terms_keep_cap(&terms) || !load_relaxed(shared_word(&other->meter->filled_at_ns)))
                return;
        use = account_use(other, now_ns);
        if (!use.seen_ns)
                return;
        all->is_used = true;
        all->flying_ns = max_u64(all->flying_ns, use.flying_ns);
        opening_ns = together_opening_ns(all, &terms);
        if (account_level_ns(other, &terms, now_ns) >= opening_ns)
                return;
        all->is_ready = false;
        all->due_ns = max_u64(all->due_ns, account_due_ns(other, &terms, opening_ns, now_ns));
}

struct together together_look(const struct account *account, uint64_t now_ns)
{
        struct together all = { .is_ready = true };

        for (unsigned at = 0; at < PAGE_DEVICES; at++) {
                struct account other = account_of(account, at);

                if (at != account->at)
                        add_account(&all, &other, now_ns);
        }
        return all;
}

bool together_may_pass(const struct account *account, const struct terms *terms, uint64_t ended_ns,
                       uint64_t now_ns)
{
        return terms_keep_cap(terms) && !account_use(account, now_ns).flying_ns &&
               account_level_ns(account, terms, now_ns) > -TOGETHER_DEBT_NS &&
               together_look(account, now_ns).flying_ns > ended_ns;
}
