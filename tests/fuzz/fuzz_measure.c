/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module's file, by a hostile author: nothing outside of it is read, and what is charged does not
 * depend on what lies behind it.
 */
#include "shim/cuda/measure/measure.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const unsigned capabilities[] = { 0, 75, 90, 121 };

        for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
                if (size && !measure_file(data, size, capabilities[i]))
                        abort();
        }
        return 0;
}
