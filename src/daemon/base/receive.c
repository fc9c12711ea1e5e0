/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/receive.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/log.h"

static void log_sender(int fd)
{
        static uint64_t told_ns;
        struct ucred peer;
        socklen_t bytes = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
            log_due(&told_ns, clock_machine_ns()))
                log_line(LOG_WARN,
                         "pid %d of user %u sent descriptors to this daemon, which takes none; the "
                         "connection was closed",
                         peer.pid, peer.uid);
}

void receive_prepare(int fd)
{
        const int yes = 1;

        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
}

ssize_t receive_plain(int fd, void *into, size_t bytes)
{
        struct iovec part = { into, bytes };
        /* There is no room for control messages, so the kernel sets MSG_CTRUNC if there are
         * descriptors. It may also do so if they belong to bytes after these. */
        struct msghdr look = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t got = recvmsg(fd, &look, MSG_PEEK | MSG_DONTWAIT);

        if (got < 0)
                return -errno;
        if (look.msg_flags & MSG_CTRUNC) {
                log_sender(fd);
                return -EBADMSG;
        }
        if (got == 0)
                return 0;
        /* Receives no more bytes than were checked, because later ones may have descriptors. */
        got = recv(fd, into, (size_t)got, MSG_DONTWAIT);
        return got < 0 ? -errno : got;
}
