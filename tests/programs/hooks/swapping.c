/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a session that swaps, as a daemon would: of device 0, with the limit in BYTES.
 *
 *      swapping NAME BYTES
 *
 * Nobody looks after it: who plays the daemon writes its pages (lib/keeper.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "settings/settings.h"
#include "store/store.h"

int main(int argc, char **argv)
{
        static struct settings_limits limits;
        struct store_tenancy tenancy = { .id = { 1 }, .uid = getuid() };
        struct store_request request = { .created_as = "swap",
                                         .limits = &limits,
                                         .tenancy = &tenancy };
        struct store_session session;
        struct store store;
        struct error err;
        size_t card_bytes = 0;
        CUuuid uuid;

        if (argc != 3 || cuInit(0) || cuDeviceGetUuid(&uuid, 0) ||
            cuDeviceTotalMem_v2(&card_bytes, 0))
                return 2;
        request.name = argv[1];
        limits.count = 1;
        memcpy(limits.device[0].uuid, uuid.bytes, sizeof(uuid.bytes));
        limits.device[0].card_bytes = card_bytes;
        limits.device[0].limit_bytes = strtoull(argv[2], NULL, 10);
        limits.default_bytes = PAGE_UNLIMITED;
        limits.swaps = true;
        if (store_find(&store, getenv("ALIQUOT_RUNTIME_DIR"), true, &err) < 0 ||
            store_create(&store, &request, &session, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
        }
        printf("%s\n", session.path);
        return 0;
}
