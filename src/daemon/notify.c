/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/scoped.h"

void notify(const char *state)
{
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        size_t length = path ? strlen(path) : 0;
        scoped_fd int fd = -1;

        if (!length || length >= sizeof(address.sun_path))
                return;
        memcpy(address.sun_path, path, length);
        if (path[0] == '@')
                /* an abstract socket, which is not in the file system */
                address.sun_path[0] = '\0';
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                       (struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}
