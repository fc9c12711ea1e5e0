/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports GPU time of a process to benchmark programs. The simulated libcuda.so.1 exports the
 * functions beside those of the driver.
 *
 *      uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16])
 *      uint64_t aliquot_sim_flight_ns(const unsigned char uuid[16])
 *
 * The first returns this process's time on the compute engine, in ns; running work is counted when
 * it ends. The second returns how long this process had work in flight, with flights=on
 * (flights.h). Both return 0 before cuInit, and for an unknown GPU.
 */
#include <string.h>

#include "common/atomic.h"
#include "sim/node/flights.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16]);
EXPORTED uint64_t aliquot_sim_flight_ns(const unsigned char uuid[16]);

static bool find_row(const unsigned char uuid[16], unsigned *ret_device, unsigned *ret_row)
{
        const struct sim_node *node = node_get();
        const struct node_row *row = node_self();

        for (unsigned i = 0; node && row && i < node->device_count; i++) {
                if (memcmp(node->device[i].uuid, uuid, sizeof(node->device[i].uuid)) == 0) {
                        *ret_device = i;
                        *ret_row = (unsigned)(row - node->row);
                        return true;
                }
        }
        return false;
}

uint64_t aliquot_sim_busy_ns(const unsigned char uuid[16])
{
        unsigned device, row;

        if (!find_row(uuid, &device, &row))
                return 0;
        return load_relaxed(&node_get()->meter[row][device][ENGINE_COMPUTE].total_ns);
}

uint64_t aliquot_sim_flight_ns(const unsigned char uuid[16])
{
        unsigned device, row;

        if (!find_row(uuid, &device, &row))
                return 0;
        flights_settle(node_get(), device);
        return flights_of_row(node_get(), device, row);
}
