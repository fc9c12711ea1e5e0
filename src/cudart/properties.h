/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps members of cudaDeviceProp to driver attributes: those of every release, and those of the
 * release that is built (release12.c, release13.c).
 */
#ifndef ALIQUOT_CUDART_PROPERTIES_H
#define ALIQUOT_CUDART_PROPERTIES_H

#include <stddef.h>

#include "cudart/driver.h"

struct property_field {
        size_t offset, bytes;
        CUdevice_attribute attribute;
};

#define PROPERTY_FIELD(member, attribute)                                \
        {                                                                \
                offsetof(struct cudaDeviceProp, member),                 \
                        sizeof(((struct cudaDeviceProp *)NULL)->member), \
                        CU_DEVICE_ATTRIBUTE_##attribute                  \
        }

extern const struct property_field property_release_fields[];
extern const size_t property_release_count;

/* Returns an error of the runtime, or 0. An attribute that the driver does not know stays 0. */
int properties_read(const struct driver *d, struct cudaDeviceProp *ret, int device);

#endif
