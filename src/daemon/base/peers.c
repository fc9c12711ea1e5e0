/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/peers.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/minmax.h"
#include "daemon/base/address.h"

#define SECOND_NS 1e9
#define NETWORK_BYTES 8 /* bytes of an IPv6 address that identify its /64 */
#define MAPPED_BYTES 12 /* bytes of an IPv6 address before the IPv4 address that it maps */
#define RESERVE 16u     /* one of this many connections is reserved */
/* A system call on a peer's socket that takes at least this much CPU time is a long call. A usual
 * call takes a few microseconds; one that notifies thousands of watchers of the socket reaches
 * this. */
#define LONG_CALL_NS UINT64_C(2000000)
#define LONG_CALL_TIMES 500u /* a long call costs the peer this many times its length */
/* A busy machine makes single calls long, so the peer rests only if long calls have cost it more
 * than this. */
#define SPARED_NS UINT64_C(10000000000)
#define GROUPS_MAX 65536u /* NGROUPS_MAX of Linux */

unsigned peers_reserve(unsigned most)
{
        return most > 1 && most < RESERVE ? 1 : most / RESERVE;
}

struct peer_key peers_user(uint32_t uid)
{
        struct peer_key key = { .kind = 'u' };

        memcpy(key.name, &uid, sizeof(uid));
        return key;
}

struct peer_key peers_session(const uint8_t id[16])
{
        struct peer_key key = { .kind = 's' };

        memcpy(key.name, id, sizeof(key.name));
        return key;
}

static struct peer_key key_of(uint8_t kind, const char *name)
{
        struct peer_key key = { .kind = kind };

        memcpy(key.name, name, strnlen(name, sizeof(key.name)));
        return key;
}

struct peer_key peers_container(const char *id)
{
        return key_of('c', id);
}

struct peer_key peers_door(const char *profile)
{
        return key_of('d', profile);
}

struct peer_key peers_address(const struct sockaddr *address)
{
        const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
        struct peer_key key = { .kind = '4' };

        if (address_is_loopback_socket(address)) {
                key.kind = 'l';
        } else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six)) {
                memcpy(key.name, six->s6_addr + MAPPED_BYTES, sizeof(struct in_addr));
        } else if (address->sa_family == AF_INET6) {
                key.kind = '6';
                memcpy(key.name, six, NETWORK_BYTES);
        } else if (address->sa_family == AF_INET) {
                memcpy(key.name, &((const struct sockaddr_in *)address)->sin_addr,
                       sizeof(struct in_addr));
        }
        return key;
}

static void refill_tokens(struct peer *peer, const struct peers_rate *rate, uint64_t now_ns)
{
        double passed = now_ns > peer->filled_ns ? (double)(now_ns - peer->filled_ns) : 0;

        peer->filled_ns = now_ns;
        peer->tokens += passed / SECOND_NS * rate->per_second;
        if (peer->tokens > rate->burst)
                peer->tokens = rate->burst;
}

struct peer *peers_enter(struct peers *peers, const struct peer_key *key,
                         const struct peers_rate *rate, uint64_t now_ns)
{
        struct peer *peer;

        LIST_FOREACH(peer, peers, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                if (memcmp(&peer->key, key, sizeof(*key)) == 0)
                        break;
        }
        if (!peer) {
                peer = calloc(1, sizeof(*peer));
                if (!peer)
                        return NULL;
                peer->key = *key;
                peer->tokens = rate->burst;
                peer->filled_ns = now_ns;
                LIST_INSERT_HEAD(peers, peer, entry);
        }
        peer->connections++;
        return peer;
}

void peers_leave(struct peer *peer)
{
        peer->connections--;
}

bool peers_take(struct peer *peer, const struct peers_rate *rate, uint64_t now_ns,
                unsigned *ret_wait_seconds)
{
        if (!rate->per_second)
                return true;
        refill_tokens(peer, rate, now_ns);
        if (peer->tokens >= 1) {
                peer->tokens -= 1;
                return true;
        }
        *ret_wait_seconds = (unsigned)((1 - peer->tokens) / rate->per_second) + 1;
        return false;
}

uint64_t peers_call_begin(void)
{
        struct timespec used;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

void peers_call_end(struct peer *peer, uint64_t begin_ns, uint64_t now_ns)
{
        uint64_t took_ns = peers_call_begin() - begin_ns;

        if (took_ns >= LONG_CALL_NS)
                peer->paid_at_ns = max_u64(peer->paid_at_ns, now_ns) + took_ns * LONG_CALL_TIMES;
}

bool peers_rests(const struct peer *peer, uint64_t now_ns)
{
        return now_ns + SPARED_NS < peer->paid_at_ns;
}

void peers_tidy(struct peers *peers, const struct peers_rate *rate, uint64_t now_ns)
{
        struct peer *peer = LIST_FIRST(peers);

        while (peer) {
                struct peer *next = LIST_NEXT(peer, entry);

                refill_tokens(peer, rate, now_ns);
                if (!peer->connections && now_ns >= peer->paid_at_ns &&
                    (!rate->per_second || peer->tokens >= rate->burst)) {
                        LIST_REMOVE(peer, entry);
                        free(peer);
                }
                peer = next;
        }
}

void peers_free(struct peers *peers)
{
        struct peer *peer;

        while ((peer = LIST_FIRST(peers))) {
                LIST_REMOVE(peer, entry);
                free(peer);
        }
}

const uint32_t *peers_groups(int socket, unsigned *ret_count)
{
        static uint32_t groups[1 + GROUPS_MAX];
        socklen_t bytes = sizeof(groups) - sizeof(groups[0]);
        struct ucred credentials = { 0 };
        socklen_t size = sizeof(credentials);

        *ret_count = 0;
        if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
                return groups;
        groups[(*ret_count)++] = credentials.gid;
        if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &bytes) == 0)
                *ret_count += (unsigned)(bytes / sizeof(groups[0]));
        return groups;
}
