/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/initial.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* more than the kernel's default maximum; pages that are not touched cost nothing */
#define INITIAL_BYTES (8u << 20)
/* length of the shortest name that can be a setting; ALIQUOT_GPU is longer, and a misspelling
 * has at least 9 letters */
#define INITIAL_NAME_BYTES 8u
#define INITIAL_ENTRIES (INITIAL_BYTES / (INITIAL_NAME_BYTES + sizeof("=")))

/* The copy of the environment. Used only by the thread that finds the session. */
static struct initial {
        char text[INITIAL_BYTES + 1];
        char *entry[INITIAL_ENTRIES + 1];
} * initial;

/* Whether the entry's name is long enough for a setting. The caller of initial_environment()
 * compares the names. */
static bool could_be_a_setting(const char *entry)
{
        const char *equals = strchr(entry, '=');

        return equals && equals - entry >= (ptrdiff_t)INITIAL_NAME_BYTES;
}

static size_t read_all(char *ret, size_t bytes)
{
        int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
        size_t used = 0;
        ssize_t got;

        if (fd < 0)
                return 0;
        while (used < bytes && (got = read(fd, ret + used, bytes - used)) > 0)
                used += (size_t)got;
        close(fd);
        return used;
}

char *const *initial_environment(void)
{
        size_t used, count = 0;

        initial_free();
        initial = mmap(NULL, sizeof(*initial), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (initial == MAP_FAILED) {
                initial = NULL;
                return NULL;
        }
        used = read_all(initial->text, INITIAL_BYTES);
        for (size_t at = 0; at < used; at += strlen(initial->text + at) + 1) {
                if (could_be_a_setting(initial->text + at))
                        initial->entry[count++] = initial->text + at;
        }
        return initial->entry;
}

void initial_free(void)
{
        if (initial)
                munmap(initial, sizeof(*initial));
        initial = NULL;
}
