/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries: the table of the sessions, and when TICK has work for each.
 *
 * A session keeps its entry until it is removed. Loops over the sessions end at .entries, one above
 * the last entry in use. Due times and name hashes are in arrays of their own, so that a search
 * reads little memory.
 */
#include "core/sessions_parts.h"

/* Returns the hash of a name (FNV-1a); never 0. */
static uint32_t sum_of_name(const char *name)
{
        uint32_t sum = 2166136261u;

        for (; *name; name++)
                sum = (sum ^ (unsigned char)*name) * 16777619u;
        return sum ? sum : 1;
}

unsigned entry_named(const struct sessions *node, const char *name)
{
        uint32_t sum = sum_of_name(name);

        for (unsigned i = 0; i < node->entries; i++) {
                if (node->name_sum[i] == sum && strcmp(node->session[i].name, name) == 0)
                        return i;
        }
        return NOWHERE;
}

_Static_assert(NOWHERE == SESSIONS_MAX, "with every entry taken, the next free one is nowhere");

unsigned entry_free(const struct sessions *node)
{
        for (unsigned i = 0; i < node->entries; i++) {
                if (node->session[i].state == SESSIONS_FREE)
                        return i;
        }
        return node->entries;
}

void entry_remember(struct sessions *node, unsigned index)
{
        node->last = index;
        node->before = node->session[index];
}

void entry_fill(struct sessions *node, unsigned index, const struct sessions_one *one)
{
        node->session[index] = *one;
        node->name_sum[index] = sum_of_name(one->name);
        node->count++;
        if (node->entries <= index)
                node->entries = index + 1;
}

void entry_empty(struct sessions *node, unsigned index)
{
        node->session[index].state = SESSIONS_FREE;
        node->due[index] = (struct sessions_due){ 0 };
        node->name_sum[index] = 0;
        node->count--;
        while (node->entries > 0 && node->session[node->entries - 1].state == SESSIONS_FREE)
                node->entries--;
}

/* -- What is due ------------------------------------------------------------------------------ */

/* Sets when an entry is due. 0 and UINT64_MAX (a saturated sum) mean "never". */
static void set_due(struct sessions *node, unsigned index, uint64_t at_ns, uint64_t owed_ns)
{
        struct sessions_due *due = &node->due[index];

        *due = (struct sessions_due){ 0 };
        if (at_ns != 0 && at_ns != UINT64_MAX)
                *due = (struct sessions_due){ .at_ns = at_ns, .owed_ns = owed_ns };
}

void entry_owe_at_once(struct sessions *node, unsigned index)
{
        set_due(node, index, 1, SESSIONS_RETRY_NS / 2); /* doubled before the next retry */
}

void entry_owe(struct sessions *node, unsigned index, uint64_t now_ns)
{
        set_due(node, index, sum_of(now_ns, SESSIONS_RETRY_NS), SESSIONS_RETRY_NS);
}

void entry_owe_later(struct sessions *node, unsigned index, uint64_t now_ns)
{
        uint64_t wait_ns = 2 * node->due[index].owed_ns;

        if (wait_ns < SESSIONS_RETRY_NS)
                wait_ns = SESSIONS_RETRY_NS;
        if (wait_ns > SESSIONS_RETRY_MAX_NS)
                wait_ns = SESSIONS_RETRY_MAX_NS;
        set_due(node, index, sum_of(now_ns, wait_ns), wait_ns);
}

void entry_plan(struct sessions *node, unsigned index, uint64_t now_ns)
{
        const struct sessions_one *one = &node->session[index];
        uint64_t grace_end_ns = sum_of(now_ns, node->policy.grace_ns);

        if (one->state == SESSIONS_OPEN)
                set_due(node, index, one->expires_ns, 0);
        else if (one->state == SESSIONS_KILLING)
                entry_owe(node, index, now_ns);
        else if (one->ending == SESSIONS_TERM)
                set_due(node, index, grace_end_ns > 0 ? grace_end_ns : 1, 0);
        else
                set_due(node, index, 0, 0);
}

/* Whether the entry is due. If it is due later than its planned delay from now, the clock went
 * back, and it is due at once. */
static bool is_due(const struct sessions_due *due, uint64_t now_ns)
{
        if (due->at_ns == 0 || due->at_ns <= now_ns)
                return due->at_ns != 0;
        return due->owed_ns != 0 && due->at_ns - now_ns > due->owed_ns;
}

unsigned entry_due(const struct sessions *node, uint64_t now_ns)
{
        for (unsigned i = 0; i < node->entries; i++) {
                unsigned index = (node->tick_from + i) % node->entries;

                if (is_due(&node->due[index], now_ns))
                        return index;
        }
        return NOWHERE;
}

uint64_t sessions_next_ns(const struct sessions *node)
{
        uint64_t next_ns = 0;

        for (unsigned i = 0; i < node->entries; i++) {
                uint64_t at_ns = node->due[i].at_ns;

                if (at_ns != 0 && (next_ns == 0 || at_ns < next_ns))
                        next_ns = at_ns;
        }
        return next_ns;
}
