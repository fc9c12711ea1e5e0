/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of chunks, and the sparse file that contains them.
 *
 * Free runs are kept in bins by the power of two of their length. The first chunk of a run has the
 * run's length and the last one has its start, so that neighbouring free runs are merged at once.
 * Freed runs keep their host memory until DIRTY_CHUNKS chunks have accumulated; then all of it is
 * returned.
 */
#include "sim/memory/arena_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/memory/backing.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

/* Address space of an arena: this or eight times the card's memory, whichever is more. Less if the
 * system does not give that much. */
#define ARENA_BYTES (64ULL << 30)
#define DIRTY_CHUNKS 128
#define OWN_DESCRIPTORS 512

/* Creates the file: in the state folder, where other processes can be given a name for it, or in
 * memory without a folder. */
static int file_make(uint64_t bytes, bool is_named)
{
        int fd =
                is_named ? open(config_get()->state_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

        if (fd < 0)
                fd = memfd_create("aliquot-sim", MFD_CLOEXEC);
        if (fd < 0)
                return -1;
        if (ftruncate(fd, (off_t)bytes) < 0) {
                close(fd);
                return -1;
        }
        int high = fcntl(fd, F_DUPFD_CLOEXEC, OWN_DESCRIPTORS);
        if (high >= 0) {
                close(fd);
                fd = high;
        }
        return fd;
}

/* Maps `bytes` of the file at a multiple of a chunk's size. NULL when there is no room. */
static char *file_map(int fd, uint64_t bytes)
{
        char *room = mmap(NULL, bytes + CHUNK_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        uint64_t skew = (uintptr_t)room % CHUNK_BYTES;
        uint64_t before = skew ? CHUNK_BYTES - skew : 0;
        char *base;

        if (room == MAP_FAILED)
                return NULL;
        base = mmap(room + before, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
        if (base == MAP_FAILED) {
                munmap(room, bytes + CHUNK_BYTES);
                return NULL;
        }
        if (before)
                munmap(room, before);
        munmap(base + bytes, CHUNK_BYTES - before);
        return base;
}

static bool table_make(struct arena *arena)
{
        arena->chunk_count = (uint32_t)(arena->bytes / CHUNK_BYTES);
        arena->chunk = mmap(NULL, arena->chunk_count * sizeof(struct chunk), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return arena->chunk != MAP_FAILED;
}

/* Completes the arena after its file was created and mapped; `base` is set last. */
static bool arena_begin(struct arena *arena, char *base)
{
        struct stat st;

        if (!table_make(arena))
                return false;
        madvise(base, arena->bytes, MADV_DONTFORK);
        madvise(base, arena->bytes, MADV_DONTDUMP);
        if (fstat(arena->fd, &st) == 0) {
                arena->fd_device = st.st_dev;
                arena->fd_inode = st.st_ino;
        }
        store_release(&arena->base, base);
        return true;
}

bool arena_open(struct arena *arena, unsigned unit)
{
        uint64_t card_bytes = node_get()->device[unit].memory_bytes;
        bool is_roomy = backing_is_roomy(card_bytes);
        uint64_t bytes = ARENA_BYTES;

        while (bytes < card_bytes * 8)
                bytes *= 2;
        for (; bytes >= CHUNK_BYTES * 16; bytes /= 2) {
                char *base;

                arena->fd = file_make(bytes, is_roomy);
                if (arena->fd < 0)
                        continue;
                base = file_map(arena->fd, bytes);
                arena->bytes = bytes;
                if (base && arena_begin(arena, base))
                        return true;
                if (base)
                        munmap(base, bytes);
                close(arena->fd);
        }
        return false;
}

static unsigned bin_of(uint32_t run)
{
        return 31 - (unsigned)__builtin_clz(run);
}

void list_add(struct arena *arena, uint32_t *list, uint32_t index)
{
        arena->chunk[index].prev = NO_CHUNK;
        arena->chunk[index].next = *list;
        if (*list != NO_CHUNK)
                arena->chunk[*list].prev = index;
        *list = index;
}

void list_remove(struct arena *arena, uint32_t *list, uint32_t index)
{
        struct chunk *chunk = &arena->chunk[index];

        if (chunk->prev == NO_CHUNK)
                *list = chunk->next;
        else
                arena->chunk[chunk->prev].next = chunk->next;
        if (chunk->next != NO_CHUNK)
                arena->chunk[chunk->next].prev = chunk->prev;
}

static void run_mark_free(struct arena *arena, uint32_t first, uint32_t run, bool is_dirty)
{
        arena->chunk[first].state = CHUNK_FREE;
        arena->chunk[first].run = run;
        arena->chunk[first].is_dirty = is_dirty;
        arena->chunk[first + run - 1].state = CHUNK_FREE;
        arena->chunk[first + run - 1].head = first;
        list_add(arena, &arena->bin[bin_of(run)], first);
}

static void run_unlist(struct arena *arena, uint32_t first)
{
        list_remove(arena, &arena->bin[bin_of(arena->chunk[first].run)], first);
}

/* Returns the host memory of freed runs. Their bytes then read as zero, like those of an unused
 * run. */
static void dirty_punch(struct arena *arena)
{
        for (unsigned bin = 0; bin < BINS; bin++) {
                for (uint32_t i = arena->bin[bin]; i != NO_CHUNK; i = arena->chunk[i].next) {
                        if (!arena->chunk[i].is_dirty)
                                continue;
                        madvise(arena_base(arena) + i * CHUNK_BYTES,
                                arena->chunk[i].run * CHUNK_BYTES, MADV_REMOVE);
                        arena->chunk[i].is_dirty = false;
                }
        }
        arena->dirty_chunks = 0;
}

void run_free(struct arena *arena, uint32_t first, uint32_t run)
{
        arena->dirty_chunks += run;
        /* also in the middle chunks, whose state only loops over all chunks read */
        for (uint32_t i = first; i < first + run; i++)
                arena->chunk[i].state = CHUNK_FREE;
        if (first > 0 && arena->chunk[first - 1].state == CHUNK_FREE) {
                uint32_t head = arena->chunk[first - 1].head;

                run_unlist(arena, head);
                run += arena->chunk[head].run;
                first = head;
        }
        if (first + run < arena->top && arena->chunk[first + run].state == CHUNK_FREE) {
                uint32_t next = first + run;

                run_unlist(arena, next);
                run += arena->chunk[next].run;
        }
        run_mark_free(arena, first, run, true);
        if (arena->dirty_chunks > DIRTY_CHUNKS)
                dirty_punch(arena);
}

/* Finds a free run of at least `wanted` chunks and removes it from its bin. NO_CHUNK when none is
 * long enough. */
static uint32_t run_find(struct arena *arena, uint32_t wanted)
{
        unsigned bin = bin_of(wanted);
        unsigned tries = 0;

        for (uint32_t i = arena->bin[bin]; i != NO_CHUNK && tries < 64; tries++) {
                if (arena->chunk[i].run >= wanted) {
                        run_unlist(arena, i);
                        return i;
                }
                i = arena->chunk[i].next;
        }
        for (bin++; bin < BINS; bin++) {
                uint32_t i = arena->bin[bin];

                if (i != NO_CHUNK) {
                        run_unlist(arena, i);
                        return i;
                }
        }
        return NO_CHUNK;
}

uint32_t run_alloc(struct arena *arena, uint64_t wanted_chunks)
{
        if (wanted_chunks > arena->chunk_count)
                return NO_CHUNK;
        uint32_t wanted = (uint32_t)wanted_chunks;
        uint32_t first = run_find(arena, wanted);

        if (first != NO_CHUNK) {
                uint32_t run = arena->chunk[first].run;

                if (run > wanted)
                        run_mark_free(arena, first + wanted, run - wanted,
                                      arena->chunk[first].is_dirty);
                return first;
        }
        if (wanted > arena->chunk_count - arena->top)
                return NO_CHUNK;
        first = arena->top;
        arena->top += wanted;
        return first;
}
