/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which request is served next. Each peer has a queue of requests, and the peer that has
 * got the least service time so far comes first (start-time fair queueing).
 *
 *      fair_init(&fair)
 *      fair_add(&fair, &peer, &request)        // queues it
 *      request = fair_take(&fair)              // removes the next one from its queue
 *      fair_charge(&fair, peer, cost_ns)       // its service time
 *
 * A peer with long requests is served less often than one with short requests, and the number of a
 * peer's waiting requests makes no difference to others. A peer with a rare request waits for at
 * most one request of each other peer. The requests of one peer keep their order. No function can
 * fail, and none reads a clock. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_FAIR_H
#define ALIQUOT_DAEMON_BASE_FAIR_H

#include <stdint.h>
#include <sys/queue.h>

struct fair_peer;

struct fair_request {
        TAILQ_ENTRY(fair_request) entry;
        struct fair_peer *peer; /* NULL: the request is not queued */
        void *context;          /* for the caller's use */
};

/* The state of a peer. Set it to zeroes before the first call. */
struct fair_peer {
        TAILQ_ENTRY(fair_peer) entry; /* linked while a request of this peer waits */
        TAILQ_HEAD(fair_requests, fair_request) requests;
        unsigned count;    /* number of its waiting requests */
        uint64_t start_ns; /* virtual time at which its next request begins */
};

struct fair {
        TAILQ_HEAD(fair_peers, fair_peer) peers;
        uint64_t now_ns;  /* virtual time at which the last request taken began */
        uint64_t last_ns; /* virtual time at which the last of all requests ended */
};

void fair_init(struct fair *ret);
void fair_add(struct fair *fair, struct fair_peer *peer, struct fair_request *request);
/* Removes the next request from its queue and returns it; NULL: none waits. */
struct fair_request *fair_take(struct fair *fair);
void fair_charge(struct fair *fair, struct fair_peer *peer, uint64_t cost_ns);
/* Removes a request that needs no service any more; does nothing if it is not queued. */
void fair_remove(struct fair *fair, struct fair_request *request);

#endif
