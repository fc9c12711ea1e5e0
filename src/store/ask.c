/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session through its socket; ask.h has the contract. One attempt is a connection, a HELLO,
 * and perhaps an answer. If it fails with -EAGAIN, another attempt may be made.
 */
#include "store/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "common/machine_clock.h"
#include "common/text.h"
#include "proto/message.h"
#include "store/folder.h"
#include "store/liveness.h"
#include "store/raw.h"

#define MS_NS UINT64_C(1000000)
#define CROWDED_NS 1000000 /* pause if the daemon has not yet accepted earlier connections */
#define AWAY_NS 20000000   /* pause if nobody listens, because the daemon may be starting */
/* maximum number of descriptors that are received with an answer; more than expected, so that a
 * wrong number can be reported */
#define DESCRIPTORS_MAX 8u

struct ask_attempt {
        const struct ask *ask;
        uint64_t began_ns, deadline_ns;
        uint64_t pause_ns; /* pause before the next attempt */
        int fd;            /* the connection */
        union message_answer answer;
        int descriptor[DESCRIPTORS_MAX]; /* received descriptors, which this process must close */
        unsigned descriptors;
};

/* Fails with the text of the errno. */
static int fail_as(struct error *err, int code)
{
        errno = -code;
        return fail(err, code, "%m");
}

static int again(struct ask_attempt *attempt, uint64_t pause_ns, struct error *err, const char *why)
{
        attempt->pause_ns = pause_ns;
        return fail(err, -EAGAIN, "%s", why);
}

/* -- The connection --------------------------------------------------------------------------- */

/* Makes the address of a socket. If the path is too long, its folder is opened, and the address
 * is a name below that folder in /proc/self/fd; *ret_folder must stay open while the address is
 * used. */
static int address_of(const char *path, struct sockaddr_un *ret, int *ret_folder)
{
        char folder[STORE_PATH_BYTES];
        const char *name = strrchr(path, '/');
        int fd;

        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (text_put(ret->sun_path, sizeof(ret->sun_path), NULL, "%s", path) == 0)
                return 0;
        if (!name || text_put(folder, sizeof(folder), NULL, "%.*s", (int)(name - path), path) < 0)
                return -ENAMETOOLONG;
        fd = (int)raw_call(SYS_openat, AT_FDCWD, (long)folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                           0);
        if (fd < 0)
                return fd;
        *ret_folder = liveness_raise(fd);
        return text_put(ret->sun_path, sizeof(ret->sun_path), NULL, "/proc/self/fd/%d%s",
                        *ret_folder, name);
}

static int connect_to(struct ask_attempt *attempt)
{
        struct sockaddr_un address;
        int folder = -1;
        int rc = address_of(attempt->ask->path, &address, &folder);

        if (rc == 0)
                rc = (int)raw_call(SYS_connect, attempt->fd, (long)&address, sizeof(address));
        if (folder >= 0)
                liveness_close(folder);
        return rc;
}

/* Checks the user who listens on the socket, as the kernel reports it. */
static int check_listener(const struct ask_attempt *attempt, struct error *err)
{
        struct ucred peer;
        socklen_t bytes = sizeof(peer);
        long rc;

        if (!attempt->ask->is_found)
                return 0;
        rc = raw_call(SYS_getsockopt, attempt->fd, SOL_SOCKET, SO_PEERCRED, (long)&peer,
                      (long)&bytes);
        if (rc < 0)
                return fail_as(err, (int)rc);
        if (folder_is_trusted(peer.uid))
                return 0;
        return fail(err, -EACCES, "user %u listens there, expected %u or root", peer.uid,
                    geteuid());
}

static int open_connection(struct ask_attempt *attempt, struct error *err)
{
        int fd = (int)raw_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC);
        int rc;

        if (fd < 0)
                return fail_as(err, fd);
        attempt->fd = liveness_raise(fd);
        rc = connect_to(attempt);
        switch (rc) {
        case 0:
                return check_listener(attempt, err);
        case -EAGAIN:
        case -EINTR:
                return again(attempt, CROWDED_NS, err, "the daemon is busy");
        case -ECONNREFUSED:
                return again(attempt, AWAY_NS, err, "no daemon listens there");
        case -EPROTOTYPE:
                return fail(err, -EPROTO, "this is not the socket of a session");
        default:
                return fail_as(err, rc);
        }
}

bool ask_is_deserted(const char *path)
{
        const struct ask ask = { .path = path };
        struct ask_attempt attempt = { .ask = &ask };
        int saved = errno;
        int rc, fd = (int)raw_call(SYS_socket, AF_UNIX,
                                   SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0, 0);

        if (fd < 0)
                return false;
        attempt.fd = liveness_raise(fd);
        rc = connect_to(&attempt);
        liveness_close(attempt.fd);
        errno = saved;
        return rc == -ECONNREFUSED;
}

/* -- Messages --------------------------------------------------------------------------------- */

static int say_hello(struct ask_attempt *attempt, struct error *err)
{
        char message[MESSAGE_MAX], command[MESSAGE_COMMAND_BYTES] = "";
        struct message_wish wish = { .session_id = attempt->ask->session_id,
                                     .command = command,
                                     .token = attempt->ask->token };
        size_t bytes;
        long rc;

        raw_call(SYS_prctl, PR_GET_NAME, (long)command);
        bytes = message_write_hello(message, &wish);
        rc = raw_call(SYS_sendto, attempt->fd, (long)message, (long)bytes,
                      MSG_NOSIGNAL | MSG_DONTWAIT);
        if (rc == (long)bytes)
                return 0;
        return again(attempt, AWAY_NS, err, "the daemon closed the connection");
}

/* Waits for an answer. A signal to the program neither ends the wait nor prolongs it. */
static int await(struct ask_attempt *attempt, struct error *err)
{
        struct pollfd look = { .fd = attempt->fd, .events = POLLIN };

        for (;;) {
                uint64_t now = clock_machine_ns();
                struct timespec left =
                        clock_timespec(attempt->deadline_ns > now ? attempt->deadline_ns - now : 0);
                long rc = raw_call(SYS_ppoll, (long)&look, 1, (long)&left);

                if (rc > 0)
                        return 0;
                if (rc == 0)
                        return fail(err, -ETIMEDOUT, "the daemon does not answer");
                if (rc != -EINTR)
                        return fail_as(err, (int)rc);
        }
}

static void take_descriptors(struct ask_attempt *attempt, struct msghdr *header)
{
        const struct cmsghdr *head = CMSG_FIRSTHDR(header);
        size_t bytes;

        if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
                return;
        bytes = head->cmsg_len - CMSG_LEN(0);
        attempt->descriptors = (unsigned)(bytes / sizeof(int));
        if (attempt->descriptors > DESCRIPTORS_MAX)
                attempt->descriptors = DESCRIPTORS_MAX;
        memcpy(attempt->descriptor, CMSG_DATA(head), attempt->descriptors * sizeof(int));
        for (unsigned i = 0; i < attempt->descriptors; i++)
                attempt->descriptor[i] = liveness_raise(attempt->descriptor[i]);
}

static int receive_answer(struct ask_attempt *attempt, struct error *err)
{
        char message[MESSAGE_MAX];
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
        } control;
        struct iovec part = { message, sizeof(message) };
        struct msghdr header = { .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control.room) };
        long got =
                raw_call(SYS_recvmsg, attempt->fd, (long)&header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (got <= 0)
                return again(attempt, AWAY_NS, err, "the daemon closed the connection");
        take_descriptors(attempt, &header);
        return message_read_answer(message, (size_t)got, &attempt->answer, err);
}

static int heed_refusal(struct ask_attempt *attempt, struct error *err)
{
        const struct message_refused *refused = &attempt->answer.refused;

        /* For another descriptor of a session that is already joined, the daemon's request to
         * wait longer is not followed. */
        if (refused->wait_ms && !attempt->ask->session_id)
                attempt->deadline_ns =
                        clock_machine_ns() + refused->wait_ms * MS_NS + attempt->ask->wait_ns;
        if (refused->retry_ms)
                return again(attempt, refused->retry_ms * MS_NS, err, refused->reason);
        return fail(err, -EPERM, "refused: %s", refused->reason);
}

static int check_welcome(const struct ask_attempt *attempt, struct error *err)
{
        const struct message_welcome *welcome = &attempt->answer.welcome;

        if (attempt->descriptors != MESSAGE_DESCRIPTORS)
                return fail(err, -EPROTO, "a welcome with %u descriptors, expected %u",
                            attempt->descriptors, MESSAGE_DESCRIPTORS);
        if (!page_has_turns(welcome->page_version))
                return fail(err, -EPROTO,
                            "its pages are of version %u, this side's of %u and %u; bring both to "
                            "one version of Aliquot",
                            welcome->page_version, PAGE_VERSION, PAGE_VERSION_SWAP);
        return 0;
}

/* -- All of it -------------------------------------------------------------------------------- */

static void drop_descriptors(struct ask_attempt *attempt)
{
        for (unsigned i = 0; i < attempt->descriptors; i++) {
                if (attempt->descriptor[i] >= 0)
                        liveness_close(attempt->descriptor[i]);
        }
        attempt->descriptors = 0;
}

static int ask_once(struct ask_attempt *attempt, struct error *err)
{
        int rc;

        attempt->fd = -1;
        rc = open_connection(attempt, err);
        if (rc == 0)
                rc = say_hello(attempt, err);
        if (rc == 0)
                rc = await(attempt, err);
        if (rc == 0)
                rc = receive_answer(attempt, err);
        if (attempt->fd >= 0)
                liveness_close(attempt->fd);
        if (rc == MESSAGE_WELCOME)
                rc = check_welcome(attempt, err);
        else if (rc == MESSAGE_REFUSED)
                rc = heed_refusal(attempt, err);
        if (rc < 0)
                drop_descriptors(attempt);
        return rc;
}

/* Repeats attempts until there is an answer. Returns 0 if the descriptors came with it. */
static int ask_until(struct ask_attempt *attempt, struct error *err)
{
        int saved = errno;
        int rc;

        attempt->began_ns = clock_machine_ns();
        attempt->deadline_ns = attempt->began_ns + attempt->ask->wait_ns;
        for (;;) {
                struct timespec pause;

                rc = ask_once(attempt, err);
                if (rc != -EAGAIN)
                        break;
                pause = clock_timespec(attempt->pause_ns);
                if (clock_machine_ns() + attempt->pause_ns > attempt->deadline_ns) {
                        wrap(err, "not within %llu s",
                             (unsigned long long)((attempt->deadline_ns - attempt->began_ns) /
                                                  CLOCK_SECOND_NS));
                        rc = -ETIMEDOUT;
                        break;
                }
                raw_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&pause);
        }
        errno = saved;
        return rc;
}

int ask_join(const struct ask *ask, struct store_session *ret, int *ret_slots, struct error *err)
{
        struct ask_attempt attempt = { .ask = ask };
        struct store_session session = { 0 };
        int rc = text_put(session.path, sizeof(session.path), err, "%s", ask->path);

        if (rc == 0)
                rc = ask_until(&attempt, err);
        if (rc == 0)
                rc = store_join_pages(attempt.descriptor[0], attempt.descriptor[1],
                                      attempt.answer.welcome.name, &session, err);
        if (rc < 0) {
                drop_descriptors(&attempt);
                wrap(err, "session socket %s", ask->path);
                return rc;
        }
        *ret_slots = attempt.descriptor[1];
        attempt.descriptor[1] = -1;
        drop_descriptors(&attempt);
        *ret = session;
        return 0;
}

int ask_slots(const struct ask *ask)
{
        struct ask_attempt attempt = { .ask = ask };
        int rc = ask_until(&attempt, NULL);
        int fd;

        if (rc < 0)
                return rc;
        fd = attempt.descriptor[1];
        attempt.descriptor[1] = -1;
        drop_descriptors(&attempt);
        return fd;
}
