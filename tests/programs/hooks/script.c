/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver calls by a script on standard input, one a line; prints what each answered.
 *
 *      init / context 0 1 / alloc 3 4096 / free 3 / info ...        (commands[] below and those
 *                                                                  of the other script_*.c)
 *
 * Numbers name slots of the script (memory, handles, streams...). "-" for a slot passes a NULL
 * pointer. A line that begins with "thread" is done in a new thread, which has no context; "look D"
 * prints both books for device D. Answers are code and values, never addresses, so that the output
 * of two runs can be compared.
 */
#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"
#include "watch.h"

CUdeviceptr memory[SLOTS];
CUstream streams[SLOTS];
static CUcontext contexts[SLOTS];
static CUmemoryPool pools[SLOTS];
static CUarray arrays[SLOTS];
static CUmipmappedArray mipmaps[SLOTS];
static CUipcMemHandle ipc[SLOTS];

static void do_init(const struct command *c)
{
        say(cuInit((unsigned)number(c, 1)));
}

static void do_context(const struct command *c)
{
        say(cuCtxCreate_v2(AT(contexts, c, 1), 0, (CUdevice)number(c, 2)));
}

static void do_context_gl(const struct command *c)
{
        say(cuGLCtxCreate_v2(AT(contexts, c, 1), 0, (CUdevice)number(c, 2)));
}

static void do_context_vdpau(const struct command *c)
{
        say(cuVDPAUCtxCreate_v2(AT(contexts, c, 1), 0, (CUdevice)number(c, 2), 0, NULL));
}

static void do_current(const struct command *c)
{
        say(cuCtxSetCurrent(c->count > 1 ? contexts[slot(c, 1)] : NULL));
}

static void do_destroy(const struct command *c)
{
        say(cuCtxDestroy_v2(contexts[slot(c, 1)]));
}

static void do_retain(const struct command *c)
{
        CUresult rc = cuDevicePrimaryCtxRetain(AT(contexts, c, 1), (CUdevice)number(c, 2));

        if (rc == CUDA_SUCCESS)
                cuCtxSetCurrent(contexts[slot(c, 1)]);
        say(rc);
}

static void do_release(const struct command *c)
{
        say(cuDevicePrimaryCtxRelease_v2((CUdevice)number(c, 1)));
}

static void do_reset(const struct command *c)
{
        say(cuDevicePrimaryCtxReset_v2((CUdevice)number(c, 1)));
}

/* Slots whose memory went with its context, by the driver's word: its address may be another's by
 * then, and nobody knows when. */
static void do_forget_gone(const struct command *c)
{
        unsigned type;

        (void)c;
        for (unsigned i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
                if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory[i]) !=
                    CUDA_SUCCESS)
                        memory[i] = 0;
        }
        say(0);
}

static void do_alloc(const struct command *c)
{
        say(cuMemAlloc_v2(AT(memory, c, 1), number(c, 2)));
}

static void do_managed(const struct command *c)
{
        say(cuMemAllocManaged(AT(memory, c, 1), number(c, 2), CU_MEM_ATTACH_GLOBAL));
}

static void do_pitch(const struct command *c)
{
        size_t pitch = 0;
        CUresult rc = cuMemAllocPitch_v2(AT(memory, c, 1), &pitch, number(c, 2), number(c, 3), 4);

        say_values(rc, &(uint64_t){ pitch }, 1);
}

static void do_free(const struct command *c)
{
        CUresult rc = cuMemFree_v2(memory[slot(c, 1)]);

        if (rc == CUDA_SUCCESS)
                memory[slot(c, 1)] = 0;
        say(rc);
}

static void do_free_address(const struct command *c)
{
        say(cuMemFree_v2(number(c, 1)));
}

static void do_async(const struct command *c)
{
        say(cuMemAllocAsync(AT(memory, c, 1), number(c, 2), streams[slot(c, 3)]));
}

static void do_async_ptsz(const struct command *c)
{
        say(cuMemAllocAsync_ptsz(AT(memory, c, 1), number(c, 2), streams[slot(c, 3)]));
}

static void do_free_async(const struct command *c)
{
        CUresult rc = cuMemFreeAsync(memory[slot(c, 1)], streams[slot(c, 2)]);

        if (rc == CUDA_SUCCESS)
                memory[slot(c, 1)] = 0;
        say(rc);
}

static void do_pool(const struct command *c)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                               .id = (int)number(c, 2) } };

        say(cuMemPoolCreate(AT(pools, c, 1), &props));
}

static void do_default_pool(const struct command *c)
{
        say(cuDeviceGetDefaultMemPool(AT(pools, c, 1), (CUdevice)number(c, 2)));
}

static void do_keep(const struct command *c)
{
        cuuint64_t bytes = number(c, 2);

        say(cuMemPoolSetAttribute(pools[slot(c, 1)], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static void do_from_pool(const struct command *c)
{
        say(cuMemAllocFromPoolAsync(AT(memory, c, 1), number(c, 2), pools[slot(c, 3)],
                                    streams[slot(c, 4)]));
}

static void do_trim(const struct command *c)
{
        say(cuMemPoolTrimTo(pools[slot(c, 1)], number(c, 2)));
}

static void do_end_pool(const struct command *c)
{
        say(cuMemPoolDestroy(pools[slot(c, 1)]));
}

static void do_use_pool(const struct command *c)
{
        say(cuDeviceSetMemPool((CUdevice)number(c, 2), pools[slot(c, 1)]));
}

/* Is it the default one? */
static void do_current_pool(const struct command *c)
{
        CUmemoryPool first = NULL, now = NULL;

        cuDeviceGetDefaultMemPool(&first, (CUdevice)number(c, 1));
        say_values((int)cuDeviceGetMemPool(&now, (CUdevice)number(c, 1)),
                   (uint64_t[]){ now == first }, 1);
}

/* What the default pool of a device has reserved, and uses of that. */
static void do_in_pool(const struct command *c)
{
        uint64_t bytes[2] = { 0 };
        CUmemoryPool pool = NULL;
        CUresult rc = cuDeviceGetDefaultMemPool(&pool, (CUdevice)number(c, 1));

        if (rc == CUDA_SUCCESS)
                rc = cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes[0]);
        if (rc == CUDA_SUCCESS)
                rc = cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes[1]);
        say_values((int)rc, bytes, 2);
}

static void do_array(const struct command *c)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = number(c, 2),
                                          .Height = number(c, 3),
                                          .Depth = number(c, 4),
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 2 };

        say(cuArray3DCreate_v2(AT(arrays, c, 1), &shape));
}

static void do_end_array(const struct command *c)
{
        CUresult rc = cuArrayDestroy(arrays[slot(c, 1)]);

        arrays[slot(c, 1)] = NULL;
        say(rc);
}

static void do_mipmap(const struct command *c)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = number(c, 2),
                                          .Height = number(c, 3),
                                          .Format = CU_AD_FORMAT_HALF,
                                          .NumChannels = 4 };

        say(cuMipmappedArrayCreate(AT(mipmaps, c, 1), &shape, (unsigned)number(c, 4)));
}

static void do_end_mipmap(const struct command *c)
{
        CUresult rc = cuMipmappedArrayDestroy(mipmaps[slot(c, 1)]);

        mipmaps[slot(c, 1)] = NULL;
        say(rc);
}

static void do_ipc_get(const struct command *c)
{
        say(cuIpcGetMemHandle(AT(ipc, c, 1), memory[slot(c, 2)]));
}

/* The handle goes to another process as hexadecimal text. */
static void do_ipc_print(const struct command *c)
{
        for (unsigned i = 0; i < sizeof(ipc[0]); i++)
                printf("%02x", (unsigned char)ipc[slot(c, 1)].reserved[i]);
}

static void do_ipc_parse(const struct command *c)
{
        for (unsigned i = 0; i < sizeof(ipc[0]); i++) {
                unsigned value = 0;

                sscanf(c->word[2] + 2 * i, "%2x", &value);
                ipc[slot(c, 1)].reserved[i] = (char)value;
        }
        say(0);
}

static void do_ipc_open(const struct command *c)
{
        say(cuIpcOpenMemHandle_v2(AT(memory, c, 1), ipc[slot(c, 2)],
                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

static void do_ipc_close(const struct command *c)
{
        say(cuIpcCloseMemHandle(memory[slot(c, 1)]));
}

static void do_info(const struct command *c)
{
        size_t left = 7, total = 7;
        unsigned which = c->count > 1 ? (unsigned)number(c, 1) : 3;
        CUresult rc = cuMemGetInfo_v2(which & 1 ? &left : NULL, which & 2 ? &total : NULL);

        say_values(rc, (uint64_t[]){ left, total }, 2);
}

static void do_info_old(const struct command *c)
{
        unsigned left = 7, total = 7;
        CUresult rc = cuMemGetInfo(&left, &total);

        (void)c;
        say_values(rc, (uint64_t[]){ left, total }, 2);
}

/* All that the driver says of an address, without what is different from run to run. */
static void do_attributes(const struct command *c)
{
        static const CUpointer_attribute wanted[] = {
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                CU_POINTER_ATTRIBUTE_IS_MANAGED,
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                CU_POINTER_ATTRIBUTE_MAPPED,
                CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
        };
        unsigned char bytes[sizeof(wanted) / sizeof(wanted[0])][16];
        void *data[sizeof(wanted) / sizeof(wanted[0])];
        unsigned count = sizeof(wanted) / sizeof(wanted[0]);
        CUpointer_attribute names[sizeof(wanted) / sizeof(wanted[0])];

        memset(bytes, 0xa5, sizeof(bytes));
        memcpy(names, wanted, sizeof(wanted));
        for (unsigned i = 0; i < count; i++)
                data[i] = bytes[i];
        say(cuPointerGetAttributes(count, names, data, memory[slot(c, 1)]));
        for (unsigned i = 0; i < count; i++) {
                printf(" ");
                for (unsigned j = 0; j < sizeof(bytes[0]); j++)
                        printf("%02x", bytes[i][j]);
        }
}

/* exec: the same program anew, which goes on with the next line. */
static void do_exec(const struct command *c)
{
        (void)c;
        printf("0\n");
        fflush(stdout);
        execl("/proc/self/exe", "script", (char *)NULL);
        exit(2);
}

static const struct verb commands[] = {
        { "init", do_init },
        { "context", do_context },
        { "context-gl", do_context_gl },
        { "context-vdpau", do_context_vdpau },
        { "current", do_current },
        { "destroy", do_destroy },
        { "retain", do_retain },
        { "release", do_release },
        { "reset", do_reset },
        { "forget-gone", do_forget_gone },
        { "alloc", do_alloc },
        { "managed", do_managed },
        { "pitch", do_pitch },
        { "free", do_free },
        { "free-address", do_free_address },
        { "async", do_async },
        { "async-ptsz", do_async_ptsz },
        { "free-async", do_free_async },
        { "pool", do_pool },
        { "default-pool", do_default_pool },
        { "keep", do_keep },
        { "from-pool", do_from_pool },
        { "trim", do_trim },
        { "end-pool", do_end_pool },
        { "use-pool", do_use_pool },
        { "current-pool", do_current_pool },
        { "in-pool", do_in_pool },
        { "array", do_array },
        { "end-array", do_end_array },
        { "mipmap", do_mipmap },
        { "end-mipmap", do_end_mipmap },
        { "ipc-get", do_ipc_get },
        { "ipc-print", do_ipc_print },
        { "ipc-parse", do_ipc_parse },
        { "ipc-open", do_ipc_open },
        { "ipc-close", do_ipc_close },
        { "info", do_info },
        { "info-old", do_info_old },
        { "exec", do_exec },
        { "attributes", do_attributes },
};

static bool obey_one_of(const struct verb *verbs, size_t count, const struct command *c)
{
        for (size_t i = 0; i < count; i++) {
                if (strcmp(verbs[i].name, c->word[0]) == 0) {
                        verbs[i].run(c);
                        return true;
                }
        }
        return false;
}

static void obey(const struct command *c)
{
        if (obey_one_of(commands, sizeof(commands) / sizeof(commands[0]), c) ||
            obey_one_of(vmm_verbs, vmm_verb_count, c) ||
            obey_one_of(bytes_verbs, bytes_verb_count, c) ||
            obey_one_of(code_verbs, code_verb_count, c) ||
            obey_one_of(graph_verbs, graph_verb_count, c) ||
            obey_one_of(view_verbs, view_verb_count, c))
                return;
        fprintf(stderr, "%s: no such command\n", c->word[0]);
        exit(2);
}

static void *obey_in_thread(void *argument)
{
        obey(argument);
        return NULL;
}

static void obey_line(char *line)
{
        struct command c = { 0 };
        int is_threaded;
        pthread_t thread;

        for (char *word = strtok(line, " \n"); word && c.count < WORDS; word = strtok(NULL, " \n"))
                c.word[c.count++] = word;
        if (!c.count)
                return;
        is_threaded = strcmp(c.word[0], "thread") == 0;
        if (is_threaded) {
                memmove(&c.word[0], &c.word[1], sizeof(c.word) - sizeof(c.word[0]));
                c.count--;
        }
        if (is_threaded && pthread_create(&thread, NULL, obey_in_thread, &c) == 0)
                pthread_join(thread, NULL);
        else
                obey(&c);
        printf("\n");
        fflush(stdout);
}

int main(void)
{
        char line[512];

        while (fgets(line, sizeof(line), stdin))
                obey_line(line);
        return 0;
}
