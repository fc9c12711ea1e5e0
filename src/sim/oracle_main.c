/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot-sim-oracle [STATE_DIR]: prints what the simulated node has granted, as JSON.
 *
 * Without an argument, it reads the state folder that ALIQUOT_SIM configures. Exit status 0, or 1
 * when there is no node.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/node/config.h"
#include "sim/node/oracle.h"

int main(int argc, char **argv)
{
        const struct sim_config *config = config_get();

        if (argc > 2 || (argc < 2 && !config)) {
                fprintf(stderr, "usage: aliquot-sim-oracle [STATE_DIR]\n");
                return 2;
        }
        const char *state_dir = argc == 2 ? argv[1] : config->state_dir;
        struct oracle *oracle = oracle_open(state_dir);
        if (!oracle) {
                fprintf(stderr, "aliquot-sim-oracle: %s: %s\n", state_dir, strerror(errno));
                return 1;
        }
        oracle_print(oracle, stdout);
        oracle_close(oracle);
        return 0;
}
