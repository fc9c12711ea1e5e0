/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects libcurl to the daemon's socket.
 *
 * While the daemon's queue of connections is full, connect() waits on a blocking socket and fails
 * at once (EAGAIN) on a non-blocking one. libcurl's own sockets do not block, so a few programs
 * that connect endlessly would keep the command from connecting. Therefore this file makes the
 * connection with a blocking socket, and waits for CLIENT_CONNECT_MS at most. libcurl gets the
 * connected socket (CURLOPT_OPENSOCKETFUNCTION(3)) and is told that it is connected
 * (CURLOPT_SOCKOPTFUNCTION(3)).
 *
 * libcurl 7.88 (Debian 12) tries to connect the socket again anyway, and fails (curl's issue 10626,
 * fixed in 8.0.0). That version gets another socket, the stand-in, which it can connect. Before
 * anything is sent, the real connection replaces the stand-in under the same descriptor number
 * (CURLOPT_PREREQFUNCTION(3)).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "cli/client_parts.h"
#include "common/machine_clock.h"
#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"

/* the wait is checked, and may be reported, at this interval */
#define SLICE_MS UINT64_C(1000)
#define NS_A_MS UINT64_C(1000000)

#ifndef CURL_PREREQFUNC_OK /* missing in headers of libcurl before 7.80 */
#define CURL_PREREQFUNC_OK 0
#define CURL_PREREQFUNC_ABORT 1
#define CURLOPT_PREREQFUNCTION ((CURLoption)(CURLOPTTYPE_FUNCTIONPOINT + 312))
#define CURLOPT_PREREQDATA ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 313))
#endif

static bool limit_wait(int fd, uint64_t ms)
{
        struct timeval wait = { .tv_sec = (time_t)(ms / 1000),
                                .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

        return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0;
}

static bool has_connected(int fd, const struct curl_sockaddr *address, struct client_reach *reach)
{
        uint64_t began_ns = clock_machine_ns(), waited_ms = 0;

        while (waited_ms < reach->max_ms &&
               limit_wait(fd, min_u64(reach->max_ms - waited_ms, SLICE_MS))) {
                if (connect(fd, &address->addr, address->addrlen) == 0)
                        return true;
                if (errno != EAGAIN && errno != EINTR)
                        return false;
                waited_ms = (clock_machine_ns() - began_ns) / NS_A_MS;
                if (reach->vigil)
                        client_waited_ms(reach->vigil);
        }
        return false;
}

/* Returns whether this libcurl connects a connected socket again (7.88). */
static bool connects_again(void)
{
        unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;

        return version >= 0x075800 && version < 0x080000;
}

/* Opens a datagram socket that is connected to itself, with a name from the kernel. Connecting it
 * again always works, and no other process can send to it. */
static int open_stand_in(struct curl_sockaddr *address)
{
        scoped_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        socklen_t bytes = sizeof(name);

        if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name.sun_family)) < 0 ||
            getsockname(fd, (struct sockaddr *)&name, &bytes) < 0)
                return -errno;
        if (bytes > address->addrlen)
                return -ENOBUFS;
        memcpy(&address->addr, &name, bytes);
        address->addrlen = bytes;
        return steal_fd(&fd);
}

static curl_socket_t open_connected(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
        scoped_fd int fd =
                socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        struct client_reach *reach = context;

        if (fd < 0 || !has_connected(fd, address, reach))
                return CURL_SOCKET_BAD;
        if (!connects_again())
                return steal_fd(&fd);
        reach->stand_in = open_stand_in(address);
        if (reach->stand_in < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return CURL_SOCKET_BAD;
        reach->connected = steal_fd(&fd);
        return reach->stand_in;
}

static int say_connected(void *reach, curl_socket_t fd, curlsocktype purpose)
{
        return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static int replace_stand_in(void *context, char *address, char *own_address, int port, int own_port)
{
        struct client_reach *reach = context;

        return dup3(reach->connected, reach->stand_in, O_CLOEXEC) < 0 ? CURL_PREREQFUNC_ABORT
                                                                      : CURL_PREREQFUNC_OK;
}

CURL *client_open_socket(const struct store *store, const char *url, struct client_reach *reach)
{
        char path[STORE_PATH_BYTES + 16];
        CURL *curl = curl_easy_init();

        if (!curl || text_put(path, sizeof(path), NULL, "%s/" STORE_DAEMON_SOCKET, store->path) < 0)
                return curl;
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, path);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_connected);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, reach);
        if (connects_again()) {
                curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, replace_stand_in);
                curl_easy_setopt(curl, CURLOPT_PREREQDATA, reach);
        } else {
                curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, say_connected);
        }
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        return curl;
}

void client_end_reach(struct client_reach *reach)
{
        if (reach->connected >= 0)
                close(reach->connected);
        reach->connected = -1;
}
