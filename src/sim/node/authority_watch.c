/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the running party. See authority.h.
 *
 * The state of the party's thread in /proc shows what the thread does. The party becomes absent in
 * these cases: its thread sleeps outside the authority, in the same sleep for a while (a short
 * sleep is a lock or a page fault) or in one short sleep after another; it is stopped; or it has
 * computed for half a second of processor time without a call, so that a program may spin until its
 * kernel writes a word. A runnable thread without a processor is not absent. Neither is, for one
 * second, a thread that may be waiting for such a runnable thread: otherwise the load of the
 * machine would change the virtual time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/time_namespace.h"
#include "common/scoped.h"
#include "sim/node/authority_internal.h"
#include "sim/node/proc_stat.h"

/* A thread that is in one sleep for this long is absent. */
#define BLOCKED_NS UINT64_C(30000000)
/* A thread that every check in this time found asleep is absent: it sleeps repeatedly. */
#define NAPPING_NS UINT64_C(200000000)
/* The limit in place of the two above while another thread, for which the sleeping thread may wait,
 * is runnable. A thread that gets no processor for longer comes too late; test_authority_away.c
 * uses this value. */
#define HELD_UP_NS UINT64_C(1000000000)
/* How long a thread may run whose state cannot be read (another PID namespace). */
#define UNSEEN_NS UINT64_C(1000000000)
/* A thread that uses 1 / COMPUTES_PER_SECOND seconds of processor time without a call is absent. */
#define COMPUTES_PER_SECOND 2

void party_sign(struct party *party)
{
        struct proc_stat own = { 0 };
        struct stat st = { 0 };

        stat("/proc/self/ns/pid", &st);
        proc_stat_read("/proc/self/stat", &own);
        party->pid = getpid();
        party->pid_namespace = st.st_ino;
        party->process_start = own.start_ticks;
}

bool party_is_in_sight(const struct party *party)
{
        struct stat st;

        return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == party->pid_namespace;
}

/* Returns how many times the thread has gone to sleep voluntarily; 0 if unknown. */
static uint64_t switches_of(const struct party *party)
{
        static const char name[] = "\nvoluntary_ctxt_switches:";
        char path[64], text[4096];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", party->pid, party->tid);
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        ssize_t n = read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        at = strstr(text, name);
        return at ? strtoull(at + sizeof(name) - 1, NULL, 10) : 0;
}

/* Returns whether the thread is the caller's or that of a waiting party. Such threads do nothing
 * before their turn except for checks like this one. */
static bool is_waiting(const struct authority_state *state, int32_t pid, int32_t tid)
{
        if (pid == getpid() && tid == (int32_t)syscall(SYS_gettid))
                return true;
        for (uint32_t i = 0; i < state->high; i++) {
                const struct party *party = &state->party[i];

                if (party->pid == pid && party->tid == tid &&
                    (party->state == PARTY_WAITING || party->state == PARTY_READY) &&
                    party_is_in_sight(party))
                        return true;
        }
        return false;
}

/* Returns whether a thread of the process has work to do: it is runnable, or waits for the disk. */
static bool is_process_busy(const struct authority_state *state, int32_t pid)
{
        char path[64];
        const struct dirent *entry;
        struct proc_stat thread;

        snprintf(path, sizeof(path), "/proc/%d/task", pid);
        scoped_dir DIR *tasks = opendir(path);
        while (tasks && (entry = readdir(tasks))) {
                int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);

                if (tid == 0 || is_waiting(state, pid, tid))
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
                if (proc_stat_read(path, &thread) && strchr("RD", thread.state))
                        return true;
        }
        return false;
}

/* Returns whether any process that takes part has work to do. The running party may wait for a lock
 * or a reply of another process. */
static bool is_anyone_busy(const struct authority_state *state)
{
        int32_t last = 0;

        for (uint32_t i = 0; i < state->high; i++) {
                const struct party *party = &state->party[i];

                if (party->state == PARTY_FREE || party->pid == last || !party_is_in_sight(party))
                        continue;
                last = party->pid;
                if (is_process_busy(state, party->pid))
                        return true;
        }
        return false;
}

static bool is_asleep_elsewhere(struct party *party)
{
        uint64_t switches = switches_of(party), now_ns = clock_shared_ns();

        if (!party->seen_idle_ns)
                party->seen_idle_ns = now_ns;
        if (now_ns - party->seen_idle_ns >= NAPPING_NS)
                return true;
        if (party->seen_ns && party->seen_switches == switches)
                return now_ns - party->seen_ns >= BLOCKED_NS;
        party->seen_ns = now_ns;
        party->seen_switches = switches;
        return false;
}

/* Returns whether no thread is about to end the party's sleep, or has had enough time to do so. */
static bool is_left_alone(const struct authority_state *state, const struct party *party)
{
        return clock_shared_ns() - party->seen_idle_ns >= HELD_UP_NS || !is_anyone_busy(state);
}

static bool is_out_of_sight_for_long(struct party *party)
{
        uint64_t now_ns = clock_shared_ns();

        if (!party->seen_ns)
                party->seen_ns = now_ns;
        return now_ns - party->seen_ns >= UNSEEN_NS;
}

static bool is_elsewhere(const struct authority_state *state, struct party *party)
{
        struct proc_stat thread;
        char path[64];

        if (!party_is_in_sight(party))
                return is_out_of_sight_for_long(party);
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", party->pid, party->tid);
        if (!proc_stat_read(path, &thread))
                return true;
        if (!party->seen_ticks)
                party->seen_ticks = thread.cpu_ticks + 1;
        if (thread.cpu_ticks + 1 - party->seen_ticks >=
            (uint64_t)sysconf(_SC_CLK_TCK) / COMPUTES_PER_SECOND)
                return true;
        if (strchr("Tt", thread.state))
                return is_asleep_elsewhere(party);
        if (thread.state == 'S')
                return is_asleep_elsewhere(party) && is_left_alone(state, party);
        party->seen_ns = 0;
        party->seen_idle_ns = 0;
        return false;
}

/* Returns whether the process that was to create a party's thread has ended. The caller's own
 * process is not checked, because what it reads about itself can differ: qemu-user (7.2) gives each
 * thread another start time of its process. */
static bool is_maker_gone(const struct party *party)
{
        struct proc_stat process;
        char path[64];

        if (!party_is_in_sight(party) || party->pid == getpid())
                return false;
        snprintf(path, sizeof(path), "/proc/%d/stat", party->pid);
        return !proc_stat_read(path, &process) || process.start_ticks != party->process_start ||
               strchr("ZX", process.state);
}

void authority_watch(struct draft *draft)
{
        struct authority_state *state = draft->state;

        if (state->running != AUTHORITY_NOBODY) {
                struct party *party = &state->party[state->running];

                if (party->is_expected ? is_maker_gone(party) : !party_is_alive(draft, party)) {
                        party_drop(draft, party);
                } else if (!party->is_expected && is_elsewhere(state, party)) {
                        party->state = PARTY_ABSENT;
                        state->running = AUTHORITY_NOBODY;
                }
        }
        authority_dispatch(draft);
}
