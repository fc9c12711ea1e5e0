/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that list the processes on a card: the program sees only the processes of its own session,
 * with the memory that the session charges them.
 *
 * Lists of compute processes are made from the session: every live process with a charge on the
 * device, by its PID in the reader's PID namespace (a process without a PID there is left out).
 * Lists of graphics and MPS processes and of utilisation are the driver's lists without the
 * processes of other sessions. The driver is called first each time, so it answers wrong arguments
 * and unsupported functions. Without a session the driver's answers stand.
 */
#include <string.h>
#include <sys/mman.h>

#include "shim/attach.h"
#include "shim/nvml/front.h"
#include "shim/nvml/hooks.h"
#include "shim/nvml/list.h"
#include "shim/nvml/real.h"
#include "store/usage.h"

/* Value of an instance id for a device without MIG. */
#define NO_INSTANCE 0xffffffffu

struct session_process {
        uint32_t pid;
        uint64_t bytes; /* charged on the requested row; may be 0 */
};

/* The session's processes, in mapped memory because there may be thousands. */
struct session_processes {
        struct session_process *member;
        unsigned count;
        size_t mapped_bytes;
};

/* Lists the session's processes. It opens a file, so if this process has a slot, forks wait
 * meanwhile. */
static int list_usage(struct usage_process *ret, size_t max)
{
        struct process *process = process_here();
        int count;

        if (process)
                lock_take(&process->descriptors);
        count = usage_list(session_slots(), session_slots_file(), ret, max);
        if (process)
                lock_drop(&process->descriptors);
        return count;
}

static void members_finish(struct session_processes *members)
{
        if (members->member)
                munmap(members->member, members->mapped_bytes);
}

/* Reads the session's processes and their charges on `row`. Leaves space for a few processes that
 * start between the count and the list. False: failed. */
static bool members_init(struct session_processes *ret, int row)
{
        int room = list_usage(NULL, 0) + 16;
        struct usage_process *used;
        size_t bytes;
        int count;

        *ret = (struct session_processes){ 0 };
        if (room < 16)
                return false;
        bytes = (size_t)room * sizeof(*used);
        used = list_scratch(bytes);
        ret->mapped_bytes = (size_t)room * sizeof(*ret->member);
        ret->member = list_scratch(ret->mapped_bytes);
        count = used && ret->member ? list_usage(used, (size_t)room) : -1;
        count = count < room ? count : room;
        if (count > 0)
                usage_name(used, (size_t)count, USAGE_NO_BOUND);
        for (int i = 0; i < count; i++) {
                if (used[i].local_pid)
                        ret->member[ret->count++] =
                                (struct session_process){ .pid = used[i].local_pid,
                                                          .bytes = used[i].bytes[row] };
        }
        if (used)
                munmap(used, bytes);
        if (count < 0)
                members_finish(ret);
        return count >= 0;
}

static const struct session_process *find_member(const struct session_processes *members,
                                                 unsigned pid)
{
        for (unsigned i = 0; i < members->count; i++) {
                if (members->member[i].pid == pid)
                        return &members->member[i];
        }
        return NULL;
}

/* The layout of a list entry: 16 bytes, or 24 bytes with the MIG instances. */
struct shape {
        bool has_instances;
        unsigned gpu_instance, compute_instance;
};

static struct shape shape_of(nvmlDevice_t device, bool has_instances)
{
        struct shape shape = { has_instances, NO_INSTANCE, NO_INSTANCE };

        if (has_instances) {
                real.nvmlDeviceGetGpuInstanceId(device, &shape.gpu_instance);
                real.nvmlDeviceGetComputeInstanceId(device, &shape.compute_instance);
        }
        return shape;
}

static void put_process(void *infos, unsigned at, const struct session_process *member,
                        const struct shape *shape)
{
        nvmlProcessInfo_v1_t *old = infos;
        nvmlProcessInfo_v2_t *new = infos;

        if (shape->has_instances)
                new[at] = (nvmlProcessInfo_v2_t){ .pid = member->pid,
                                                  .usedGpuMemory = member->bytes,
                                                  .gpuInstanceId = shape->gpu_instance,
                                                  .computeInstanceId = shape->compute_instance };
        else
                old[at] = (nvmlProcessInfo_v1_t){ .pid = member->pid,
                                                  .usedGpuMemory = member->bytes };
}

/* Writes the list of charged processes as NVML does: `*count` is the buffer's size on entry and the
 * number of entries on return. If the buffer is too small, returns INSUFFICIENT_SIZE and sets only
 * `*count`. */
static nvmlReturn_t list_charged(const struct session_processes *members, const struct shape *shape,
                                 unsigned *count, void *infos)
{
        unsigned room = *count;
        unsigned found = 0;

        for (unsigned i = 0; i < members->count; i++)
                found += members->member[i].bytes > 0;
        *count = found;
        if (found > room)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        found = 0;
        for (unsigned i = 0; i < members->count; i++) {
                if (members->member[i].bytes > 0)
                        put_process(infos, found++, &members->member[i], shape);
        }
        return NVML_SUCCESS;
}

static bool is_ours(void)
{
        return nvml_start() && session_state() == SESSION_ACTIVE;
}

/* Makes a list of compute processes. First asks the driver for the number of entries only, so that
 * the driver's own errors are kept. */
static nvmlReturn_t compute_list(list_reader *read, nvmlDevice_t device, unsigned *count,
                                 void *infos, bool has_instances)
{
        struct session_processes members;
        unsigned none = 0;
        struct shape shape;
        nvmlReturn_t rc;
        int row;

        if (!count || !is_ours())
                return read(device, count, infos);
        rc = read(device, &none, NULL);
        if (!list_is_answered(rc))
                return rc;
        if (*count && !infos)
                return NVML_ERROR_INVALID_ARGUMENT;
        shape = shape_of(device, has_instances);
        row = nvml_row(device);
        if (row < 0 || !members_init(&members, row)) {
                *count = 0;
                return NVML_SUCCESS;
        }
        rc = list_charged(&members, &shape, count, infos);
        members_finish(&members);
        return rc;
}

static nvmlReturn_t read_compute(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetComputeRunningProcesses(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                       nvmlProcessInfo_v1_t *infos)
{
        return compute_list(read_compute, device, count, infos, false);
}

static nvmlReturn_t read_compute_v2(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetComputeRunningProcesses_v2(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                          nvmlProcessInfo_v2_t *infos)
{
        return compute_list(read_compute_v2, device, count, infos, true);
}

static nvmlReturn_t read_compute_v3(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetComputeRunningProcesses_v3(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                          nvmlProcessInfo_t *infos)
{
        return compute_list(read_compute_v3, device, count, infos, true);
}

static unsigned pid_at(const void *infos, unsigned at, bool is_wide)
{
        const nvmlProcessInfo_v1_t *narrow = infos;
        const nvmlProcessInfo_v2_t *wide = infos;

        return is_wide ? wide[at].pid : narrow[at].pid;
}

/* Moves the entries of the session's processes to the front of `infos`. Returns their number. */
static unsigned keep_members(const struct session_processes *members, void *infos, unsigned count,
                             bool is_wide)
{
        nvmlProcessInfo_v1_t *narrow = infos;
        nvmlProcessInfo_v2_t *wide = infos;
        unsigned kept = 0;

        for (unsigned i = 0; i < count; i++) {
                if (!find_member(members, pid_at(infos, i, is_wide)))
                        continue;
                if (is_wide)
                        wide[kept++] = wide[i];
                else
                        narrow[kept++] = narrow[i];
        }
        return kept;
}

/* Makes a list from the driver's list, with only the session's processes. */
static nvmlReturn_t driver_list(list_reader *read, nvmlDevice_t device, unsigned *count,
                                void *infos, bool is_wide)
{
        size_t entry = is_wide ? sizeof(nvmlProcessInfo_v2_t) : sizeof(nvmlProcessInfo_v1_t);
        unsigned room, found;
        struct session_processes members;
        size_t bytes;
        nvmlReturn_t rc;
        void *all;

        if (!count || !is_ours())
                return read(device, count, infos);
        if (*count && !infos)
                return NVML_ERROR_INVALID_ARGUMENT;
        all = list_read(read, device, &found, &bytes, &rc);
        if (!all)
                return rc;
        if (members_init(&members, 0)) {
                found = keep_members(&members, all, found, is_wide);
                members_finish(&members);
        } else {
                found = 0;
        }
        room = *count;
        *count = found;
        if (found > room)
                rc = NVML_ERROR_INSUFFICIENT_SIZE;
        else if (found)
                memcpy(infos, all, found * entry);
        munmap(all, bytes);
        return rc;
}

static nvmlReturn_t read_graphics(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetGraphicsRunningProcesses(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                        nvmlProcessInfo_v1_t *infos)
{
        return driver_list(read_graphics, device, count, infos, false);
}

static nvmlReturn_t read_graphics_v2(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetGraphicsRunningProcesses_v2(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                           nvmlProcessInfo_v2_t *infos)
{
        return driver_list(read_graphics_v2, device, count, infos, true);
}

static nvmlReturn_t read_graphics_v3(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                           nvmlProcessInfo_t *infos)
{
        return driver_list(read_graphics_v3, device, count, infos, true);
}

static nvmlReturn_t read_mps(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetMPSComputeRunningProcesses(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                          nvmlProcessInfo_v1_t *infos)
{
        return driver_list(read_mps, device, count, infos, false);
}

static nvmlReturn_t read_mps_v2(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetMPSComputeRunningProcesses_v2(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device,
                                                             unsigned int *count,
                                                             nvmlProcessInfo_v2_t *infos)
{
        return driver_list(read_mps_v2, device, count, infos, true);
}

static nvmlReturn_t read_mps_v3(nvmlDevice_t device, unsigned *count, void *infos)
{
        return real.nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count, infos);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
                                                             unsigned int *count,
                                                             nvmlProcessInfo_t *infos)
{
        return driver_list(read_mps_v3, device, count, infos, true);
}

/* If only the count is requested, the driver's count of all processes stands: it is an upper bound
 * for the buffer's size. */
nvmlReturn_t hook_nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                  nvmlProcessUtilizationSample_t *samples,
                                                  unsigned int *count, unsigned long long since)
{
        nvmlReturn_t rc = real.nvmlDeviceGetProcessUtilization(device, samples, count, since);
        struct session_processes members;
        unsigned kept = 0;

        if (rc != NVML_SUCCESS || !samples || !is_ours() || !members_init(&members, 0))
                return rc;
        for (unsigned i = 0; i < *count; i++) {
                if (find_member(&members, samples[i].pid))
                        samples[kept++] = samples[i];
        }
        members_finish(&members);
        *count = kept;
        return kept ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t hook_nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                        nvmlProcessesUtilizationInfo_t *info)
{
        nvmlReturn_t rc = real.nvmlDeviceGetProcessesUtilizationInfo(device, info);
        struct session_processes members;
        unsigned kept = 0;

        if (rc != NVML_SUCCESS || !info->procUtilArray || !is_ours() || !members_init(&members, 0))
                return rc;
        for (unsigned i = 0; i < info->processSamplesCount; i++) {
                if (find_member(&members, info->procUtilArray[i].pid))
                        info->procUtilArray[kept++] = info->procUtilArray[i];
        }
        members_finish(&members);
        info->processSamplesCount = kept;
        return kept ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t hook_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                        nvmlProcessDetailList_t *list)
{
        nvmlReturn_t rc = real.nvmlDeviceGetRunningProcessDetailList(device, list);
        int row = rc == NVML_SUCCESS && is_ours() ? nvml_row(device) : CHARGE_NO_DEVICE;
        struct session_processes members;
        unsigned kept = 0;

        if (row < 0 || !list->procArray || !members_init(&members, row))
                return rc;
        for (unsigned i = 0; i < list->numProcArrayEntries; i++) {
                const struct session_process *member =
                        find_member(&members, list->procArray[i].pid);

                if (!member)
                        continue;
                list->procArray[kept] = list->procArray[i];
                list->procArray[kept++].usedGpuMemory = member->bytes;
        }
        members_finish(&members);
        list->numProcArrayEntries = kept;
        return rc;
}
