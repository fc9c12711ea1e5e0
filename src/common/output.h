/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a command fail if its standard output could not be written.
 *
 *      output_watch("aliquot");        // the first call of main()
 *
 * The check is made at the process's exit, however it ends (argp exits after --help). If standard
 * output is closed, or on a full disk, one line on standard error says so, and an exit status of 0
 * becomes 1. Any other status is unchanged.
 */
#ifndef ALIQUOT_COMMON_OUTPUT_H
#define ALIQUOT_COMMON_OUTPUT_H

/* Call it once. `program` is the prefix of the error line, borrowed for ever. */
void output_watch(const char *program);

#endif
