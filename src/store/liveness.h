/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows whether a process lives, by a file lock that the kernel keeps as long as the process's
 * address space exists.
 *
 * The lock is an open-file-description lock on one byte. The file is opened anew for it; then one
 * private page of that open file description is mapped with MADV_DONTFORK, and the descriptor is
 * closed. So the lock ends with the address space (exit, exec, SIGKILL) or by liveness_unlock().
 * closefrom() does not end it, a child does not inherit it, and it needs no pid. Other processes
 * only test whether the byte is locked.
 *
 * Descriptors exist only during a call (or between liveness_open() and liveness_close()), are moved
 * above 511 and close on exec. The caller must block fork() meanwhile, or a child would share the
 * open file description. A private lock that the fork handler also takes does that. No function
 * changes errno or uses the heap or a cancellation point; failures are negative errnos. If the path
 * no longer leads to the mapped inode, the result is -ESTALE, so that no other file is ever locked.
 *
 * A file without a path is opened through a kept descriptor of it, which is closed on exec and
 * never locked: opening /proc/self/fd/N makes a new open file description. The program may have
 * closed that descriptor, and another file may have its number. Comparing the inode shows that, and
 * then `renew` is called for another descriptor.
 */
#ifndef ALIQUOT_STORE_LIVENESS_H
#define ALIQUOT_STORE_LIVENESS_H

#include <stdint.h>

/* A descriptor that is used in place of a path. Children of fork() have it too. */
struct liveness_kept {
        _Atomic int fd; /* the descriptor; -1: none */
        /* returns a descriptor with a new open file description, fit for locks, or a negative
         * errno */
        int (*renew)(void);
};

/* The file whose bytes are locked. */
struct liveness_file {
        const char *path; /* absolute; borrowed for the life of the file */
        uint64_t device;  /* st_dev and st_ino of the file that is mapped */
        uint64_t inode;
        /* NULL: the path leads to the file; else the file is opened through this descriptor, and
         * the path is for messages only */
        struct liveness_kept *kept;
};

/* Stores a descriptor that is above 511; closes a lower one. */
void liveness_keep(struct liveness_kept *kept, int fd);

/* Moves the descriptor above 511 and closes the old one, because programs rely on low numbers.
 * If RLIMIT_NOFILE does not allow that, returns the old one. */
int liveness_raise(int fd);

/* Opens the file anew, and checks its inode. Close the descriptor with liveness_close(). */
int liveness_open(const struct liveness_file *file);
void liveness_close(int fd);

struct liveness_range {
        uint64_t first, count;
};

/* Looks for a lock on any byte of *range. Returns 1 if there is one: *range is then the part
 * that this lock covers, which need not be the first. Returns 0 if there is none. Makes one
 * system call. */
int liveness_find(int fd, struct liveness_range *range);

/* Returns 1 if an address space (possibly this one) holds the lock of the byte, 0 if none does. */
int liveness_probe(int fd, uint64_t byte);

/* As liveness_probe(), for any of `count` bytes from `byte` on, with one system call. */
int liveness_probe_any(int fd, uint64_t byte, uint64_t count);

/* Locks the byte exclusively, on an open file description of its own. Give *ret_pin to
 * liveness_unlock(). -EAGAIN: the byte is locked. */
int liveness_lock(const struct liveness_file *file, uint64_t byte, void **ret_pin);

/* Takes a shared lock of the byte. -EAGAIN: another process holds it exclusively. */
int liveness_share(const struct liveness_file *file, uint64_t byte, void **ret_pin);
void liveness_unlock(void *pin);

#endif
