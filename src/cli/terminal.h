/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The properties of the terminal on standard output.
 */
#ifndef ALIQUOT_CLI_TERMINAL_H
#define ALIQUOT_CLI_TERMINAL_H

#include <stdbool.h>

/* Characters that are not ASCII, by the locale, which is taken over from the environment. */
bool terminal_is_utf8(void);

/* 0: no terminal, or the width is unknown. */
int terminal_columns(void);

#endif
