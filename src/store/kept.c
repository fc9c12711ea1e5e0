/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `slots` of a tenant whose session is gone, while the tenant has it open: deleted, it could be
 * written to without end and nobody would find it.
 *
 * So it becomes ours, which lets nobody open it any more, and stays as sessions/.open-.../slots
 * until nobody has it open for writing. A read lease tells that: the kernel grants none while there
 * is a writer. Where the kernel gives no leases it is deleted at once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "store/folder.h"

#define KEPT ".open-"
#define LOOKS_MOST 1024u /* in one go; the others are looked at in the next */

/* SIGURG, which is ignored, instead of SIGIO, which ends us, should the lease be broken. */
static bool has_writer(int fd)
{
        int rc;

        if (fcntl(fd, F_SETSIG, SIGURG) < 0)
                return false;
        rc = fcntl(fd, F_SETLEASE, F_RDLCK);
        if (rc == 0)
                fcntl(fd, F_SETLEASE, F_UNLCK);
        return rc < 0 && errno == EAGAIN;
}

int folder_keep_open(int sessions, const char *name)
{
        scoped_fd int folder = folder_open_directory(sessions, name, false, NULL);
        scoped_fd int slots = -1;
        char kept[PAGE_NAME_BYTES];
        struct stat st;

        if (folder < 0 || fstatat(folder, FOLDER_SLOTS, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode) || st.st_uid == geteuid() ||
            fchownat(folder, FOLDER_SLOTS, geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        slots = folder_open_file(folder, FOLDER_SLOTS, O_RDONLY);
        /* The mode bounds what an access list gives, too. */
        if (slots < 0 || fchmod(slots, 0600) < 0 || !has_writer(slots) ||
            folder_temporary_name(KEPT, kept, NULL) < 0)
                return 0;
        return renameat(sessions, name, sessions, kept) == 0;
}

/* Whether anything was taken back. */
static bool look(int sessions, const char *name)
{
        scoped_fd int folder = folder_open_directory(sessions, name, false, NULL);
        scoped_fd int slots = folder < 0 ? -1 : folder_open_file(folder, FOLDER_SLOTS, O_RDONLY);
        scoped_fd int writable = -1;
        struct stat st;

        if (slots < 0 || !has_writer(slots)) {
                folder_delete(sessions, name, NULL);
                return true;
        }
        if (fstat(slots, &st) < 0 || (st.st_size == 0 && st.st_blocks == 0))
                return false;
        writable = folder_open_file(folder, FOLDER_SLOTS, O_WRONLY);
        return writable >= 0 && ftruncate(writable, 0) == 0;
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
                if (strncmp(entry->d_name, KEPT, sizeof(KEPT) - 1) != 0)
                        continue;
                if (count >= first && count - first < LOOKS_MOST)
                        has_trimmed |= look(dirfd(entries), entry->d_name);
                count++;
        }
        from = first + LOOKS_MOST < count ? first + LOOKS_MOST : 0;
        return has_trimmed;
}
