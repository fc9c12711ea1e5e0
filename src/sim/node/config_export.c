/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the configuration of this simulated node, for programs that give another program the same
 * node. The simulated libnvidia-ml.so.1 exports the functions beside those of NVML.
 *
 *      const char *aliquot_sim_words(void)     text of ALIQUOT_SIM, or of the file given there
 *      const char *aliquot_sim_state(void)     path of the state folder, absolute or as configured
 *
 * They return NULL if the text is malformed. The strings live as long as the library.
 */
#include <stddef.h>

#include "sim/node/config.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *aliquot_sim_words(void);
EXPORTED const char *aliquot_sim_state(void);

const char *aliquot_sim_words(void)
{
        return config_words();
}

const char *aliquot_sim_state(void)
{
        const struct sim_config *config = config_peek();

        return config ? config->state_dir : NULL;
}
