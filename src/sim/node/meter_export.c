/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process had of a GPU, for programs that judge by it: exported by the simulated
 * libcuda.so.1 beside the driver's functions.
 *
 *      uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16])
 *
 * The engine's own count of this process's compute, in ns; what runs counts when it ends. 0 before
 * cuInit, and for a GPU that is not there.
 */
#include <string.h>

#include "common/atomic.h"
#include "sim/node/node.h"

__attribute__((visibility("default"))) uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16]);

uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16])
{
        const struct node *node = node_get();
        const struct node_row *row = node_self();

        for (unsigned i = 0; node && row && i < node->device_count; i++) {
                if (memcmp(node->device[i].uuid, uuid, sizeof(node->device[i].uuid)) == 0)
                        return load_relaxed(
                                &node->meter[row - node->row][i][ENGINE_COMPUTE].total_ns);
        }
        return 0;
}
