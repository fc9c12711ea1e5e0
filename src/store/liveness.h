/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows whether a process lives, by a file lock that the kernel keeps as long as the process's
 * address space.
 *
 * The lock is an open-file-description lock on one byte. It is taken on a fresh open; then one
 * private page of that description is mapped with MADV_DONTFORK, and the descriptor is closed. So
 * the lock ends with the address space (exit, exec, SIGKILL) or by liveness_unlock(). closefrom()
 * does not end it, a child does not inherit it, and it needs no pid. Other processes only probe it.
 *
 * Descriptors live only inside a call (or between liveness_open() and liveness_close()), are moved
 * above 511 and close on exec. The caller must block fork() meanwhile, or a child would share the
 * description: one private lock, which the fork handler takes too. Nothing here changes errno or
 * uses the heap or a cancellation point; failures are negative errnos. If the path no longer leads
 * to the mapped inode, the result is -ESTALE: never lock another file.
 *
 * A file without a path is opened through a kept descriptor of it, closed on exec and never locked:
 * by /proc/self/fd, which makes a new description. The program may have closed that descriptor, and
 * another file may have its number. The inode shows that, and then `renew` is called for another
 * one.
 */
#ifndef ALIQUOT_STORE_LIVENESS_H
#define ALIQUOT_STORE_LIVENESS_H

#include <stdint.h>

/* A descriptor that replaces a path. Children of fork() have it too. */
struct liveness_kept {
        _Atomic int fd;     /* -1: none */
        int (*renew)(void); /* returns a new description, fit for locks, or a negative errno */
};

struct liveness_file {
        const char *path; /* absolute; borrowed for the life of the file */
        uint64_t device;  /* st_dev and st_ino of the file that is mapped */
        uint64_t inode;
        struct liveness_kept
                *kept; /* NULL: the path leads to the file; else the path is for messages only */
};

/* Keeps a descriptor above 511; closes a lower one. */
void liveness_keep(struct liveness_kept *kept, int fd);

/* Moves the descriptor above 511 and closes the low one, because programs rely on low numbers. If
 * RLIMIT_NOFILE is lower, the low one is used. */
int liveness_raise(int fd);

/* A fresh description of the file, checked against the inode. Close it with liveness_close(). */
int liveness_open(const struct liveness_file *file);
void liveness_close(int fd);

struct liveness_range {
        uint64_t first, count;
};

/* Whether any of these bytes is locked: 1, and *range is then the part that one of the locks
 * covers, perhaps not the first; 0: none is. One system call. */
int liveness_find(int fd, struct liveness_range *range);

/* 1: some address space (possibly this one) holds the byte; 0: none does. */
int liveness_probe(int fd, uint64_t byte);

/* The same for any of `count` bytes from `byte` on, with one system call. */
int liveness_probe_any(int fd, uint64_t byte, uint64_t count);

/* Locks the byte on a description of its own. Give *ret_pin to liveness_unlock(). -EAGAIN: it is
 * locked. */
int liveness_lock(const struct liveness_file *file, uint64_t byte, void **ret_pin);

/* Takes a shared lock: -EAGAIN only if another process holds it exclusively. */
int liveness_share(const struct liveness_file *file, uint64_t byte, void **ret_pin);
void liveness_unlock(void *pin);

#endif
