/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the CDI specification of the shares, which `podman run --device aliquot.dev/share=NAME`
 * reads.
 *
 * It is version 0.5.0 of CDI, the lowest that has everything needed. What all containers get is
 * written once, for the kind. Each device adds the folder of its share's socket, read-only. It is
 * the folder and not the socket, because a restarted daemon creates a new socket in it.
 */
#ifndef ALIQUOT_CLI_CDI_SPEC_H
#define ALIQUOT_CLI_CDI_SPEC_H

#include <stddef.h>

#include "cli/cdi/inject.h"
#include "common/json_out.h"

#define SPEC_KIND "aliquot.dev/share"
#define SPEC_FILE "aliquot.dev-share.json" /* name in the folder of specifications */

/* A share and the path of its socket; borrowed. */
struct spec_share {
        const char *name;
        const char *door; /* path of its socket */
};

void spec_write(struct json_out *out, const struct injection *injection,
                const struct spec_share *shares, size_t count);

#endif
