/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

int spawn_piped(char **argv, bool has_output, pid_t *ret_pid, int *ret_fd)
{
        posix_spawn_file_actions_t files;
        int pipe_ends[2];
        int rc;

        if (pipe2(pipe_ends, O_CLOEXEC) < 0)
                return -errno;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (has_output)
                posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
        else
                posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDERR_FILENO);
        rc = posix_spawn(ret_pid, argv[0], &files, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&files);
        close(pipe_ends[1]);
        if (rc == 0)
                *ret_fd = pipe_ends[0];
        else
                close(pipe_ends[0]);
        return -rc;
}
