/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of device memory; see arena.h.
 *
 * An arena is an array of 2 MiB chunks. A small chunk belongs to one size class and has a list of
 * its free places. It is returned when its last block is freed, if another chunk of the class has
 * room. A large block is a run of chunks.
 */
#include "sim/memory/arena_internal.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "common/atomic.h"
#include "sim/node/node.h"

#define SMALL_BYTES (1ULL << 20)
#define GRAIN_BYTES 512ULL

static struct arena arenas[SIM_DEVICES];

static pthread_once_t arenas_once = PTHREAD_ONCE_INIT;

static void arenas_init(void)
{
        for (unsigned unit = 0; unit < SIM_DEVICES; unit++) {
                pthread_mutex_init(&arenas[unit].lock, NULL);
                for (unsigned i = 0; i < BINS; i++)
                        arenas[unit].bin[i] = NO_CHUNK;
                for (unsigned i = 0; i < CLASSES; i++)
                        arenas[unit].partial[i] = NO_CHUNK;
        }
}

uint64_t block_next_id(void)
{
        static _Atomic uint64_t last;

        return add_relaxed(&last, 1) + 1;
}

/* Returns the size class: classes are 512 bytes apart up to 4 KiB, then there are four for each
 * doubling. */
static unsigned class_of(uint64_t bytes)
{
        uint64_t grains = (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES;

        if (grains <= 8)
                return (unsigned)grains - 1;
        unsigned power = 63 - (unsigned)__builtin_clzll(grains - 1); /* at least 3 */
        unsigned quarter = (unsigned)((grains - 1) >> (power - 2)) & 3;
        return 8 + (power - 3) * 4 + quarter;
}

static uint64_t class_bytes(unsigned class)
{
        if (class < 8)
                return (class + 1) * GRAIN_BYTES;
        /* Never CLASSES or more; the modulo only shows that to the compiler. */
        unsigned doublings = (1 + (class - 8) / 4) % CLASSES;
        return ((4ULL + (class - 8) % 4 + 1) << doublings) * GRAIN_BYTES;
}

static CUdeviceptr address_of(const struct arena *arena, uint32_t index, uint64_t offset)
{
        return (CUdeviceptr)(uintptr_t)arena_base(arena) + index * CHUNK_BYTES + offset;
}

static CUdeviceptr large_alloc(struct arena *arena, const struct arena_block *about)
{
        uint64_t run = (about->bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
        uint32_t first = run_alloc(arena, run);

        if (first == NO_CHUNK)
                return 0;
        arena->chunk[first].state = CHUNK_LARGE;
        arena->chunk[first].run = (uint32_t)run;
        arena->chunk[first].large = *about;
        for (uint32_t i = first + 1; i < first + run; i++) {
                arena->chunk[i].state = CHUNK_BODY;
                arena->chunk[i].head = first;
        }
        return address_of(arena, first, 0);
}

static size_t table_bytes(unsigned class)
{
        return CHUNK_BYTES / class_bytes(class) * sizeof(struct arena_block);
}

static uint32_t small_chunk(struct arena *arena, unsigned class)
{
        uint32_t places = (uint32_t)(CHUNK_BYTES / class_bytes(class));
        struct arena_block *blocks = mmap(NULL, table_bytes(class), PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (blocks == MAP_FAILED)
                return NO_CHUNK;
        uint32_t index = run_alloc(arena, 1);
        if (index == NO_CHUNK) {
                munmap(blocks, table_bytes(class));
                return NO_CHUNK;
        }
        for (uint32_t i = 0; i < places; i++)
                blocks[i].id = i + 1 < places ? i + 1 : NO_CHUNK;
        arena->chunk[index].state = CHUNK_SMALL;
        arena->chunk[index].class = (uint8_t) class;
        arena->chunk[index].blocks = blocks;
        arena->chunk[index].free_place = 0;
        arena->chunk[index].live = 0;
        list_add(arena, &arena->partial[class], index);
        return index;
}

static CUdeviceptr small_alloc(struct arena *arena, const struct arena_block *about)
{
        unsigned class = class_of(about->bytes);
        uint32_t index = arena->partial[class];

        if (index == NO_CHUNK)
                index = small_chunk(arena, class);
        if (index == NO_CHUNK)
                return 0;
        struct chunk *chunk = &arena->chunk[index];
        uint32_t place = chunk->free_place;
        chunk->free_place = (uint32_t)chunk->blocks[place].id;
        chunk->blocks[place] = *about;
        chunk->live++;
        if (chunk->free_place == NO_CHUNK)
                list_remove(arena, &arena->partial[class], index);
        return address_of(arena, index, place * class_bytes(class));
}

CUdeviceptr arena_alloc(unsigned unit, const struct arena_block *about)
{
        struct arena *arena = &arenas[unit];
        CUdeviceptr address = 0;

        pthread_once(&arenas_once, arenas_init);
        pthread_mutex_lock(&arena->lock);
        if (arena_base(arena) || arena_open(arena, unit)) {
                /* Homes are mapped at other addresses by pages, so they always have whole
                 * chunks. */
                address = about->bytes > SMALL_BYTES || about->kind == BLOCK_HOME
                                  ? large_alloc(arena, about)
                                  : small_alloc(arena, about);
        }
        pthread_mutex_unlock(&arena->lock);
        return address;
}

static struct arena *arena_of(CUdeviceptr address)
{
        for (unsigned unit = 0; unit < SIM_DEVICES; unit++) {
                char *base = arena_base(&arenas[unit]);

                if (base && address - (uintptr_t)base < arenas[unit].bytes)
                        return &arenas[unit];
        }
        return NULL;
}

bool arena_covers(CUdeviceptr address)
{
        return arena_of(address) != NULL;
}

/* Returns the block at an address, whether it is live or not; NULL when there is none. The caller
 * holds the lock. */
static struct arena_block *block_at(struct arena *arena, CUdeviceptr address, CUdeviceptr *ret_base)
{
        uint64_t offset = address - (uintptr_t)arena_base(arena);
        uint32_t index = (uint32_t)(offset / CHUNK_BYTES);
        struct chunk *chunk = &arena->chunk[index];

        if (index >= arena->top)
                return NULL;
        if (chunk->state == CHUNK_BODY) {
                index = chunk->head;
                chunk = &arena->chunk[index];
        }
        if (chunk->state == CHUNK_LARGE) {
                *ret_base = address_of(arena, index, 0);
                return &chunk->large;
        }
        if (chunk->state != CHUNK_SMALL)
                return NULL;
        uint64_t step = class_bytes(chunk->class);
        uint64_t place = offset % CHUNK_BYTES / step;
        if (place >= CHUNK_BYTES / step)
                return NULL;
        *ret_base = address_of(arena, index, place * step);
        return &chunk->blocks[place];
}

bool arena_take(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret)
{
        struct arena *arena = arena_of(address);
        CUdeviceptr base = 0;
        bool is_taken = false;

        if (!arena)
                return false;
        pthread_mutex_lock(&arena->lock);
        struct arena_block *block = block_at(arena, address, &base);
        if (block && base == address && block->bytes > 0 && block->kind == kind) {
                *ret = *block;
                block->bytes = 0;
                is_taken = true;
        }
        pthread_mutex_unlock(&arena->lock);
        return is_taken;
}

bool arena_set_flags(CUdeviceptr address, enum memory_kind kind, struct flag_change change,
                     struct arena_block *ret_before)
{
        struct arena *arena = arena_of(address);
        CUdeviceptr base = 0;
        bool is_found = false;

        if (!arena)
                return false;
        pthread_mutex_lock(&arena->lock);
        struct arena_block *block = block_at(arena, address, &base);
        if (block && base == address && block->bytes > 0 && block->kind == kind) {
                *ret_before = *block;
                block->flags = (block->flags & ~change.clear) | change.set;
                is_found = true;
        }
        pthread_mutex_unlock(&arena->lock);
        return is_found;
}

void arena_free(CUdeviceptr address)
{
        struct arena *arena = arena_of(address);
        struct chunk *chunk;
        uint32_t index;

        if (!arena)
                return;
        index = (uint32_t)((address - (uintptr_t)arena_base(arena)) / CHUNK_BYTES);
        chunk = &arena->chunk[index];
        pthread_mutex_lock(&arena->lock);
        if (chunk->state == CHUNK_LARGE) {
                run_free(arena, index, chunk->run);
                pthread_mutex_unlock(&arena->lock);
                return;
        }
        uint64_t offset = (address - (uintptr_t)arena_base(arena)) % CHUNK_BYTES;
        uint32_t place = (uint32_t)(offset / class_bytes(chunk->class));
        uint32_t *partial = &arena->partial[chunk->class];

        chunk->blocks[place].bytes = 0;
        chunk->blocks[place].id = chunk->free_place;
        if (chunk->free_place == NO_CHUNK)
                list_add(arena, partial, index);
        chunk->free_place = place;
        if (--chunk->live == 0 && (chunk->prev != NO_CHUNK || chunk->next != NO_CHUNK)) {
                list_remove(arena, partial, index);
                munmap(chunk->blocks, table_bytes(chunk->class));
                chunk->blocks = NULL;
                run_free(arena, index, 1);
        }
        pthread_mutex_unlock(&arena->lock);
}

bool arena_find(CUdeviceptr address, struct arena_block *ret, CUdeviceptr *ret_base,
                unsigned *ret_unit)
{
        struct arena *arena = arena_of(address);
        bool is_found = false;

        if (!arena)
                return false;
        pthread_mutex_lock(&arena->lock);
        struct arena_block *block = block_at(arena, address, ret_base);
        if (block && block->bytes > 0 && address - *ret_base < block->bytes) {
                *ret = *block;
                *ret_unit = (unsigned)(arena - arenas);
                is_found = true;
        }
        pthread_mutex_unlock(&arena->lock);
        return is_found;
}

CUdeviceptr arena_take_next(unsigned unit, uint64_t *cursor,
                            bool (*test)(const struct arena_block *block, void *argument),
                            void *argument, struct arena_block *ret)
{
        struct arena *arena = &arenas[unit];
        CUdeviceptr found = 0;

        pthread_once(&arenas_once, arenas_init);
        pthread_mutex_lock(&arena->lock);
        while (!found && *cursor < arena->top * CHUNK_BYTES) {
                uint32_t index = (uint32_t)(*cursor / CHUNK_BYTES);
                const struct chunk *chunk = &arena->chunk[index];
                CUdeviceptr base = 0, at = (uintptr_t)arena_base(arena) + *cursor;
                struct arena_block *block = block_at(arena, at, &base);

                if (block && base == at && block->bytes > 0 && test(block, argument)) {
                        *ret = *block;
                        block->bytes = 0;
                        found = at;
                }
                if (chunk->state == CHUNK_SMALL &&
                    *cursor % CHUNK_BYTES + class_bytes(chunk->class) * 2 <= CHUNK_BYTES)
                        *cursor += class_bytes(chunk->class);
                else
                        *cursor = (index + 1) * CHUNK_BYTES;
        }
        pthread_mutex_unlock(&arena->lock);
        return found;
}

int arena_file(CUdeviceptr address, uint64_t *ret_offset)
{
        struct arena *arena = arena_of(address);
        struct stat st;

        /* The program may have closed the descriptor, whose number may now be that of another
         * file. */
        if (!arena || fstat(arena->fd, &st) < 0 || st.st_dev != arena->fd_device ||
            st.st_ino != arena->fd_inode)
                return -1;
        *ret_offset = address - (uintptr_t)arena_base(arena);
        return arena->fd;
}
