/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a session at a time of the simulator's, by the daemon's API, while that time stands.
 *
 *      change MS SESSION JSON
 *
 * MS after the device began to work; prints when that was, in ns, before and after. The answer is
 * waited for with open eyes: who sleeps where the simulator cannot see it is passed over.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "simtime.h"
#include "watch.h"

#define MS_NS UINT64_C(1000000)

static int open_socket(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/aliquotd.sock",
                 getenv("ALIQUOT_RUNTIME_DIR"));
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                exit(3);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        return fd;
}

static bool change(const char *session, const char *json)
{
        char text[4096];
        int fd = open_socket();
        int length = snprintf(text, sizeof(text),
                              "PATCH /v1/sessions/%s HTTP/1.1\r\nHost: localhost\r\n"
                              "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                              session, strlen(json), json);

        if (write(fd, text, (size_t)length) != length)
                return false;
        while (read(fd, text, sizeof(text)) <= 0)
                sched_yield();
        close(fd);
        return strncmp(text, "HTTP/1.1 200", 12) == 0;
}

int main(int argc, char **argv)
{
        uint64_t before_ns;
        CUuuid uuid;

        if (argc != 4)
                return 2;
        OK(cuInit(0));
        simtime_follow();
        if (!watch_device(0, &uuid))
                return 1;
        simtime_sleep_from_first_work(&uuid, strtoull(argv[1], NULL, 10) * MS_NS);
        before_ns = clock_now_ns();
        if (!change(argv[2], argv[3]))
                return 1;
        printf("[%llu, %llu]\n", (unsigned long long)before_ns, (unsigned long long)clock_now_ns());
        return 0;
}
