/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the node's grants from outside the node's processes. It is the reference for every test of
 * accounting.
 *
 * Reading takes no row. It changes the node in one way: it notices dead processes, and removes
 * their memory when that is due. The numbers of one device are consistent (read under the device's
 * lock); those of two devices may be from slightly different times. The draining bytes of dead
 * processes count in the device's used_bytes but in no tag.
 */
#ifndef ALIQUOT_SIM_NODE_ORACLE_H
#define ALIQUOT_SIM_NODE_ORACLE_H

#include <stdint.h>
#include <stdio.h>

#include "sim/node/node.h"

struct oracle; /* an opened node, mapped into this process */

/* Opens the node of a state folder. NULL, with errno set, if there is none. */
struct oracle *oracle_open(const char *state_dir);
void oracle_close(struct oracle *oracle);

struct oracle_figures {
        uint64_t current_bytes;
        uint64_t high_bytes;
};

/* Returns the figures of a device: all its grants, including managed memory and draining bytes. */
void oracle_device(struct oracle *oracle, unsigned device, struct oracle_figures *ret);

/* Returns the figures of a session tag on a device; zeros for an unknown tag. The maximum is exact:
 * it is raised in the same step as the grant, after the tag's dead processes were removed. */
void oracle_tag(struct oracle *oracle, const char *tag, unsigned device,
                struct oracle_figures *ret);

/* Returns the figures of the process `pid`, alive or draining. `ret_families` has FAMILY_COUNT
 * entries and may be NULL. False if the process has no row. */
bool oracle_process(struct oracle *oracle, int pid, unsigned device, struct oracle_figures *ret,
                    uint64_t *ret_families);

/* Prints all figures as one JSON object. */
void oracle_print(struct oracle *oracle, FILE *out);

#endif
