/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/presence.h"
#include "common/scoped.h"
#include "common/text.h"

#define PAUSE_NS 10000000
#define PATIENCE 1500u /* in pauses: 15 s, for a driver that takes long to start */
#define STATE_FOLDER "daemon"
/* number of bytes at the end of the log that are searched for its last line */
#define LINE_BYTES 256

static int open_log(const struct store *store, char path[STORE_PATH_BYTES + 32], struct error *err)
{
        int fd, rc = text_put(path, STORE_PATH_BYTES + 32, err, "%s/" STARTER_LOG, store->path);

        if (rc < 0)
                return rc;
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        return fd < 0 ? fail(err, -errno, "%s: %m", path) : fd;
}

/* Executes the daemon in the calling child; does not return. The daemon's standard input is the
 * writing end of a pipe to this command. It stays open as long as the daemon lives, and the daemon
 * writes the reason of a failed start into it. */
static _Noreturn void become(const struct store *store, const struct cli_request *request, int log,
                             int line)
{
        const char *program = request->own.daemon[0] ? request->own.daemon : "aliquotd";
        const char *sim = getenv("ALIQUOT_SIM");
        char state[STORE_PATH_BYTES + 16], spec[1024];
        char *words[] = { (char *)"aliquotd",
                          (char *)"--until-empty",
                          (char *)"--runtime-dir",
                          (char *)store->path,
                          (char *)"--state-dir",
                          state,
                          NULL,
                          NULL };
        sigset_t none;
        int why;

        /* The variable is for the session of this command, which has been requested with it; the
         * daemon must not use it for other sessions. */
        unsetenv("GPUSLICE_DEFAULT_TTL");
        snprintf(state, sizeof(state), "%s/" STATE_FOLDER, store->path);
        if (request->is_sim && text_put(spec, sizeof(spec), NULL, "--sim=%s", sim ? sim : "") == 0)
                words[6] = spec;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        dup2(line, STDIN_FILENO);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        execvp(program, words);
        why = errno;
        _exit(write(STDIN_FILENO, &why, sizeof(why)) > 0 ? 126 : 127);
}

/* Starts the daemon as an orphan rather than a child, because a program that this process executes
 * later must not have an unknown child. */
static int start_orphan(const struct store *store, const struct cli_request *request, int log,
                        int line, struct error *err)
{
        pid_t pid = fork();

        if (pid < 0)
                return fail(err, -errno, "fork: %m");
        if (pid == 0) {
                pid = fork();
                if (pid == 0)
                        become(store, request, log, line);
                _exit(0);
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return 0;
}

/* Reads the last line of the log; "" if there is none. */
static void read_last_line(const char *path, char ret[LINE_BYTES])
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char tail[LINE_BYTES], *line;
        off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        off_t from = size > LINE_BYTES - 1 ? size - (LINE_BYTES - 1) : 0;
        ssize_t got = size > 0 ? pread(fd, tail, LINE_BYTES - 1, from) : 0;

        ret[0] = '\0';
        if (got <= 1)
                return;
        tail[tail[got - 1] == '\n' ? got - 1 : got] = '\0';
        line = strrchr(tail, '\n');
        text_quote(line ? line + 1 : tail, ret, LINE_BYTES);
}

/* Returns 0 as soon as a daemon listens: the new one, or one that was started at the same time. */
static int wait_for(const struct store *store, int line, const char *log, struct error *err)
{
        char said[LINE_BYTES];
        bool has_ended = false;
        int why = 0;

        for (unsigned i = 0; i < PATIENCE; i++) {
                enum presence presence = presence_look(store);
                ssize_t got = has_ended ? 0 : read(line, &why, sizeof(why));

                if (presence == PRESENCE_LISTENS)
                        return 0;
                if (has_ended && presence == PRESENCE_NONE)
                        break;
                has_ended = got >= 0;
                nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        }
        if (why == ENOENT)
                return fail(err, CLIENT_AWAY,
                            "a daemon is needed, and aliquotd is neither beside aliquot nor in "
                            "PATH; install it");
        read_last_line(log, said);
        return fail(err, CLIENT_AWAY, "a daemon is needed, and aliquotd does not start; see %s%s%s",
                    log, said[0] ? ", which ends with: " : "", said);
}

bool starter_has_begun(const struct store *store)
{
        char state[STORE_PATH_BYTES + 16];

        return text_put(state, sizeof(state), NULL, "%s/" STATE_FOLDER, store->path) == 0 &&
               access(state, F_OK) == 0;
}

int starter_start(const struct store *store, const struct cli_request *request, struct error *err)
{
        char path[STORE_PATH_BYTES + 32];
        scoped_fd int log = -1, reads = -1;
        int ends[2], rc;

        if (!client_is_built)
                return fail(err, CLIENT_AWAY,
                            "a daemon is needed, and this aliquot was built without libcurl or "
                            "jansson, so it cannot ask one");
        log = open_log(store, path, err);
        if (log < 0)
                return log;
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return fail(err, -errno, "pipe: %m");
        reads = ends[0];
        rc = start_orphan(store, request, log, ends[1], err);
        close(ends[1]);
        return rc < 0 ? rc : wait_for(store, reads, path, err);
}
