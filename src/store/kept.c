/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `slots` of a tenant whose session is gone, while the tenant has it open: deleted, it could be
 * written to without end and nobody would find it.
 *
 * So it stays, as sessions/.open-.../slots, until the kernel says that nobody has it open for
 * writing; whatever fails on the way is looked at again. Who lives in one that was removed by force
 * keeps its page; of one that is over (FOLDER_OVER) nothing is kept for anybody, and whoever still
 * uses what it has mapped of it gets SIGBUS. A read lease tells: none is granted while
 * there is a writer. Where the kernel gives no leases it is deleted at once. It becomes ours when
 * nobody lives in it, which lets nobody open it any more.
 *
 * A tenant that holds a lease on it keeps us from opening it, but not from owning it, and then
 * takes no other. Our first attempt begins to break it; the kernel ends it after
 * /proc/sys/fs/lease-break-time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"
#include "store/folder.h"
#include "store/liveness.h"

#define LOOKS_MOST 1024u /* in one go; the others are looked at in the next */

/* Also when it could not be told. SIGURG, which is ignored, instead of SIGIO, which ends us, should
 * the lease be broken. */
static bool may_have_writer(int fd)
{
        if (fcntl(fd, F_SETSIG, SIGURG) < 0)
                return true;
        if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
                return errno != EINVAL; /* EINVAL: a file system without leases */
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return false;
}

/* Needs no descriptor of the file, so no lease bars it. The mode bounds what an access list gives,
 * too. */
static void take_over(int folder)
{
        struct stat st;

        if (fstatat(folder, FOLDER_SLOTS, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                return;
        if (st.st_uid != geteuid() &&
            fchownat(folder, FOLDER_SLOTS, geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
                return;
        if ((st.st_mode & 07777) != 0600)
                fchmodat(folder, FOLDER_SLOTS, 0600, 0);
}

/* Whether anything was taken back. Asks for writing even where nothing is to be cut: only that
 * begins to break a lease of either kind. */
static bool cut(int folder, off_t bytes)
{
        scoped_fd int slots = folder_open_file(folder, FOLDER_SLOTS, O_WRONLY);
        struct stat before, after;

        if (slots < 0 || fstat(slots, &before) < 0 ||
            (before.st_size <= bytes && before.st_blocks == 0) ||
            ftruncate(slots, before.st_size < bytes ? before.st_size : bytes) < 0)
                return false;
        return fstat(slots, &after) == 0 &&
               (after.st_size < before.st_size || after.st_blocks < before.st_blocks);
}

bool folder_is_anothers(int sessions, const char *name)
{
        char path[2 * PAGE_NAME_BYTES];
        struct stat st;

        if (geteuid() != 0 || text_put(path, sizeof(path), NULL, "%s/%s", name, FOLDER_SLOTS) < 0)
                return false;
        if (fstatat(sessions, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno != ENOENT && errno != ENOTDIR;
        return S_ISREG(st.st_mode) && st.st_uid != geteuid();
}

bool folder_look_open(int sessions, const char *name)
{
        scoped_fd int folder = folder_open_directory(sessions, name, false, NULL);
        const bool is_over = strncmp(name, FOLDER_OVER, sizeof(FOLDER_OVER) - 1) == 0;
        scoped_fd int slots = -1;
        bool is_live;

        if (folder < 0)
                return false;
        slots = folder_open_file(folder, FOLDER_SLOTS, O_RDONLY);
        is_live = !is_over && slots >= 0 &&
                  liveness_probe_any(slots, PAGE_LOCK_LIVE(0), PAGE_LOCK_LIVE(PAGE_SLOTS)) > 0;
        if (!is_live)
                take_over(folder);
        if (slots == -ENOENT || (slots >= 0 && !may_have_writer(slots)))
                return folder_delete(sessions, name, NULL) == 0;
        /* Who lives in it has the page mapped. Where the session is over, a lock is no life: it may
         * lie in a socket's queue, and then nobody has anything mapped. */
        return cut(folder, is_live ? (off_t)sizeof(struct slots_page) : 0);
}

bool store_trim_open(const struct store *store)
{
        static unsigned from;
        scoped_dir DIR *entries = NULL;
        int sessions = folder_open_sessions(store, false, NULL);
        struct dirent *entry;
        unsigned count = 0, first = from;
        bool has_trimmed = false;

        entries = sessions < 0 ? NULL : fdopendir(sessions);
        if (!entries && sessions >= 0)
                close(sessions);
        while (entries && (entry = readdir(entries))) {
                if (strncmp(entry->d_name, FOLDER_OPEN, sizeof(FOLDER_OPEN) - 1) != 0)
                        continue;
                if (count >= first && count - first < LOOKS_MOST)
                        has_trimmed |= folder_look_open(dirfd(entries), entry->d_name);
                count++;
        }
        from = first + LOOKS_MOST < count ? first + LOOKS_MOST : 0;
        return has_trimmed;
}
