/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module images of known length: whatever the bytes, reading stays within them and comes to an end.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/node/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct image_kernel kernel;
        struct image image;
        size_t cursor = 0;

        if (!size)
                return 0;
        image = image_read(data, size);
        for (unsigned i = 0; i < 1000 && image_next_kernel(&image, &cursor, &kernel); i++)
                if (cursor > size && image.kind != IMAGE_BUILTIN)
                        abort();
        return 0;
}
