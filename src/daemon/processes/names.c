/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes/names.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/machine_clock.h"

#define WAIT_NS 200000

static bool has_unnamed(const struct usage_process *list, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                if (!list[i].local_pid && list[i].pid && list[i].start_ticks)
                        return true;
        }
        return false;
}

/* Whether the child of an earlier search is gone. If it was killed and is not gone yet, the next
 * search does not start. */
static bool is_child_over(struct aside *aside, uint64_t now_ns)
{
        enum aside_state state = ASIDE_DONE;

        if (aside->child)
                state = aside_tend(aside, 0, UINT64_MAX, now_ns);
        return state != ASIDE_RUNS;
}

static void walk(struct aside *aside, struct usage_process *shared, unsigned count, uint64_t max_ns)
{
        const struct timespec pause = { .tv_nsec = WAIT_NS };
        const uint64_t until_ns = clock_machine_ns() + max_ns;

        if (aside_fork(aside, "aliquot-names", clock_machine_ns()) == 0) {
                usage_name(shared, count, max_ns);
                _exit(0);
        }
        while (!is_child_over(aside, clock_machine_ns()) && clock_machine_ns() < until_ns)
                nanosleep(&pause, NULL);
        aside_end(aside);
}

void names_find(struct usage_process *list, unsigned count, uint64_t max_ns)
{
        static struct aside aside;
        static struct usage_process *shared;
        const size_t bytes = count * sizeof(*list);

        usage_name(list, count, 0);
        if (!max_ns || count > NAMES_MAX || !has_unnamed(list, count) ||
            !is_child_over(&aside, clock_machine_ns()))
                return;
        if (!shared)
                shared = mmap(NULL, NAMES_MAX * sizeof(*shared), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
                shared = NULL;
                return;
        }
        memcpy(shared, list, bytes);
        walk(&aside, shared, count, max_ns);
        memcpy(list, shared, bytes);
}
