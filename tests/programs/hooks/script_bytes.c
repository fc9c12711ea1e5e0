/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands on the bytes of a block, by kernels of bytes_kernels.c (whose file
 * BYTES_KERNELS names), and on what is told of it and may be done with it.
 */
#include "script.h"

#include <sys/wait.h>
#include <unistd.h>

static CUfunction function_of(const char *name)
{
        static CUmodule module;
        CUfunction function = NULL;

        if (!module && cuModuleLoad(&module, getenv("BYTES_KERNELS")) != CUDA_SUCCESS)
                return NULL;
        return cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS ? function : NULL;
}

static CUresult launch(const char *name, void **params)
{
        return cuLaunchKernel(function_of(name), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

/* Loads them: else the first use does, and takes memory for it. */
static void do_kernels(const struct command *c)
{
        (void)c;
        say(function_of("fill") ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

/* fill SLOT BYTES SEED */
static void do_fill(const struct command *c)
{
        uint64_t words = number(c, 2) / sizeof(uint64_t), seed = number(c, 3);
        CUresult rc = launch("fill", (void *[]){ &memory[slot(c, 1)], &words, &seed });

        say(rc == CUDA_SUCCESS ? cuCtxSynchronize() : rc);
}

/* wrong SLOT BYTES SEED: how many words are. */
static void do_wrong(const struct command *c)
{
        static uint64_t *found;
        uint64_t words = number(c, 2) / sizeof(uint64_t), seed = number(c, 3);
        CUresult rc = found ? CUDA_SUCCESS : cuMemHostAlloc((void **)&found, sizeof(*found), 0);

        if (rc == CUDA_SUCCESS) {
                *found = UINT64_MAX;
                rc = launch("wrong", (void *[]){ &memory[slot(c, 1)], &words, &seed, &found });
        }
        if (rc == CUDA_SUCCESS)
                rc = cuCtxSynchronize();
        say_values((int)rc, &(uint64_t){ found ? *found : 0 }, 1);
}

/* copy FROM TO BYTES, within the device */
static void do_copy(const struct command *c)
{
        say(cuMemcpyDtoD_v2(memory[slot(c, 2)], memory[slot(c, 1)], number(c, 3)));
}

/* there-and-back SLOT BYTES: by the host */
static void do_there_and_back(const struct command *c)
{
        void *host = malloc(number(c, 2));
        CUresult rc = cuMemcpyDtoH_v2(host, memory[slot(c, 1)], number(c, 2));

        if (rc == CUDA_SUCCESS)
                rc = cuMemsetD8_v2(memory[slot(c, 1)], 0x5a, number(c, 2));
        if (rc == CUDA_SUCCESS)
                rc = cuMemcpyHtoD_v2(memory[slot(c, 1)], host, number(c, 2));
        free(host);
        say(rc);
}

struct attribute {
        CUpointer_attribute name;
        int kind; /* 0: as it is; 1: an address, told by its distance; 2: whether it is not 0 */
};

static const struct attribute attributes[] = {
        { CU_POINTER_ATTRIBUTE_CONTEXT, 2 },
        { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0 },
        { CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 1 },
        { CU_POINTER_ATTRIBUTE_HOST_POINTER, 0 },
        { CU_POINTER_ATTRIBUTE_P2P_TOKENS, 0 },
        { CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0 },
        { CU_POINTER_ATTRIBUTE_BUFFER_ID, 2 },
        { CU_POINTER_ATTRIBUTE_IS_MANAGED, 0 },
        { CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0 },
        { CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 1 },
        { CU_POINTER_ATTRIBUTE_RANGE_SIZE, 0 },
        { CU_POINTER_ATTRIBUTE_MAPPED, 0 },
        { CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 0 },
        { CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 0 },
        { CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 0 },
        { CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 0 },
        { CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 0 },
        { CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, 1 },
        { CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, 2 },
        { CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 0 },
};
#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static uint64_t shown(const struct attribute *attribute, uint64_t value, CUdeviceptr address)
{
        if (attribute->kind == 1)
                return value - address;
        return attribute->kind == 2 ? value != 0 : value;
}

/* told SLOT OFFSET: everything, one by one and all at once. */
static void do_told(const struct command *c)
{
        CUdeviceptr address = memory[slot(c, 1)] + number(c, 2), base = 0;
        CUpointer_attribute names[ATTRIBUTES];
        uint64_t values[ATTRIBUTES];
        void *rets[ATTRIBUTES];
        size_t bytes = 0;
        CUresult rc = cuMemGetAddressRange_v2(&base, &bytes, address);

        printf("0 %d:%llu:%zu", rc, address - base, bytes);
        for (unsigned i = 0; i < ATTRIBUTES; i++) {
                uint64_t value = UINT64_C(0xa5a5a5a500000000);

                rc = cuPointerGetAttribute(&value, attributes[i].name, address);
                printf(" %d:%" PRIx64, rc, rc ? 0 : shown(&attributes[i], value, address));
                names[i] = attributes[i].name;
                values[i] = UINT64_C(0xa5a5a5a500000000);
                rets[i] = &values[i];
        }
        printf(" %d", cuPointerGetAttributes(ATTRIBUTES, names, rets, address));
        for (unsigned i = 0; i < ATTRIBUTES; i++)
                printf(" %" PRIx64, shown(&attributes[i], values[i], address));
}

/* number-of SLOT OFFSET */
static void do_number_of(const struct command *c)
{
        uint64_t number_of = 0;
        CUresult rc = cuPointerGetAttribute(&number_of, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                            memory[slot(c, 1)] + number(c, 2));

        say_values((int)rc, &number_of, 1);
}

/* as-mapping SLOT BYTES OFFSET: what may be done with a mapping alone; every answer. */
static void do_as_mapping(const struct command *c)
{
        CUdeviceptr address = memory[slot(c, 1)] + number(c, 3);
        CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE };
        CUmemGenericAllocationHandle handle = 0;
        unsigned long long flags = 0;

        printf("0 %d", cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)address));
        printf(" %d", cuMemUnmap(address, number(c, 2)));
        printf(" %d", cuMemAddressFree(address, number(c, 2)));
        printf(" %d", cuMemSetAccess(address, number(c, 2), &access, 1));
        printf(" %d", cuMemGetAccess(&flags, &access.location, address));
}

/* free-within SLOT OFFSET */
static void do_free_within(const struct command *c)
{
        say(cuMemFree_v2(memory[slot(c, 1)] + number(c, 2)));
}

static void do_free_within_async(const struct command *c)
{
        say(cuMemFreeAsync(memory[slot(c, 1)] + number(c, 2), streams[slot(c, 3)]));
}

/* tell-place SLOT OFFSET BYTES: to another device */
static void do_tell_place(const struct command *c)
{
        int descriptor = -1;
        CUresult rc =
                cuMemGetHandleForAddressRange(&descriptor, memory[slot(c, 1)] + number(c, 2),
                                              number(c, 3), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);

        if (rc == CUDA_SUCCESS)
                close(descriptor);
        say(rc);
}

/* fork BYTES: a child that has a block of its own; its end. */
static void do_fork(const struct command *c)
{
        CUcontext context;
        CUdeviceptr block = 0;
        int status = -1;
        pid_t child = fork();

        if (child == 0)
                _exit(cuInit(0) || cuCtxCreate_v2(&context, 0, 0) ||
                      cuMemAlloc_v2(&block, number(c, 1)) || cuMemFree_v2(block));
        waitpid(child, &status, 0);
        say(WIFEXITED(status) ? (CUresult)WEXITSTATUS(status) : CUDA_ERROR_UNKNOWN);
}

/* fork-and-rest BYTES: a child that has a block of its own until the script ends, which is when it
 * answers. */
static void do_fork_and_rest(const struct command *c)
{
        CUcontext context;
        CUdeviceptr block = 0;
        int status = -1;
        pid_t child = fork();
        char line[8];

        if (child == 0) {
                if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) ||
                    cuMemAlloc_v2(&block, number(c, 1)))
                        _exit(1);
                while (read(STDIN_FILENO, line, sizeof(line)) > 0)
                        continue;
                _exit(cuMemFree_v2(block) != CUDA_SUCCESS);
        }
        waitpid(child, &status, 0);
        say(WIFEXITED(status) ? (CUresult)WEXITSTATUS(status) : CUDA_ERROR_UNKNOWN);
}

const struct verb bytes_verbs[] = {
        { "kernels", do_kernels },
        { "fill", do_fill },
        { "wrong", do_wrong },
        { "copy", do_copy },
        { "there-and-back", do_there_and_back },
        { "told", do_told },
        { "number-of", do_number_of },
        { "as-mapping", do_as_mapping },
        { "free-within", do_free_within },
        { "free-within-async", do_free_within_async },
        { "tell-place", do_tell_place },
        { "fork", do_fork },
        { "fork-and-rest", do_fork_and_rest },
};
const size_t bytes_verb_count = sizeof(bytes_verbs) / sizeof(bytes_verbs[0]);
