/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_child.h.
 */
#include "memory_child.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

const CUmemAllocationProp exportable = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

pid_t child_start(int (*part)(int channel), int *ret_channel)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
        pid_t child = fork();
        if (child == 0) {
                close(pair[0]);
                _exit(part(pair[1]));
        }
        close(pair[1]);
        *ret_channel = pair[0];
        return child;
}

void child_ends(pid_t child)
{
        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

int child_begin(void)
{
        CUcontext context;

        return cuInit(0) || cuCtxCreate_v2(&context, 0, 0);
}

void send_to(int channel, int fd)
{
        char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
        struct iovec data = { &byte, 1 };
        struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

        if (fd >= 0) {
                message.msg_control = control;
                message.msg_controllen = sizeof(control);
                struct cmsghdr *header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        }
        if (sendmsg(channel, &message, 0) != 1)
                _exit(100);
}

int receive_from(int channel)
{
        char byte, control[CMSG_SPACE(sizeof(int))];
        struct iovec data = { &byte, 1 };
        struct msghdr message = { .msg_iov = &data,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fd = -1;

        if (recvmsg(channel, &message, 0) != 1)
                _exit(100);
        if (CMSG_FIRSTHDR(&message))
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return fd;
}
