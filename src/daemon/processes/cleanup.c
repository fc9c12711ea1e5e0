/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/atomic.h"
#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/accounts.h"
#include "daemon/processes/identity.h"

struct cleanup_told {
        _Atomic uint32_t is_told; /* set by the child; cleared when the daemon has read it */
        struct cleanup_cut cut;
};

/* What children report to the daemon, in shared memory. */
struct board {
        _Atomic uint32_t steps[CLEANUPS_MAX]; /* by index in cleanups.cleanup */
        /* by the same index: 1 + index of the session whose file is being truncated; 0: none */
        _Atomic uint32_t at[CLEANUPS_MAX];
        struct cleanup_told told[SESSIONS_MAX]; /* by session index */
};

/* An owner (sessions_payer()) with work or with a child. */
struct cleanup {
        bool is_used;
        bool is_wanted;
        bool is_held; /* its last child got stuck, and no child has finished since */
        uint64_t payer;
        uint64_t rest_ns; /* when the child that got stuck was gone */
        struct aside aside;
};

struct cleanups {
        const struct sessions *sessions;
        const struct store *store;
        struct board *board;
        unsigned from;     /* index of the owner to serve next */
        unsigned taken;    /* session index at which cleanups_take() continues */
        bool is_full_told; /* it was logged that there are too many owners */
        struct cleanup cleanup[CLEANUPS_MAX];
};

struct cleanups *cleanups_new(const struct sessions *sessions, const struct store *store)
{
        struct cleanups *cleanups = calloc(1, sizeof(*cleanups));

        if (!cleanups)
                return NULL;
        cleanups->sessions = sessions;
        cleanups->store = store;
        cleanups->board = mmap(NULL, sizeof(*cleanups->board), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (cleanups->board == MAP_FAILED) {
                free(cleanups);
                return NULL;
        }
        return cleanups;
}

void cleanups_free(struct cleanups *cleanups)
{
        if (!cleanups)
                return;
        for (unsigned i = 0; i < CLEANUPS_MAX; i++)
                aside_end(&cleanups->cleanup[i].aside);
        munmap(cleanups->board, sizeof(*cleanups->board));
        free(cleanups);
}

/* -- The child -------------------------------------------------------------------------------- */

static int path_of(const struct cleanups *cleanups, const struct sessions_one *session,
                   char ret[STORE_PATH_BYTES])
{
        return text_put(ret, STORE_PATH_BYTES, NULL, "%s/sessions/%s/slots", cleanups->store->path,
                        session->name);
}

/* Whether the file has content behind a session's page, or extended attributes. Never blocks. */
static bool is_too_large(const char *path, struct stat *ret)
{
        return fstatat(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(ret->st_mode) &&
               (!store_is_within(ret, sizeof(struct slots_page)) || store_has_attributes(path, -1));
}

static uint64_t taken(const struct stat *st)
{
        const uint64_t blocks = (uint64_t)st->st_blocks * 512;

        return blocks > (uint64_t)st->st_size ? blocks : (uint64_t)st->st_size;
}

/* Truncates the file and removes its extended attributes. 1: done. 0: the file belongs to no
 * session of this user, or the file system counts blocks beyond the content, which truncating does
 * not free. */
static int cut_slots(const char *path, const struct sessions_one *session,
                     const struct stat *before)
{
        scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        const off_t page = (off_t)sizeof(struct slots_page);
        const off_t bytes = before->st_size < page ? before->st_size : page;
        struct stat st;
        int dropped;

        if (fd < 0 || fstat(fd, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        /* The file was created since `before` was read. Root in a container may change the owner of
         * its file. */
        if (st.st_ino != before->st_ino ||
            (!session->container.profile[0] && st.st_uid != session->owner_uid))
                return 0;
        if (ftruncate(fd, bytes) < 0 || fstat(fd, &st) < 0)
                return -errno;
        dropped = store_drop_attributes(fd);
        if (dropped != 0)
                return dropped < 0 ? dropped : 1;
        /* not "fewer blocks", because a program may have written to the file again */
        return before->st_size > bytes || before->st_blocks != st.st_blocks;
}

/* Whether the process executes the file. Reads only the kernel's inode, so that no file system can
 * block the daemon. */
static bool is_running(uint32_t pid, const struct stat *file)
{
        char path[64];
        struct statx st;

        snprintf(path, sizeof(path), "/proc/%u/exe", pid);
        return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) == 0 &&
               st.stx_ino == file->st_ino &&
               makedev(st.stx_dev_major, st.stx_dev_minor) == file->st_dev;
}

/* Kills the processes that execute the file, because an executing file cannot be truncated. No
 * program executes a `slots` file by mistake. */
static void end_who_runs(const struct stat *file)
{
        scoped_dir DIR *proc = opendir("/proc");
        struct dirent *entry;

        while (proc && (entry = readdir(proc))) {
                const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
                scoped_fd int held = pid > 1 && is_running(pid, file) ? identity_hold(pid) : -1;

                if (held >= 0 && is_running(pid, file))
                        identity_signal(held, pid, SIGKILL);
        }
}

static void report_cut(struct cleanup_told *told, const struct sessions_one *session,
                       uint64_t bytes, int rc)
{
        memcpy(told->cut.id, session->id, sizeof(told->cut.id));
        told->cut.bytes = bytes;
        told->cut.rc = rc;
        store_release(&told->is_told, 1);
}

static void clean_files(const struct cleanups *cleanups, unsigned at)
{
        const struct sessions *all = cleanups->sessions;
        const uint64_t payer = cleanups->cleanup[at].payer;
        _Atomic uint32_t *steps = &cleanups->board->steps[at];
        char path[STORE_PATH_BYTES];
        struct stat st;

        for (unsigned i = 0; i < all->entries; i++) {
                const struct sessions_one *session = &all->session[i];
                int rc;

                if (session->state == SESSIONS_FREE || sessions_payer(session) != payer ||
                    path_of(cleanups, session, path) < 0 || !is_too_large(path, &st))
                        continue;
                store_release(&cleanups->board->at[at], i + 1);
                rc = cut_slots(path, session, &st);
                store_release(&cleanups->board->at[at], 0);
                if (rc == -ETXTBSY)
                        end_who_runs(&st);
                if (rc != 0)
                        report_cut(&cleanups->board->told[i], session, taken(&st), rc < 0 ? rc : 0);
                add_relaxed(steps, 1);
        }
        if (!accounts_is_container(payer))
                store_clear_kept(cleanups->store,
                                 &(struct store_clearing){ (uint32_t)payer, steps, end_who_runs });
}

/* -- Finding work ----------------------------------------------------------------------------- */

static struct cleanup *find_cleanup(struct cleanups *cleanups, uint64_t payer)
{
        for (unsigned i = 0; i < CLEANUPS_MAX; i++) {
                if (cleanups->cleanup[i].is_used && cleanups->cleanup[i].payer == payer)
                        return &cleanups->cleanup[i];
        }
        return NULL;
}

/* Returns an unused entry. NULL: all are in use, or half of them by containers, which may have no
 * more together. */
static struct cleanup *free_entry(struct cleanups *cleanups, uint64_t payer)
{
        struct cleanup *entry = NULL;
        unsigned of_containers = 0;

        for (unsigned i = 0; i < CLEANUPS_MAX; i++) {
                if (!cleanups->cleanup[i].is_used)
                        entry = &cleanups->cleanup[i];
                else
                        of_containers += accounts_is_container(cleanups->cleanup[i].payer);
        }
        return accounts_is_container(payer) && of_containers >= CLEANUPS_MAX / 2 ? NULL : entry;
}

/* Notes that the owner has work, unless it already has an entry. */
static void want_cleanup(struct cleanups *cleanups, uint64_t payer)
{
        char name[ACCOUNTS_NAME_BYTES];
        struct cleanup *entry;

        if (find_cleanup(cleanups, payer))
                return;
        entry = free_entry(cleanups, payer);
        if (entry) {
                *entry = (struct cleanup){ .is_used = true, .is_wanted = true, .payer = payer };
                return;
        }
        if (!cleanups->is_full_told)
                log_line(LOG_WARN,
                         "slots of %s are not cleaned up: too many others have work, or hold it up",
                         accounts_name(payer, name));
        cleanups->is_full_told = true;
}

static bool is_user_passed(uint32_t uid, void *context)
{
        return find_cleanup(context, uid) != NULL;
}

static void want_of_user(uint32_t uid, void *context)
{
        want_cleanup(context, uid);
}

void cleanups_look(struct cleanups *cleanups)
{
        const struct sessions *all = cleanups->sessions;
        char path[STORE_PATH_BYTES];
        struct stat st;

        for (unsigned i = 0; i < all->entries; i++) {
                const struct sessions_one *session = &all->session[i];

                if (session->state != SESSIONS_FREE && path_of(cleanups, session, path) == 0 &&
                    is_too_large(path, &st))
                        want_cleanup(cleanups, sessions_payer(session));
        }
        store_list_kept(cleanups->store,
                        &(struct store_look){ is_user_passed, want_of_user, cleanups });
}

/* -- Starting and ending children ------------------------------------------------------------- */

static void begin_cleanup(struct cleanups *cleanups, unsigned at, uint64_t now_ns)
{
        struct cleanup *cleanup = &cleanups->cleanup[at];
        char name[ACCOUNTS_NAME_BYTES];

        cleanup->is_wanted = false;
        store_relaxed(&cleanups->board->steps[at], 0);
        store_relaxed(&cleanups->board->at[at], 0);
        switch (aside_fork(&cleanup->aside, "aliquot-clean", now_ns)) {
        case 0:
                clean_files(cleanups, at);
                _exit(0);
        case -1:
                log_line(LOG_ERROR, "cannot fork to clean up slots of %s: %m",
                         accounts_name(cleanup->payer, name));
                cleanup->is_used = false;
        }
}

static void tell_held(struct cleanups *cleanups, unsigned at)
{
        const uint32_t place = load_acquire(&cleanups->board->at[at]);
        const struct sessions_one *session;
        char path[STORE_PATH_BYTES], name[ACCOUNTS_NAME_BYTES];
        struct stat st;

        if (!cleanups->cleanup[at].is_held)
                log_line(LOG_WARN,
                         "%s holds the lock of a slots file: what it leaves there is neither "
                         "cut off nor deleted until it lets go",
                         accounts_name(cleanups->cleanup[at].payer, name));
        if (!place || place > SESSIONS_MAX)
                return;
        session = &cleanups->sessions->session[place - 1];
        if (session->state != SESSIONS_FREE && path_of(cleanups, session, path) == 0 &&
            is_too_large(path, &st))
                report_cut(&cleanups->board->told[place - 1], session, taken(&st), -EBUSY);
}

/* Checks one child; returns whether it has ended. */
static bool tend_cleanup(struct cleanups *cleanups, unsigned at, uint64_t now_ns)
{
        struct cleanup *cleanup = &cleanups->cleanup[at];
        const enum aside_state state =
                aside_tend(&cleanup->aside, load_relaxed(&cleanups->board->steps[at]),
                           CLEANUP_STILL_NS, now_ns);

        if (state == ASIDE_STANDS) {
                tell_held(cleanups, at);
                cleanup->is_held = true;
        }
        if (state == ASIDE_RUNS || state == ASIDE_STANDS)
                return false;
        if (state == ASIDE_CUT && cleanup->is_held) {
                cleanup->rest_ns = now_ns;
                return true;
        }
        cleanup->is_used = false;
        cleanups->is_full_told = false;
        return true;
}

/* Whether the child counts against CLEANUPS_AT_ONCE. A further try for an owner who blocks the work
 * does not count, because it soon gets stuck again. */
static bool is_busy(const struct cleanup *cleanup, uint64_t now_ns)
{
        return cleanup->aside.child && !cleanup->is_held && aside_gets_on(&cleanup->aside, now_ns);
}

bool cleanups_tend(struct cleanups *cleanups, uint64_t now_ns)
{
        unsigned busy = 0;
        bool has_ended = false;

        for (unsigned i = 0; i < CLEANUPS_MAX; i++) {
                struct cleanup *cleanup = &cleanups->cleanup[i];

                if (cleanup->aside.child)
                        has_ended |= tend_cleanup(cleanups, i, now_ns);
                else if (cleanup->is_held && now_ns - cleanup->rest_ns >= CLEANUP_REST_NS)
                        cleanup->is_wanted = true;
                busy += is_busy(cleanup, now_ns);
        }
        for (unsigned i = 0; i < CLEANUPS_MAX && busy < CLEANUPS_AT_ONCE; i++) {
                const unsigned at = cleanups->from;

                cleanups->from = (at + 1) % CLEANUPS_MAX;
                if (!cleanups->cleanup[at].is_wanted)
                        continue;
                begin_cleanup(cleanups, at, now_ns);
                busy += is_busy(&cleanups->cleanup[at], now_ns);
        }
        return has_ended;
}

bool cleanups_are_on(const struct cleanups *cleanups)
{
        for (unsigned i = 0; i < CLEANUPS_MAX; i++) {
                if (cleanups->cleanup[i].is_used && !cleanups->cleanup[i].is_held)
                        return true;
        }
        return false;
}

unsigned cleanups_held(const struct cleanups *cleanups)
{
        unsigned count = 0;

        for (unsigned i = 0; i < CLEANUPS_MAX; i++)
                count += cleanups->cleanup[i].is_used && cleanups->cleanup[i].is_held;
        return count;
}

bool cleanups_take(struct cleanups *cleanups, unsigned *ret_place, struct cleanup_cut *ret)
{
        for (; cleanups->taken < SESSIONS_MAX; cleanups->taken++) {
                struct cleanup_told *told = &cleanups->board->told[cleanups->taken];

                if (!load_acquire(&told->is_told))
                        continue;
                *ret = told->cut;
                *ret_place = cleanups->taken;
                store_release(&told->is_told, 0);
                return true;
        }
        cleanups->taken = 0;
        return false;
}
