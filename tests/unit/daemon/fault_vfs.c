/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_vfs.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNDO_MAX 4096

struct file {
        sqlite3_file base;
        sqlite3_file *real; /* behind this struct */
};

/* What a write replaced, as long as no sync made it last. */
struct undo {
        sqlite3_file *real; /* NULL: it lasts */
        sqlite3_int64 at, bytes_before;
        int length;
        void *old;
};

static sqlite3_vfs *below;
static sqlite3_vfs ours;
static enum fault armed;
static unsigned armed_at, count;
static struct undo undo[UNDO_MAX];
static unsigned undo_count;

static sqlite3_file *real_of(sqlite3_file *file)
{
        return ((struct file *)file)->real;
}

static void remember(sqlite3_file *real, sqlite3_int64 at, int length)
{
        struct undo *entry = &undo[undo_count++];

        assert(undo_count < UNDO_MAX);
        *entry = (struct undo){ .real = real, .at = at, .length = length };
        real->pMethods->xFileSize(real, &entry->bytes_before);
        entry->old = calloc(1, (size_t)length + 1);
        real->pMethods->xRead(real, entry->old, length, at); /* short: the rest is zeros */
}

static void forget(const sqlite3_file *real)
{
        for (unsigned i = 0; i < undo_count; i++) {
                if (undo[i].real == real)
                        undo[i].real = NULL;
        }
}

static void cut_power(bool is_some_left)
{
        for (unsigned i = undo_count; i-- > 0;) {
                struct undo *entry = &undo[i];

                if (!entry->real || (is_some_left && i % 2 == 0))
                        continue;
                if (entry->length)
                        entry->real->pMethods->xWrite(entry->real, entry->old, entry->length,
                                                      entry->at);
                entry->real->pMethods->xTruncate(entry->real, entry->bytes_before);
        }
}

/* Before each change: whether it fails. Does not return to who dies. */
static bool meet(void)
{
        if (++count < armed_at || armed == FAULT_NONE)
                return false;
        if (armed == FAULT_FULL)
                return true;
        if (count > armed_at)
                return false;
        if (armed == FAULT_CUT || armed == FAULT_CUT_SOME)
                cut_power(armed == FAULT_CUT_SOME);
        if (armed == FAULT_DIE || armed == FAULT_CUT || armed == FAULT_CUT_SOME)
                _exit(FAULT_STATUS);
        return true;
}

static int file_close(sqlite3_file *file)
{
        forget(real_of(file));
        return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *ret, int length, sqlite3_int64 at)
{
        return real_of(file)->pMethods->xRead(real_of(file), ret, length, at);
}

static int file_write(sqlite3_file *file, const void *from, int length, sqlite3_int64 at)
{
        sqlite3_file *real = real_of(file);
        bool is_met = meet();

        if (is_met && armed == FAULT_TEAR) {
                real->pMethods->xWrite(real, from, length / 2, at);
                _exit(FAULT_STATUS);
        }
        if (is_met && armed == FAULT_FULL)
                return SQLITE_FULL;
        if (armed == FAULT_CUT || armed == FAULT_CUT_SOME)
                remember(real, at, length);
        return real->pMethods->xWrite(real, from, length, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
        sqlite3_file *real = real_of(file);
        sqlite3_int64 before = bytes;

        if (meet() && armed == FAULT_TEAR)
                _exit(FAULT_STATUS);
        real->pMethods->xFileSize(real, &before);
        if ((armed == FAULT_CUT || armed == FAULT_CUT_SOME) && before > bytes)
                remember(real, bytes, (int)(before - bytes));
        return real->pMethods->xTruncate(real, bytes);
}

static int file_sync(sqlite3_file *file, int flags)
{
        bool is_met = meet();

        if (is_met && armed == FAULT_TEAR)
                _exit(FAULT_STATUS);
        if (is_met && armed == FAULT_SYNC)
                return SQLITE_IOERR_FSYNC;
        forget(real_of(file));
        return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
        return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int file_lock(sqlite3_file *file, int level)
{
        return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
        return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
        return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
        return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int file_sector(sqlite3_file *file)
{
        return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_device(sqlite3_file *file)
{
        return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* Version 1: no shared memory, which exclusive locking does without. */
static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_lock,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_device,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
        struct file *opened = (struct file *)file;
        int rc;

        opened->real = (sqlite3_file *)(opened + 1);
        if (name && (flags & SQLITE_OPEN_CREATE) && access(name, F_OK) < 0 && meet()) {
                if (armed == FAULT_TEAR)
                        _exit(FAULT_STATUS);
                if (armed == FAULT_FULL)
                        return SQLITE_CANTOPEN;
        }
        rc = below->xOpen(below, name, opened->real, flags, ret_flags);
        opened->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
        return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
        if (meet() && armed == FAULT_TEAR)
                _exit(FAULT_STATUS);
        return below->xDelete(below, name, sync_folder);
}

void fault_install(void)
{
        below = sqlite3_vfs_find(NULL);
        ours = *below;
        ours.zName = "fault";
        ours.szOsFile = (int)sizeof(struct file) + below->szOsFile;
        ours.xOpen = vfs_open;
        ours.xDelete = vfs_delete;
        sqlite3_vfs_register(&ours, 1);
}

void fault_arm(enum fault fault, unsigned at)
{
        armed = fault;
        armed_at = at;
        count = 0;
        undo_count = 0;
}

unsigned fault_count(void)
{
        return count;
}
