/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the peer at the other end of a connection, and bounds how much of the server each peer
 * may use.
 *
 * A peer is one of these: a user (on the daemon's socket), a session (on the session's own socket,
 * because many containers connect as root), a container or a door, or a TCP address. Of an IPv6
 * address only the /64 counts, because one machine can have all addresses in it. All loopback
 * addresses are one peer, because every program on the machine can connect from each of them. A
 * peer has a count of connections, and a bucket of tokens that fills at the configured rate; each
 * request takes one. A peer is forgotten when it has no connection and a full bucket. `now_ns` is
 * CLOCK_MONOTONIC.
 */
#ifndef ALIQUOT_DAEMON_BASE_PEERS_H
#define ALIQUOT_DAEMON_BASE_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "daemon/base/fair.h"

struct peer_key {
        /* 'u' user, 's' session, 'c' container, 'd' door, '4' IPv4 address, '6' IPv6 network, 'l'
         * any loopback address */
        uint8_t kind;
        uint8_t name[16];
};

struct peer {
        LIST_ENTRY(peer) entry;
        struct peer_key key;
        unsigned connections;
        double tokens;
        uint64_t filled_ns;    /* time at which `tokens` was computed */
        struct fair_peer fair; /* the peer's queue of requests */
        uint64_t paid_at_ns;   /* when the time that its long calls cost has passed */
};

LIST_HEAD(peers, peer);

struct peers_rate {
        uint32_t per_second; /* 0: no limit */
        uint32_t burst;
};

/* Returns how many of `most` connections are reserved for root and the daemon's owner. */
unsigned peers_reserve(unsigned most);

struct peer_key peers_user(uint32_t uid);
struct peer_key peers_session(const uint8_t id[16]);
/* Returns the key of a container, made of the beginning of its id, which its runtime draws at
 * random. */
struct peer_key peers_container(const char *id);
struct peer_key peers_door(const char *profile);
struct peer_key peers_address(const struct sockaddr *address);

/* Counts a connection of this peer, and returns the peer. NULL: out of memory. */
struct peer *peers_enter(struct peers *peers, const struct peer_key *key,
                         const struct peers_rate *rate, uint64_t now_ns);
void peers_leave(struct peer *peer);

/* Takes a token for a request. False: there is none; *ret_wait_seconds is set to when there is
 * one. */
bool peers_take(struct peer *peer, const struct peers_rate *rate, uint64_t now_ns,
                unsigned *ret_wait_seconds);

/*
 * Call peers_call_begin() before and peers_call_end() after a system call on a local peer's socket.
 * The peer can influence how long such a call takes: the kernel notifies every watcher of the other
 * end, of which there can be millions. A call of 2 ms CPU time or more costs the peer 500 times as
 * much time. While the peer has more than 10 s of that time left, it rests: the server reads
 * nothing from it, writes nothing to it, and accepts no connection from it.
 */
uint64_t peers_call_begin(void);
void peers_call_end(struct peer *peer, uint64_t begin_ns, uint64_t now_ns);
bool peers_rests(const struct peer *peer, uint64_t now_ns);

/* Returns the groups that a local peer had at its connect(), as the kernel reports; the first is
 * its primary group. Before Linux 4.13 only the primary group is known. Valid until the next call;
 * only the event loop may call this. */
const uint32_t *peers_groups(int socket, unsigned *ret_count);

/* Frees the peers that may be forgotten. Called from time to time. */
void peers_tidy(struct peers *peers, const struct peers_rate *rate, uint64_t now_ns);
void peers_free(struct peers *peers);

#endif
