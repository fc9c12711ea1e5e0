/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the `slots` of a removed session while its tenant has the file open. If the file were
 * deleted, the tenant could go on writing to it, and nobody could find the file.
 *
 * So the file stays, as sessions/.open-.../slots, until the kernel reports that no process has it
 * open for writing. Any failure on the way leads to another try later. If the session was removed
 * by force, its living processes keep their page. If the session is over (FOLDER_OVER), the file is
 * emptied, and a process that still uses its mapping gets SIGBUS. To find out whether there is a
 * writer, a read lease is requested: the kernel grants none if there is one. If the file system has
 * no leases, the file is deleted at once. Once no process lives in the session, the file is made
 * ours, so that no user can open it any more.
 *
 * The content of a deleted file takes memory until its last reader is gone, so a file is deleted
 * only after it was truncated.
 *
 * A tenant that holds a lease on the file keeps us from opening it, but not from making it ours,
 * after which the tenant cannot get another lease. Our first attempt to open it begins to break the
 * lease; the kernel ends the lease after /proc/sys/fs/lease-break-time.
 *
 * Truncating the file, making it ours, changing and deleting it need the lock of its inode. A
 * tenant can hold that lock as long as it likes, for example in a write() from memory of a FUSE
 * file system, and nothing ends that wait. So the daemon only lists the work (store_list_kept())
 * and leaves it to a process for each user (daemon/processes/cleanup.h). The user's id is in the
 * folder's name, because the file may be ours by then.
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

#define LOOKS_MAX 1024u /* folders checked in one call; the next call checks the others */
/* Processor time of one call: a check makes the kernel search all locks on the file, whose
 * number the tenant chooses. */
#define LOOKS_NS UINT64_C(10000000)
#define BLOCK_BYTES 512u /* unit of st_blocks */
/* Mode of a file that was made ours. */
#define OURS_ALONE 0600u

/* Whether a process has the file open for writing; true also if that is unknown. When the lease
 * is broken, the kernel sends SIGURG, which is ignored, instead of SIGIO, which would end this
 * process. */
static bool may_have_writer(int fd)
{
        if (fcntl(fd, F_SETSIG, SIGURG) < 0)
                return true;
        if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
                return errno != EINVAL; /* EINVAL: a file system without leases */
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return false;
}

/* Makes the file ours, and closes it to other users. Needs no descriptor of the file, so a lease
 * cannot prevent it. The mode limits the access list too. */
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

/* Truncates `slots` to `bytes` and removes its attributes. Returns 0 if it has that size. Opens
 * the file for writing even if nothing is to be truncated, because only that begins to break a
 * lease of either kind. */
static int cut_slots(int folder, off_t bytes)
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
        /* A container's file may be written by all users. */
        return S_ISREG(st.st_mode) && (st.st_uid != geteuid() || (st.st_mode & 022));
}

/* What can be found out about a kept file without blocking. */
struct kept {
        int folder;
        int slots;    /* descriptor of `slots`, or the error of opening it */
        bool is_live; /* a process lives in the session, and the session is not over */
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

/* Returns how many bytes of the file stay. A living process needs the whole page. If the session
 * is over, a lock does not show a living process: the descriptor may be in a socket's queue, and
 * then no process maps the file. */
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
        rc = cut_slots(kept.folder, bytes_kept(&kept));
        if (rc == 0 && !has_writer(&kept))
                folder_delete(sessions, name, NULL);
        close_kept(&kept);
        return rc;
}

/* Whether folder_look_open() would have nothing to do in the folder now. */
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

/* -- All kept folders ------------------------------------------------------------------------- */

static DIR *open_all(const struct store *store)
{
        int sessions = folder_open_sessions(store, false, NULL);
        DIR *entries = sessions < 0 ? NULL : fdopendir(sessions);

        if (!entries && sessions >= 0)
                close(sessions);
        return entries;
}

/* Whether the name is that of a kept folder. *ret_uid gets the former owner, from the name; 0 if
 * an earlier version gave the folder a name without it. */
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
                    (count - first >= LOOKS_MAX || clock_thread_ns() > until_ns))
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
