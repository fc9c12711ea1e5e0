/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads how busy and warm a GPU is, and its power, from the driver's NVML.
 *
 *      cards_start(handle, path, &err)         see cards.h
 *      gauges_bind(handle)                     the same handle
 *      gauges_read(uuid, is_instance, &gauges) as often as wanted
 *
 * Not every GPU, driver and instance reports every value; -1: not reported. One thread.
 */
#ifndef ALIQUOT_MACHINE_GAUGES_H
#define ALIQUOT_MACHINE_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

struct gauges {
        int busy_percent;
        int celsius;
        int power_watts;
        int power_limit_watts;
};

#define GAUGES_UNKNOWN ((struct gauges){ -1, -1, -1, -1 })

void gauges_bind(void *handle);
void gauges_read(const uint8_t uuid[16], bool is_instance, struct gauges *ret);

#endif
