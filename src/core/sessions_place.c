/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places: where a session lies in the state, and what TICK has to do with it, and when.
 *
 * A session keeps its place until it is forgotten; walks end at .places, one above the last that is
 * taken. What is due, and a sum of each name, lie apart from the sessions, so that looking for one
 * reads little memory.
 */
#include "core/sessions_parts.h"

/* FNV-1a; never 0. */
static uint32_t sum_of_name(const char *name)
{
        uint32_t sum = 2166136261u;

        for (; *name; name++)
                sum = (sum ^ (unsigned char)*name) * 16777619u;
        return sum ? sum : 1;
}

unsigned place_named(const struct sessions *node, const char *name)
{
        uint32_t sum = sum_of_name(name);

        for (unsigned i = 0; i < node->places; i++) {
                if (node->name_sum[i] == sum && strcmp(node->session[i].name, name) == 0)
                        return i;
        }
        return NOWHERE;
}

_Static_assert(NOWHERE == SESSIONS_MOST, "with every place taken, the next free one is nowhere");

unsigned place_free(const struct sessions *node)
{
        for (unsigned i = 0; i < node->places; i++) {
                if (node->session[i].state == SESSIONS_FREE)
                        return i;
        }
        return node->places;
}

void place_remember(struct sessions *node, unsigned place)
{
        node->last = place;
        node->before = node->session[place];
}

void place_fill(struct sessions *node, unsigned place, const struct sessions_one *one)
{
        node->session[place] = *one;
        node->name_sum[place] = sum_of_name(one->name);
        node->count++;
        if (node->places <= place)
                node->places = place + 1;
}

void place_empty(struct sessions *node, unsigned place)
{
        node->session[place].state = SESSIONS_FREE;
        node->due[place] = (struct sessions_due){ 0 };
        node->name_sum[place] = 0;
        node->count--;
        while (node->places > 0 && node->session[node->places - 1].state == SESSIONS_FREE)
                node->places--;
}

/* -- What is due ------------------------------------------------------------------------------ */

/* A sum that stopped at the end of what 64 bits hold is never. */
static void set_due(struct sessions *node, unsigned place, uint64_t at_ns, uint64_t owed_ns)
{
        struct sessions_due *due = &node->due[place];

        *due = (struct sessions_due){ 0 };
        if (at_ns != 0 && at_ns != UINT64_MAX)
                *due = (struct sessions_due){ .at_ns = at_ns, .owed_ns = owed_ns };
}

void place_owe_at_once(struct sessions *node, unsigned place)
{
        set_due(node, place, 1, SESSIONS_RETRY_NS / 2); /* twice as long is next */
}

void place_owe(struct sessions *node, unsigned place, uint64_t now_ns)
{
        set_due(node, place, sum_of(now_ns, SESSIONS_RETRY_NS), SESSIONS_RETRY_NS);
}

void place_owe_later(struct sessions *node, unsigned place, uint64_t now_ns)
{
        uint64_t wait_ns = 2 * node->due[place].owed_ns;

        if (wait_ns < SESSIONS_RETRY_NS)
                wait_ns = SESSIONS_RETRY_NS;
        if (wait_ns > SESSIONS_RETRY_MOST_NS)
                wait_ns = SESSIONS_RETRY_MOST_NS;
        set_due(node, place, sum_of(now_ns, wait_ns), wait_ns);
}

void place_plan(struct sessions *node, unsigned place, uint64_t now_ns)
{
        const struct sessions_one *one = &node->session[place];
        uint64_t grace_end_ns = sum_of(now_ns, node->policy.grace_ns);

        if (one->state == SESSIONS_OPEN)
                set_due(node, place, one->expires_ns, 0);
        else if (one->state == SESSIONS_KILLING)
                place_owe(node, place, now_ns);
        else if (one->ending == SESSIONS_TERM)
                set_due(node, place, grace_end_ns > 0 ? grace_end_ns : 1, 0);
        else
                set_due(node, place, 0, 0);
}

/* What is owed is further ahead than it was planned: then the clock went back. */
static bool is_due(const struct sessions_due *due, uint64_t now_ns)
{
        if (due->at_ns == 0 || due->at_ns <= now_ns)
                return due->at_ns != 0;
        return due->owed_ns != 0 && due->at_ns - now_ns > due->owed_ns;
}

unsigned place_due(const struct sessions *node, uint64_t now_ns)
{
        for (unsigned i = 0; i < node->places; i++) {
                unsigned place = (node->tick_from + i) % node->places;

                if (is_due(&node->due[place], now_ns))
                        return place;
        }
        return NOWHERE;
}

uint64_t sessions_next_ns(const struct sessions *node)
{
        uint64_t next_ns = 0;

        for (unsigned i = 0; i < node->places; i++) {
                uint64_t at_ns = node->due[i].at_ns;

                if (at_ns != 0 && (next_ns == 0 || at_ns < next_ns))
                        next_ns = at_ns;
        }
        return next_ns;
}
