/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts grants exactly, across processes that may die at any instruction.
 *
 * The device's lock is held during all changes. The families of the columns are the primary data.
 * The figures of the device and the tags are their sums; they are kept up to date, and computed
 * again when the lock's owner died. The maximum of a tag is raised only after the tag's dead
 * processes were removed, because their bytes may already have been granted again (draining).
 */
#include <errno.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/node/clock.h"
#include "sim/node/node_internal.h"
#include "sim/node/robust.h"

static uint64_t physical_bytes(const struct node_column *column)
{
        return column->current_bytes - column->granted_bytes[FAMILY_MANAGED] -
               column->borrowed_bytes;
}

static void sums_repair(struct sim_node *node, unsigned index)
{
        struct node_device *device = &node->device[index];
        unsigned high = load_acquire(&node->row_high);

        device->used_bytes = 0;
        device->managed_bytes = 0;
        for (unsigned tag = 0; tag < node->tag_count; tag++)
                node->tag[tag].column[index].current_bytes = 0;
        for (unsigned row = 0; row < high; row++) {
                struct node_column *column = &node->column[index][row];

                column->current_bytes = 0;
                for (unsigned family = 0; family < FAMILY_COUNT; family++)
                        column->current_bytes += column->granted_bytes[family];
                if (column->state == COLUMN_UNUSED)
                        continue;
                device->used_bytes += physical_bytes(column);
                device->managed_bytes += column->granted_bytes[FAMILY_MANAGED];
                if (column->state == COLUMN_LIVE)
                        node->tag[node->row[row].tag].column[index].current_bytes +=
                                column->current_bytes;
        }
        for (unsigned i = 0; i < node->object_high; i++) {
                const struct node_object *object = &node->object[i];

                if (object->id && object->is_afloat && object->device == index)
                        device->used_bytes += object->bytes;
        }
}

void node_device_lock(struct sim_node *node, unsigned device)
{
        if (robust_lock(&node->device[device].lock) == EOWNERDEAD) {
                sums_repair(node, device);
                pthread_mutex_consistent(&node->device[device].lock);
        }
}

void node_device_unlock(struct sim_node *node, unsigned device)
{
        pthread_mutex_unlock(&node->device[device].lock);
}

void column_drop_from_tag(struct sim_node *node, unsigned device, unsigned row)
{
        node->tag[node->row[row].tag].column[device].current_bytes -=
                node->column[device][row].current_bytes;
}

void column_drop_from_device(struct sim_node *node, unsigned index, unsigned row)
{
        struct node_column *column = &node->column[index][row];
        struct node_device *device = &node->device[index];

        device->used_bytes -= physical_bytes(column);
        device->managed_bytes -= column->granted_bytes[FAMILY_MANAGED];
        memset(column, 0, sizeof(*column));
}

static bool has_room(const struct node_device *device, uint64_t bytes)
{
        return bytes <= device->memory_bytes - device->used_bytes;
}

static void tag_raise(struct sim_node *node, unsigned index, unsigned tag, uint64_t bytes)
{
        struct node_tag_column *column = &node->tag[tag].column[index];

        if (column->current_bytes + bytes > column->high_bytes) {
                life_settle_device(node, index, (int)tag);
                if (column->current_bytes + bytes > column->high_bytes)
                        column->high_bytes = column->current_bytes + bytes;
        }
        column->current_bytes += bytes;
}

enum grant_result node_grant(unsigned index, enum family family, uint64_t bytes)
{
        struct sim_node *node = node_get();
        struct node_device *device = &node->device[index];
        struct node_row *row = node_self();
        struct node_column *column = &node->column[index][row - node->row];

        node_device_lock(node, index);
        if (family != FAMILY_MANAGED && !has_room(device, bytes)) {
                life_settle_device(node, index, -1);
                if (!has_room(device, bytes)) {
                        node_device_unlock(node, index);
                        return GRANT_FULL;
                }
        }
        column->state = COLUMN_LIVE;
        column->seen_ns = sim_now_ns();
        tag_raise(node, index, row->tag, bytes);
        column->granted_bytes[family] += bytes;
        column->current_bytes += bytes;
        if (column->current_bytes > column->high_bytes)
                column->high_bytes = column->current_bytes;
        if (family == FAMILY_MANAGED)
                device->managed_bytes += bytes;
        else
                device->used_bytes += bytes;
        if (device->used_bytes + device->managed_bytes > device->high_bytes)
                device->high_bytes = device->used_bytes + device->managed_bytes;
        node_device_unlock(node, index);
        return GRANT_OK;
}

void node_release(unsigned index, enum family family, uint64_t bytes)
{
        struct sim_node *node = node_get();
        struct node_device *device = &node->device[index];
        struct node_row *row = node_self();
        struct node_column *column = &node->column[index][row - node->row];

        node_device_lock(node, index);
        column->granted_bytes[family] -= bytes;
        column->current_bytes -= bytes;
        node->tag[row->tag].column[index].current_bytes -= bytes;
        if (family == FAMILY_MANAGED)
                device->managed_bytes -= bytes;
        else
                device->used_bytes -= bytes;
        node_device_unlock(node, index);
}

uint64_t node_free_bytes(unsigned index)
{
        struct sim_node *node = node_get();
        struct node_device *device = &node->device[index];

        node_device_lock(node, index);
        life_settle_device(node, index, -1);
        uint64_t left = device->memory_bytes - device->used_bytes;
        uint64_t managed = device->managed_bytes;
        node_device_unlock(node, index);
        return managed < left ? left - managed : 0;
}
