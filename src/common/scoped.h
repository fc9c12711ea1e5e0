/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scoped cleanup: a variable that is declared with one of these words owns its resource until the
 * end of the block.
 *
 * `scoped_fd int fd = open(...)` closes the descriptor, `scoped_free char *p` frees the memory,
 * `scoped_file FILE *f` closes the file, and `scoped_dir DIR *d` closes the directory. steal_fd()
 * and steal_ptr() take the resource out of the variable, so that it outlives the block.
 */
#ifndef ALIQUOT_COMMON_SCOPED_H
#define ALIQUOT_COMMON_SCOPED_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scoped_fd_end(int *fd)
{
        int saved = errno;

        if (*fd >= 0)
                close(*fd);
        errno = saved;
}

static inline void scoped_free_end(void *slot)
{
        free(*(void **)slot);
}

static inline void scoped_file_end(FILE **file)
{
        if (*file)
                fclose(*file);
}

static inline void scoped_dir_end(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}

#define scoped_fd __attribute__((cleanup(scoped_fd_end)))
#define scoped_free __attribute__((cleanup(scoped_free_end)))
#define scoped_file __attribute__((cleanup(scoped_file_end)))
#define scoped_dir __attribute__((cleanup(scoped_dir_end)))

static inline int steal_fd(int *fd)
{
        int stolen = *fd;

        *fd = -1;
        return stolen;
}

static inline void *steal_ptr(void *slot)
{
        void *stolen = *(void **)slot;

        *(void **)slot = NULL;
        return stolen;
}

#endif
