/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a program to run, as the line behind its "#!", and as an LD_PRELOAD: nothing outside
 * them is read, names come out terminated, and ours is put into the list once.
 */
#include "cli/executable.h"
#include "cli/preload.h"
#include "cli/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OURS "/opt/libaliquot.so"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_program(const uint8_t *data, size_t size)
{
        struct executable file = { 0 };
        int fd = memfd_create("program", 0);

        if (fd < 0 || write(fd, data, size) != (ssize_t)size)
                abort();
        if (executable_inspect(fd, &file, NULL) == 0 &&
            !memchr(file.interpreter, 0, sizeof(file.interpreter)))
                abort();
        close(fd);
}

static void as_list(const char *text)
{
        char *once = preload_edit(text, OURS, NULL);
        char *twice = preload_edit(once, OURS, NULL);

        if (!once || !twice || strcmp(once, twice) != 0 || strncmp(once, OURS, strlen(OURS)) != 0)
                abort();
        free(twice);
        free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char program[PATH_MAX];
        char *text = malloc(size + 1);

        memcpy(text, data, size);
        text[size] = '\0';
        as_program(data, size);
        if (target_read_shebang(text, program) && !program[0])
                abort();
        as_list(text);
        free(text);
        return 0;
}
