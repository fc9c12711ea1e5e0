/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CDI specification of the shares: what `podman run --device aliquot.dev/share=NAME` reads.
 *
 * Version 0.5.0 of CDI, the lowest that has all of it. What all containers get stands once, for
 * the kind; a device adds the folder of its share's door, read-only. The folder and not the socket:
 * a daemon that is restarted makes a new socket in it.
 */
#ifndef ALIQUOT_CLI_CDI_SPEC_H
#define ALIQUOT_CLI_CDI_SPEC_H

#include <stddef.h>

#include "cli/cdi/inject.h"
#include "common/json_out.h"

#define SPEC_KIND "aliquot.dev/share"
#define SPEC_FILE "aliquot.dev-share.json" /* in the folder of specifications */

/* A share, and where its door is; borrowed. */
struct spec_share {
        const char *name;
        const char *door; /* a path */
};

void spec_write(struct json_out *out, const struct injection *injection,
                const struct spec_share *shares, size_t count);

#endif
