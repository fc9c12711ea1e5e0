/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/remains.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"

#define GROWTH 64u

struct remain {
        int watch;
        uint32_t uid;
};

struct remains {
        int queue; /* inotify descriptor; -1: the kernel gave none */
        bool is_told;
        unsigned count, room;
        struct remain *at;
};

static void log_unwatched(struct remains *remains, const char *name)
{
        if (!remains->is_told)
                log_line(LOG_WARN,
                         "session %s is removed and not watched, so it does not count as its "
                         "user's while files of it are open: %m",
                         name);
        remains->is_told = true;
}

struct remains *remains_new(void)
{
        struct remains *remains = calloc(1, sizeof(*remains));

        if (remains)
                remains->queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        return remains;
}

void remains_free(struct remains *remains)
{
        if (!remains)
                return;
        if (remains->queue >= 0)
                close(remains->queue);
        free(remains->at);
        free(remains);
}

static unsigned find_watch(const struct remains *remains, int watch)
{
        unsigned i = 0;

        while (i < remains->count && remains->at[i].watch != watch)
                i++;
        return i;
}

static void drop_watch(struct remains *remains, int watch)
{
        unsigned i = find_watch(remains, watch);

        if (i < remains->count)
                remains->at[i] = remains->at[--remains->count];
}

/* Gives up all watches, because the kernel dropped events and it is unknown which folders are
 * gone. */
static void start_again(struct remains *remains)
{
        close(remains->queue);
        remains->queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        remains->count = 0;
}

/* Drops the watches of removed folders. IN_IGNORED: the kernel ended the watch, because the folder
 * is gone. */
static void read_queue(struct remains *remains)
{
        /* a fixed size is enough: events of the watched folders themselves have no names */
        struct inotify_event events[64];
        ssize_t got;

        while ((got = read(remains->queue, events, sizeof(events))) > 0) {
                for (size_t i = 0; i < (size_t)got / sizeof(events[0]); i++) {
                        if (events[i].mask & IN_Q_OVERFLOW) {
                                start_again(remains);
                                return;
                        }
                        if (events[i].mask & IN_IGNORED)
                                drop_watch(remains, events[i].wd);
                }
        }
}

static bool make_room(struct remains *remains)
{
        struct remain *at;

        if (remains->count < remains->room)
                return true;
        at = realloc(remains->at, (remains->room + GROWTH) * sizeof(*at));
        if (!at)
                return false;
        remains->at = at;
        remains->room += GROWTH;
        return true;
}

void remains_add(struct remains *remains, const struct store *store,
                 const struct sessions_one *session)
{
        char path[STORE_PATH_BYTES];
        int watch;

        if (text_put(path, sizeof(path), NULL, "%s/sessions/%s", store->path, session->name) < 0)
                return;
        read_queue(remains);
        if (!make_room(remains)) {
                log_unwatched(remains, session->name);
                return;
        }
        watch = inotify_add_watch(remains->queue, path,
                                  IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW);
        if (watch < 0) {
                if (errno != ENOENT)
                        log_unwatched(remains, session->name);
                return;
        }
        /* The folder is watched already if an earlier try to remove it failed. */
        if (find_watch(remains, watch) == remains->count)
                remains->at[remains->count++] =
                        (struct remain){ .watch = watch, .uid = session->owner_uid };
}

uint32_t remains_of(struct remains *remains, uint32_t uid)
{
        uint32_t count = 0;

        read_queue(remains);
        for (unsigned i = 0; i < remains->count; i++)
                count += remains->at[i].uid == uid;
        return count > REMAINS_SPARED ? count - REMAINS_SPARED : 0;
}
