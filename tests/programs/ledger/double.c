/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See double.h.
 */
#include "double.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "core/ledger.h"
#include "shim/session.h"

static struct {
        char folder[128];
        char slots_path[160];
        char limits_path[160];
        struct liveness_file file;
        struct limits_page *limits;
        struct slots_page *slots;
        enum session_state state;
} session;

void check_failed(const char *file, int line, const char *text)
{
        fprintf(stderr, "%s:%d: not so: %s (pid %d, errno %s)\n", file, line, text, (int)getpid(),
                strerror(errno));
        _exit(1);
}

static void *map_file(const char *path, size_t size, int flags)
{
        int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
        void *memory;

        CHECK(fd >= 0);
        if (flags & O_CREAT)
                CHECK(ftruncate(fd, (off_t)size) == 0);
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(memory != MAP_FAILED);
        close(fd);
        return memory;
}

static void session_map(int flags)
{
        struct stat st;

        snprintf(session.slots_path, sizeof(session.slots_path), "%s/slots", session.folder);
        snprintf(session.limits_path, sizeof(session.limits_path), "%s/limits", session.folder);
        session.slots = map_file(session.slots_path, sizeof(*session.slots), flags);
        session.limits = map_file(session.limits_path, sizeof(*session.limits), flags);
        CHECK(stat(session.slots_path, &st) == 0);
        session.file = (struct liveness_file){ .path = session.slots_path,
                                               .device = st.st_dev,
                                               .inode = st.st_ino };
        session.state = SESSION_ACTIVE;
}

void double_make(uint64_t limit_bytes)
{
        strcpy(session.folder, "/dev/shm/aliquot-test-XXXXXX");
        CHECK(mkdtemp(session.folder));
        session_map(O_CREAT | O_EXCL);
        session.limits->magic = PAGE_LIMITS_MAGIC;
        session.limits->version = PAGE_VERSION;
        session.limits->page_bytes = sizeof(*session.limits);
        session.limits->owner = PAGE_OWNER_USER;
        session.slots->magic = PAGE_SLOTS_MAGIC;
        session.slots->version = PAGE_VERSION;
        session.slots->slot_count = PAGE_SLOTS;
        session.slots->page_bytes = sizeof(*session.slots);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                session.limits->device[i].uuid[0] = i + 1;
                session.limits->device[i].limit_bytes = limit_bytes;
        }
}

void double_end(void)
{
        unlink(session.slots_path);
        unlink(session.limits_path);
        rmdir(session.folder);
}

const char *double_folder(void)
{
        return session.folder;
}

void double_join(const char *folder)
{
        snprintf(session.folder, sizeof(session.folder), "%s", folder);
        session_map(0);
}

void double_limit(unsigned device, uint64_t limit_bytes)
{
        store_release(shared_word(&session.limits->device[device].limit_bytes), limit_bytes);
}

struct slots_page *double_slots(void)
{
        return session.slots;
}

struct limits_page *double_limits(void)
{
        return session.limits;
}

uint64_t double_used(unsigned device)
{
        return session.slots->ledger[device].used_bytes;
}

/* What the study calls f(slot): only meaningful while nobody is in an operation. */
static uint64_t row_truth(const struct page_ledger *word, uint32_t slot, const struct page_row *row)
{
        uint64_t tag = (uint64_t)slot << LEDGER_SEQ_BITS | row->seq;
        uint64_t settled = row->charge[row->committed & 1];

        if (row->seq == row->committed + 1 && (word->tag == tag || row->done >= row->seq))
                settled += row->delta;
        return settled;
}

uint64_t double_rows(unsigned device)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < session.slots->slots_high; i++)
                sum += row_truth(&session.slots->ledger[device], i, &session.slots->row[i][device]);
        return sum;
}

/* -- shim/session.h
 * -------------------------------------------------------------------------------*/

enum session_state session_start(session_gpu_lister *lister)
{
        return session.state;
}

enum session_state session_state(void)
{
        return session.state;
}

const struct limits_page *session_limits(void)
{
        return session.limits;
}

struct slots_page *session_slots(void)
{
        return session.slots;
}

const struct liveness_file *session_slots_file(void)
{
        return &session.file;
}

void session_tell_if_ended(int row)
{
}
