/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions_asks.h"

#include <stdio.h>
#include <string.h>

/* xorshift64: the same sequence everywhere. */
static uint64_t random_word = 88172645463325252u;

unsigned any_of(unsigned count)
{
        random_word ^= random_word << 13;
        random_word ^= random_word >> 7;
        random_word ^= random_word << 17;
        return (unsigned)(random_word >> 33) % count;
}

bool one_in(unsigned count)
{
        return any_of(count) == 0;
}

const char *name_of(unsigned at)
{
        static char name[8];

        snprintf(name, sizeof(name), "s%u", at);
        return name;
}

void uuid_of(unsigned gpu, uint8_t ret[16])
{
        memset(ret, 'A' + (int)gpu, 16);
}

struct model_ask ask_any(enum sessions_event_type type)
{
        static const uint64_t ttls[] = { 0, 1, 10, 60, 100, 3600 };
        unsigned guarantee;
        struct model_ask ask = { .at = any_of(MODEL_SESSIONS), .uid = 1000 + any_of(3) };

        ask.is_admin = one_in(8);
        ask.is_forced = one_in(2);
        ask.has_ttl = one_in(2);
        ask.ttl = ttls[any_of(6)];
        ask.has_ending = one_in(2);
        ask.is_chosen = one_in(2);
        ask.free_least = one_in(4) ? any_of(20) : 0;
        ask.version = one_in(4) ? 1 + any_of(3) : 0;
        ask.said.owner = one_in(8) ? 1000 + any_of(3) : ask.uid;
        ask.said.ending = any_of(3);
        ask.said.share_count = one_in(3) ? 1 + any_of(MODEL_SHARES) : 1;
        ask.has_compute = one_in(2);
        ask.said.swaps = ask.said.share_count == 1 && one_in(3);
        guarantee = one_in(4) ? 10 * any_of(9) : 0;
        for (unsigned i = 0, gpu = any_of(MODEL_GPUS); i < ask.said.share_count; i++, gpu++) {
                ask.said.share[i].gpu = gpu % MODEL_GPUS;
                ask.said.share[i].gib = 1 + any_of(one_in(8) ? 25 : 8);
                ask.said.share[i].guarantee = guarantee;
        }
        if (type == SESSIONS_CHANGE) { /* of one share */
                ask.said.share_count = 1;
                ask.is_chosen = false;
                ask.has_ending = false;
        }
        return ask;
}

void ask_event(enum sessions_event_type type, const struct model_ask *ask, bool is_busy,
               struct sessions_event *event, struct sessions_one *one)
{
        *one = (struct sessions_one){ .id = { 1 }, .weight = 100, .priority = 1 };
        strcpy(one->name, name_of(ask->at));
        one->owner_uid = ask->said.owner;
        one->ttl_ns = ask->ttl * ASK_SECOND;
        one->ending = (uint8_t)ask->said.ending;
        one->swaps = ask->said.swaps;
        one->share_count = (uint8_t)ask->said.share_count;
        for (unsigned i = 0; i < one->share_count; i++) {
                if (!ask->is_chosen)
                        uuid_of(ask->said.share[i].gpu, one->share[i].uuid);
                one->share[i].memory_bytes = ask->said.share[i].gib * ASK_GIB;
                one->share[i].guarantee_milli_percent = ask->said.share[i].guarantee * 1000;
        }
        *event = (struct sessions_event){ .type = type, .name = one->name, .session = one };
        event->uid = ask->uid;
        event->is_admin = ask->is_admin;
        event->is_forced = ask->is_forced;
        event->is_busy = is_busy;
        event->version = ask->version;
        event->ttl_ns = ask->ttl * ASK_SECOND;
        event->change_bits = (ask->has_ttl ? SESSIONS_HAS_TTL : 0u) |
                             (ask->has_ending ? SESSIONS_HAS_ENDING : 0u) |
                             (type == SESSIONS_CHANGE ? SESSIONS_HAS_MEMORY : 0u) |
                             (ask->has_compute ? SESSIONS_HAS_COMPUTE : 0u);
        event->wish.is_chosen_here = ask->is_chosen;
        event->wish.free_min_bytes = ask->free_least * ASK_GIB;
}
