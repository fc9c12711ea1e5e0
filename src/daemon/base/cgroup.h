/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a container: found by a process in it, and looked at until it is over.
 *
 *      held = ...                              the caller holds the process by a descriptor,
 *      cgroup_find(pid, &cgroup, &err)         and asks afterwards whether it lives: only then
 *                                              was all of this read of that very process
 *      cgroup_is_populated(folder, inode)
 *
 * The inode tells a cgroup from the next one of its name: a container that is started again has
 * another. The folder is that of version 2 where the container has one there, else of the first
 * hierarchy of version 1 that is mounted. Nothing here waits for a tenant. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_CGROUP_H
#define ALIQUOT_DAEMON_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "daemon/base/container.h"

#define CGROUP_PATH_BYTES 320u

struct cgroup {
        char container[CONTAINER_ID_BYTES];
        char folder[CGROUP_PATH_BYTES];
        uint64_t inode; /* below 2^63 */
};

/* -ESRCH: in no container, or no such process; -EPROTO: it cannot be told in which; -ENOENT: its
 * control group is not mounted here. */
int cgroup_find(uint32_t pid, struct cgroup *ret, struct error *err);

/* 1: some process is in it or below it, or it cannot be told; 0: it is empty, gone, or another. */
int cgroup_is_populated(const char *folder, uint64_t inode);

/* Whether this process is in that container. */
bool cgroup_is_in(uint32_t pid, const char *container);

#endif
