/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many programs that start at once, each with its exact part of the card.
 *
 *      crowd COUNT BYTES       starts COUNT programs, lets them go together, prints how many were
 *                              refused, and "held"; when a line comes in they end
 *      crowd member BYTES      one of them: made ready, waits, takes BYTES, tells, waits
 *      crowd waves COUNT BATCH COUNT programs in batches of BATCH, each takes a MiB and ends, or is
 *                              killed when its number is odd; prints how many were refused
 *
 * A member is a fresh program, not a fork: it goes through all of our start.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch.h"

#define READY_FD 3
#define GO_FD 4
#define TOLD_FD 5
#define END_FD 6
#define MOST 4096
#define WAVE_BYTES "1048576"

static int member(const char *bytes)
{
        CUcontext context;
        CUdeviceptr block;
        char byte = 0;
        CUresult rc;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        EXPECT(write(READY_FD, &byte, 1) == 1, 1);
        EXPECT(read(GO_FD, &byte, 1) == 1, 1);
        rc = cuInit(0);
        if (rc == CUDA_SUCCESS)
                rc = cuCtxCreate_v2(&context, 0, 0);
        if (rc == CUDA_SUCCESS)
                rc = cuMemAlloc_v2(&block, strtoull(bytes, NULL, 10));
        byte = (char)rc;
        EXPECT(write(TOLD_FD, &byte, 1) == 1, 1);
        EXPECT(read(END_FD, &byte, 1) == 1, 1);
        return 0;
}

static struct {
        int ready[2], go[2], told[2], end[2];
        pid_t pid[MOST];
} crowd;

static void crowd_open(void)
{
        int *pipes[] = { crowd.ready, crowd.go, crowd.told, crowd.end };

        for (unsigned i = 0; i < 4; i++) {
                EXPECT(pipe(pipes[i]), 0);
                /* Out of the way of the numbers that the members know. */
                for (unsigned j = 0; j < 2; j++) {
                        int high = fcntl(pipes[i][j], F_DUPFD_CLOEXEC, 100);

                        close(pipes[i][j]);
                        pipes[i][j] = high;
                }
        }
}

static void start(unsigned index, const char *bytes)
{
        static char name[] = "crowd", how[] = "member";
        char *const arguments[] = { name, how, (char *)(uintptr_t)bytes, NULL };
        posix_spawn_file_actions_t actions;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, crowd.ready[1], READY_FD);
        posix_spawn_file_actions_adddup2(&actions, crowd.go[0], GO_FD);
        posix_spawn_file_actions_adddup2(&actions, crowd.told[1], TOLD_FD);
        posix_spawn_file_actions_adddup2(&actions, crowd.end[0], END_FD);
        EXPECT(posix_spawn(&crowd.pid[index], "/proc/self/exe", &actions, NULL, arguments, environ),
               0);
        posix_spawn_file_actions_destroy(&actions);
}

/* A byte of each of them; how many are not 0. */
static unsigned hear(int fd, unsigned count)
{
        unsigned failed = 0;
        char byte;

        for (unsigned i = 0; i < count; i++) {
                EXPECT(read(fd, &byte, 1) == 1, 1);
                failed += byte != 0;
        }
        return failed;
}

static void tell(int fd, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                EXPECT(write(fd, "", 1) == 1, 1);
}

/* Starts them, lets them take, and says how many could not. */
static unsigned take(unsigned count, const char *bytes)
{
        for (unsigned i = 0; i < count; i++)
                start(i, bytes);
        hear(crowd.ready[0], count);
        tell(crowd.go[1], count);
        return hear(crowd.told[0], count);
}

static void finish(unsigned count, int is_killing)
{
        for (unsigned i = 1; is_killing && i < count; i += 2)
                kill(crowd.pid[i], SIGKILL);
        for (unsigned i = 1; is_killing && i < count; i += 2)
                EXPECT(waitpid(crowd.pid[i], NULL, 0) == crowd.pid[i], 1);
        tell(crowd.end[1], is_killing ? (count + 1) / 2 : count);
        for (unsigned i = 0; i < count; i += is_killing ? 2 : 1) {
                int status;

                EXPECT(waitpid(crowd.pid[i], &status, 0) == crowd.pid[i] && status == 0, 1);
        }
}

static int waves(unsigned count, unsigned batch)
{
        unsigned refused = 0;

        for (unsigned done = 0; done < count; done += batch) {
                refused += take(batch, WAVE_BYTES);
                finish(batch, 1);
        }
        printf("%u\n", refused);
        return 0;
}

int main(int argc, char **argv)
{
        unsigned count, refused;
        char line[8];

        if (argc == 3 && strcmp(argv[1], "member") == 0)
                return member(argv[2]);
        if (argc < 3)
                return 2;
        crowd_open();
        if (argc == 4)
                return waves((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
        count = (unsigned)atoi(argv[1]);
        if (count > MOST)
                return 2;
        refused = take(count, argv[2]);
        printf("%u\nheld\n", refused);
        fflush(stdout);
        EXPECT(fgets(line, sizeof(line), stdin) != NULL, 1);
        finish(count, 0);
        return 0;
}
