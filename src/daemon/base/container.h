/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which container a process is in, from the text of its /proc/PID/cgroup. These paths are
 * recognised:
 *
 *      /libpod_parent/libpod-<64 hex>                     podman, cgroupfs
 *      /machine.slice/libpod-<64 hex>.scope               podman, systemd
 *      .../libpod-payload-<64 hex>                        podman in a systemd service
 *      /docker/<64 hex>                                   docker, cgroupfs
 *      /system.slice/docker-<64 hex>.scope                docker, systemd
 *      /kubepods/burstable/pod.../<64 hex>                containerd, cgroupfs
 *      /kubepods.slice/.../cri-containerd-<64 hex>.scope  containerd, systemd
 *      /kubepods.slice/.../crio-<64 hex>.scope            CRI-O, systemd
 *      /system.slice/...slice:cri-containerd:<64 hex>     containerd, systemd's names in cgroupfs
 *      .../nerdctl-<64 hex>.scope                         nerdctl
 *      /slurm/uid_N/job_N/step_...                        Slurm, version 1
 *      /system.slice/slurmstepd.scope/job_N/step_...      Slurm, version 2
 *
 * The outermost component that matches counts, because the tenant can create cgroups with any names
 * below it. Every line that has a match must name the same container. A line without a match is
 * ignored: a runtime that uses version 1 leaves its processes at the root of version 2, and the
 * other way round. If a path contains `..`, it leads out of the reader's cgroup namespace, and the
 * whole text is rejected.
 *
 * No function has state. The text may be forged in every part that a tenant can name.
 */
#ifndef ALIQUOT_DAEMON_BASE_CONTAINER_H
#define ALIQUOT_DAEMON_BASE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define CONTAINER_ID_BYTES 72u /* 64 digits, or "job_" and a number; terminated by a zero byte */
#define CONTAINER_LINES 16u    /* maximum number of hierarchies; Linux has 14 controllers */

/* A matching line. The pointers point into the text, and are not terminated. */
struct container_line {
        const char *controllers; /* such as "cpu,cpuacct" or "name=systemd"; empty: version 2 */
        size_t controllers_bytes;
        const char *path; /* path of the container's own cgroup, without what is below it */
        size_t path_bytes;
};

struct container {
        char id[CONTAINER_ID_BYTES];
        unsigned count;
        struct container_line line[CONTAINER_LINES]; /* the lines with a match, version 2 first */
};

/* Finds the container. -ESRCH: the process is in none. -EPROTO: the lines disagree, or the text
 * does not have the kernel's form. */
int container_read(const char *text, size_t bytes, struct container *ret, struct error *err);

/* Whether the text may be that of a thread that exits: it has lines of version 1, and each of them
 * has the path "/". The kernel prints so for a thread that exits (proc_cgroup_show()), also for the
 * first thread of a process whose other threads still run; the line of version 2 is still right. */
bool container_may_exit(const char *text, size_t bytes);

#endif
