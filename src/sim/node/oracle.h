/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the node's grants from outside: the reference for every accounting test.
 *
 * Reading takes no row and changes only this: it notices dead processes, and drains them when their
 * time has come. Numbers of one device belong together (read under its lock); those of two devices
 * may be a moment apart. Draining bytes of dead processes are in the device's used_bytes but in no
 * tag's.
 */
#ifndef ALIQUOT_SIM_NODE_ORACLE_H
#define ALIQUOT_SIM_NODE_ORACLE_H

#include <stdint.h>
#include <stdio.h>

#include "sim/node/node.h"

struct oracle; /* a mapped node */

/* Opens the node of a state folder; NULL and errno if there is none. */
struct oracle *oracle_open(const char *state_dir);
void oracle_close(struct oracle *oracle);

struct oracle_figures {
        uint64_t current_bytes;
        uint64_t high_bytes;
};

/* A device: all its grants, including managed memory and draining bytes. */
void oracle_device(struct oracle *oracle, unsigned device, struct oracle_figures *ret);

/* A session tag on a device; zeros for an unknown tag. The high-water mark is exact: it is raised
 * in the same step as the grant, after the tag's dead processes were removed. */
void oracle_tag(struct oracle *oracle, const char *tag, unsigned device,
                struct oracle_figures *ret);

/* A process by its pid, alive or draining; `ret_families` has FAMILY_COUNT entries and may be NULL.
 * False if it has no row. */
bool oracle_process(struct oracle *oracle, int pid, unsigned device, struct oracle_figures *ret,
                    uint64_t *ret_families);

/* Everything, as one JSON object. */
void oracle_print(struct oracle *oracle, FILE *out);

#endif
