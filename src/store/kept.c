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
 * The content of a deleted file takes room until its last reader is gone, too. So only a file that
 * was cut is deleted.
 *
 * A tenant that holds a lease on it keeps us from opening it, but not from owning it, and then
 * takes no other. Our first attempt begins to break it; the kernel ends it after
 * /proc/sys/fs/lease-break-time.
 *
 * To cut a file, to own, to change and to delete it takes its inode's lock, which a tenant holds
 * for as long as it likes: in a write() from memory that a file system of its own fills, say.
 * Nothing ends that wait. So the daemon lists what there is to do (store_list_kept()) and leaves it
 * to a process for each user (daemon/processes/cleanup.h). The user's id is in the folder's name,
 * as the file may be ours by then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/folder.h"
#include "store/liveness.h"

#define LOOKS_MOST 1024u /* in one go; the others are looked at in the next */
/* Likewise: a look walks all locks on the file, which its tenant places. */
#define LOOKS_NS UINT64_C(10000000)
#define BLOCK_BYTES 512u /* of st_blocks */
#define OURS_ALONE 0600u

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
        if ((st.st_mode & 07777) != OURS_ALONE)
                fchmodat(folder, FOLDER_SLOTS, OURS_ALONE, 0);
}

/* 0: it is cut. Asks for writing even where nothing is to be cut: only that begins to break a lease
 * of either kind. */
static int cut(int folder, off_t bytes)
{
        scoped_fd int slots = folder_open_file(folder, FOLDER_SLOTS, O_WRONLY);
        struct stat st;

        if (slots < 0)
                return slots == -ENOENT ? 0 : slots;
        if (fstat(slots, &st) < 0)
                return -errno;
        store_drop_attributes(slots);
        if (store_is_within(&st, (uint64_t)bytes))
                return 0;
        return ftruncate(slots, st.st_size < bytes ? st.st_size : bytes) < 0 ? -errno : 0;
}

bool store_is_within(const struct stat *st, uint64_t bytes)
{
        const uint64_t block = st->st_blksize > 0 ? (uint64_t)st->st_blksize : 1;

        return (uint64_t)st->st_size <= bytes &&
               (uint64_t)st->st_blocks * BLOCK_BYTES <= (bytes + block - 1) / block * block;
}

bool folder_is_anothers(int sessions, const char *name, uint32_t *ret_uid)
{
        char path[2 * PAGE_NAME_BYTES];
        struct stat st;

        if (geteuid() != 0 || text_put(path, sizeof(path), NULL, "%s/%s", name, FOLDER_SLOTS) < 0)
                return false;
        if (fstatat(sessions, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno != ENOENT && errno != ENOTDIR;
        *ret_uid = st.st_uid;
        /* Of a container's, all may write. */
        return S_ISREG(st.st_mode) && (st.st_uid != geteuid() || (st.st_mode & 022));
}

/* What can be told of a kept one without waiting for anybody. */
struct kept {
        int folder;
        int slots;    /* or why it cannot be opened */
        bool is_live; /* and its session is not over */
};

static void open_kept(int sessions, const char *name, struct kept *ret)
{
        const bool is_over = strncmp(name, FOLDER_OVER, sizeof(FOLDER_OVER) - 1) == 0;

        *ret = (struct kept){ .folder = folder_open_directory(sessions, name, false, NULL) };
        if (ret->folder < 0)
                return;
        ret->slots = folder_open_file(ret->folder, FOLDER_SLOTS, O_RDONLY);
        ret->is_live =
                !is_over && ret->slots >= 0 &&
                liveness_probe_any(ret->slots, PAGE_LOCK_LIVE(0), PAGE_LOCK_LIVE(PAGE_SLOTS)) > 0;
}

static void close_kept(struct kept *kept)
{
        if (kept->slots >= 0)
                close(kept->slots);
        if (kept->folder >= 0)
                close(kept->folder);
}

/* Who lives in it has the page mapped. Where the session is over, a lock is no life: it may lie in
 * a socket's queue, and then nobody has anything mapped. */
static off_t bytes_kept(const struct kept *kept)
{
        return kept->is_live ? (off_t)sizeof(struct slots_page) : 0;
}

static bool has_writer(const struct kept *kept)
{
        return kept->slots != -ENOENT && (kept->slots < 0 || may_have_writer(kept->slots));
}

int folder_look_open(int sessions, const char *name)
{
        struct kept kept;
        int rc;

        open_kept(sessions, name, &kept);
        if (kept.folder < 0)
                return kept.folder;
        if (!kept.is_live)
                take_over(kept.folder);
        rc = cut(kept.folder, bytes_kept(&kept));
        if (rc == 0 && !has_writer(&kept))
                folder_delete(sessions, name, NULL);
        close_kept(&kept);
        return rc;
}

/* There is nothing that folder_look_open() would do to it now. */
static bool is_settled(int sessions, const char *name)
{
        struct kept kept;
        struct stat st;
        bool is_settled;

        open_kept(sessions, name, &kept);
        if (kept.folder < 0)
                return true;
        is_settled =
                kept.slots >= 0 && fstat(kept.slots, &st) == 0 &&
                (kept.is_live || (st.st_uid == geteuid() && (st.st_mode & 07777) == OURS_ALONE)) &&
                store_is_within(&st, (uint64_t)bytes_kept(&kept)) &&
                !store_has_attributes(NULL, kept.slots) && has_writer(&kept);
        close_kept(&kept);
        return is_settled;
}

/* -- All of them ------------------------------------------------------------------------------ */

static DIR *open_all(const struct store *store)
{
        int sessions = folder_open_sessions(store, false, NULL);
        DIR *entries = sessions < 0 ? NULL : fdopendir(sessions);

        if (!entries && sessions >= 0)
                close(sessions);
        return entries;
}

/* Whose it was, by its name; 0 where an earlier version gave it a name without that. */
static bool is_kept(const char *name, uint32_t *ret_uid)
{
        const size_t open = sizeof(FOLDER_OPEN) - 1, over = sizeof(FOLDER_OVER) - 1;
        unsigned long uid;
        char *end;

        if (strncmp(name, FOLDER_OPEN, open) != 0)
                return false;
        name += strncmp(name, FOLDER_OVER, over) == 0 ? over : open;
        uid = strtoul(name, &end, 10);
        *ret_uid = *end == '-' ? (uint32_t)uid : 0;
        return true;
}

void store_list_kept(const struct store *store, const struct store_look *look)
{
        static unsigned from;
        const uint64_t until_ns = clock_thread_ns() + LOOKS_NS;
        scoped_dir DIR *entries = open_all(store);
        unsigned count = 0, first = from, next = 0;
        struct dirent *entry;
        uint32_t uid;

        while (entries && (entry = readdir(entries))) {
                if (!is_kept(entry->d_name, &uid))
                        continue;
                if (!next && count > first &&
                    (count - first >= LOOKS_MOST || clock_thread_ns() > until_ns))
                        next = count;
                if (!next && count >= first && !look->is_passed(uid, look->context) &&
                    !is_settled(dirfd(entries), entry->d_name))
                        look->found(uid, look->context);
                count++;
        }
        from = next;
}

static void tell_run(int sessions, const char *name, const struct store_clearing *clearing)
{
        char path[2 * PAGE_NAME_BYTES];
        struct stat st;

        if (clearing->is_run &&
            text_put(path, sizeof(path), NULL, "%s/%s", name, FOLDER_SLOTS) == 0 &&
            fstatat(sessions, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                clearing->is_run(&st);
}

void store_clear_kept(const struct store *store, const struct store_clearing *clearing)
{
        scoped_dir DIR *entries = open_all(store);
        struct dirent *entry;
        uint32_t whose;

        while (entries && (entry = readdir(entries))) {
                if (!is_kept(entry->d_name, &whose) || whose != clearing->uid)
                        continue;
                if (folder_look_open(dirfd(entries), entry->d_name) == -ETXTBSY)
                        tell_run(dirfd(entries), entry->d_name, clearing);
                add_relaxed(clearing->steps, 1);
        }
}
