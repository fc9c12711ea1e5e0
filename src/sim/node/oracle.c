/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and prints the node's grants; see oracle.h.
 */
#include "sim/node/oracle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomic.h"
#include "sim/context/device.h"
#include "sim/node/flights.h"
#include "sim/node/node_internal.h"

struct oracle {
        struct sim_node *node;
};

static const char *const family_names[FAMILY_COUNT] = {
        [FAMILY_ALLOC] = "alloc",   [FAMILY_MANAGED] = "managed", [FAMILY_ARRAY] = "array",
        [FAMILY_POOL] = "pool",     [FAMILY_GRAPH] = "graph",     [FAMILY_VMM] = "vmm",
        [FAMILY_IMPORT] = "import", [FAMILY_MODULE] = "module",   [FAMILY_CONTEXT] = "context",
};

struct oracle *oracle_open(const char *state_dir)
{
        struct oracle *oracle = calloc(1, sizeof(*oracle));

        if (!oracle)
                return NULL;
        life_state_dir_set(state_dir);
        oracle->node = node_open_existing(state_dir);
        if (!oracle->node) {
                free(oracle);
                return NULL;
        }
        return oracle;
}

void oracle_close(struct oracle *oracle)
{
        if (!oracle)
                return;
        munmap(oracle->node, sizeof(*oracle->node));
        free(oracle);
}

/* Returns the figures of a device. The caller holds the device's lock. */
static struct oracle_figures of_device(const struct sim_node *node, unsigned index)
{
        const struct node_device *device = &node->device[index];

        return (struct oracle_figures){
                .current_bytes = device->used_bytes + device->managed_bytes,
                .high_bytes = device->high_bytes,
        };
}

void oracle_device(struct oracle *oracle, unsigned index, struct oracle_figures *ret)
{
        node_device_lock(oracle->node, index);
        life_settle_device(oracle->node, index, -1);
        *ret = of_device(oracle->node, index);
        node_device_unlock(oracle->node, index);
}

static int tag_find(const struct sim_node *node, const char *name)
{
        for (unsigned tag = 0; tag < node->tag_count; tag++) {
                if (strcmp(node->tag[tag].name, name) == 0)
                        return (int)tag;
        }
        return -1;
}

/* Returns the figures of a tag on a device. The caller holds the device's lock. */
static struct oracle_figures of_tag(const struct sim_node *node, unsigned tag, unsigned device)
{
        return (struct oracle_figures){
                .current_bytes = node->tag[tag].column[device].current_bytes,
                .high_bytes = node->tag[tag].column[device].high_bytes,
        };
}

void oracle_tag(struct oracle *oracle, const char *name, unsigned device,
                struct oracle_figures *ret)
{
        int tag = tag_find(oracle->node, name);

        *ret = (struct oracle_figures){ 0 };
        if (tag < 0)
                return;
        node_device_lock(oracle->node, device);
        life_settle_device(oracle->node, device, -1);
        *ret = of_tag(oracle->node, (unsigned)tag, device);
        node_device_unlock(oracle->node, device);
}

bool oracle_process(struct oracle *oracle, int pid, unsigned device, struct oracle_figures *ret,
                    uint64_t *ret_families)
{
        struct sim_node *node = oracle->node;
        unsigned high = load_acquire(&node->row_high);

        for (unsigned row = 0; row < high; row++) {
                if (node->row[row].pid != pid || load_acquire(&node->row[row].state) == ROW_FREE)
                        continue;
                node_device_lock(node, device);
                life_settle_device(node, device, -1);
                const struct node_column *column = &node->column[device][row];
                ret->current_bytes = column->current_bytes;
                ret->high_bytes = column->high_bytes;
                if (ret_families)
                        memcpy(ret_families, column->granted_bytes, sizeof(column->granted_bytes));
                node_device_unlock(node, device);
                return true;
        }
        return false;
}

static void string_print(const char *text, FILE *out)
{
        fputc('"', out);
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c == '"' || c == '\\')
                        fprintf(out, "\\%c", c);
                else if (c < 0x20)
                        fprintf(out, "\\u%04x", c);
                else
                        fputc(c, out);
        }
        fputc('"', out);
}

static void device_print(struct oracle *oracle, unsigned index, FILE *out)
{
        const struct node_device *device = &oracle->node->device[index];
        const unsigned char *u = device->uuid;
        struct oracle_figures figures;

        node_device_lock(oracle->node, index);
        figures = of_device(oracle->node, index);
        node_device_unlock(oracle->node, index);
        fprintf(out, "%s\n    {\"index\": %u, \"uuid\": \"%s-", index ? "," : "", index,
                device->is_mig ? "MIG" : "GPU");
        for (unsigned i = 0; i < 16; i++)
                fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
        fprintf(out, "\", \"name\": ");
        string_print(device->name, out);
        fprintf(out, ", \"memory_bytes\": %llu, \"current_bytes\": %llu, \"high_bytes\": %llu}",
                (unsigned long long)device->memory_bytes, (unsigned long long)figures.current_bytes,
                (unsigned long long)figures.high_bytes);
}

static void tag_print(struct oracle *oracle, unsigned tag, FILE *out)
{
        const char *name = oracle->node->tag[tag].name;

        fprintf(out, "%s\n    ", tag ? "," : "");
        string_print(name, out);
        fprintf(out, ": [");
        for (unsigned device = 0; device < oracle->node->device_count; device++) {
                struct oracle_figures figures;

                node_device_lock(oracle->node, device);
                figures = of_tag(oracle->node, tag, device);
                node_device_unlock(oracle->node, device);
                fprintf(out,
                        "%s{\"current_bytes\": %llu, \"high_bytes\": %llu, \"busy_ns\": %llu, "
                        "\"flight_ns\": %llu}",
                        device ? ", " : "", (unsigned long long)figures.current_bytes,
                        (unsigned long long)figures.high_bytes,
                        (unsigned long long)load_relaxed(
                                &oracle->node->tag[tag].column[device].busy_ns),
                        (unsigned long long)flights_of_tag(oracle->node, device, tag));
        }
        fprintf(out, "]");
}

/* Prints the functions with at least one call, as {"cuLaunchKernel": {"program": 3, "library": 0},
 * ...}. */
static void calls_print(const struct sim_node *node, unsigned tag, FILE *out)
{
        bool is_first = true;

        fprintf(out, "%s\n    ", tag ? "," : "");
        string_print(node->tag[tag].name, out);
        fprintf(out, ": {");
        for (unsigned call = 1; call < NODE_CALLS && node->call_name[call][0]; call++) {
                uint64_t by_program = load_relaxed(&node->calls[tag][call][CALLER_PROGRAM]);
                uint64_t by_library = load_relaxed(&node->calls[tag][call][CALLER_LIBRARY]);

                if (!by_program && !by_library)
                        continue;
                fprintf(out, "%s\"%s\": {\"program\": %llu, \"library\": %llu}",
                        is_first ? "" : ", ", node->call_name[call], (unsigned long long)by_program,
                        (unsigned long long)by_library);
                is_first = false;
        }
        fprintf(out, "}");
}

static void column_print(struct sim_node *node, unsigned device, unsigned row, FILE *out)
{
        struct node_column column;

        node_device_lock(node, device);
        column = node->column[device][row];
        node_device_unlock(node, device);
        fprintf(out,
                "%s{\"current_bytes\": %llu, \"high_bytes\": %llu, \"borrowed_bytes\": %llu, "
                "\"busy_ns\": %llu, \"flight_ns\": %llu, \"is_draining\": %s",
                device ? ", " : "", (unsigned long long)column.current_bytes,
                (unsigned long long)column.high_bytes, (unsigned long long)column.borrowed_bytes,
                (unsigned long long)load_relaxed(
                        &node->meter[row][device][ENGINE_COMPUTE].total_ns),
                (unsigned long long)flights_of_row(node, device, row),
                column.state == COLUMN_DRAINING ? "true" : "false");
        for (unsigned family = 0; family < FAMILY_COUNT; family++)
                fprintf(out, ", \"%s\": %llu", family_names[family],
                        (unsigned long long)column.granted_bytes[family]);
        fprintf(out, "}");
}

void oracle_print(struct oracle *oracle, FILE *out)
{
        struct sim_node *node = oracle->node;
        unsigned high = load_acquire(&node->row_high);
        bool is_first = true;

        node_settle(node); /* once for all: each call reads all rows */
        fprintf(out, "{\"devices\": [");
        for (unsigned device = 0; device < node->device_count; device++)
                device_print(oracle, device, out);
        fprintf(out, "],\n \"tags\": {");
        for (unsigned tag = 0; tag < node->tag_count; tag++)
                tag_print(oracle, tag, out);
        fprintf(out, "},\n \"calls\": {");
        for (unsigned tag = 0; tag < node->tag_count; tag++)
                calls_print(node, tag, out);
        fprintf(out, "},\n \"processes\": [");
        for (unsigned row = 0; row < high; row++) {
                const struct node_row *slot = &node->row[row];
                unsigned state = load_acquire(&slot->state);

                if (state == ROW_FREE)
                        continue;
                fprintf(out,
                        "%s\n    {\"pid\": %d, \"is_alive\": %s, \"tag\": ", is_first ? "" : ",",
                        slot->pid, state == ROW_LIVE ? "true" : "false");
                string_print(node->tag[slot->tag].name, out);
                fprintf(out, ", \"name\": ");
                string_print(slot->name, out);
                fprintf(out, ", \"devices\": [");
                for (unsigned device = 0; device < node->device_count; device++)
                        column_print(node, device, row, out);
                fprintf(out, "]}");
                is_first = false;
        }
        fprintf(out, "]}\n");
}
