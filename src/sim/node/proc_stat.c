/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/node/proc_stat.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"

/* Fields as proc(5) counts them. */
#define FIELD_STATE 3
#define FIELD_FLAGS 9
#define FIELD_USER_TICKS 14
#define FIELD_SYSTEM_TICKS 15
#define FIELD_START 22

bool proc_stat_read(const char *path, struct proc_stat *ret)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        char text[1024];

        if (fd < 0)
                return false;
        ssize_t n = read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return false;
        text[n] = '\0';
        /* The name may have anything in it, also parentheses. */
        char *at = strrchr(text, ')');
        if (!at || at[1] != ' ')
                return false;
        *ret = (struct proc_stat){ .state = at[2] };
        at += 2;
        for (unsigned field = FIELD_STATE; field <= FIELD_START && at; field++) {
                if (field == FIELD_FLAGS)
                        ret->flags = strtoull(at, NULL, 10);
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
