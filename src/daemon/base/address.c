/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"

static bool parse_port(const char *text, in_port_t *ret)
{
        unsigned port = 0;
        size_t length = strlen(text);

        if (length < 1 || length > 5)
                return false;
        for (; *text; text++) {
                if (!text_is_digit(*text))
                        return false;
                port = port * 10 + (unsigned)(*text - '0');
        }
        if (port > UINT16_MAX)
                return false;
        *ret = htons((uint16_t)port);
        return true;
}

/* Reads the host, which is what precedes the port. An IPv6 address must be in brackets. */
static bool parse_host(const char *text, size_t length, struct address *ret)
{
        struct sockaddr_in *four = (struct sockaddr_in *)&ret->socket;
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret->socket;
        bool is_six = length >= 2 && text[0] == '[' && text[length - 1] == ']';
        char host[INET6_ADDRSTRLEN] = "";

        if (is_six) {
                text++;
                length -= 2;
        }
        if (length >= sizeof(host))
                return false;
        memcpy(host, text, length);
        ret->length = is_six ? sizeof(*six) : sizeof(*four);
        ret->socket.ss_family = is_six ? AF_INET6 : AF_INET;
        if (is_six)
                return inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
        return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

size_t address_split(const char *text, const char **ret_port)
{
        const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
        const char *end = bracket ? bracket + 1 : text + strcspn(text, ":");
        in_port_t port;

        if (*end && (*end != ':' || !parse_port(end + 1, &port)))
                return 0;
        *ret_port = *end ? end + 1 : NULL;
        return (size_t)(end - text);
}

bool address_is_number(const char *host, size_t bytes)
{
        struct address address;

        return parse_host(host, bytes, &address);
}

int address_parse(const char *text, struct address *ret, struct error *err)
{
        struct address address = { 0 };
        const char *said = NULL;
        size_t bytes = address_split(text, &said);
        in_port_t port;

        if (!bytes || !said || !parse_port(said, &port) || !parse_host(text, bytes, &address))
                return fail(err, -EINVAL, "'%s': expected " ADDRESS_EXPECTED, text_shown(text));
        if (address.socket.ss_family == AF_INET6)
                ((struct sockaddr_in6 *)&address.socket)->sin6_port = port;
        else
                ((struct sockaddr_in *)&address.socket)->sin_port = port;
        *ret = address;
        return 0;
}

unsigned address_port(const struct address *address)
{
        if (address->socket.ss_family == AF_INET6)
                return ntohs(((const struct sockaddr_in6 *)&address->socket)->sin6_port);
        return ntohs(((const struct sockaddr_in *)&address->socket)->sin_port);
}

bool address_is_loopback_socket(const struct sockaddr *socket)
{
        const struct sockaddr_in *four = (const struct sockaddr_in *)socket;
        const struct in6_addr *six = &((const struct sockaddr_in6 *)socket)->sin6_addr;

        if (socket->sa_family == AF_INET6)
                return IN6_IS_ADDR_LOOPBACK(six) ||
                       (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
        return socket->sa_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool address_is_loopback(const struct address *address)
{
        return address_is_loopback_socket((const struct sockaddr *)&address->socket);
}
