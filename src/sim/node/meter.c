/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds engine time to a ring of buckets, from which utilisation is computed.
 */
#include "common/atomic.h"
#include "common/minmax.h"
#include "sim/node/node.h"

static void meter_add(struct node_meter *meter, uint64_t start_ns, uint64_t end_ns)
{
        add_relaxed(&meter->total_ns, end_ns - start_ns);
        if (end_ns - start_ns > NODE_BUCKETS * NODE_BUCKET_NS)
                start_ns = end_ns - NODE_BUCKETS * NODE_BUCKET_NS;
        while (start_ns < end_ns) {
                uint64_t epoch = start_ns / NODE_BUCKET_NS;
                uint64_t next_ns = (epoch + 1) * NODE_BUCKET_NS;
                uint64_t part_end_ns = min_u64(next_ns, end_ns);
                uint64_t seen = load_relaxed(&meter->bucket[epoch % NODE_BUCKETS].epoch);

                if (seen != epoch &&
                    cas_acq_rel(&meter->bucket[epoch % NODE_BUCKETS].epoch, &seen, epoch))
                        store_relaxed(&meter->bucket[epoch % NODE_BUCKETS].busy_ns, 0);
                add_relaxed(&meter->bucket[epoch % NODE_BUCKETS].busy_ns, part_end_ns - start_ns);
                start_ns = part_end_ns;
        }
}

void node_busy_add(unsigned device, enum engine engine, uint64_t start_ns, uint64_t end_ns)
{
        struct sim_node *node = node_get();
        struct node_row *row = node_self();

        if (!node || !row || end_ns <= start_ns)
                return;
        meter_add(&node->device[device].meter[engine], start_ns, end_ns);
        meter_add(&node->meter[row - node->row][device][engine], start_ns, end_ns);
        if (engine == ENGINE_COMPUTE)
                add_relaxed(&node->tag[row->tag].column[device].busy_ns, end_ns - start_ns);
}

void node_way_add(unsigned device, enum host_way way, uint64_t start_ns, uint64_t end_ns)
{
        if (end_ns > start_ns)
                meter_add(&node_get()->device[device].way[way], start_ns, end_ns);
}

uint64_t node_meter_read(const struct node_meter *meter, uint64_t now_ns, uint64_t window_ns)
{
        uint64_t last = now_ns / NODE_BUCKET_NS;
        uint64_t buckets = window_ns / NODE_BUCKET_NS;
        uint64_t sum_ns = 0;

        if (buckets == 0)
                buckets = 1;
        if (buckets > NODE_BUCKETS - 2)
                buckets = NODE_BUCKETS - 2;
        for (uint64_t epoch = last > buckets ? last - buckets : 0; epoch < last; epoch++) {
                if (load_relaxed(&meter->bucket[epoch % NODE_BUCKETS].epoch) == epoch)
                        sum_ns += load_relaxed(&meter->bucket[epoch % NODE_BUCKETS].busy_ns);
        }
        return sum_ns;
}
