/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the utilisation, temperature and power of a GPU from the driver's NVML.
 *
 *      cards_start(handle, path, &err)            see cards.h
 *      gauges_bind(handle)                        the same handle
 *      gauges_read(uuid, is_instance, &gauges)    any number of times
 *
 * A value that the GPU, driver or instance does not report is -1. One thread at a time.
 */
#ifndef ALIQUOT_MACHINE_GAUGES_H
#define ALIQUOT_MACHINE_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

struct gauges {
        int busy_percent; /* part of recent time in which a kernel ran */
        int celsius;
        int power_watts;
        int power_limit_watts;
};

#define GAUGES_UNKNOWN ((struct gauges){ -1, -1, -1, -1 })

void gauges_bind(void *handle);
void gauges_read(const uint8_t uuid[16], bool is_instance, struct gauges *ret);

#endif
