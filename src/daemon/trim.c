/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/judge_parts.h"

#define BLOCK_BYTES 512u /* of st_blocks */

static uint64_t taken(const struct stat *st)
{
        const uint64_t blocks = (uint64_t)st->st_blocks * BLOCK_BYTES;

        return blocks > (uint64_t)st->st_size ? blocks : (uint64_t)st->st_size;
}

/* With no more memory than the page takes in blocks of that file system. Also what was allocated
 * behind the end without moving it counts. */
static bool is_of_its_size(const struct stat *st)
{
        const uint64_t page = sizeof(struct slots_page);
        uint64_t block = st->st_blksize > 0 ? (uint64_t)st->st_blksize : 1;

        return (uint64_t)st->st_size <= page && taken(st) <= (page + block - 1) / block * block;
}

/* 1: it had `*ret_bytes`, and was cut. 0: there is nothing to take back; where the file system
 * counts more than the content as the file's, cutting changes nothing, and that is its size. */
static int trim(const char *path, uint64_t *ret_bytes, struct error *err)
{
        scoped_fd int fd = -1;
        struct stat st, after;
        off_t bytes;

        if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            is_of_its_size(&st))
                return 0;
        *ret_bytes = taken(&st);
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        bytes = st.st_size < (off_t)sizeof(struct slots_page) ? st.st_size
                                                              : (off_t)sizeof(struct slots_page);
        if (fd < 0 || ftruncate(fd, bytes) < 0 || fstat(fd, &after) < 0)
                return fail(err, -errno, "%s is too large, and cannot be cut: %m", path);
        /* Not "fewer": it may have been written to again. */
        return st.st_size > bytes || after.st_blocks != st.st_blocks;
}

static void tell(struct node *node, const struct sessions_one *session, uint64_t bytes,
                 unsigned times)
{
        char detail[96];

        snprintf(detail, sizeof(detail), "{\"owner\":%u,\"bytes\":%llu,\"times\":%u}",
                 session->owner_uid, (unsigned long long)bytes, times);
        answer_tell(node, "oversized", session, detail);
}

static void answer(struct node *node, const struct sessions_one *session)
{
        const uint32_t policy = node->watch->forged;
        const struct folder_signal signal = { .number = policy == WATCH_KILL ? SIGKILL : SIGTERM,
                                              .is_repeated = true };

        if (policy == WATCH_KILL || policy == WATCH_TERM)
                node_hunt(node, session, &signal);
}

/* Whether anything was taken back; what could not be is told of and answered as well. */
static bool trim_session(struct node *node, unsigned place)
{
        const struct sessions_one *session = &node->sessions->session[place];
        char path[STORE_PATH_BYTES];
        struct error err = { 0 };
        uint64_t bytes = 0;
        unsigned times;
        int rc;

        if (text_put(path, sizeof(path), NULL, "%s/sessions/%s/slots", node->store.path,
                     session->name) < 0)
                return false;
        rc = trim(path, &bytes, &err);
        if (rc == 0)
                return false;
        times = ++node->oversized[place];
        if ((times & (times - 1)) == 0) {
                if (rc < 0)
                        log_line(LOG_WARN, "session %s: %s", session->name, err.text);
                tell(node, session, bytes, times);
        }
        answer(node, session);
        return rc > 0;
}

bool trim_all(struct node *node)
{
        const struct sessions *all = node->sessions;
        bool has_trimmed = false;

        for (unsigned i = 0; i < all->entries; i++) {
                if (all->session[i].state != SESSIONS_FREE)
                        has_trimmed |= trim_session(node, i);
        }
        return store_trim_open(&node->store) || has_trimmed;
}
