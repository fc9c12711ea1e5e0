/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the cards: PCI Express, processors, peers.
 *
 * All cards are at one NUMA node, each at its own host bridge and with the full link. NVLink is not
 * modelled, and is NOT_SUPPORTED. Peers can access each other unless they are divided, as with
 * cuDeviceCanAccessPeer.
 */
#include "sim/nvml/give.h"

#include <unistd.h>

#include "sim/node/clock.h"

#define LONG_BITS (8 * sizeof(unsigned long))

/* The value is a constant NVML_PCIE_LINK_MAX_SPEED_*, which are equal to the numbers of the
 * generations. */
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t handle, unsigned *ret)
{
        return nvml_give(__func__, handle, ret, nvml.spec->pcie_generation);
}

nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t handle, unsigned *ret_mbps)
{
        static const unsigned mbps[] = { 0, 2500, 5000, 8000, 16000, 32000, 64000 };

        return nvml_give(__func__, handle, ret_mbps, mbps[nvml.spec->pcie_generation]);
}

/* Returns the throughput: the part of the last second in which copies ran in this direction, times
 * the configured rate. */
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t handle, nvmlPcieUtilCounter_t counter,
                                         unsigned *ret_kib_per_s)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_kib_per_s, &gpu);
        uint64_t rate = nvml.config ? nvml.config->host_rate : 0;
        uint64_t now_ns = sim_now_ns();
        double busy_ns = 0;

        if (rc != NVML_SUCCESS)
                return rc;
        if ((unsigned)counter >= NVML_PCIE_UTIL_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < gpu->unit_count; i++) {
                const struct node_meter *way = nvml.node->device[gpu->first_unit + i].way;

                way += counter == NVML_PCIE_UTIL_RX_BYTES ? WAY_TO_DEVICE : WAY_TO_HOST;
                busy_ns += (double)node_meter_read(way, now_ns, NVML_WINDOW_NS);
        }
        *ret_kib_per_s = (unsigned)(busy_ns / NVML_WINDOW_NS * (double)rate / 1024);
        return NVML_SUCCESS;
}

nvmlReturn_t affinity_give(const char *function, nvmlDevice_t handle, unsigned words,
                           unsigned long *ret_set, unsigned long members)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_set, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (words == 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < words; i++) {
                unsigned long here = members > i * LONG_BITS ? members - i * LONG_BITS : 0;

                ret_set[i] = here >= LONG_BITS ? ~0UL : (1UL << here) - 1;
        }
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t handle, unsigned words, unsigned long *ret_set)
{
        return affinity_give(__func__, handle, words, ret_set,
                             (unsigned long)sysconf(_SC_NPROCESSORS_CONF));
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t handle, unsigned words,
                                                 unsigned long *ret_set, nvmlAffinityScope_t scope)
{
        return affinity_give(__func__, handle, words, ret_set,
                             (unsigned long)sysconf(_SC_NPROCESSORS_CONF));
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t *ret_level)
{
        const struct gpu *gpu, *peer;
        nvmlReturn_t rc = nvml_enter_card(__func__, one, ret_level, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        rc = nvml_find_gpu(other, &peer);
        if (rc == NVML_SUCCESS)
                *ret_level = gpu == peer ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
        return rc;
}

/* Lists the cards other than `but`, with the rules of all of NVML's lists. */
static nvmlReturn_t cards_give(const struct gpu *but, unsigned *count, nvmlDevice_t *ret_handles)
{
        unsigned found = nvml.card_count - (but ? 1 : 0);
        unsigned room = *count;

        *count = found;
        if (!ret_handles)
                return NVML_SUCCESS;
        if (room < found)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0, next = 0; i < nvml.card_count; i++) {
                if (&nvml.gpu[i] != but)
                        ret_handles[next++] = gpu_handle(&nvml.gpu[i]);
        }
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, nvmlGpuTopologyLevel_t level,
                                              unsigned *count, nvmlDevice_t *ret_handles)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (level == NVML_TOPOLOGY_NODE)
                return cards_give(gpu, count, ret_handles);
        *count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned *count, nvmlDevice_t *ret_handles)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!count || cpu >= (unsigned long)sysconf(_SC_NPROCESSORS_CONF))
                return NVML_ERROR_INVALID_ARGUMENT;
        return cards_give(NULL, count, ret_handles);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *ret_status)
{
        const struct gpu *gpu, *peer;
        nvmlReturn_t rc = nvml_enter_card(__func__, one, ret_status, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        rc = nvml_find_gpu(other, &peer);
        if (rc != NVML_SUCCESS)
                return rc;
        if (gpu == peer || peer->is_instance)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu->is_divided || index == NVML_P2P_CAPS_INDEX_NVLINK)
                *ret_status = NVML_P2P_STATUS_NOT_SUPPORTED;
        else
                *ret_status = NVML_P2P_STATUS_OK;
        return NVML_SUCCESS;
}
