/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the members of cudaDeviceProp to driver attributes. properties.c has those of all releases;
 * release12.c or release13.c has those of the release that is built.
 */
#ifndef ALIQUOT_CUDART_PROPERTIES_H
#define ALIQUOT_CUDART_PROPERTIES_H

#include <stddef.h>

#include "cudart/driver.h"

/* A member of cudaDeviceProp and the attribute that fills it. */
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

/* The members of the release that is built. */
extern const struct property_field property_release_fields[];
extern const size_t property_release_count;

/* Fills *ret with the properties of a device. The member of an attribute that the driver does not
 * know is 0. Returns an error of the runtime, or 0. */
int properties_read(const struct driver *d, struct cudaDeviceProp *ret, int device);

#endif
