/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are not modelled, and the private table of functions.
 *
 * nvidia-smi requests a private table of functions and does not work without it. A table in which
 * every function returns NOT_SUPPORTED is enough; the output that nvidia-smi takes from the table,
 * such as its list of processes, then stays empty. No other table is known.
 */
#include "sim/context/missing.h"

#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/nvml/nvml.h"

#define PRIVATE_SLOTS 512

int missing_call(const char *function, _Atomic int *is_said)
{
        const struct sim_config *config = config_get();

        if (config && config->is_logging && !swap_acq_rel(is_said, 1))
                fprintf(stderr, "aliquot-sim: %s is not modelled: NVML_ERROR_NOT_SUPPORTED\n",
                        function);
        return NVML_ERROR_NOT_SUPPORTED;
}

static int private_call(void)
{
        static _Atomic int is_said;

        return missing_call("a private function of NVML", &is_said);
}

/* The UUID of nvidia-smi's private table: c4fe3e6c-c98f-6c4e-a327-ee696e12f7c4. */
static const unsigned char private_id[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                              0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };

#pragma GCC visibility push(default)
nvmlReturn_t nvmlInternalGetExportTable(const void **ret_table, const void *id);
#pragma GCC visibility pop

nvmlReturn_t nvmlInternalGetExportTable(const void **ret_table, const void *id)
{
        static void *table[PRIVATE_SLOTS];
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

        if (!ret_table || !id)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (memcmp(id, private_id, sizeof(private_id)) != 0)
                return NVML_ERROR_NOT_FOUND;
        pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < PRIVATE_SLOTS; i++)
                table[i] = (void *)private_call;
        pthread_mutex_unlock(&lock);
        *ret_table = table;
        return NVML_SUCCESS;
}
