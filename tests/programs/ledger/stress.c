/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes charge and release at the limit, as fast as they can.
 *
 *      stress [processes=64] [operations=100000] [mixed] [kill] [greedy]
 *
 * Two referees. A driver of paper counts what it granted, and no instant may be over the limit.
 * And there are exactly limit / granule tokens: a process takes one a granule before it charges
 * and puts it back after its release has returned, so that *any* refusal is a failure. `greedy`
 * takes no tokens: then refusals are right, and only the driver's count is looked at.
 *
 * A token is a cell that holds its owner's number, so that a process killed at any instruction
 * (`kill`) owns exactly the cells that say so; they are freed once it is dead, and its bytes must
 * then be there for the others. The driver's count cannot be kept exactly by processes that are
 * killed: it is then summed up while all are stopped.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "double.h"
#include "shim/charge.h"

#define GRANULE (UINT64_C(2) << 20)
#define TOKENS 256u
#define LIMIT (TOKENS * GRANULE)
#define MAX_PROCESSES 256u
#define BLOCKS 16u
#define LARGEST 6u /* granules of a mixed block */
#define DEVICE 0

struct worker {
        _Alignas(64) _Atomic uint64_t held_bytes; /* of the driver, never more than it has */
        _Atomic uint64_t done;                    /* operations */
        _Atomic uint64_t refusals;
};

static struct {
        _Atomic uint64_t granted_bytes, high_bytes; /* exact while nobody is killed */
        _Atomic uint32_t token[TOKENS];             /* owner's number + 1; 0 free */
        _Atomic uint32_t started;                   /* nobody begins before all are there */
        _Atomic uint32_t kills, is_refused;
        struct worker worker[MAX_PROCESSES];
} * shared;

static struct {
        unsigned processes;
        uint64_t operations;
        bool is_mixed, is_killing, is_greedy;
} plan = { .processes = 64, .operations = 100000 };

struct block {
        unsigned granules;
        unsigned token[LARGEST];
};

static uint64_t random_next(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 33;
}

/* -- tokens ---------------------------------------------------------------------------------------
 */

static void tokens_put(struct block *block)
{
        if (plan.is_greedy)
                return;
        for (unsigned i = 0; i < block->granules; i++)
                store_release(&shared->token[block->token[i]], 0);
}

static bool tokens_take(struct block *block, unsigned id, uint64_t *random)
{
        unsigned wanted = block->granules;
        unsigned start = (unsigned)random_next(random);

        if (plan.is_greedy)
                return true;
        block->granules = 0;
        for (unsigned i = 0; i < TOKENS && block->granules < wanted; i++) {
                unsigned at = (start + i) % TOKENS;
                uint32_t expected = 0;

                if (load_relaxed(&shared->token[at]) == 0 &&
                    cas_acq_rel(&shared->token[at], &expected, id + 1))
                        block->token[block->granules++] = at;
        }
        if (block->granules == wanted)
                return true;
        tokens_put(block);
        return false;
}

/* -- the driver -----------------------------------------------------------------------------------
 */

static void driver_alloc(struct worker *self, uint64_t bytes)
{
        uint64_t now, high;

        add_relaxed(&self->held_bytes, bytes);
        if (plan.is_killing)
                return;
        now = add_acq_rel(&shared->granted_bytes, bytes) + bytes;
        high = load_relaxed(&shared->high_bytes);
        while (now > high && !cas_acq_rel(&shared->high_bytes, &high, now))
                ;
}

static void driver_free(struct worker *self, uint64_t bytes)
{
        add_relaxed(&self->held_bytes, -bytes);
        if (!plan.is_killing)
                add_acq_rel(&shared->granted_bytes, -bytes);
}

/* -- a worker -------------------------------------------------------------------------------------
 */

static void block_alloc(struct worker *self, struct block *block, uint64_t key, uint64_t *random)
{
        unsigned id = (unsigned)(self - shared->worker);
        struct charge c;

        block->granules = plan.is_mixed ? 1 + (unsigned)random_next(random) % LARGEST : 1;
        if (!tokens_take(block, id, random)) {
                block->granules = 0;
                return;
        }
        if (charge_begin(&c, DEVICE, block->granules * GRANULE)) {
                driver_alloc(self, c.bytes);
                charge_keep(&c, SPACE_POINTER, key);
                return;
        }
        add_relaxed(&self->refusals, 1);
        store_relaxed(&shared->is_refused, 1);
        tokens_put(block);
        block->granules = 0;
}

static void block_free(struct worker *self, struct block *block, uint64_t key)
{
        struct charge c;

        CHECK(charge_take(&c, SPACE_POINTER, key));
        CHECK(c.bytes == block->granules * GRANULE);
        driver_free(self, c.bytes);
        charge_drop(&c);
        tokens_put(block);
        block->granules = 0;
}

/* And what the plan is about has happened to somebody: timers of processor time end at ticks of the
 * machine, and a busy one may run few workers at once. */
static bool is_done(const struct worker *self)
{
        return load_relaxed(&self->done) >= plan.operations &&
               (!plan.is_killing || load_relaxed(&shared->kills) > 0) &&
               (!plan.is_greedy || load_relaxed(&shared->is_refused));
}

static void worker_run(unsigned id)
{
        struct worker *self = &shared->worker[id];
        struct block block[BLOCKS] = { 0 };
        uint64_t random = id * UINT64_C(77777) + (uint64_t)getpid();

        while (load_relaxed(&shared->started) == 0)
                usleep(1000);
        while (!is_done(self)) {
                unsigned i = (unsigned)random_next(&random) % BLOCKS;

                /* Few processors: without this each would run alone for milliseconds. Not under
                 * SIGKILL: it finds a process where it left the processor, and that should be
                 * anywhere. */
                if (!plan.is_killing && random_next(&random) % 4 == 0)
                        sched_yield();

                if (block[i].granules)
                        block_free(self, &block[i], i);
                else
                        block_alloc(self, &block[i], i, &random);
                add_relaxed(&self->done, 1);
        }
        for (unsigned i = 0; i < BLOCKS; i++)
                if (block[i].granules)
                        block_free(self, &block[i], i);
}

/* SIGKILL from the kernel, at whatever instruction we are after some milliseconds of our own. */
static void die_soon(void)
{
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
        /* Neighbouring pids die at times far apart. */
        uint32_t chance = (uint32_t)getpid() * UINT32_C(2654435761);
        struct itimerspec after = { .it_value.tv_nsec = 1000000 + chance % 7000000 };
        timer_t timer;

        CHECK(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0);
        CHECK(timer_settime(timer, 0, &after, NULL) == 0);
}

static pid_t worker_start(unsigned id)
{
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (plan.is_killing)
                        die_soon();
                worker_run(id);
                _exit(0);
        }
        return pid;
}

/* -- the parent -----------------------------------------------------------------------------------
 */

/* The dead one's cells and paper are freed; its charge is for the others to find. */
static void bury(unsigned id)
{
        store_relaxed(&shared->worker[id].held_bytes, 0);
        for (unsigned i = 0; i < TOKENS; i++)
                if (load_relaxed(&shared->token[i]) == id + 1)
                        store_release(&shared->token[i], 0);
}

/* Stops a worker. What it has of the driver; the dead have nothing, buried or not: their charge may
 * be another's by now. */
static uint64_t stop_one(unsigned id, pid_t pid)
{
        siginfo_t info;

        if (pid == 0)
                return 0;
        kill(pid, SIGSTOP);
        CHECK(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) == 0);
        return info.si_code == CLD_STOPPED ? load_relaxed(&shared->worker[id].held_bytes) : 0;
}

static void check_stopped(const pid_t *pids)
{
        uint64_t held = 0;

        for (unsigned i = 0; i < plan.processes; i++)
                held += stop_one(i, pids[i]);
        CHECK(held <= LIMIT);
        CHECK(held <= double_used(DEVICE));
        CHECK(double_used(DEVICE) <= LIMIT);
        CHECK(double_rows(DEVICE) == double_used(DEVICE));
        for (unsigned i = 0; i < plan.processes; i++)
                if (pids[i] > 0)
                        kill(pids[i], SIGCONT);
}

/* Every dead worker is followed by another, which does the rest of its work. */
static unsigned replace_until_done(pid_t *pids)
{
        unsigned kills = 0, running = plan.processes;

        while (running > 0) {
                int status;
                pid_t pid = wait(&status);
                unsigned id = 0;

                CHECK(pid > 0);
                while (pids[id] != pid)
                        id++;
                pids[id] = 0;
                bury(id);
                if (WIFEXITED(status)) {
                        CHECK(WEXITSTATUS(status) == 0);
                        running--;
                        continue;
                }
                CHECK(WTERMSIG(status) == SIGKILL);
                store_relaxed(&shared->kills, ++kills);
                pids[id] = worker_start(id);
                if (kills % 64 == 0)
                        check_stopped(pids);
        }
        return kills;
}

/* All that is left of the limit is there again, to the byte. */
static void check_end(void)
{
        struct charge all, more;

        CHECK(charge_begin(&all, DEVICE, LIMIT));
        CHECK(!charge_begin(&more, DEVICE, 1));
        charge_drop(&all);
        CHECK(double_used(DEVICE) == 0);
        CHECK(double_rows(DEVICE) == 0);
}

static int report(unsigned kills, double seconds)
{
        uint64_t refusals = 0, operations = 0;

        for (unsigned i = 0; i < plan.processes; i++) {
                refusals += load_relaxed(&shared->worker[i].refusals);
                operations += load_relaxed(&shared->worker[i].done);
        }
        printf("%u processes, %" PRIu64 " operations, %s sizes, %u killed: %" PRIu64
               " refused, driver's high-water mark %" PRIu64 " of %" PRIu64 ", %.1f s\n",
               plan.processes, operations, plan.is_mixed ? "mixed" : "equal", kills, refusals,
               load_relaxed(&shared->high_bytes), LIMIT, seconds);
        CHECK(plan.is_killing || load_relaxed(&shared->high_bytes) <= LIMIT);
        if (plan.is_greedy)
                CHECK(refusals > 0);
        return !plan.is_greedy && refusals > 0;
}

static void plan_read(int argc, char **argv)
{
        for (int i = 1; i < argc; i++) {
                if (strncmp(argv[i], "processes=", 10) == 0)
                        plan.processes = (unsigned)atoi(argv[i] + 10);
                else if (strncmp(argv[i], "operations=", 11) == 0)
                        plan.operations = (uint64_t)atoll(argv[i] + 11);
                plan.is_mixed |= strcmp(argv[i], "mixed") == 0;
                plan.is_killing |= strcmp(argv[i], "kill") == 0;
                plan.is_greedy |= strcmp(argv[i], "greedy") == 0;
        }
        CHECK(plan.processes > 0 && plan.processes <= MAX_PROCESSES);
}

int main(int argc, char **argv)
{
        static pid_t pids[MAX_PROCESSES];
        uint64_t began_ns, took_ns;
        unsigned kills;

        plan_read(argc, argv);
        double_make(LIMIT);
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        CHECK(shared != MAP_FAILED);
        began_ns = clock_machine_ns();
        for (unsigned i = 0; i < plan.processes; i++)
                pids[i] = worker_start(i);
        store_release(&shared->started, 1);
        kills = replace_until_done(pids);
        CHECK((kills > 0) == plan.is_killing);
        took_ns = clock_machine_ns() - began_ns;
        check_end();
        double_end();
        return report(kills, (double)took_ns / 1e9);
}
