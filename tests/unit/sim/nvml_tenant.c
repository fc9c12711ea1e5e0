/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants: see nvml_tenant.h.
 */
#include "nvml_tenant.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/node.h"

static char folder[64];

int node_prepare(const char *spec)
{
        char text[256];

        strcpy(folder, "/tmp/aliquot-sim-nvml-XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        snprintf(text, sizeof(text), "%s,state=%s", spec, folder);
        return setenv("ALIQUOT_SIM", text, 1);
}

int node_discard(void **state)
{
        static const char *const files[] = { "node", "lock", "alive" };
        char path[128];

        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
                snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
                unlink(path);
        }
        return rmdir(folder);
}

int node_finish(void **state)
{
        nvmlShutdown();
        return node_discard(state);
}

static void tenant_live(void (*work)(void), int done)
{
        struct sim_node *node = node_open();

        if (!node || node_attach(node) < 0)
                _exit(1);
        work();
        if (write(done, "", 1) != 1)
                _exit(1);
        for (;;)
                pause();
}

pid_t tenant_start(void (*work)(void))
{
        int done[2];
        char byte;

        assert_int_equal(pipe(done), 0);
        pid_t pid = fork();
        if (pid == 0) {
                close(done[0]);
                tenant_live(work, done[1]);
        }
        close(done[1]);
        assert_true(pid > 0);
        assert_int_equal(read(done[0], &byte, 1), 1);
        close(done[0]);
        return pid;
}

void tenant_kill(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

void tenant_allocate(unsigned device, uint64_t bytes)
{
        struct sim_node *node = node_get();

        if (node_grant(device, FAMILY_CONTEXT, MIB) != GRANT_OK ||
            node_grant(device, FAMILY_ALLOC, bytes) != GRANT_OK)
                _exit(1);
        node_device_lock(node, device);
        node->column[device][node_self() - node->row].contexts = 1;
        node_device_unlock(node, device);
}

unsigned node_rows_taken(void)
{
        struct sim_node *node = node_open_existing(folder);
        unsigned taken = 0;

        assert_non_null(node);
        for (unsigned i = 0; i < load_acquire(&node->row_high); i++)
                taken += load_acquire(&node->row[i].state) != ROW_FREE;
        return taken;
}

nvmlDevice_t card(unsigned index)
{
        nvmlDevice_t handle;

        assert_int_equal(nvmlDeviceGetHandleByIndex_v2(index, &handle), NVML_SUCCESS);
        return handle;
}
