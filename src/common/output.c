/* SPDX-License-Identifier: Apache-2.0 */
#include "common/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int status, void *program)
{
        errno = 0;
        if (fflush(stdout) == 0 && !ferror(stdout))
                return;
        fprintf(stderr, "%s: standard output: %s\n", (const char *)program,
                errno ? strerror(errno) : "not all of it could be written");
        if (status == 0)
                _exit(1);
}

void output_watch(const char *program)
{
        on_exit(check, (void *)program);
}
