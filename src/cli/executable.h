/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines from an executable file whether a library can be preloaded into the program. The file
 * is untrusted: every offset is checked.
 */
#ifndef ALIQUOT_CLI_EXECUTABLE_H
#define ALIQUOT_CLI_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct executable {
        bool is_native; /* for this machine, 64 bits; otherwise the fields below are not set */
        unsigned bits;  /* 32 or 64 */
        uint16_t machine;
        bool is_program;       /* something to execute, not a shared object or a core dump */
        char interpreter[256]; /* the program's loader; "": none, statically linked */
};

/* Reads an executable file. -ENOEXEC: no ELF file. -EBADMSG: a damaged ELF file. */
int executable_inspect(int fd, struct executable *ret, struct error *err);

#endif
