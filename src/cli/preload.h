/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits the value of LD_PRELOAD: Aliquot's library comes first and only once, then all others in
 * their order.
 *
 * The loader separates paths at spaces and colons and knows no quoting, so a path that contains one
 * of these cannot be preloaded.
 */
#ifndef ALIQUOT_CLI_PRELOAD_H
#define ALIQUOT_CLI_PRELOAD_H

#include "common/error.h"

/* Returns the new value, which the caller frees. `before` may be NULL. Returns NULL on failure,
 * with `err`. */
char *preload_edit(const char *before, const char *library, struct error *err);

#endif
