/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands on modules and libraries, and the kernel that keeps a device busy.
 */
#include "script.h"

static CUmodule modules[SLOTS];
static CUlibrary libraries[SLOTS];

static void do_module(const struct command *c)
{
        say(cuModuleLoadData(AT(modules, c, 1), "aliquot-sim builtin"));
}

static void do_module_file(const struct command *c)
{
        say(cuModuleLoad(AT(modules, c, 1), c->word[2]));
}

static void *read_image(const char *path)
{
        FILE *file = fopen(path, "re");
        char *image = calloc(1, 1 << 20);
        size_t bytes = file && image ? fread(image, 1, (1 << 20) - 1, file) : 0;

        if (file)
                fclose(file);
        if (!bytes)
                abort();
        return image;
}

static void do_module_data(const struct command *c)
{
        void *image = read_image(c->word[2]);

        say(cuModuleLoadData(AT(modules, c, 1), image));
        free(image);
}

static void do_module_fat(const struct command *c)
{
        void *image = read_image(c->word[2]);

        say(cuModuleLoadFatBinary(AT(modules, c, 1), image));
        free(image);
}

static void do_library_file(const struct command *c)
{
        say(cuLibraryLoadFromFile(AT(libraries, c, 1), c->word[2], NULL, NULL, 0, NULL, NULL, 0));
}

/* Lazily loaded, it is on the device from here on. */
static void do_use_library(const struct command *c)
{
        CUmodule module;

        say(cuLibraryGetModule(&module, libraries[slot(c, 1)]));
}

static void do_library_data(const struct command *c)
{
        void *image = read_image(c->word[2]);
        CUresult rc = cuLibraryLoadData(AT(libraries, c, 1), image, NULL, NULL, 0, NULL, NULL, 0);
        CUmodule module;

        if (rc == CUDA_SUCCESS)
                rc = cuLibraryGetModule(&module, libraries[slot(c, 1)]);
        say(rc);
        free(image);
}

static void do_end_module(const struct command *c)
{
        CUresult rc = cuModuleUnload(modules[slot(c, 1)]);

        modules[slot(c, 1)] = NULL;
        say(rc);
}

static void do_library(const struct command *c)
{
        CUmodule module;
        CUresult rc = cuLibraryLoadData(AT(libraries, c, 1), "aliquot-sim builtin", NULL, NULL, 0,
                                        NULL, NULL, 0);

        if (rc == CUDA_SUCCESS)
                rc = cuLibraryGetModule(&module, libraries[slot(c, 1)]);
        say(rc);
}

static void do_end_library(const struct command *c)
{
        CUresult rc = cuLibraryUnload(libraries[slot(c, 1)]);

        libraries[slot(c, 1)] = NULL;
        say(rc);
}

/* Keeps the device busy for so many ns. */
static void do_spin(const struct command *c)
{
        uint64_t ns = number(c, 1);
        void *params[] = { &ns };
        CUfunction spin;
        CUmodule code;
        CUresult rc = cuModuleLoadData(&code, "aliquot-sim builtin");

        if (rc == CUDA_SUCCESS)
                rc = cuModuleGetFunction(&spin, code, "spin_ns");
        if (rc == CUDA_SUCCESS)
                rc = cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
        if (rc == CUDA_SUCCESS && c->count < 3) /* "spin NS on": not waited for */
                rc = cuCtxSynchronize();
        say(rc);
}

static void do_heap(const struct command *c)
{
        say(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, number(c, 1)));
}

const struct verb code_verbs[] = {
        { "module", do_module },
        { "module-file", do_module_file },
        { "module-data", do_module_data },
        { "module-fat", do_module_fat },
        { "library-data", do_library_data },
        { "library-file", do_library_file },
        { "use-library", do_use_library },
        { "end-module", do_end_module },
        { "library", do_library },
        { "end-library", do_end_library },
        { "spin", do_spin },
        { "heap", do_heap },
};
const size_t code_verb_count = sizeof(code_verbs) / sizeof(code_verbs[0]);
