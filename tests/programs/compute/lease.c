/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler of the simplest kind, for the shim's half of leases: two sessions in turns. The next
 * is let in when nothing of the one before runs any more, and what outlasts a lease is paid for.
 *
 *      lease RUNTIME_DIR MS RUNTIME_DIR MS SECONDS
 *
 * Each session (the only one of its runtime folder) has the device for its MS, then the other.
 * After SECONDS it falls silent, without a last word: who had no lease has none.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"

#define MS_NS UINT64_C(1000000)
#define TARGET_NS (2 * MS_NS)
#define LOOK_NS UINT64_C(20000)

/* The simulated driver's. */
time_authority_find aliquot_sim_time_authority;

struct session {
        struct limits_page *limits;
        const struct slots_page *slots;
        uint64_t ms;
        uint64_t overrun_ns; /* of its last lease: the next is so much shorter */
};

static void *map_page(const char *runtime, const char *name)
{
        char pattern[512];
        struct stat status;
        glob_t found;
        void *at = MAP_FAILED;
        int fd;

        snprintf(pattern, sizeof(pattern), "%s/sessions/*/%s", runtime, name);
        if (glob(pattern, 0, NULL, &found) != 0)
                return NULL;
        fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &status) == 0)
                at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        globfree(&found);
        return at == MAP_FAILED ? NULL : at;
}

/* As docs and page.h have it: odd while it is written. */
static void tell(struct limits_page *limits, uint32_t mode, uint64_t end_ns)
{
        struct page_lease *lease = &limits->device[0].lease;

        store_release(shared_word(&limits->scheduler_at_ns), clock_now_ns());
        add_acq_rel(shared_half(&lease->turn), 1);
        store_release(shared_half(&lease->mode), mode);
        store_release(shared_word(&lease->end_ns), end_ns);
        store_release(shared_word(&lease->target_ns), TARGET_NS);
        add_acq_rel(shared_half(&lease->turn), 1);
        clock_wake(shared_half(&lease->turn), INT_MAX);
}

/* Nothing that was launched under its lease runs any more. */
static void wait_for_drain(const struct session *session)
{
        while (load_acquire(shared_half(&session->slots->meter[0].drained_turn)) & 1)
                clock_sleep_ns(LOOK_NS);
}

static void give_turn(struct session *session)
{
        uint64_t length_ns = session->ms * MS_NS - session->overrun_ns;
        uint64_t end_ns = clock_now_ns() + length_ns;

        tell(session->limits, PAGE_MODE_OPEN, end_ns);
        clock_sleep_ns(length_ns);
        tell(session->limits, PAGE_MODE_CLOSED, 0);
        wait_for_drain(session);
        session->overrun_ns = clock_now_ns() - end_ns;
        if (session->overrun_ns > session->ms * MS_NS)
                session->overrun_ns = session->ms * MS_NS;
}

int main(int argc, char **argv)
{
        struct session session[2] = { 0 };
        uint64_t end_ns;

        if (argc != 6 || cuInit(0) != CUDA_SUCCESS)
                return 2;
        clock_follow(aliquot_sim_time_authority(TIME_AUTHORITY_VERSION));
        clock_join(TIME_FOREGROUND);
        for (unsigned i = 0; i < 2; i++) {
                session[i].ms = strtoull(argv[2 + 2 * i], NULL, 10);
                while (!(session[i].limits = map_page(argv[1 + 2 * i], "limits")) ||
                       !(session[i].slots = map_page(argv[1 + 2 * i], "slots")))
                        clock_sleep_ns(MS_NS);
                tell(session[i].limits, PAGE_MODE_CLOSED, 0);
        }
        end_ns = clock_now_ns() + strtoull(argv[5], NULL, 10) * 1000 * MS_NS;
        for (unsigned turn = 0; clock_now_ns() < end_ns; turn = !turn)
                give_turn(&session[turn]);
        return 0;
}
