/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the control group of a container through a process in it, and checks whether the control
 * group is empty, which means that the container has ended.
 *
 *      held = identity_hold(pid)               // keeps the pid from meaning another process
 *      cgroup_find(pid, &cgroup, &err)
 *      identity_is_there(held)                 // if true, all was read from that process
 *      cgroup_is_populated(folder, inode)
 *
 * The inode distinguishes a cgroup from a later one of the same name: a container that is started
 * again gets a cgroup with another inode. The folder is in the hierarchy of cgroup version 2 if the
 * container has a cgroup there, else in the first mounted hierarchy of version 1 that has one. No
 * tenant can block these functions. One thread.
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
        uint64_t inode; /* of `folder`; below 2^63 */
};

/* Fills in the container of a process and its control group. -ESRCH: the process is in no
 * container, or does not exist. -EPROTO: its container cannot be determined. -ENOENT: its control
 * group is not mounted here. */
int cgroup_find(uint32_t pid, struct cgroup *ret, struct error *err);

/* Whether a process is in the control group or below it. 1: yes, or that is unknown. 0: it is
 * empty, gone, or replaced by another. */
int cgroup_is_populated(const char *folder, uint64_t inode);

/* Whether the process is in the container with this id. */
bool cgroup_is_in(uint32_t pid, const char *container);

#endif
