/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What standard output can show.
 */
#ifndef ALIQUOT_CLI_TERMINAL_H
#define ALIQUOT_CLI_TERMINAL_H

#include <stdbool.h>

/* Characters that are not ASCII, by the locale, which is taken over from the environment. */
bool terminal_is_utf8(void);

/* 0: it is no terminal, or one that does not say. */
int terminal_columns(void);

#endif
