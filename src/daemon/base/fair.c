/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/fair.h"

#include <stddef.h>

void fair_init(struct fair *ret)
{
        *ret = (struct fair){ 0 };
        TAILQ_INIT(&ret->peers);
}

void fair_add(struct fair *fair, struct fair_peer *peer, struct fair_request *request)
{
        /* While no request waits, all service time that was granted has passed, so no peer owes
         * any. */
        if (TAILQ_EMPTY(&fair->peers))
                fair->now_ns = fair->last_ns;
        if (!peer->count++) {
                TAILQ_INIT(&peer->requests);
                TAILQ_INSERT_TAIL(&fair->peers, peer, entry);
                if (peer->start_ns < fair->now_ns)
                        peer->start_ns = fair->now_ns;
        }
        request->peer = peer;
        TAILQ_INSERT_TAIL(&peer->requests, request, entry);
}

void fair_remove(struct fair *fair, struct fair_request *request)
{
        struct fair_peer *peer = request->peer;

        if (!peer)
                return;
        request->peer = NULL;
        TAILQ_REMOVE(&peer->requests, request, entry);
        if (!--peer->count)
                TAILQ_REMOVE(&fair->peers, peer, entry);
}

struct fair_request *fair_take(struct fair *fair)
{
        struct fair_peer *peer, *first = TAILQ_FIRST(&fair->peers);
        struct fair_request *request;

        if (!first)
                return NULL;
        TAILQ_FOREACH(peer, &fair->peers, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (peer->start_ns < first->start_ns)
                        first = peer;
        }
        fair->now_ns = first->start_ns;
        request = TAILQ_FIRST(&first->requests);
        fair_remove(fair, request);
        return request;
}

void fair_charge(struct fair *fair, struct fair_peer *peer, uint64_t cost_ns)
{
        /* At least 1, so that the peer is not first again if the clock did not advance. */
        peer->start_ns += cost_ns ? cost_ns : 1;
        if (fair->last_ns < peer->start_ns)
                fair->last_ns = peer->start_ns;
}
