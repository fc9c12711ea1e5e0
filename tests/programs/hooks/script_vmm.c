/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands on physical memory: its handles, mappings and descriptors.
 */
#include "script.h"

static CUmemGenericAllocationHandle handles[SLOTS];
static CUdeviceptr mapped[SLOTS];
static size_t mapped_bytes[SLOTS];
static int descriptors[SLOTS];

static void do_create(const struct command *c)
{
        CUmemAllocationProp prop = {
                .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)number(c, 3) }
        };
        int is_bare = c->count > 4;

        say(cuMemCreate(AT(handles, c, 1), number(c, 2), is_bare ? NULL : &prop, 0));
}

static void do_release_handle(const struct command *c)
{
        say(cuMemRelease(handles[slot(c, 1)]));
}

static void do_map(const struct command *c)
{
        unsigned m = slot(c, 1);
        CUresult rc = cuMemAddressReserve(&mapped[m], number(c, 3), 0, 0, 0);

        mapped_bytes[m] = number(c, 3);
        if (rc == CUDA_SUCCESS)
                rc = cuMemMap(mapped[m], mapped_bytes[m], 0, handles[slot(c, 2)], 0);
        say(rc);
}

static void do_unmap(const struct command *c)
{
        unsigned m = slot(c, 1);

        say(cuMemUnmap(mapped[m], mapped_bytes[m]));
}

static void do_retain_handle(const struct command *c)
{
        say(cuMemRetainAllocationHandle(AT(handles, c, 1),
                                        (void *)(uintptr_t)(mapped[slot(c, 2)] + number(c, 3))));
}

static void do_export(const struct command *c)
{
        say(cuMemExportToShareableHandle(AT(descriptors, c, 1), handles[slot(c, 2)],
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

static void do_import(const struct command *c)
{
        say(cuMemImportFromShareableHandle(AT(handles, c, 1),
                                           (void *)(intptr_t)descriptors[slot(c, 2)],
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

const struct verb vmm_verbs[] = {
        { "create", do_create }, { "release-handle", do_release_handle }, { "map", do_map },
        { "unmap", do_unmap },   { "retain-handle", do_retain_handle },   { "export", do_export },
        { "import", do_import },
};
const size_t vmm_verb_count = sizeof(vmm_verbs) / sizeof(vmm_verbs[0]);
