/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/act.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/top/spawn.h"
#include "common/scoped.h"

/* Both are younger than the oldest glibc that we run with; the numbers are the same on every
 * architecture. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

bool act_set(const char *program, const struct keys *keys, char ret_message[KEYS_LINE_BYTES])
{
        static const char prefix[] = "aliquot set: ";
        char flag[KEYS_LINE_BYTES + 16], line[1024] = "";
        char *argv[] = { (char *)program, (char *)"set", (char *)keys->session, flag, NULL };
        scoped_file FILE *errors = NULL;
        const char *why = line;
        int status = 0;
        pid_t pid = -1;
        int fd = -1;
        int rc;

        snprintf(flag, sizeof(flag), "--%s=%s", keys->term->flag, keys->line);
        rc = spawn_piped(argv, false, &pid, &fd);
        if (rc < 0) {
                snprintf(ret_message, KEYS_LINE_BYTES, "%.80s: %s", program, strerror(-rc));
                return false;
        }
        errors = fdopen(fd, "r");
        if (!errors)
                close(fd);
        /* Its last word: before that it may say that it waits. */
        while (errors && fgets(line, sizeof(line), errors))
                line[strcspn(line, "\n")] = '\0';
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                snprintf(ret_message, KEYS_LINE_BYTES, "%s of %s: %.60s", keys->term->flag,
                         keys->session, keys->line);
                return true;
        }
        if (strncmp(line, prefix, strlen(prefix)) == 0)
                why += strlen(prefix);
        snprintf(ret_message, KEYS_LINE_BYTES, "%.150s", line[0] ? why : "aliquot set failed");
        return false;
}

/* Whether a file of this name and inode is mapped there; -errno: it cannot be told. */
static int has_mapped(uint32_t pid, uint64_t inode)
{
        char path[64], line[4096 + 128];
        scoped_file FILE *maps = NULL;

        snprintf(path, sizeof(path), "/proc/%u/maps", pid);
        maps = fopen(path, "re");
        if (!maps)
                return -errno;
        while (fgets(line, sizeof(line), maps)) {
                unsigned long long found;

                /* begin-end rights offset device inode path; devices are not told alike by all. */
                if (sscanf(line, "%*s %*s %*s %*s %llu", &found) == 1 && found == inode &&
                    strstr(line, "/slots"))
                        return 1;
        }
        return ferror(maps) ? -EIO : 0;
}

static int signal_one(const struct keys *keys, const struct snapshot_process *target)
{
        scoped_fd int fd = -1;
        int rc;

        if (!target->pid)
                return -EXDEV;
        fd = (int)syscall(SYS_pidfd_open, target->pid, 0);
        if (fd < 0)
                return -errno;
        if (!usage_is_process(&target->said, target->pid))
                return -ESRCH;
        rc = has_mapped(target->pid, keys->slots_inode);
        if (rc <= 0)
                return rc == 0 ? -EPERM : rc;
        return syscall(SYS_pidfd_send_signal, fd, keys->signal, NULL, 0) < 0 ? -errno : 0;
}

static const char *reason(int rc)
{
        switch (rc) {
        case -EXDEV:
                return "it is in a PID namespace that cannot be seen from here";
        case -EPERM:
        case -EACCES:
                return "it is not ours to end, or not what it says it is";
        default:
                return strerror(-rc);
        }
}

bool act_signal(const struct keys *keys, char ret_message[KEYS_LINE_BYTES])
{
        const char *name = keys->signal == SIGKILL ? "SIGKILL" : "SIGTERM";
        unsigned sent = 0, ended = 0;

        for (unsigned i = 0; i < keys->target_count; i++) {
                const struct snapshot_process *target = &keys->target[i];
                int rc = signal_one(keys, target);

                sent += rc == 0;
                ended += rc == -ESRCH || rc == -ENOENT;
                if (rc == 0 || rc == -ESRCH || rc == -ENOENT)
                        continue;
                snprintf(ret_message, KEYS_LINE_BYTES, "%s to %s (%u) of %.60s: %s", name,
                         target->said.command, target->pid, keys->session, reason(rc));
                return false;
        }
        if (ended)
                snprintf(ret_message, KEYS_LINE_BYTES, "%s sent to %u of %.60s; %u had ended", name,
                         sent, keys->session, ended);
        else
                snprintf(ret_message, KEYS_LINE_BYTES, "%s sent to %u process%s of %.60s", name,
                         sent, sent == 1 ? "" : "es", keys->session);
        return true;
}
