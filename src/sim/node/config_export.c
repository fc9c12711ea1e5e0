/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this simulated node is like, for whoever makes it another program's too: exported by the
 * simulated libnvidia-ml.so.1 beside NVML's functions.
 *
 *      const char *aliquot_sim_words(void)     as ALIQUOT_SIM has it, or the file that it names
 *      const char *aliquot_sim_state(void)     the state folder, absolute or as it was given
 *
 * NULL where the words are malformed. Both live as long as the library.
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
