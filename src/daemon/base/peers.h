/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers: identifies the other side of a connection, and bounds how much of the server each may use.
 *
 * A peer is a user (on the socket), a session (on its own socket, where many containers are root),
 * a container or a door, or an address (on TCP; of IPv6 the /64 that one machine can have all of).
 * All loopback addresses are one peer, since every program of the machine can connect from each of
 * them. A peer has a count of connections and a bucket of tokens, one a request, that fills at the
 * configured rate. Peers are forgotten when they have no connection and a full bucket. Time is
 * monotonic nanoseconds and comes in.
 */
#ifndef ALIQUOT_DAEMON_BASE_PEERS_H
#define ALIQUOT_DAEMON_BASE_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "daemon/base/fair.h"

struct peer_key {
        uint8_t kind; /* 'u' user, 's' session, 'c' container, 'd' door, '4', '6' address, 'l' all
                         of loopback */
        uint8_t name[16];
};

struct peer {
        LIST_ENTRY(peer) entry;
        struct peer_key key;
        unsigned connections;
        double tokens;
        uint64_t filled_ns;    /* when `tokens` was true */
        struct fair_peer fair; /* its waiting requests */
        uint64_t rests_until_ns;
};

LIST_HEAD(peers, peer);

struct peers_rate {
        uint32_t per_second; /* 0: any number */
        uint32_t burst;
};

/* How many of `most` places only root and the daemon's owner may take. */
unsigned peers_reserve(unsigned most);

struct peer_key peers_user(uint32_t uid);
struct peer_key peers_session(const uint8_t id[16]);
/* By the beginning of the id, which its runtime has drawn. */
struct peer_key peers_container(const char *id);
struct peer_key peers_door(const char *profile);
struct peer_key peers_address(const struct sockaddr *address);

/* Adds a connection of this peer; NULL: out of memory. */
struct peer *peers_enter(struct peers *peers, const struct peer_key *key,
                         const struct peers_rate *rate, uint64_t now_ns);
void peers_leave(struct peer *peer);

/* Whether a request may be served now; if not, *ret_wait_seconds says when. */
bool peers_take(struct peer *peer, const struct peers_rate *rate, uint64_t now_ns,
                unsigned *ret_wait_seconds);

/*
 * Call these around a system call on a local peer's socket. The peer can influence how long that
 * takes: the kernel notifies every watcher of the other end, of which there can be millions. After
 * a long call the peer rests, for many times as long: nothing is read from it, written to it or
 * accepted from it.
 */
uint64_t peers_call_begin(void);
void peers_call_end(struct peer *peer, uint64_t begin_ns, uint64_t now_ns);
bool peers_rests(const struct peer *peer, uint64_t now_ns);

/* The groups of a local peer by the kernel's word, as of its connect(); the first is its primary
 * one. Valid until the next call; the event loop's alone. Before Linux 4.13 that one alone is
 * known. */
const uint32_t *peers_groups(int socket, unsigned *ret_count);

/* Forgets who may be forgotten; now and then. */
void peers_tidy(struct peers *peers, const struct peers_rate *rate, uint64_t now_ns);
void peers_free(struct peers *peers);

#endif
