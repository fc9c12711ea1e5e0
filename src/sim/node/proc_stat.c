/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/node/proc_stat.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"

/* Numbers of the fields in the stat file, as proc(5) counts them. */
#define FIELD_STATE 3
#define FIELD_USER_TICKS 14
#define FIELD_SYSTEM_TICKS 15
#define FIELD_START 22

static bool read_text(const char *path, char *ret, size_t bytes)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, ret, bytes - 1);

        if (n <= 0)
                return false;
        ret[n] = '\0';
        return true;
}

bool proc_status_read(const char *path, struct proc_status *ret)
{
        static const char name[] = "\nState:\t";
        char text[4096];
        const char *state;

        if (!read_text(path, text, sizeof(text)))
                return false;
        state = strstr(text, name);
        *ret = (struct proc_status){ .state = state ? state[sizeof(name) - 1] : '?',
                                     .has_memory = strstr(text, "\nVmSize:") != NULL };
        return true;
}

bool proc_stat_read(const char *path, struct proc_stat *ret)
{
        char text[1024];

        if (!read_text(path, text, sizeof(text)))
                return false;
        /* The program's name may contain anything, including parentheses. */
        char *at = strrchr(text, ')');
        if (!at || at[1] != ' ')
                return false;
        *ret = (struct proc_stat){ .state = at[2] };
        at += 2;
        for (unsigned field = FIELD_STATE; field <= FIELD_START && at; field++) {
                if (field == FIELD_USER_TICKS || field == FIELD_SYSTEM_TICKS)
                        ret->cpu_ticks += strtoull(at, NULL, 10);
                if (field == FIELD_START)
                        ret->start_ticks = strtoull(at, NULL, 10);
                at = strchr(at, ' ');
                if (at)
                        at++;
        }
        return true;
}
