/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as ALIQUOT_SIM and as CUDA_VISIBLE_DEVICES: what is accepted is within its bounds, and a
 * refusal says why.
 */
#include "sim/context/device.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct sim_node node;
        struct sim_config config;
        struct device_list list;
        char why[64] = "";
        char *text = malloc(size + 1);

        memcpy(text, data, size);
        text[size] = '\0';
        if (config_parse(text, &config, why, sizeof(why)) == 0) {
                if (config.device_count > SIM_DEVICES || config.fault_count > CONFIG_FAULTS ||
                    config.memory_bytes > 1ULL << 40 || config.model >= MODEL_COUNT)
                        abort();
        } else if (why[0] == '\0') {
                abort();
        }
        node.device_count = SIM_DEVICES;
        device_list_parse(text, &node, &list);
        if (list.count > SIM_DEVICES)
                abort();
        free(text);
        return 0;
}
