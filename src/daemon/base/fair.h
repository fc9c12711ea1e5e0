/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request is served next: requests wait by peer, and peers are served by the time that each
 * has been given (start-time fair queueing).
 *
 *      fair_init(&fair)
 *      fair_add(&fair, &peer, &request)        // it waits
 *      request = fair_take(&fair)              // of the peer that comes first; it waits no more
 *      fair_charge(&fair, peer, cost_ns)       // what it took
 *
 * A peer whose requests take long comes less often than one whose requests are short, and how many
 * requests of a peer wait makes no difference to the others. A peer that asks now and then waits
 * for no more than one request of each other peer. The requests of one peer keep their order.
 * Nothing can fail. Pure; one thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_FAIR_H
#define ALIQUOT_DAEMON_BASE_FAIR_H

#include <stdint.h>
#include <sys/queue.h>

struct fair_peer;

struct fair_request {
        TAILQ_ENTRY(fair_request) entry;
        struct fair_peer *peer; /* NULL: it does not wait */
        void *context;          /* the caller's */
};

/* What is kept about a peer; all zeroes at first. */
struct fair_peer {
        TAILQ_ENTRY(fair_peer) entry; /* while a request of it waits */
        TAILQ_HEAD(fair_requests, fair_request) requests;
        unsigned count;    /* of them */
        uint64_t start_ns; /* virtual: where its next request begins */
};

struct fair {
        TAILQ_HEAD(fair_peers, fair_peer) peers;
        uint64_t now_ns;  /* virtual: where the last request taken began */
        uint64_t last_ns; /* where the last of all requests ended */
};

void fair_init(struct fair *ret);
void fair_add(struct fair *fair, struct fair_peer *peer, struct fair_request *request);
/* Takes the request whose turn it is; NULL: none waits. */
struct fair_request *fair_take(struct fair *fair);
void fair_charge(struct fair *fair, struct fair_peer *peer, uint64_t cost_ns);
/* It is not to be served any more; one that does not wait is left. */
void fair_remove(struct fair *fair, struct fair_request *request);

#endif
