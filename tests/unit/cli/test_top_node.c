/* SPDX-License-Identifier: Apache-2.0 */
#include "test_top.h"

#include <stdio.h>
#include <string.h>

static struct snapshot_process process_of(uint32_t pid, const char *user, const char *command,
                                          uint64_t bytes)
{
        struct snapshot_process process = { .pid = pid, .user = user, .bytes = bytes };

        process.said = (struct usage_process){ .slot = pid % 100, .pid = pid, .start_ticks = pid };
        snprintf(process.said.command, sizeof(process.said.command), "%s", command);
        process.said.bytes[0] = bytes;
        return process;
}

static struct snapshot_share share_of(int device, uint64_t limit_bytes, uint64_t used_bytes)
{
        struct snapshot_share share = { .device = device,
                                        .limit_bytes = limit_bytes,
                                        .card_bytes = 16 * GIB,
                                        .used_bytes = used_bytes,
                                        .row = (unsigned)device };

        memset(share.uuid, device + 1, sizeof(share.uuid));
        return share;
}

struct snapshot_session test_session(const char *name, uint64_t limit_bytes, uint64_t used_bytes)
{
        struct snapshot_session session = { .share_count = 1,
                                            .used_bytes = used_bytes,
                                            .left_seconds = -1 };

        snprintf(session.name, sizeof(session.name), "%s", name);
        session.share[0] = share_of(0, limit_bytes, used_bytes);
        return session;
}

static struct snapshot_device device_of(int index, uint64_t used_bytes, uint64_t sessions_bytes)
{
        struct snapshot_device device = { .index = index,
                                          .name = "Tesla T4",
                                          .total_bytes = 16 * GIB,
                                          .used_bytes = used_bytes,
                                          .sessions_bytes = sessions_bytes,
                                          .gauges = GAUGES_UNKNOWN };

        memset(device.uuid, index + 1, sizeof(device.uuid));
        return device;
}

void test_node_init(struct test_node *node)
{
        *node = (struct test_node){
                .session = { test_session("idle", 0, 0), test_session("serve", 2 * GIB, 2 * GIB),
                             test_session("train", 4 * GIB, 1536 * MIB) },
                .process = { process_of(200, "carol", "server", 2 * GIB),
                             process_of(100, "alice", "python3", 1536 * MIB),
                             process_of(101, "bob", "loader", 0) },
        };
        node->session[0].share_count = 0;
        node->session[0].default_limit_bytes = PAGE_UNLIMITED;
        node->session[1].process = &node->process[0];
        node->session[1].process_count = 1;
        node->session[2].process = &node->process[1];
        node->session[2].process_count = 2;
        node->session[2].share[1] = share_of(1, 4 * GIB, 512 * MIB);
        node->session[2].share_count = 2;
        node->session[2].used_bytes = 2 * GIB;
        node->process[1].said.bytes[1] = 512 * MIB;
        node->process[1].bytes = 2 * GIB;
        node->snapshot.device_count = 2;
        node->snapshot.device[0] = device_of(0, 7680 * MIB, 3584 * MIB);
        node->snapshot.device[0].gauges = (struct gauges){ 37, 45, 12, 70 };
        node->snapshot.device[1] = device_of(1, 512 * MIB, 512 * MIB);
        node->snapshot.session = node->session;
        node->snapshot.session_count = 3;
}
