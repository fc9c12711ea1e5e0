/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Liveness that the kernel keeps: a locked byte of a file, for as long as an address space lives.
 *
 * A lock is an open-file-description lock on one byte, taken on a fresh open, then pinned by one
 * private page of that description mapped with MADV_DONTFORK, and the descriptor is closed. So it
 * ends when the address space does (exit, exec, SIGKILL), or by liveness_unlock(); closefrom()
 * does not end it, a child does not inherit it, and it needs no pid. Others only probe.
 *
 * Descriptors live only inside a call (or between liveness_open() and liveness_close()), are moved
 * above 511 and close on exec. The caller must bar fork() meanwhile, or a child would share the
 * description: one private lock, held by the fork handler too. Nothing here touches errno, the
 * heap, or a cancellation point; failures are negative errno. A path that no longer leads to the
 * inode that is mapped is -ESTALE: never lock a stranger's file.
 *
 * A file that no path leads to is opened through a descriptor of it, which is kept, closed on exec,
 * and never locked on: by /proc/self/fd, which makes a description of its own. The program may have
 * closed it, and have another file under its number: the inode tells, and then whoever gave it is
 * asked for another.
 */
#ifndef ALIQUOT_STORE_LIVENESS_H
#define ALIQUOT_STORE_LIVENESS_H

#include <stdint.h>

/* A descriptor that stands for a path. Children of fork() have it as well. */
struct liveness_kept {
        _Atomic int fd;     /* -1: none */
        int (*renew)(void); /* a description of its own, fit to lock on; or negative errno */
};

struct liveness_file {
        const char *path; /* absolute; borrowed for the life of the file */
        uint64_t device;  /* st_dev and st_ino of the file that is mapped */
        uint64_t inode;
        struct liveness_kept *kept; /* NULL: the path leads to it; else it is for messages */
};

/* Keeps a descriptor that is above 511; closes one that is not. */
void liveness_keep(struct liveness_kept *kept, int fd);

/* The same descriptor above 511, and the low one closed: programs count on the low numbers. Where
 * RLIMIT_NOFILE is lower, the low one has to do. */
int liveness_raise(int fd);

/* A fresh description of the file, checked against the inode. Close it with liveness_close(). */
int liveness_open(const struct liveness_file *file);
void liveness_close(int fd);

struct liveness_range {
        uint64_t first, count;
};

/* Whether somebody holds any of these bytes: 1, and *range is then the part that one lock of them
 * covers, perhaps not the first; 0: nobody does. One system call. */
int liveness_find(int fd, struct liveness_range *range);

/* 1: some address space (this one included) holds the byte; 0: nobody does. */
int liveness_probe(int fd, uint64_t byte);

/* The same for any of `count` bytes from `byte` on, with one system call. */
int liveness_probe_any(int fd, uint64_t byte, uint64_t count);

/* Takes the byte on a description of its own. *ret_pin is what liveness_unlock() wants.
 * -EAGAIN: somebody holds it. */
int liveness_lock(const struct liveness_file *file, uint64_t byte, void **ret_pin);

/* The same together with others who share it: -EAGAIN only if somebody has it alone. */
int liveness_share(const struct liveness_file *file, uint64_t byte, void **ret_pin);
void liveness_unlock(void *pin);

#endif
