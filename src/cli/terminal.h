/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The properties of the terminal on standard output.
 */
#ifndef ALIQUOT_CLI_TERMINAL_H
#define ALIQUOT_CLI_TERMINAL_H

#include <stdbool.h>

/* Returns whether the terminal can show characters that are not ASCII, by the locale, which this
 * sets from the environment. */
bool terminal_is_utf8(void);

/* Returns the terminal's width; 0: no terminal, or the width is unknown. */
int terminal_columns(void);

#endif
