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

#include "proto/page.h"
#include "sim/node/node.h"

static const void *map_file(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat status;
        const void *at;

        if (fd < 0 || fstat(fd, &status) < 0)
                return NULL;
        at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        return at == MAP_FAILED ? NULL : at;
}

static const void *session_file(const char *name)
{
        char pattern[512];
        const void *at;
        glob_t found;

        snprintf(pattern, sizeof(pattern), "%s/sessions/*/%s", getenv("ALIQUOT_RUNTIME_DIR"), name);
        if (glob(pattern, 0, NULL, &found) != 0)
                return NULL;
        at = map_file(found.gl_pathv[0]);
        globfree(&found);
        return at;
}

uint64_t watch_charged(const CUuuid *uuid)
{
        static const struct limits_page *limits;
        static const struct slots_page *slots;

        if (!limits || !slots) {
                limits = session_file("limits");
                slots = session_file("slots");
        }
        for (unsigned i = 0; limits && slots && i < PAGE_DEVICES; i++) {
                if (memcmp(limits->device[i].uuid, uuid, 16) == 0)
                        return *(const volatile uint64_t *)&slots->ledger[i].used_bytes;
        }
        return 0;
}

static const struct node *open_node(void)
{
        static const struct node *node;
        const char *at = strstr(getenv("ALIQUOT_SIM"), "state=");
        char path[512];

        if (node || !at)
                return node;
        snprintf(path, sizeof(path), "%.*s/node", (int)strcspn(at + 6, ","), at + 6);
        node = map_file(path);
        return node;
}

bool watch_device(unsigned index, CUuuid *ret)
{
        const struct node *node = open_node();

        if (!node || index >= node->device_count)
                return false;
        memcpy(ret, node->device[index].uuid, sizeof(*ret));
        return true;
}

static int find_device(const struct node *node, const CUuuid *uuid)
{
        for (unsigned i = 0; node && i < node->device_count; i++) {
                if (memcmp(node->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -1;
}

static int find_row(const struct node *node)
{
        for (unsigned i = 0; i < NODE_PROCESSES; i++) {
                if (node->row[i].state == ROW_LIVE && node->row[i].pid == getpid())
                        return (int)i;
        }
        return -1;
}

uint64_t watch_granted(const CUuuid *uuid)
{
        const struct node *node = open_node();
        int device = find_device(node, uuid);
        int row = device < 0 ? -1 : find_row(node);

        if (row < 0)
                return 0;
        return *(const volatile uint64_t *)&node->column[device][row].current_bytes;
}

static const struct node_tag_column *tag_column(const CUuuid *uuid)
{
        const struct node *node = open_node();
        int device = find_device(node, uuid);
        int row = device < 0 ? -1 : find_row(node);

        return row < 0 ? NULL : &node->tag[node->row[row].tag].column[device];
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
