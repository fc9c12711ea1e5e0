/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script's commands on physical memory: its handles, mappings and descriptors, which go from
 * script to script by a socket at a path.
 */
#include "script.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static CUmemGenericAllocationHandle handles[SLOTS];
static CUdeviceptr mapped[SLOTS];
static size_t mapped_bytes[SLOTS];
static int descriptors[SLOTS];
static CUexternalMemory externals[SLOTS];
static int inbox = -1;

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
                rc = cuMemMap(mapped[m], mapped_bytes[m], number(c, 4), handles[slot(c, 2)], 0);
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

static struct sockaddr_un address_of(const struct command *c, unsigned at)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (at < c->count)
                snprintf(address.sun_path, sizeof(address.sun_path), "%s", c->word[at]);
        return address;
}

/* listen PATH: what others send there comes here. */
static void do_listen(const struct command *c)
{
        struct sockaddr_un address = address_of(c, 1);

        inbox = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        say(bind(inbox, (const struct sockaddr *)&address, sizeof(address)) == 0
                    ? CUDA_SUCCESS
                    : CUDA_ERROR_OPERATING_SYSTEM);
}

/* send DESCRIPTOR PATH */
static void do_send(const struct command *c)
{
        struct sockaddr_un address = address_of(c, 2);
        char room[CMSG_SPACE(sizeof(int))] = { 0 };
        char byte = 'd';
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_name = &address,
                                  .msg_namelen = sizeof(address),
                                  .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = room,
                                  .msg_controllen = sizeof(room) };
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &descriptors[slot(c, 1)], sizeof(int));
        say(sendmsg(fd, &message, 0) == 1 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
        close(fd);
}

/* receive DESCRIPTOR: it was sent. */
static void do_receive(const struct command *c)
{
        char room[CMSG_SPACE(sizeof(int))];
        char byte;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = room,
                                  .msg_controllen = sizeof(room) };
        bool is_here = recvmsg(inbox, &message, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&message);

        if (is_here)
                memcpy(&descriptors[slot(c, 1)], CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        say(is_here ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}

/* external MEMORY DESCRIPTOR BYTES: the driver owns a descriptor that it imported. */
static void do_external(const struct command *c)
{
        int fd = dup(descriptors[slot(c, 2)]);
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                                  .handle = { .fd = fd },
                                                  .size = number(c, 3) };
        CUresult rc = cuImportExternalMemory(AT(externals, c, 1), &desc);

        if (rc != CUDA_SUCCESS)
                close(fd);
        say(rc);
}

static void do_end_external(const struct command *c)
{
        say(cuDestroyExternalMemory(externals[slot(c, 1)]));
}

const struct verb vmm_verbs[] = {
        { "create", do_create },
        { "release-handle", do_release_handle },
        { "map", do_map },
        { "unmap", do_unmap },
        { "retain-handle", do_retain_handle },
        { "export", do_export },
        { "import", do_import },
        { "listen", do_listen },
        { "send", do_send },
        { "receive", do_receive },
        { "external", do_external },
        { "end-external", do_end_external },
};
const size_t vmm_verb_count = sizeof(vmm_verbs) / sizeof(vmm_verbs[0]);
