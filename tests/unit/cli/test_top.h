/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small node for the tests of `aliquot top`: two GPUs of 16 GiB, three sessions, four processes.
 *
 *      train   4 GiB on both     1.5 GiB on GPU 0, 512 MiB on GPU 1; pids 100 (alice) and 101 (bob)
 *      serve   2 GiB on GPU 0    all of it; pid 200 (carol)
 *      idle    no limit, no GPU, nobody
 *
 * Of GPU 0 others hold 4 GiB; GPU 1 tells nothing but its memory.
 */
#ifndef ALIQUOT_TESTS_UNIT_CLI_TEST_TOP_H
#define ALIQUOT_TESTS_UNIT_CLI_TEST_TOP_H

#include "cli/top/snapshot.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

struct test_node {
        struct snapshot snapshot;
        struct snapshot_session session[3];
        struct snapshot_process process[3];
};

void test_node_init(struct test_node *node);

/* Another session, between the others by its name, with nobody in it. For a larger node. */
struct snapshot_session test_session(const char *name, uint64_t limit_bytes, uint64_t used_bytes);

#endif
