/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands that look: at devices, through NVML, and at both books.
 */
#include <string.h>
#include <unistd.h>

#include "abi/nvml.h"
#include "script.h"
#include "watch.h"

static void do_count(const struct command *c)
{
        int count = 7;
        CUresult rc = cuDeviceGetCount(&count);

        (void)c;
        say_values(rc, &(uint64_t){ (uint64_t)count }, 1);
}

static void do_device(const struct command *c)
{
        CUdevice device;

        say(cuDeviceGet(&device, (int)number(c, 1)));
}

static void do_device_on_bus(const struct command *c)
{
        CUdevice device;

        say(cuDeviceGetByPCIBusId(&device, c->word[1]));
}

static void do_total(const struct command *c)
{
        size_t total = 7;
        CUresult rc = cuDeviceTotalMem_v2(&total, (CUdevice)number(c, 1));

        say_values(rc, &(uint64_t){ total }, 1);
}

static void do_uuid(const struct command *c)
{
        CUuuid uuid;
        CUresult rc = cuDeviceGetUuid_v2(&uuid, (CUdevice)number(c, 1));

        say(rc);
        for (unsigned i = 0; rc == CUDA_SUCCESS && i < sizeof(uuid.bytes); i++)
                printf("%s%02x", i ? "" : " ", (unsigned char)uuid.bytes[i]);
}

static void do_name(const struct command *c)
{
        char name[256] = "";
        int room = c->count > 2 ? (int)number(c, 2) : (int)sizeof(name);

        say(cuDeviceGetName(name, room, (CUdevice)number(c, 1)));
        printf(" %s", name);
}

static void do_look(const struct command *c)
{
        CUuuid uuid = { { 0 } };

        cuDeviceGetUuid_v2(&uuid, (CUdevice)number(c, 1));
        say_values(0,
                   (uint64_t[]){ watch_charged(&uuid), watch_granted(&uuid),
                                 watch_granted_tag(&uuid), watch_high(&uuid) },
                   4);
}

/* As look, by the physical number: the driver is not asked, so it cannot be wrong. */
static void do_books(const struct command *c)
{
        CUuuid uuid = { { 0 } };
        bool is_there = watch_device((unsigned)number(c, 1), &uuid);

        say_values(!is_there,
                   (uint64_t[]){ watch_charged(&uuid), watch_granted(&uuid),
                                 watch_granted_tag(&uuid), watch_high(&uuid) },
                   4);
}

static nvmlDevice_t card(const struct command *c)
{
        nvmlDevice_t device = NULL;

        nvmlDeviceGetHandleByIndex_v2((unsigned)number(c, 1), &device);
        return device;
}

static void do_nvml(const struct command *c)
{
        (void)c;
        printf("%d", nvmlInit_v2());
}

static void do_card(const struct command *c)
{
        nvmlMemory_t memory_now = { 0 };
        nvmlReturn_t rc = nvmlDeviceGetMemoryInfo(card(c), &memory_now);

        say_values((int)rc, (uint64_t[]){ memory_now.free, memory_now.total, memory_now.used }, 3);
}

static void do_card_v2(const struct command *c)
{
        nvmlMemory_v2_t now = { .version = nvmlMemory_v2 };
        nvmlReturn_t rc = nvmlDeviceGetMemoryInfo_v2(card(c), &now);

        say_values((int)rc, (uint64_t[]){ now.free, now.total, now.used, now.reserved }, 4);
}

static void do_card_name(const struct command *c)
{
        char name[256] = "";
        unsigned room = c->count > 2 ? (unsigned)number(c, 2) : (unsigned)sizeof(name);

        printf("%d", nvmlDeviceGetName(card(c), name, room));
        printf(" %s", name);
}

static void do_card_uuid(const struct command *c)
{
        char text[96] = "";

        printf("%d", nvmlDeviceGetUUID(card(c), text, sizeof(text)));
        printf(" %s", text);
}

/* processes DEVICE ROOM GENERATION: code, count, then pid=bytes. */
static void do_processes(const struct command *c)
{
        unsigned count = (unsigned)number(c, 2);
        unsigned generation = c->count > 3 ? (unsigned)number(c, 3) : 3;
        nvmlProcessInfo_v1_t old[64] = { { 0 } };
        nvmlProcessInfo_t new[64] = { { 0 } };
        nvmlReturn_t rc;

        if (generation == 1)
                rc = nvmlDeviceGetComputeRunningProcesses(card(c), &count, count ? old : NULL);
        else if (generation == 2)
                rc = nvmlDeviceGetComputeRunningProcesses_v2(card(c), &count, count ? new : NULL);
        else
                rc = nvmlDeviceGetComputeRunningProcesses_v3(card(c), &count, count ? new : NULL);
        printf("%d %u", rc, count);
        for (unsigned i = 0; rc == NVML_SUCCESS && i < count; i++)
                printf(" %u=%llu", generation == 1 ? old[i].pid : new[i].pid,
                       generation == 1 ? old[i].usedGpuMemory : new[i].usedGpuMemory);
}

/* Code, then the pids with a sample. */
static void do_utilisation(const struct command *c)
{
        nvmlProcessUtilizationSample_t samples[64];
        unsigned count = 64;
        nvmlReturn_t rc = nvmlDeviceGetProcessUtilization(card(c), samples, &count, 0);

        printf("%d", rc);
        for (unsigned i = 0; rc == NVML_SUCCESS && i < count; i++)
                printf(" %u", samples[i].pid);
}

/* graphics DEVICE ROOM, mps DEVICE ROOM: code and count. */
static void do_graphics(const struct command *c)
{
        nvmlProcessInfo_t infos[64];
        unsigned count = (unsigned)number(c, 2);
        nvmlReturn_t rc =
                nvmlDeviceGetGraphicsRunningProcesses_v3(card(c), &count, count ? infos : NULL);

        printf("%d %u", rc, count);
}

static void do_mps(const struct command *c)
{
        nvmlProcessInfo_t infos[64];
        unsigned count = (unsigned)number(c, 2);
        nvmlReturn_t rc =
                nvmlDeviceGetMPSComputeRunningProcesses_v3(card(c), &count, count ? infos : NULL);

        printf("%d %u", rc, count);
}

static void do_pid(const struct command *c)
{
        (void)c;
        printf("%d", (int)getpid());
}

const struct verb view_verbs[] = {
        { "count", do_count },
        { "device", do_device },
        { "device-on-bus", do_device_on_bus },
        { "total", do_total },
        { "uuid", do_uuid },
        { "name", do_name },
        { "look", do_look },
        { "books", do_books },
        { "nvml", do_nvml },
        { "card", do_card },
        { "card-v2", do_card_v2 },
        { "card-name", do_card_name },
        { "card-uuid", do_card_uuid },
        { "processes", do_processes },
        { "utilisation", do_utilisation },
        { "graphics", do_graphics },
        { "mps", do_mps },
        { "pid", do_pid },
};
const size_t view_verb_count = sizeof(view_verbs) / sizeof(view_verbs[0]);
