/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/act.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/top/spawn.h"
#include "common/aside.h"
#include "common/machine_clock.h"
#include "common/maps.h"
#include "common/pidfd.h"
#include "common/scoped.h"

#define HASTE_NS CLOCK_SECOND_NS
/* timeout for examining a process, which can block the reader */
#define LOOK_NS CLOCK_SECOND_NS
#define NS_A_MS UINT64_C(1000000)

/* Reads the program's output. Returns true at its end. If there is no more room, the oldest output
 * is dropped. */
static bool has_said_all(struct act *act)
{
        const size_t half = sizeof(act->said) / 2;
        ssize_t got;

        for (;;) {
                if (act->length >= half) {
                        memmove(act->said, act->said + act->length - half / 2, half / 2);
                        act->length = half / 2;
                }
                got = read(act->fd, act->said + act->length, half);
                if (got <= 0)
                        return got == 0 || (errno != EAGAIN && errno != EINTR);
                act->length += (size_t)got;
        }
}

/* Waits for the end of the program, and returns its wait status. */
static int end_program(struct act *act)
{
        int status = 0;

        close(act->fd);
        while (waitpid(act->pid, &status, 0) < 0 && errno == EINTR)
                ;
        act->is_pending = false;
        return status;
}

/* Returns the last line of its output: earlier lines may only say that it waits. */
static const char *last_line(struct act *act)
{
        static const char prefix[] = "aliquot set: ";
        char *line;

        while (act->length && act->said[act->length - 1] == '\n')
                act->length--;
        act->said[act->length] = '\0';
        line = strrchr(act->said, '\n');
        line = line ? line + 1 : act->said;
        if (strncmp(line, prefix, strlen(prefix)) == 0)
                line += strlen(prefix);
        return line[0] ? line : "aliquot set failed";
}

/* Returns whether the program succeeded; if not, stores the reason. */
static bool has_gone_well(struct act *act, char *ret_why, size_t bytes)
{
        int status = end_program(act);

        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return true;
        snprintf(ret_why, bytes, "%.143s", last_line(act));
        return false;
}

/* Waits for a short time for the end of the last order, when the user types a new one. If the last
 * order failed, that is shown at once, and again when the new order ends, which may be before the
 * user has read it. */
static bool has_ended_soon(struct act *act)
{
        struct pollfd words = { .fd = act->fd, .events = POLLIN };
        uint64_t until_ns = clock_machine_ns() + HASTE_NS, now_ns;

        while (!has_said_all(act)) {
                now_ns = clock_machine_ns();
                if (now_ns >= until_ns)
                        return false;
                poll(&words, 1, (int)((until_ns - now_ns) / NS_A_MS) + 1);
        }
        has_gone_well(act, act->before, sizeof(act->before));
        return true;
}

bool act_set(struct act *act, const char *program, const struct keys *keys,
             char ret_message[KEYS_LINE_BYTES])
{
        char flag[KEYS_LINE_BYTES + 16];
        char *argv[] = { (char *)program, (char *)"set", (char *)keys->session, flag, NULL };
        int rc;

        if (act->is_pending && !has_ended_soon(act)) {
                snprintf(ret_message, KEYS_LINE_BYTES, "%s: not done yet; one at a time",
                         act->about);
                return false;
        }
        snprintf(flag, sizeof(flag), "--%s=%s", keys->term->flag, keys->line);
        rc = spawn_piped(argv, false, &act->pid, &act->fd);
        if (rc < 0) {
                snprintf(ret_message, KEYS_LINE_BYTES, "%.80s: %s", program, strerror(-rc));
                return false;
        }
        fcntl(act->fd, F_SETFL, O_NONBLOCK);
        act->is_pending = true;
        act->length = 0;
        snprintf(act->about, sizeof(act->about), "%s of %s: %.40s", keys->term->flag, keys->session,
                 keys->line);
        snprintf(ret_message, KEYS_LINE_BYTES, "%.90s%ssetting %s", act->before,
                 act->before[0] ? "; " : "", act->about);
        return !act->before[0];
}

bool act_is_set(struct act *act, char ret_message[KEYS_LINE_BYTES], bool *ret_is_bad)
{
        char why[144];

        if (!act->is_pending || !has_said_all(act))
                return false;
        snprintf(why, sizeof(why), "%s", act->about);
        *ret_is_bad = !has_gone_well(act, why, sizeof(why)) || act->before[0];
        snprintf(ret_message, KEYS_LINE_BYTES, "%.90s%s%s", act->before,
                 act->before[0] ? "; then " : "", why);
        act->before[0] = '\0';
        return true;
}

void act_leave(struct act *act)
{
        if (act->is_pending)
                close(act->fd);
        act->is_pending = false;
}

struct target_look {
        const struct snapshot_process *target;
        const struct maps_file *slots;
};

/* Returns 0 if the process is the target and maps the session's file; otherwise an errno. */
static uint8_t check_target(void *context)
{
        const struct target_look *look = context;
        char number[16];
        int rc;

        if (!usage_is_process(&look->target->said, look->target->pid))
                return ESRCH;
        snprintf(number, sizeof(number), "%u", look->target->pid);
        rc = maps_has(number, look->slots, "slots");
        return rc == 1 ? 0 : rc == 0 ? EPERM : (uint8_t)-rc;
}

static int signal_one(const struct keys *keys, const struct snapshot_process *target)
{
        struct target_look look = { target, &keys->slots };
        const struct aside_question question = { "aliquot-look", check_target, &look };
        scoped_fd int fd = -1;
        int rc;

        if (!target->pid)
                return -EXDEV;
        fd = (int)syscall(SYS_pidfd_open, target->pid, 0);
        if (fd < 0)
                return -errno;
        rc = aside_ask(&question, LOOK_NS);
        if (rc != 0)
                return rc < 0 ? rc : -rc;
        return syscall(SYS_pidfd_send_signal, fd, keys->signal, NULL, 0) < 0 ? -errno : 0;
}

static const char *reason_of_error(int rc)
{
        switch (rc) {
        case -EXDEV:
                return "it is in a PID namespace that cannot be seen from here";
        case -EPERM:
        case -EACCES:
                return "it is not ours to end, or not what it says it is";
        case -ETIME:
                return "the kernel lets nobody look at it now";
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
                         target->said.command, target->pid, keys->session, reason_of_error(rc));
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
