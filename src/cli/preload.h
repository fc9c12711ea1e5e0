/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits the text of LD_PRELOAD: our library first, once, then all others in their order.
 *
 * The loader takes spaces and colons as separators and knows no quoting, so a path that contains
 * one of them cannot be preloaded.
 */
#ifndef ALIQUOT_CLI_PRELOAD_H
#define ALIQUOT_CLI_PRELOAD_H

#include "common/error.h"

/* `before` may be NULL. The result is the caller's to free. NULL: see `err`. */
char *preload_edit(const char *before, const char *library, struct error *err);

#endif
