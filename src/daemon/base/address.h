/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads TCP addresses to listen on, in the usual form: "127.0.0.1:9420" or "[::1]:9420".
 *
 * Only numeric addresses are valid, because a name could resolve to another machine's address
 * later. Port 0 means any free port.
 */
#ifndef ALIQUOT_DAEMON_BASE_ADDRESS_H
#define ALIQUOT_DAEMON_BASE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "common/error.h"

struct address {
        struct sockaddr_storage socket;
        socklen_t length;
};

#define ADDRESS_EXPECTED "an address and port such as 127.0.0.1:9420 or [::1]:9420"

/* Returns the length of the host in "HOST" or "HOST:PORT", including the brackets of an IPv6
 * address. 0: the text is neither. *ret_port is NULL if there is no port. The host may be any text
 * without a colon. */
size_t address_split(const char *text, const char **ret_port);

/* Whether a host is an IPv4 address, or an IPv6 address in brackets. */
bool address_is_number(const char *host, size_t bytes);

/* Reads an address. -EINVAL: `err` says what is expected. */
int address_parse(const char *text, struct address *ret, struct error *err);

unsigned address_port(const struct address *address);

/* Whether only programs on this machine can reach the address: 127.0.0.0/8, the same range in IPv6
 * (::ffff:127.0.0.0/104), or ::1. */
bool address_is_loopback(const struct address *address);
bool address_is_loopback_socket(const struct sockaddr *socket);

#endif
