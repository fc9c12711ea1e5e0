/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "proto/page.h"
#include "sim/node/node.h"

static void *map_file(const char *path, int flags, int protection)
{
        int fd = open(path, flags | O_CLOEXEC);
        struct stat status;
        void *at;

        if (fd < 0 || fstat(fd, &status) < 0)
                return NULL;
        at = mmap(NULL, (size_t)status.st_size, protection, MAP_SHARED, fd, 0);
        close(fd);
        return at == MAP_FAILED ? NULL : at;
}

static void *session_file(const char *name, int flags, int protection)
{
        char pattern[512];
        void *at;
        glob_t found;

        snprintf(pattern, sizeof(pattern), "%s/sessions/*/%s", getenv("ALIQUOT_RUNTIME_DIR"), name);
        if (glob(pattern, 0, NULL, &found) != 0)
                return NULL;
        at = map_file(found.gl_pathv[0], flags, protection);
        globfree(&found);
        return at;
}

#pragma weak cuMemGetInfo_v2

/* What the driver took is looked at before each view, and else as often as the questions are cheap.
 */
static void view(void)
{
        size_t left, total;

        if (getenv("WATCH_VIEWS") && cuMemGetInfo_v2)
                (void)cuMemGetInfo_v2(&left, &total);
}

uint64_t watch_charged(const CUuuid *uuid)
{
        static const struct limits_page *limits;
        static const struct slots_page *slots;

        view();
        if (!limits || !slots) {
                limits = session_file("limits", O_RDONLY, PROT_READ);
                slots = session_file("slots", O_RDONLY, PROT_READ);
        }
        for (unsigned i = 0; limits && slots && i < PAGE_DEVICES; i++) {
                if (memcmp(limits->device[i].uuid, uuid, 16) == 0)
                        return *(const volatile uint64_t *)&slots->ledger[i].used_bytes;
        }
        return 0;
}

const struct sim_node *watch_node(void)
{
        static const struct sim_node *node;
        const char *at = strstr(getenv("ALIQUOT_SIM"), "state=");
        char path[512];

        if (node || !at)
                return node;
        snprintf(path, sizeof(path), "%.*s/node", (int)strcspn(at + 6, ","), at + 6);
        node = map_file(path, O_RDONLY, PROT_READ);
        return node;
}

bool watch_device(unsigned index, CUuuid *ret)
{
        const struct sim_node *node = watch_node();

        if (!node || index >= node->device_count)
                return false;
        memcpy(ret, node->device[index].uuid, sizeof(*ret));
        return true;
}

static int find_device(const struct sim_node *node, const CUuuid *uuid)
{
        for (unsigned i = 0; node && i < node->device_count; i++) {
                if (memcmp(node->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -1;
}

static int find_row(const struct sim_node *node)
{
        for (unsigned i = 0; i < NODE_PROCESSES; i++) {
                if (node->row[i].state == ROW_LIVE && node->row[i].pid == getpid())
                        return (int)i;
        }
        return -1;
}

uint64_t watch_granted(const CUuuid *uuid)
{
        const struct sim_node *node = watch_node();
        int device = find_device(node, uuid);
        int row = device < 0 ? -1 : find_row(node);

        if (row < 0)
                return 0;
        return *(const volatile uint64_t *)&node->column[device][row].current_bytes;
}

static const struct node_tag_column *tag_column(const CUuuid *uuid)
{
        const struct sim_node *node = watch_node();
        int device = find_device(node, uuid);
        int row = device < 0 ? -1 : find_row(node);

        return row < 0 ? NULL : &node->tag[node->row[row].tag].column[device];
}

void watch_look(const CUuuid *uuid, const char *family, const char *moment)
{
        char line[64];

        printf("%s %s %llu %llu\n", family, moment, (unsigned long long)watch_charged(uuid),
               (unsigned long long)watch_granted(uuid));
        fflush(stdout);
        if (getenv("WATCH_WAITS") && !fgets(line, sizeof(line), stdin))
                exit(1);
}

uint64_t watch_granted_tag(const CUuuid *uuid)
{
        const volatile struct node_tag_column *column = tag_column(uuid);

        return column ? column->current_bytes : 0;
}

uint64_t watch_high(const CUuuid *uuid)
{
        const volatile struct node_tag_column *column = tag_column(uuid);

        return column ? column->high_bytes : 0;
}

void watch_expect(CUresult got, CUresult wanted, const char *call, int line)
{
        if (got == wanted)
                return;
        fprintf(stderr, "line %d: %s answered %d, not %d\n", line, call, got, wanted);
        exit(1);
}

uint64_t watch_now_ns(void)
{
        const struct sim_node *node = watch_node();
        uint64_t seen, now_ns;

        if (!node || !node->is_clock_virtual)
                return clock_now_ns();
        do {
                const struct authority_state *time =
                        cell_look(&node->time.cell, node->time.state, &seen);

                now_ns = load_relaxed(&time->now_ns);
        } while (!cell_is_current(&node->time.cell, seen));
        return now_ns;
}

uint64_t watch_busy(const CUuuid *uuid)
{
        const struct sim_node *node = watch_node();
        int device = find_device(node, uuid);
        int row = device < 0 ? -1 : find_row(node);

        return row < 0 ? 0 : load_relaxed(&node->meter[row][device][ENGINE_COMPUTE].total_ns);
}

static uint64_t total_ns(const CUuuid *uuid, enum engine engine)
{
        const struct sim_node *node = watch_node();
        int device = find_device(node, uuid);

        return device < 0 ? 0 : load_relaxed(&node->device[device].meter[engine].total_ns);
}

uint64_t watch_busy_all(const CUuuid *uuid)
{
        return total_ns(uuid, ENGINE_COMPUTE);
}

uint64_t watch_copied_all(const CUuuid *uuid)
{
        return total_ns(uuid, ENGINE_COPY);
}

uint64_t watch_flight(const CUuuid *uuid)
{
        const struct node_tag_column *column = tag_column(uuid);

        return column ? flight_ns(&column->flight, watch_now_ns()) : 0;
}

static struct limits_page *writable_limits(void)
{
        static struct limits_page *limits;

        if (!limits)
                limits = session_file("limits", O_RDWR, PROT_READ | PROT_WRITE);
        return limits;
}

static int find_limits(const struct limits_page *limits, const CUuuid *uuid)
{
        for (unsigned i = 0; limits && i < PAGE_DEVICES; i++) {
                if (memcmp(limits->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -1;
}

const struct page_meter *watch_meter(const CUuuid *uuid)
{
        static const struct slots_page *slots;
        int device = find_limits(writable_limits(), uuid);

        if (!slots)
                slots = session_file("slots", O_RDONLY, PROT_READ);
        return !slots || device < 0 ? NULL : &slots->meter[device];
}

void watch_set_cap(const CUuuid *uuid, uint32_t cap_ppm)
{
        struct limits_page *limits = writable_limits();
        int device = find_limits(limits, uuid);

        if (device < 0)
                return;
        store_release(shared_half(&limits->device[device].cap_ppm), cap_ppm);
        add_acq_rel(shared_half(&limits->epoch), 1);
        clock_wake(shared_half(&limits->epoch), UINT32_MAX);
}
