/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/top/spawn.h"

void feed_open(struct feed *feed, const char *program)
{
        char last[16];
        char *argv[] = { (char *)program, (char *)"events", (char *)"--last", last, NULL };
        int rc;

        snprintf(last, sizeof(last), "%u", LINES_MAX);
        *feed = (struct feed){ .is_open = true, .fd = -1 };
        rc = spawn_piped(argv, true, &feed->pid, &feed->fd);
        if (rc == 0)
                fcntl(feed->fd, F_SETFL, O_NONBLOCK);
        else
                lines_add(&feed->lines, strerror(-rc), strlen(strerror(-rc)));
}

void feed_read(struct feed *feed)
{
        char bytes[4096];
        ssize_t got;

        while (feed->is_open && feed->fd >= 0 && (got = read(feed->fd, bytes, sizeof(bytes))) > 0)
                lines_add(&feed->lines, bytes, (size_t)got);
}

void feed_close(struct feed *feed)
{
        if (feed->is_open && feed->fd >= 0) {
                kill(feed->pid, SIGTERM);
                while (waitpid(feed->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                close(feed->fd);
        }
        feed->is_open = false;
}
