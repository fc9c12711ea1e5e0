/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes on a GPU: those that have a context or memory there.
 *
 * A dead process stays listed until its memory has drained. A process is listed with its pid in the
 * reader's PID namespace, and left out if it has none there. Its bytes are what it was granted,
 * including contexts, but without memory that another process brought. Managed memory counts as far
 * as it is on the card.
 */
#include "sim/nvml/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/nvml/give.h"

/* Returns whether /proc shows the pids of this process's PID namespace, rather than those of the
 * namespace in which it was mounted. */
static bool proc_is_own(void)
{
        char link[32];
        ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

        if (n <= 0)
                return false;
        link[n] = '\0';
        return atoi(link) == getpid();
}

/* Returns the pid that the process with this name in /proc has in its own namespace; -1 if /proc
 * does not show it. */
static int own_pid(const char *name)
{
        char path[300], line[256];
        int own = -1;

        snprintf(path, sizeof(path), "/proc/%s/status", name);
        scoped_file FILE *status = fopen(path, "re");
        while (status && own < 0 && fgets(line, sizeof(line), status)) {
                if (strncmp(line, "NSpid:", 6) == 0)
                        own = atoi(strrchr(line, '\t') + 1);
        }
        return own;
}

static bool is_in_namespace(const char *name, uint64_t pid_namespace)
{
        struct stat st;
        char path[300];

        snprintf(path, sizeof(path), "/proc/%s/ns/pid", name);
        return stat(path, &st) == 0 && st.st_ino == pid_namespace;
}

/* Returns the pid, in this process's namespace, of the process that has `pid` in
 * `pid_namespace`. */
static unsigned pid_translate(int32_t pid, uint64_t pid_namespace)
{
        scoped_dir DIR *proc = proc_is_own() ? opendir("/proc") : NULL;
        struct dirent *entry;

        while (proc && (entry = readdir(proc))) {
                bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';

                if (is_process && is_in_namespace(entry->d_name, pid_namespace) &&
                    own_pid(entry->d_name) == pid)
                        return (unsigned)atoi(entry->d_name);
        }
        return 0;
}

/* Returns the pid of a row's process in this process's PID namespace; 0 when it is not visible
 * there. */
static unsigned row_pid(const struct node_row *row)
{
        static _Atomic uint64_t own_namespace;
        uint64_t own = load_relaxed(&own_namespace);
        struct stat st;

        if (own == 0) {
                own = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : row->pid_namespace;
                store_relaxed(&own_namespace, own);
        }
        return row->pid_namespace == own ? (unsigned)row->pid
                                         : pid_translate(row->pid, row->pid_namespace);
}

/* Returns a process's bytes on a device; the caller holds the device's lock. Managed memory counts
 * for no process, even if it is on the card, and imported memory only for the process that
 * allocated it: measured 2026-11-26 on an H200, driver 580.159.04. */
static uint64_t column_bytes(const struct node_column *column)
{
        return column->current_bytes - column->granted_bytes[FAMILY_MANAGED] -
               column->granted_bytes[FAMILY_IMPORT];
}

static unsigned unit_list(unsigned unit, unsigned instance, struct gpu_process *ret, unsigned room)
{
        struct sim_node *node = nvml.node;
        unsigned high = load_acquire(&node->row_high);
        unsigned count = 0;

        node_device_lock(node, unit);
        for (unsigned row = 0; row < high && row < NODE_PROCESSES && count < room; row++) {
                const struct node_column *column = &node->column[unit][row];

                if (column->state == COLUMN_UNUSED ||
                    (column->contexts == 0 && column->current_bytes == 0))
                        continue;
                ret[count++] = (struct gpu_process){
                        .row = row,
                        .unit = unit,
                        .instance_id = instance,
                        .used_bytes = column_bytes(column),
                        .high_bytes = column->high_bytes,
                };
        }
        node_device_unlock(node, unit);
        return count;
}

struct gpu_process *gpu_process_list(const struct gpu *gpu, unsigned *ret_count)
{
        unsigned room = load_acquire(&nvml.node->row_high) * gpu->unit_count;
        struct gpu_process *list = calloc(room + 1, sizeof(*list));
        unsigned count = 0, kept = 0;

        node_settle(nvml.node);
        for (unsigned i = 0; list && i < gpu->unit_count; i++) {
                unsigned instance = NVML_NO_INSTANCE;

                if (gpu->is_divided)
                        instance = i + 1;
                else if (gpu->is_instance)
                        instance = gpu_instance_id(gpu);
                count += unit_list(gpu->first_unit + i, instance, list + count, room - count);
        }
        for (unsigned i = 0; i < count; i++) {
                list[i].pid = row_pid(&nvml.node->row[list[i].row]);
                if (list[i].pid)
                        list[kept++] = list[i];
        }
        *ret_count = kept;
        return list;
}

typedef void put_fn(void *out, unsigned i, const struct gpu_process *process);

/* Fills a list of processes. As with all of NVML's lists, a buffer that is too small gets the count
 * only. */
static nvmlReturn_t list_give(const char *function, nvmlDevice_t handle, unsigned *count,
                              put_fn *put, void *out)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(function, handle, count, &gpu);
        unsigned found;

        if (rc != NVML_SUCCESS)
                return rc;
        /* in virtual time, nothing is spent: the calling process may not take part in it */
        if (!config_get()->is_clock_virtual)
                sim_spend(config_get()->process_list_ns);
        struct gpu_process *list = gpu_process_list(gpu, &found);
        if (!list)
                return NVML_ERROR_MEMORY;
        if (*count < found)
                rc = NVML_ERROR_INSUFFICIENT_SIZE;
        else if (found > 0 && !out)
                rc = NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < found && rc == NVML_SUCCESS; i++)
                put(out, i, &list[i]);
        *count = found;
        free(list);
        return rc;
}

static void put_v1(void *out, unsigned i, const struct gpu_process *process)
{
        nvmlProcessInfo_v1_t *info = out;

        info[i].pid = process->pid;
        info[i].usedGpuMemory = process->used_bytes;
}

static void put_v2(void *out, unsigned i, const struct gpu_process *process)
{
        nvmlProcessInfo_v2_t *info = out;

        info[i].pid = process->pid;
        info[i].usedGpuMemory = process->used_bytes;
        info[i].gpuInstanceId = process->instance_id;
        info[i].computeInstanceId = process->instance_id == NVML_NO_INSTANCE ? NVML_NO_INSTANCE : 0;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned *count,
                                                  nvmlProcessInfo_v1_t *ret_infos)
{
        return list_give(__func__, handle, count, put_v1, ret_infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned *count,
                                                     nvmlProcessInfo_v2_t *ret_infos)
{
        return list_give(__func__, handle, count, put_v2, ret_infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned *count,
                                                     nvmlProcessInfo_t *ret_infos)
{
        return list_give(__func__, handle, count, put_v2, ret_infos);
}

static void put_detail(void *out, unsigned i, const struct gpu_process *process)
{
        nvmlProcessDetail_v1_t *detail = out;

        detail[i] = (nvmlProcessDetail_v1_t){
                .pid = process->pid,
                .usedGpuMemory = process->used_bytes,
                .gpuInstanceId = process->instance_id,
                .computeInstanceId =
                        process->instance_id == NVML_NO_INSTANCE ? NVML_NO_INSTANCE : 0,
        };
}

/* Mode 0 asks for compute processes. In other modes the list is empty: nothing draws, and there is
 * no MPS server. */
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t handle,
                                                   nvmlProcessDetailList_t *list)
{
        if (!list)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (list->version != nvmlProcessDetailList_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (list->mode != 0)
                return nvml_give(__func__, handle, &list->numProcArrayEntries, 0);
        return list_give(__func__, handle, &list->numProcArrayEntries, put_detail, list->procArray);
}

nvmlReturn_t nobody_give(const char *function, nvmlDevice_t handle, unsigned *count)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_gpu(function, handle, count, &gpu);

        if (rc == NVML_SUCCESS)
                *count = 0;
        return rc;
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *ret_name, unsigned length)
{
        nvmlReturn_t rc = nvml_enter(__func__);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_name || length == 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        unsigned high = load_acquire(&nvml.node->row_high);
        for (unsigned i = 0; i < high && i < NODE_PROCESSES; i++) {
                const struct node_row *row = &nvml.node->row[i];

                if (load_acquire(&row->state) == ROW_FREE || row_pid(row) != pid)
                        continue;
                snprintf(ret_name, length, "%s", row->name);
                return NVML_SUCCESS;
        }
        return NVML_ERROR_NOT_FOUND;
}
