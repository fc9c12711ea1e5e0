/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up what the programs of all sessions count in their ledgers, for metrics that do not name a
 * session.
 *
 * Tenants can write the counters. A difference that no program can cause in a second is forged and
 * ignored; if a counter decreases, counting begins again at its new value. Counts from before the
 * daemon's start are left out.
 */
#include <string.h>

#include "daemon/node/judge_parts.h"

#define DIFFERENCE_MAX (UINT64_C(1) << 48)

static void add_growth(uint64_t *sum, uint64_t before, uint64_t now)
{
        if (now > before && now - before <= DIFFERENCE_MAX)
                *sum += now - before;
}

void told_add(struct node *node, struct seen_session *seen, const struct sessions_one *session,
              const struct page_ledger ledger[PAGE_DEVICES])
{
        struct node_counts *counts = &node->counts;

        for (unsigned i = 0; i < session->share_count; i++) {
                const struct page_ledger *before = &seen->told[i], *now = &ledger[i];

                if (!seen->is_restored) {
                        add_growth(&counts->refused_charges, before->refused, now->refused);
                        add_growth(&counts->drained_charges, before->drained, now->drained);
                        add_growth(&counts->driver_refused_charges, before->driver_refused,
                                   now->driver_refused);
                        add_growth(&counts->reclaimed_bytes, before->reclaimed_bytes,
                                   now->reclaimed_bytes);
                }
                seen->told[i] = *now;
        }
}

void told_farewell(struct node *node, const struct sessions_one *session)
{
        struct page_ledger ledger[PAGE_DEVICES];
        struct seen_session *seen = judge_seen(node, session);

        if (seen && folder_read_ledger(&node->store, session, ledger, NULL) == 0)
                told_add(node, seen, session, ledger);
}
