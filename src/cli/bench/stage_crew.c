/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a benchmark: starts the daemon and the programs, and ends them.
 *
 * Each has its own process group, so that an interrupt from the terminal reaches only the
 * benchmark. Each dies with the benchmark, and prints to WHO.log in the stage's folder. If a
 * program does not start, the first line of its log has the reason, and stage_read_log() returns
 * that line. A process that does not end within 5 s of the signal gets SIGKILL.
 */
#include "cli/bench/stage_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/client.h"
#include "cli/presence.h"
#include "common/scoped.h"
#include "common/text.h"

#define WORDS 20u
#define NUMBER_BYTES 24u
#define PAUSE_NS 10000000
#define PATIENCE 1500u /* in pauses: 15 s, for a driver that takes long to start */
#define GRACE 500u     /* in pauses: 5 s, for a process to end after its signal */

/* Makes the path of the file with what a process printed. -ENAMETOOLONG. */
static int log_path(const struct stage *stage, const char *who, char ret[STORE_PATH_BYTES])
{
        return text_put(ret, STORE_PATH_BYTES, NULL, "%s/%s.log", stage->folder, who);
}

void stage_read_log(const struct stage *stage, const char *who, char ret[256])
{
        char path[STORE_PATH_BYTES], line[256] = "";
        scoped_file FILE *file = NULL;

        if (log_path(stage, who, path) == 0)
                file = fopen(path, "re");
        if (file && !fgets(line, sizeof(line), file))
                line[0] = '\0';
        line[strcspn(line, "\n")] = '\0';
        text_quote(line, ret, 256);
}

/* Executes a program in the calling child; does not return. The child gets its own process group,
 * so signals of the terminal go only to this process, which then ends the child. */
static _Noreturn void become(const struct stage *stage, const char *program, char *const *words,
                             const char *log)
{
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int why;

        setpgid(0, 0);
        dup2(nothing, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        sigprocmask(SIG_SETMASK, &stage->mask, NULL);
        execvp(program, words);
        why = errno;
        dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(why));
        _exit(127);
}

struct crew_member {
        const char *who; /* name of its log, without the suffix */
        const char *program;
        char *const *words;
};

static int start_member(const struct stage *stage, const struct crew_member *member, pid_t *ret,
                        struct error *err)
{
        char log[STORE_PATH_BYTES];
        pid_t ours = getpid(), pid;

        if (log_path(stage, member->who, log) < 0)
                return fail(err, -ENAMETOOLONG, "%s: too long", stage->folder);
        pid = fork();
        if (pid < 0)
                return fail(err, -errno, "fork: %m");
        if (pid == 0) {
                child_die_with(ours);
                become(stage, member->program, member->words, log);
        }
        *ret = pid;
        return 0;
}

int stage_start_daemon(struct stage *stage, struct error *err)
{
        char state[STORE_PATH_BYTES + 16], spec[sizeof(stage->spec) + 8], said[256];
        const char *program = stage->request.own.daemon[0] ? stage->request.own.daemon : "aliquotd";
        char *words[WORDS] = { (char *)"aliquotd", (char *)"--runtime-dir", stage->store.path,
                               (char *)"--state-dir", state };
        int rc;

        snprintf(state, sizeof(state), "%s/daemon", stage->folder);
        snprintf(spec, sizeof(spec), "--sim=%s", stage->spec);
        if (stage->request.is_sim)
                words[5] = spec;
        rc = start_member(stage, &(struct crew_member){ "aliquotd", program, words },
                          &stage->daemon, err);
        for (unsigned i = 0; rc == 0 && i < PATIENCE; i++) {
                if (presence_look(&stage->store) == PRESENCE_LISTENS)
                        return 0;
                if (waitpid(stage->daemon, NULL, WNOHANG) == stage->daemon) {
                        stage->daemon = 0;
                        break;
                }
                nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        }
        if (rc < 0)
                return rc;
        stage_read_log(stage, "aliquotd", said);
        return fail(err, CLIENT_AWAY, "a daemon is needed, and aliquotd does not start%s%s",
                    said[0] ? ": " : "", said);
}

/* Removes the variables that `aliquot run` would take as requests: the sessions already have their
 * terms. */
static void forget_wishes(void)
{
        char name[128];

        for (char **at = environ; *at;) {
                int length = (int)strcspn(*at, "=");

                if (text_put(name, sizeof(name), NULL, "%.*s", length, *at) == 0 &&
                    settings_is_limit_variable(name))
                        unsetenv(name);
                else
                        at++;
        }
}

/* Sets the variables for the children in this process's own environment, which it does not use
 * afterwards. */
static int set_environment(const struct stage *stage, struct error *err)
{
        forget_wishes();
        unsetenv("ALIQUOT_SESSION_SOCKET");
        if (setenv("ALIQUOT_RUNTIME_DIR", stage->store.path, 1) < 0)
                return fail(err, -errno, "ALIQUOT_RUNTIME_DIR: %m");
        return 0;
}

int stage_start_program(struct stage *stage, const struct mix *mix, unsigned at, struct error *err)
{
        const struct mix_session *session = &mix->session[at];
        char name[STAGE_NAME_BYTES], spec[sizeof(stage->spec) + 8];
        char number[4 + LOAD_CHANGES][NUMBER_BYTES];
        char *words[WORDS + LOAD_CHANGES] = { (char *)"aliquot", (char *)"run", (char *)"--quiet",
                                              (char *)"--session", name };
        unsigned count = 5, numbers = 0;
        uint64_t times[3 + LOAD_CHANGES] = { session->kernel_ns, session->from_ns,
                                             session->until_ns };
        int rc = set_environment(stage, err);

        if (rc < 0)
                return rc;
        stage_name(stage, at, name);
        snprintf(spec, sizeof(spec), "--sim=%s", stage->spec);
        if (stage->request.is_sim)
                words[count++] = spec;
        words[count++] = (char *)"--";
        words[count++] = stage->request.own.load;
        words[count++] = stage->page_path;
        snprintf(number[numbers], NUMBER_BYTES, "%u", at);
        words[count++] = number[numbers++];
        words[count++] = (char *)session->kind;
        for (unsigned i = 0; i < session->change_count; i++)
                times[3 + i] = session->change[i].at_ns;
        for (unsigned i = 0; i < 3 + session->change_count; i++) {
                snprintf(number[numbers], NUMBER_BYTES, "%llu", (unsigned long long)times[i]);
                words[count++] = number[numbers++];
        }
        return start_member(stage, &(struct crew_member){ name, stage->request.own.program, words },
                            &stage->program[at], err);
}

void stage_end_process(pid_t pid, int number)
{
        if (pid <= 0)
                return;
        kill(pid, number);
        for (unsigned i = 0; number != SIGKILL && i < GRACE; i++) {
                if (waitpid(pid, NULL, WNOHANG) != 0)
                        return;
                nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        }
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}
