/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which container a process is in, by the text of its /proc/PID/cgroup.
 *
 *      /libpod_parent/libpod-<64 hex>                  podman, cgroupfs
 *      /machine.slice/libpod-<64 hex>.scope            podman, systemd; libpod-payload- in a
 * service /docker/<64 hex>, /system.slice/docker-<64 hex>.scope /kubepods/burstable/pod.../<64 hex>
 * containerd, cgroupfs /kubepods.slice/.../cri-containerd-<64 hex>.scope, crio-<64 hex>.scope
 *      /system.slice/...slice:cri-containerd:<64 hex>  containerd, systemd's names in cgroupfs
 *      .../nerdctl-<64 hex>.scope
 *      /slurm/uid_N/job_N/step_..., /system.slice/slurmstepd.scope/job_N/step_...
 *
 * The outermost match counts: cgroups below it are the tenant's own, who names them as it likes.
 * Every line that has a match must name the same container. A line without one says nothing: a
 * runtime that uses version 1 leaves its processes at the root of version 2, and the other way
 * round. A path with `..` leads out of the reader's cgroup namespace, and nothing is believed then.
 *
 * Pure; what is read is hostile.
 */
#ifndef ALIQUOT_DAEMON_BASE_CONTAINER_H
#define ALIQUOT_DAEMON_BASE_CONTAINER_H

#include <stddef.h>

#include "common/error.h"

#define CONTAINER_ID_BYTES 72u /* 64 digits, or "job_" and a number; terminated */
#define CONTAINER_LINES 16u    /* hierarchies; Linux has 14 controllers */

/* Slices of the text; neither is terminated. */
struct container_line {
        const char *controllers; /* as "cpu,cpuacct" or "name=systemd"; none: version 2 */
        size_t controllers_bytes;
        const char *path; /* of the container's own cgroup, without what is below it */
        size_t path_bytes;
};

struct container {
        char id[CONTAINER_ID_BYTES];
        unsigned count;
        struct container_line line[CONTAINER_LINES]; /* those with a match, version 2 first */
};

/* -ESRCH: in none; -EPROTO: the lines disagree, or the text is none of the kernel's. */
int container_read(const char *text, size_t bytes, struct container *ret, struct error *err);

#endif
