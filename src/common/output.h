/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a command fail if its standard output could not be written.
 *
 *      output_watch("aliquot");        // the first call of main()
 *
 * However the process ends (argp exits after --help): if standard output is on a full disk, or
 * closed, one line on stderr says so and exit status 0 becomes 1. Another status stays.
 */
#ifndef ALIQUOT_COMMON_OUTPUT_H
#define ALIQUOT_COMMON_OUTPUT_H

/* Call it once. `program` starts the error line and is borrowed for ever. */
void output_watch(const char *program);

#endif
