/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from an executable file whether a library can be preloaded into it. The file is untrusted:
 * every offset is checked.
 */
#ifndef ALIQUOT_CLI_EXECUTABLE_H
#define ALIQUOT_CLI_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct executable {
        bool is_native; /* of this machine, 64 bits; else nothing below is filled in */
        unsigned bits;  /* 32 or 64 */
        uint16_t machine;
        bool is_program;       /* something to execute, not an object or a core */
        char interpreter[256]; /* the loader; "": none, statically linked */
};

/* -ENOEXEC: no ELF file. -EBADMSG: a damaged one. */
int executable_inspect(int fd, struct executable *ret, struct error *err);

#endif
