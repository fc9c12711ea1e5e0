/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses ALIQUOT_SIM with one table of keys; see config.h for the syntax.
 *
 * Each key sets one field. At the end, the fields that the text does not set get their defaults.
 * Parsing stops at the first mistake, with a line that gives the key and the value.
 */
#include "sim/node/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/environment.h"
#include "common/injected.h"
#include "common/scoped.h"
#include "sim/node/config_value.h"

#define TEXT_BYTES 16384

/* Parses a rule NAME:N:CODE[:COUNT]. */
static bool fault_parse(struct sim_config *config, const char *text)
{
        char part[4][64] = { "", "", "", "1" };
        unsigned parts = 0;
        struct config_fault fault = { .call_count = 1 };
        uint64_t result;

        while (parts < 4) {
                size_t length = strcspn(text, ":");
                if (length == 0 || length >= sizeof(part[0]))
                        return false;
                memcpy(part[parts], text, length);
                part[parts++][length] = '\0';
                text += length;
                if (*text == '\0')
                        break;
                text++;
        }
        if (*text != '\0' || parts < 3 || config->fault_count == CONFIG_FAULTS)
                return false;
        memcpy(fault.name, part[0], sizeof(fault.name));
        if (!number_parse(part[1], &fault.first_call) || fault.first_call == 0)
                return false;
        if (!number_parse(part[2], &result) || result > INT_MAX)
                return false;
        if (!number_parse(part[3], &fault.call_count) || fault.call_count == 0)
                return false;
        fault.result = (int)result;
        config->faults[config->fault_count++] = fault;
        return true;
}

enum field_width { WIDTH_64, WIDTH_32, WIDTH_BOOL };

struct key {
        const char *name;
        bool (*parse)(const char *text, uint64_t *ret);
        size_t offset;
        enum field_width width;
        uint64_t least, most;
        const char *expected;
};

#define FIELD(member) offsetof(struct sim_config, member)
#define ANY 0, UINT64_MAX - 1
#define COST WIDTH_64, 0, 1000000000, "a time such as 2us, up to 1s"
#define GRANT_BYTES WIDTH_64, 0, 1ULL << 30, "a size, up to 1GiB"
#define GRANT_ON WIDTH_64, ANY, "on or off"

static const struct key keys[] = {
        { "gpus", number_parse, FIELD(device_count), WIDTH_32, 0, SIM_DEVICES, "0 to 16" },
        { "memory", bytes_parse, FIELD(memory_bytes), WIDTH_64, 1 << 20, 1ULL << 40,
          "a size such as 16GiB, 1MiB to 1TiB" },
        { "model", model_parse, FIELD(model), WIDTH_32, ANY, "t4, a100 or h200" },
        { "seed", number_parse, FIELD(seed), WIDTH_64, ANY, "a number" },
        { "mig", number_parse, FIELD(mig), WIDTH_32, 0, 7, "instances a device, 0 to 7" },
        { "driver", number_parse, FIELD(driver_version), WIDTH_32, 11000, 13990,
          "a version such as 12020, 11000 to 13990" },
        { "context", bytes_parse, FIELD(context_bytes), WIDTH_64, ANY, "a size" },
        { "context_time", time_parse, FIELD(context_ns), WIDTH_64, ANY, "a time such as 200ms" },
        { "reserved", bytes_parse, FIELD(reserved_bytes), WIDTH_64, 0, 1ULL << 40, "a size" },
        { "pool_growth", bytes_parse, FIELD(pool_growth_bytes), WIDTH_64, 1 << 16, 1ULL << 32,
          "a size, 64KiB to 4GiB" },
        { "draining", time_parse, FIELD(drain_ns), WIDTH_64, ANY, "a time such as 50ms" },
        { "slice", time_parse, FIELD(slice_ns), WIDTH_64, 1000, UINT64_MAX - 1,
          "a time, 1us or more" },
        { "switch", time_parse, FIELD(switch_ns), WIDTH_64, 0, 1000000000, "a time, up to 1s" },
        { "multiprocessors", number_parse, FIELD(multiprocessors), WIDTH_32, 1, 256, "1 to 256" },
        { "alloc", time_parse, FIELD(alloc_ns), WIDTH_64, ANY, "a time such as 10us" },
        { "vmm", time_parse, FIELD(vmm_ns), WIDTH_64, ANY, "a time such as 10us" },
        { "vmm_create", time_parse, FIELD(vmm[VMM_CREATE].call_ns), COST },
        { "vmm_create_page", time_parse, FIELD(vmm[VMM_CREATE].page_ns), COST },
        { "vmm_map", time_parse, FIELD(vmm[VMM_MAP].call_ns), COST },
        { "vmm_map_page", time_parse, FIELD(vmm[VMM_MAP].page_ns), COST },
        { "vmm_access", time_parse, FIELD(vmm[VMM_ACCESS].call_ns), COST },
        { "vmm_access_page", time_parse, FIELD(vmm[VMM_ACCESS].page_ns), COST },
        { "vmm_unmap", time_parse, FIELD(vmm[VMM_UNMAP].call_ns), COST },
        { "vmm_unmap_page", time_parse, FIELD(vmm[VMM_UNMAP].page_ns), COST },
        { "vmm_release", time_parse, FIELD(vmm[VMM_RELEASE].call_ns), COST },
        { "vmm_release_page", time_parse, FIELD(vmm[VMM_RELEASE].page_ns), COST },
        { "vmm_reserve", time_parse, FIELD(vmm[VMM_RESERVE].call_ns), COST },
        { "vmm_reserve_page", time_parse, FIELD(vmm[VMM_RESERVE].page_ns), COST },
        { "vmm_lock", number_parse, FIELD(vmm_lock_percent), WIDTH_64, 0, 100,
          "percent, 0 to 100" },
        { "launch", time_parse, FIELD(launch_ns), WIDTH_64, ANY, "a time such as 2us" },
        { "launched", time_parse, FIELD(launched_ns), WIDTH_64, ANY, "a time such as 2us" },
        { "graph_launch", time_parse, FIELD(graph_launch_ns), COST },
        { "event_record", time_parse, FIELD(event_record_ns), COST },
        { "event_query", time_parse, FIELD(event_query_ns), COST },
        { "event_elapsed", time_parse, FIELD(event_elapsed_ns), COST },
        { "stream_query", time_parse, FIELD(stream_query_ns), COST },
        { "stream_context", time_parse, FIELD(stream_context_ns), COST },
        { "capture_query", time_parse, FIELD(capture_query_ns), COST },
        { "process_list", time_parse, FIELD(process_list_ns), COST },
        { "flights", on_parse, FIELD(has_flights), WIDTH_BOOL, ANY, "on or off" },
        { "calls", on_parse, FIELD(has_calls), WIDTH_BOOL, ANY, "on or off" },
        { "queues", number_parse, FIELD(queues), WIDTH_64, 0, CONFIG_QUEUES, "0 to 32" },
        { "current", current_parse, FIELD(is_current_needed), WIDTH_64, ANY, "measured or usual" },
        { "ended", ended_parse, FIELD(is_ended_fatal), WIDTH_64, ANY, "crash or error" },
        { "costs", costs_parse, FIELD(has_real_costs), WIDTH_BOOL, ANY, "real or none" },
        { "grants", grants_parse, FIELD(has_real_grants), WIDTH_BOOL, ANY, "real or plain" },
        { "slab", bytes_parse, FIELD(grants.slab_bytes), GRANT_BYTES },
        { "slab_most", bytes_parse, FIELD(grants.slab_max_bytes), GRANT_BYTES },
        { "block_step", bytes_parse, FIELD(grants.block_step), GRANT_BYTES },
        { "array_step", bytes_parse, FIELD(grants.array_step), GRANT_BYTES },
        { "array_unknown", on_parse, FIELD(grants.has_no_array_requirements), GRANT_ON },
        { "loadable", on_parse, FIELD(grants.has_loadable_only), GRANT_ON },
        { "code_within", bytes_parse, FIELD(grants.code_within_bytes), GRANT_BYTES },
        { "lazy", on_parse, FIELD(grants.is_lazy), GRANT_ON },
        { "stacks", on_parse, FIELD(grants.has_stacks), GRANT_ON },
        { "lazy_heap", on_parse, FIELD(grants.is_heap_lazy), GRANT_ON },
        { "graphs", bytes_parse, FIELD(grants.graphs_bytes), GRANT_BYTES },
        { "pools", bytes_parse, FIELD(grants.pools_bytes), GRANT_BYTES },
        { "green", bytes_parse, FIELD(grants.green_bytes), GRANT_BYTES },
        { "lazy_managed", on_parse, FIELD(grants.is_managed_lazy), GRANT_ON },
        { "graphs_share", on_parse, FIELD(grants.are_graphs_sharing), GRANT_ON },
        { "event", time_parse, FIELD(event_ns), WIDTH_64, ANY, "a time such as 2us" },
        { "event_step", time_parse, FIELD(event_step_ns), WIDTH_64, 0, 1000000000,
          "a time, up to 1s" },
        { "drift", number_parse, FIELD(drift_ppm), WIDTH_64, 0, 10000,
          "parts in a million, 0 to 10000" },
        { "sample", time_parse, FIELD(sample_ns), WIDTH_64, 50000000, 1000000000,
          "a time, 50ms to 1s" },
        { "utilization", period_parse, FIELD(utilization_ns), WIDTH_64, 0, 1000000000,
          "a multiple of 50ms, up to 1s" },
        { "lost", time_parse, FIELD(lost_ns), WIDTH_64, ANY, "a time such as 2s" },
        { "host", rate_parse, FIELD(host_rate), WIDTH_64, ANY, "a rate such as 25GB/s, or max" },
        { "pageable", rate_parse, FIELD(pageable_rate), WIDTH_64, ANY, "a rate, or max" },
        { "duplex", number_parse, FIELD(duplex_percent), WIDTH_64, 100, 200,
          "percent, 100 to 200" },
        { "pin", rate_parse, FIELD(pin_rate), WIDTH_64, ANY, "a rate such as 2GiB/s, or max" },
        { "peer", rate_parse, FIELD(peer_rate), WIDTH_64, ANY, "a rate, or max" },
        { "device", rate_parse, FIELD(device_rate), WIDTH_64, ANY, "a rate, or max" },
        { "ptx", noop_parse, FIELD(is_ptx_accepted), WIDTH_BOOL, ANY, "noop or off" },
        { "fatbin", noop_parse, FIELD(is_fatbin_noop), WIDTH_BOOL, ANY, "noop or off" },
        { "ptx_time", time_parse, FIELD(ptx_ns), WIDTH_64, ANY, "a time such as 100us" },
        { "clock", clock_parse, FIELD(is_clock_virtual), WIDTH_BOOL, ANY, "real or virtual" },
        { "wake", time_parse, FIELD(wake_ns), WIDTH_64, 0, 1000000000, "a time, up to 1s" },
        { "wake_spread", time_parse, FIELD(wake_spread_ns), WIDTH_64, 0, 1000000000,
          "a time, up to 1s" },
        { "begin_with", number_parse, FIELD(begin_with), WIDTH_32, 1, 1000,
          "processes, 1 to 1000" },
};

static void key_store(struct sim_config *config, const struct key *key, uint64_t value)
{
        char *field = (char *)config + key->offset;

        switch (key->width) {
        case WIDTH_64:
                memcpy(field, &value, sizeof(value));
                break;
        case WIDTH_32:
                memcpy(field, &(uint32_t){ (uint32_t)value }, sizeof(uint32_t));
                break;
        case WIDTH_BOOL:
                memcpy(field, &(bool){ value != 0 }, sizeof(bool));
                break;
        }
}

static const struct path_key {
        const char *name;
        size_t offset, bytes;
        const char *expected;
} path_keys[] = {
        { "state", FIELD(state_dir), sizeof(((struct sim_config *)0)->state_dir), "a folder" },
        { "kernels", FIELD(kernels), sizeof(((struct sim_config *)0)->kernels), "a shared object" },
};

static bool path_store(struct sim_config *config, const struct path_key *key, const char *path)
{
        if (path[0] == '\0' || strlen(path) >= key->bytes)
                return false;
        memcpy((char *)config + key->offset, path, strlen(path) + 1);
        return true;
}

/* Parses one key=value. */
static int item_parse(struct sim_config *config, char *item, char *ret_why, size_t why_bytes)
{
        char *value = strchr(item, '=');
        uint64_t number;

        if (!value) {
                snprintf(ret_why, why_bytes, "'%s': expected key=value", item);
                return -EINVAL;
        }
        *value++ = '\0';
        for (size_t i = 0; i < sizeof(path_keys) / sizeof(path_keys[0]); i++) {
                if (strcmp(path_keys[i].name, item) != 0)
                        continue;
                if (path_store(config, &path_keys[i], value))
                        return 0;
                snprintf(ret_why, why_bytes, "%s=%s: expected %s", item, value,
                         path_keys[i].expected);
                return -EINVAL;
        }
        if (strcmp(item, "fail") == 0) {
                if (fault_parse(config, value))
                        return 0;
                snprintf(ret_why, why_bytes, "fail=%s: expected NAME:N:CODE[:COUNT]", value);
                return -EINVAL;
        }
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
                if (strcmp(keys[i].name, item) != 0)
                        continue;
                if (keys[i].parse(value, &number) && number >= keys[i].least &&
                    number <= keys[i].most) {
                        key_store(config, &keys[i], number);
                        return 0;
                }
                snprintf(ret_why, why_bytes, "%s=%s: expected %s", item, value, keys[i].expected);
                return -EINVAL;
        }
        snprintf(ret_why, why_bytes, "%s: no such key", item);
        return -EINVAL;
}

/* Parses all items. An item ends at a comma or at the end of its line, a comment at the end of its
 * line. */
static int items_parse(struct sim_config *config, const char *text, char *ret_why, size_t why_bytes)
{
        char item[512];
        int rc = 0;

        while (*text && rc == 0) {
                size_t length = strcspn(text, ",\n#");
                size_t bytes = length;
                const char *start = item_trim(text, &bytes);

                if (bytes >= sizeof(item)) {
                        snprintf(ret_why, why_bytes, "an item is longer than %zu bytes",
                                 sizeof(item) - 1);
                        return -EINVAL;
                }
                memcpy(item, start, bytes);
                item[bytes] = '\0';
                if (bytes > 0)
                        rc = item_parse(config, item, ret_why, why_bytes);
                text += length;
                if (*text == '#')
                        text += strcspn(text, "\n");
                if (*text)
                        text++;
        }
        return rc;
}

int config_parse(const char *text, struct sim_config *ret, char *ret_why, size_t why_bytes)
{
        struct sim_config config;
        int rc;

        config_begin(&config);
        rc = items_parse(&config, text, ret_why, why_bytes);
        if (rc < 0)
                return rc;
        config_complete(&config);
        *ret = config;
        return 0;
}

static int file_read(const char *path, char *ret_text, size_t text_bytes)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t done = 0;

        if (fd < 0)
                return -errno;
        while (done < text_bytes - 1) {
                ssize_t n = read(fd, ret_text + done, text_bytes - 1 - done);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                done += (size_t)n;
        }
        ret_text[done] = '\0';
        return 0;
}

static struct sim_config the_config;
static char what_is_wrong[600];
static bool is_config_good;
static const char *the_words = "";

/* Returns the file that has the configuration text; NULL if the variable has it, which is then in
 * *ret_words. */
static const char *find_words(const char **ret_words)
{
        const char *value = environment_get("ALIQUOT_SIM");

        if (injected_has(INJECTED_SIMULATOR))
                return INJECTED_SIMULATOR;
        if (!value || strcmp(value, "1") == 0)
                value = "";
        *ret_words = value;
        if (value[0] == '@')
                return value + 1;
        return value[0] == '/' ? value : NULL;
}

static void config_load(void)
{
        static char text[TEXT_BYTES];
        const char *path = find_words(&the_words);

        if (path) {
                int rc = file_read(path, text, sizeof(text));
                if (rc < 0) {
                        snprintf(what_is_wrong, sizeof(what_is_wrong), "%s: %s", path,
                                 strerror(-rc));
                        return;
                }
                the_words = text;
        }
        if (config_parse(the_words, &the_config, what_is_wrong, sizeof(what_is_wrong)) < 0)
                return;
        the_config.is_logging = environment_get("ALIQUOT_SIM_LOG") != NULL;
        is_config_good = true;
}

const char *config_words(void)
{
        return config_peek() ? the_words : NULL;
}

const struct sim_config *config_peek(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, config_load);
        return is_config_good ? &the_config : NULL;
}

static void config_complain(void)
{
        fprintf(stderr, "aliquot-sim: ALIQUOT_SIM: %s\n", what_is_wrong);
}

const struct sim_config *config_get(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        const struct sim_config *config = config_peek();

        if (!config)
                pthread_once(&once, config_complain);
        return config;
}
