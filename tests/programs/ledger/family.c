/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a charge when processes fork, exec, and share a process among threads.
 *
 *      family fork|vfork|thread|exec|spawn|cancel|many|namespace [rounds]
 *
 * A child owns nothing, however it was forked, and is accounted apart; no lock is held over; what
 * a parent holds stays the parent's. Each story runs with other threads charging all the time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "double.h"
#include "shim/charge.h"
#include "shim/session.h"
#include "store/usage.h"

#define LIMIT UINT64_C(1000000)
#define THREADS 3u
#define DEVICE 0
#define EXIT_SKIPPED 77

static _Atomic bool is_over;

static void hold(uint64_t bytes, uint64_t key)
{
        struct charge c;

        CHECK(charge_begin(&c, DEVICE, bytes));
        charge_keep(&c, SPACE_POINTER, key);
}

static void *charge_for_ever(void *argument)
{
        uint64_t key = (uintptr_t)argument << 32;

        while (!load_relaxed(&is_over)) {
                struct charge c;

                hold(10, ++key);
                CHECK(charge_take(&c, SPACE_POINTER, key));
                CHECK(c.bytes == 10);
                charge_drop(&c);
        }
        return NULL;
}

static void threads_start(pthread_t *threads)
{
        for (uintptr_t i = 0; i < THREADS; i++)
                CHECK(pthread_create(&threads[i], NULL, charge_for_ever, (void *)(i + 1)) == 0);
}

static void threads_end(const pthread_t *threads)
{
        store_relaxed(&is_over, true);
        for (unsigned i = 0; i < THREADS; i++)
                CHECK(pthread_join(threads[i], NULL) == 0);
}

static void child_lives(void)
{
        struct charge c;

        CHECK(!charge_take(&c, SPACE_POINTER, 1));
        CHECK(charge_held(SPACE_POINTER, 1) == 0);
        hold(20, 1);
        CHECK(charge_held(SPACE_POINTER, 1) == 20);
        CHECK(charge_take(&c, SPACE_POINTER, 1));
        charge_drop(&c);
}

static void wait_well(pid_t pid)
{
        int status;

        CHECK(pid > 0);
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void round_fork(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                child_lives();
                _exit(0);
        }
        wait_well(pid);
}

/* As some sandboxes do it: no handler of ours runs. */
static void round_raw(void)
{
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0) {
                child_lives();
                _exit(0);
        }
        wait_well(pid);
}

static void round_vfork(void)
{
        pid_t pid = vfork();

        if (pid == 0)
                _exit(0);
        wait_well(pid);
}

static void *fork_in_thread(void *argument)
{
        round_fork();
        return NULL;
}

static void round_thread(void)
{
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, fork_in_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
}

static void round_exec(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                hold(20, 1);
                execl("/proc/self/exe", "family", "joined", double_folder(), (char *)NULL);
                _exit(1);
        }
        wait_well(pid);
}

static void round_spawn(void)
{
        static char name[] = "family", how[] = "joined";
        char *const arguments[] = { name, how, (char *)double_folder(), NULL };
        pid_t pid;

        CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, NULL) == 0);
        wait_well(pid);
}

/* The other half of exec and spawn: a fresh program in the same session. */
static int joined(const char *folder)
{
        double_join(folder);
        child_lives();
        return 0;
}

/* A thread that is cancelled in the middle of charging leaves no lock behind. */
static void round_cancel(void)
{
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, charge_for_ever, (void *)99) == 0);
        usleep(100);
        pthread_cancel(thread);
        store_relaxed(&is_over, true);
        CHECK(pthread_join(thread, NULL) == 0);
        store_relaxed(&is_over, false);
        child_lives();
}

static void story(void (*act)(void), unsigned rounds, bool has_threads)
{
        pthread_t threads[THREADS];
        struct charge c;

        hold(500, 1);
        if (has_threads)
                threads_start(threads);
        for (unsigned i = 0; i < rounds; i++) {
                if (act == round_cancel) {
                        CHECK(charge_take(&c, SPACE_POINTER, 1));
                        act();
                        charge_keep(&c, SPACE_POINTER, 1);
                } else {
                        act();
                }
                CHECK(charge_held(SPACE_POINTER, 1) == 500);
        }
        if (has_threads)
                threads_end(threads);
        CHECK(charge_take(&c, SPACE_POINTER, 1));
        charge_drop(&c);
        /* The children left nothing that cannot be had: all of the limit, and not a byte more. */
        CHECK(charge_begin(&c, DEVICE, LIMIT));
        CHECK(!charge_begin(&(struct charge){ 0 }, DEVICE, 1));
        charge_drop(&c);
        CHECK(double_used(DEVICE) == 0 && double_rows(DEVICE) == 0);
}

/* -- many processes at once ----------------------------------------------------------------------
 */

static pid_t holder_start(uint64_t bytes, int ready, int go)
{
        pid_t pid = fork();
        char byte = 0;

        CHECK(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                hold(bytes, 1);
                CHECK(write(ready, &byte, 1) == 1);
                CHECK(read(go, &byte, 1) == 0);
                _exit(0);
        }
        return pid;
}

static uint64_t listed_bytes(int expected)
{
        static struct usage_process list[PAGE_SLOTS];
        uint64_t sum = 0;
        /* Two thousand locks take a slow machine longer than the usual bound. */
        const struct usage_look look = { session_slots_file(), USAGE_NO_BOUND };
        int count = usage_list_within(double_slots(), &look, list, PAGE_SLOTS);

        CHECK(count == expected);
        usage_name(list, (size_t)count, USAGE_NO_BOUND);
        for (int i = 0; i < count; i++) {
                sum += list[i].bytes[DEVICE];
                CHECK(strcmp(list[i].command, "ledger-family") == 0);
                CHECK(kill((pid_t)list[i].local_pid, 0) == 0);
        }
        return sum;
}

/* Every process has a slot of its own, is listed with what it holds, and gone when it is gone. */
static void many(unsigned count)
{
        pid_t *pids = calloc(count, sizeof(*pids));
        int ready[2], go[2];
        char byte;

        CHECK(pipe(ready) == 0 && pipe(go) == 0);
        for (unsigned i = 0; i < count; i++)
                pids[i] = holder_start(1 + i % 7, ready[1], go[0]);
        for (unsigned i = 0; i < count; i++)
                CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(listed_bytes((int)count) == double_used(DEVICE));
        CHECK(double_rows(DEVICE) == double_used(DEVICE));
        for (unsigned i = 0; i < count; i++) {
                kill(pids[i], SIGKILL);
                CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
        }
        CHECK(listed_bytes(0) == 0);
        hold(LIMIT, 1);
        CHECK(listed_bytes(1) == LIMIT);
        free(pids);
}

/* A process in a PID namespace of its own: its pid means nothing here, its lock does. */
static void other_namespace(void)
{
        struct usage_process there;
        int ready[2], go[2];
        pid_t pid;
        char byte;

        CHECK(pipe(ready) == 0 && pipe(go) == 0);
        if (unshare(CLONE_NEWPID) < 0) {
                printf("no PID namespace here: %s\n", strerror(errno));
                double_end();
                exit(EXIT_SKIPPED);
        }
        pid = holder_start(700, ready[1], go[0]);
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(usage_list(double_slots(), session_slots_file(), &there, 1) == 1);
        CHECK(there.pid == 1 && there.bytes[DEVICE] == 700);
        usage_name(&there, 1, USAGE_NO_BOUND);
        CHECK(there.local_pid == (uint32_t)pid);
        CHECK(!charge_begin(&(struct charge){ 0 }, DEVICE, LIMIT));
        kill(pid, SIGKILL);
        CHECK(waitpid(pid, NULL, 0) == pid);
        hold(LIMIT, 1);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*act)(void);
                bool has_threads;
        } stories[] = {
                { "fork", round_fork, true },      { "raw", round_raw, true },
                { "vfork", round_vfork, true },    { "thread", round_thread, true },
                { "exec", round_exec, true },      { "spawn", round_spawn, true },
                { "cancel", round_cancel, false },
        };
        const char *what = argc > 1 ? argv[1] : "fork";
        unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

        if (strcmp(what, "joined") == 0)
                return joined(argv[2]);
        double_make(LIMIT);
        for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
                if (strcmp(what, stories[i].name) == 0)
                        story(stories[i].act, rounds, stories[i].has_threads);
        if (strcmp(what, "many") == 0)
                many(rounds);
        if (strcmp(what, "namespace") == 0)
                other_namespace();
        double_end();
        return 0;
}
