/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Obtains the driver's functions by one of the ways that programs use, and takes one block of
 * device memory with them; for bench/peers, whose judge is the simulator.
 *
 *      ways                the names of all ways, one a line
 *      ways NAME BYTES     prints the answer of cuMemAlloc for BYTES
 *
 * Exit: 0, 1 when a function is not found or the driver cannot be used, 2 called wrong.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"

#define LIBRARY "libcuda.so.1"
/* Of the functions wanted here; later ones have other arguments. */
#define VERSION 11030
#define FINDER_VERSION 12000

typedef void *look(void *handle, const char *symbol);

static void *opened(void *handle)
{
        if (handle)
                return handle;
        fprintf(stderr, "ways: %s\n", dlerror());
        exit(1);
}

static void *by_default(const char *symbol)
{
        return dlsym(RTLD_DEFAULT, symbol);
}

static void *by_next(const char *symbol)
{
        return dlsym(RTLD_NEXT, symbol);
}

static void *by_name(const char *symbol)
{
        return dlsym(opened(dlopen(LIBRARY, RTLD_NOW)), symbol);
}

/* The first folder of LD_LIBRARY_PATH is the driver's. */
static void *by_path(const char *symbol)
{
        const char *folders = getenv("LD_LIBRARY_PATH");
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%.*s/" LIBRARY, folders ? (int)strcspn(folders, ":") : 0,
                 folders ? folders : "");
        return dlsym(opened(dlopen(path, RTLD_NOW)), symbol);
}

static void *by_deepbind(const char *symbol)
{
        return dlsym(opened(dlopen(LIBRARY, RTLD_NOW | RTLD_DEEPBIND)), symbol);
}

static void *by_noload(const char *symbol)
{
        return dlsym(opened(dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD)), symbol);
}

static void *by_namespace(const char *symbol)
{
        static void *handle;

        if (!handle)
                handle = opened(dlmopen(LM_ID_NEWLM, LIBRARY, RTLD_NOW));
        return dlsym(handle, symbol);
}

/* The C library's own function, which nobody looks at who stands before dlsym alone. */
static void *by_dlvsym_of_dlsym(const char *symbol)
{
        look *of_libc = (look *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

        return of_libc ? of_libc(opened(dlopen(LIBRARY, RTLD_NOW)), symbol) : NULL;
}

static void *by_dlsym_of_dlsym(const char *symbol)
{
        look *found = (look *)dlsym(RTLD_DEFAULT, "dlsym");

        return found ? found(opened(dlopen(LIBRARY, RTLD_NOW)), symbol) : NULL;
}

/* cuGetProcAddress knows functions by their names without version. */
static void *ask(__typeof__(cuGetProcAddress_v2) *find, const char *symbol, cuuint64_t flags)
{
        CUdriverProcAddressQueryResult status;
        void *found = NULL;
        char name[64];
        int version = strstr(symbol, "GetProcAddress") ? FINDER_VERSION : VERSION;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(symbol, "_"), symbol);
        return find && find(name, &found, version, flags, &status) == CUDA_SUCCESS ? found : NULL;
}

static void *by_proc(const char *symbol)
{
        return ask(cuGetProcAddress_v2, symbol, 0);
}

static void *by_proc_per_thread(const char *symbol)
{
        return ask(cuGetProcAddress_v2, symbol, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

static void *by_proc_looked_up(const char *symbol)
{
        return ask((__typeof__(cuGetProcAddress_v2) *)by_name("cuGetProcAddress_v2"), symbol, 0);
}

static void *by_proc_of_proc(const char *symbol)
{
        return ask((__typeof__(cuGetProcAddress_v2) *)by_proc("cuGetProcAddress_v2"), symbol, 0);
}

static void *by_older_proc(const char *symbol)
{
        __typeof__(cuGetProcAddress) *find =
                (__typeof__(cuGetProcAddress) *)by_name("cuGetProcAddress");
        void *found = NULL;
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(symbol, "_"), symbol);
        return find && find(name, &found, VERSION, 0) == CUDA_SUCCESS ? found : NULL;
}

static const struct {
        const char *name;
        void *(*find)(const char *symbol);
} ways[] = {
        { "dlsym(RTLD_DEFAULT)", by_default },
        { "dlsym(RTLD_NEXT)", by_next },
        { "dlopen, dlsym", by_name },
        { "dlopen of the whole path", by_path },
        { "dlopen RTLD_DEEPBIND", by_deepbind },
        { "dlopen RTLD_NOLOAD", by_noload },
        { "dlmopen", by_namespace },
        { "dlsym found by dlvsym", by_dlvsym_of_dlsym },
        { "dlsym found by dlsym", by_dlsym_of_dlsym },
        { "cuGetProcAddress_v2", by_proc },
        { "cuGetProcAddress_v2, streams per thread", by_proc_per_thread },
        { "cuGetProcAddress_v2 found by dlsym", by_proc_looked_up },
        { "cuGetProcAddress_v2 found by itself", by_proc_of_proc },
        { "cuGetProcAddress of CUDA 11", by_older_proc },
};

static void *need(void *(*find)(const char *symbol), const char *symbol)
{
        void *found = find(symbol);

        if (found)
                return found;
        fprintf(stderr, "ways: no %s\n", symbol);
        exit(1);
}

static int take(void *(*find)(const char *symbol), size_t bytes)
{
        __typeof__(cuInit) *init = (__typeof__(cuInit) *)need(find, "cuInit");
        __typeof__(cuCtxCreate_v2) *create =
                (__typeof__(cuCtxCreate_v2) *)need(find, "cuCtxCreate_v2");
        __typeof__(cuMemAlloc_v2) *alloc = (__typeof__(cuMemAlloc_v2) *)need(find, "cuMemAlloc_v2");
        CUcontext context;
        CUdeviceptr block;

        if (init(0) != CUDA_SUCCESS || create(&context, 0, 0) != CUDA_SUCCESS)
                return 1;
        printf("%d\n", (int)alloc(&block, bytes));
        return 0;
}

int main(int argc, char **argv)
{
        for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                if (argc == 1)
                        puts(ways[i].name);
                else if (argc == 3 && strcmp(ways[i].name, argv[1]) == 0)
                        return take(ways[i].find, strtoull(argv[2], NULL, 10));
        }
        return argc == 1 ? 0 : 2;
}
