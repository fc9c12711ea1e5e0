/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks: what is kept under a key is found under it, whatever else is there.
 */
#include "shim/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct blocks blocks;
static uint32_t free_nodes;

static int empty_table(void **state)
{
        memset(&blocks, 0, sizeof(blocks));
        free_nodes = 0;
        return 0;
}

static uint32_t put(uint8_t space, uint64_t key, uint64_t bytes)
{
        uint32_t node = blocks_reserve(&blocks, &free_nodes);
        const struct block block = { .key = key, .bytes = bytes, .space = space, .owner = 1 };
        struct block old;

        assert_int_not_equal(node, 0);
        return blocks_put(&blocks, node, &block, &old);
}

static uint64_t take(uint8_t space, uint64_t key)
{
        struct block block;
        uint32_t node = blocks_take(&blocks, space, key, &block);

        if (node == 0)
                return UINT64_MAX;
        blocks_return(&blocks, &free_nodes, node);
        return block.bytes;
}

static void an_empty_table_knows_nothing(void **state)
{
        struct block block;

        assert_int_equal(take(1, 5), UINT64_MAX);
        assert_false(blocks_find(&blocks, 1, 5, &block));
        assert_int_equal(blocks_take_owner(&blocks, 3, 1), 0);
}

static void a_block_is_taken_once(void **state)
{
        put(1, 0x7f0000000000, 512);
        assert_int_equal(take(1, 0x7f0000000000), 512);
        assert_int_equal(take(1, 0x7f0000000000), UINT64_MAX);
}

static void equal_numbers_in_two_spaces_are_two_keys(void **state)
{
        put(1, 77, 10);
        put(2, 77, 20);
        assert_int_equal(take(2, 77), 20);
        assert_int_equal(take(1, 77), 10);
}

static void a_live_key_is_replaced_and_its_node_handed_out(void **state)
{
        struct block old, block = { .key = 9, .bytes = 200, .space = 1 };
        uint32_t first = blocks_reserve(&blocks, &free_nodes);

        assert_int_equal(blocks_put(&blocks, first,
                                    &(struct block){ .key = 9, .bytes = 100, .space = 1 }, &old),
                         0);
        uint32_t second = blocks_reserve(&blocks, &free_nodes);

        assert_int_equal(blocks_put(&blocks, second, &block, &old), first);
        assert_int_equal(old.bytes, 100);
        assert_int_equal(take(1, 9), 200);
}

/* Strides that real drivers use, a hundred thousand of each at a time: growth loses none. */
static void many_blocks_of_every_stride_are_found(void **state)
{
        static const uint64_t strides[] = { 1, 16, 256, 512, 4096, 1u << 21 };

        for (size_t s = 0; s < sizeof(strides) / sizeof(strides[0]); s++) {
                for (uint64_t i = 0; i < 100000; i++)
                        put(1, 0x7f0000000000 + i * strides[s], i);
                for (uint64_t i = 0; i < 100000; i++)
                        assert_int_equal(take(1, 0x7f0000000000 + (i * 7919 % 100000) * strides[s]),
                                         i * 7919 % 100000);
        }
        for (unsigned i = 0; i < BLOCK_SHARDS; i++)
                assert_int_equal(blocks.shard[i].live, 0);
}

static void an_owner_takes_all_of_its_own_along_and_no_others(void **state)
{
        unsigned taken = 0;

        for (uint64_t i = 0; i < 1000; i++) {
                const struct block block = {
                        .key = i * 512, .bytes = 1, .space = 1, .owner = (uint32_t)(i % 3 + 1)
                };
                struct block old;

                blocks_put(&blocks, blocks_reserve(&blocks, &free_nodes), &block, &old);
        }
        for (unsigned shard = 0; shard < BLOCK_SHARDS; shard++)
                for (uint32_t node = blocks_take_owner(&blocks, shard, 2); node != 0; taken++) {
                        assert_int_equal(blocks_see(&blocks, node).owner, 2);
                        node = blocks_see(&blocks, node).next;
                }
        assert_int_equal(taken, 333);
        for (uint64_t i = 0; i < 1000; i++)
                assert_int_equal(take(1, i * 512), i % 3 == 1 ? UINT64_MAX : 1);
}

static void nodes_are_used_again(void **state)
{
        for (unsigned i = 0; i < 100000; i++) {
                put(1, i, 1);
                take(1, i);
        }
        assert_int_equal(blocks.nodes_made, 1);
}

static void a_node_from_another_process_is_let_be(void **state)
{
        struct block old;

        assert_int_equal(blocks_put(&blocks, 1000, &(struct block){ .key = 1, .space = 1 }, &old),
                         0);
        blocks_return(&blocks, &free_nodes, 1000);
        assert_int_equal(free_nodes, 0);
        assert_int_equal(take(1, 1), UINT64_MAX);
}

static bool has_address_space(void)
{
        void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                return false;
        munmap(page, 4096);
        return true;
}

/* Without memory a reservation fails, before anything has happened. */
static void no_memory_is_told_at_the_reservation(void **state)
{
        const struct rlimit none = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
        struct rlimit before;
        unsigned made = 0;

        getrlimit(RLIMIT_AS, &before);
        setrlimit(RLIMIT_AS, &none);
        if (has_address_space()) { /* an emulator may not know the limit */
                setrlimit(RLIMIT_AS, &before);
                skip();
        }
        while (made < 1000 && blocks_reserve(&blocks, &free_nodes) != 0)
                made++;
        setrlimit(RLIMIT_AS, &before);
        assert_int_equal(made, 0);
        put(1, 5, 7);
        assert_int_equal(take(1, 5), 7);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(an_empty_table_knows_nothing, empty_table),
                cmocka_unit_test_setup(a_block_is_taken_once, empty_table),
                cmocka_unit_test_setup(equal_numbers_in_two_spaces_are_two_keys, empty_table),
                cmocka_unit_test_setup(a_live_key_is_replaced_and_its_node_handed_out, empty_table),
                cmocka_unit_test_setup(many_blocks_of_every_stride_are_found, empty_table),
                cmocka_unit_test_setup(an_owner_takes_all_of_its_own_along_and_no_others,
                                       empty_table),
                cmocka_unit_test_setup(nodes_are_used_again, empty_table),
                cmocka_unit_test_setup(a_node_from_another_process_is_let_be, empty_table),
                cmocka_unit_test_setup(no_memory_is_told_at_the_reservation, empty_table),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
