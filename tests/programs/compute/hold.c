/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a daemon's session, as who moves its memory would (limits_page.gate).
 *
 *      hold SESSION_FOLDER FROM_MS PATIENCE_MS HELD_MS TIMES
 *
 * From FROM_MS after the device's first work on, TIMES times: shuts the gate, waits for the answers
 * of all processes of the session, no longer than PATIENCE_MS; then for HELD_MS watches that
 * nothing touches the device, and opens the gate for as long. Prints one object: `drained`, how
 * often all had answered; `longest_ns` of waiting for that; `touched_ns`, what the device and its
 * links did while the session was drained; `worked_ns`, what they did while the gate was open.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"
#include "sim/node/node.h"
#include "simtime.h"
#include "watch.h"

#define MS_NS UINT64_C(1000000)
#define LOOK_NS UINT64_C(20000)
#define WORK_WITHIN_NS (60000 * MS_NS)

static struct limits_page *limits;
static struct slots_page *slots;

static void *map_page(const char *folder, const char *name, size_t bytes)
{
        char path[4096];
        void *at = MAP_FAILED;
        int fd;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0)
                at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
                perror(path);
                exit(1);
        }
        close(fd);
        return at;
}

static void set_gate(uint32_t gate)
{
        store_release(shared_half(&limits->gate), gate);
        clock_wake(shared_half(&limits->gate), INT_MAX);
}

/* Every process of the session lives as long as this one, and took its slot. */
static bool have_answered(uint32_t gate)
{
        uint32_t high = load_acquire(shared_half(&slots->slots_high));

        for (uint32_t i = 0; i < high; i++) {
                if (load_acquire(shared_half(&slots->slot[i].drained_gate)) != gate)
                        return false;
        }
        return high > 0;
}

/* When the last work of any kind was done, by the simulator's word. */
static uint64_t worked(const CUuuid *uuid)
{
        return watch_busy_all(uuid) + watch_copied_all(uuid);
}

int main(int argc, char **argv)
{
        uint64_t patience_ns, held_ns, joined_ns, longest_ns = 0, touched_ns = 0, worked_ns = 0;
        unsigned drained = 0;
        CUuuid uuid;

        if (argc != 6 || cuInit(0) != CUDA_SUCCESS)
                return 2;
        OK(cuDeviceGetUuid(&uuid, 0));
        simtime_follow();
        clock_join(TIME_FOREGROUND);
        joined_ns = clock_now_ns();
        limits = map_page(argv[1], "limits", sizeof(*limits));
        slots = map_page(argv[1], "slots", sizeof(*slots));
        patience_ns = strtoull(argv[3], NULL, 10) * MS_NS;
        held_ns = strtoull(argv[4], NULL, 10) * MS_NS;
        while (!worked(&uuid) && clock_now_ns() - joined_ns < WORK_WITHIN_NS)
                clock_sleep_ns(MS_NS);
        if (!worked(&uuid)) {
                fputs("nothing of the session works\n", stderr);
                return 3;
        }
        clock_sleep_ns(strtoull(argv[2], NULL, 10) * MS_NS);
        for (uint32_t i = 0; i < (uint32_t)atoi(argv[5]); i++) {
                uint32_t gate = (uint32_t)(clock_now_ns() / 1000) | 1; /* another one each time */
                uint64_t began_ns = clock_now_ns(), waited_ns = 0, before_ns;

                set_gate(gate);
                while (!have_answered(gate) && waited_ns < patience_ns) {
                        clock_sleep_ns(LOOK_NS);
                        waited_ns = clock_now_ns() - began_ns;
                }
                before_ns = worked(&uuid);
                if (have_answered(gate)) {
                        drained++;
                        longest_ns = waited_ns > longest_ns ? waited_ns : longest_ns;
                        clock_sleep_ns(held_ns);
                        touched_ns += worked(&uuid) - before_ns;
                }
                before_ns = worked(&uuid);
                set_gate(0);
                clock_sleep_ns(held_ns);
                worked_ns += worked(&uuid) - before_ns;
        }
        printf("{\"drained\": %u, \"longest_ns\": %llu, \"touched_ns\": %llu, \"worked_ns\": "
               "%llu}\n",
               drained, (unsigned long long)longest_ns, (unsigned long long)touched_ns,
               (unsigned long long)worked_ns);
        return 0;
}
