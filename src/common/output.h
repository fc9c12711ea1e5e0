/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command printed has arrived, or the command has failed.
 *
 *      output_watch("aliquot");        // first of all
 *
 * However the process ends (argp ends it after --help): if standard output is a full disk, or
 * closed, one line on stderr says so and success becomes exit status 1. Another status stays.
 */
#ifndef ALIQUOT_COMMON_OUTPUT_H
#define ALIQUOT_COMMON_OUTPUT_H

/* Call it once. `program` begins the line of an error and is borrowed for ever. */
void output_watch(const char *program);

#endif
