/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the variables of other systems that set the same things as ours, each in its system's
 * units.
 *
 *      TENSOR_FUSION_CUDA_MEM_LIMIT    {"GPU-...": bytes, "0": bytes}
 *      VCUDA_MEMORY_LIMIT              bytes, binary suffixes, or a product; every GPU
 *      CUDA_DEVICE_MEMORY_LIMIT[_i]    bytes, binary suffixes; every GPU, or GPU i
 *      CUDA_MEM_LIMIT[_i]              bytes, decimals, binary suffixes; every GPU, or GPU i
 *                                      (vgpu-manager 3d7f66d: library/src/util.c, iec_to_bytes(),
 *                                      get_mem_limit())
 *      XPUSHARE_GPU_MEMORY_LIMIT       bytes, or a decimal or binary suffix; every GPU
 *      GPUSLICE_IPC_SOCK               path of a daemon's socket, whose folder is the runtime
 *                                      folder; or path of a session's socket
 *      GPUSLICE_IPC_TOKEN              the join token (read in settings.c)
 *
 * Several variables that set the same limits are accepted. If their limits differ, they are
 * refused: each system has its own order of precedence, and none fits the others.
 */
#include "settings/reading.h"

#include <errno.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"

/* Reads the number of one GPU and adds the rule. `key` is the JSON key that was just read: the
 * GPU. */
static int read_pair(struct json *json, const struct json_token *key,
                     int (*put)(uint64_t number, struct size *ret, struct error *err),
                     struct settings_rules *rules, struct error *err)
{
        char selector[SETTINGS_SELECTOR_BYTES];
        struct size size = { 0 };
        struct json_token token;
        uint64_t number;
        int rc = json_text(key, selector, sizeof(selector), err);

        if (rc == 0 && !selector[0])
                rc = fail(err, -EINVAL, "a key that names no GPU");
        if (rc == 0)
                rc = json_next(json, &token, err);
        if (rc == 0)
                rc = json_whole(&token, &number, err);
        if (rc == 0)
                rc = put(number, &size, err);
        return rc < 0 ? rc : rules_add(rules, selector, &size, err);
}

int rules_parse_json(const char *text,
                     int (*put)(uint64_t number, struct size *ret, struct error *err),
                     struct settings_rules *ret, struct error *err)
{
        struct settings_rules rules = *ret;
        struct json_token token;
        struct json json;
        int rc;

        json_begin(&json, text, strlen(text));
        rc = json_next(&json, &token, err);
        if (rc == 0 && token.kind != JSON_OBJECT)
                rc = fail(err, -EINVAL, "expected an object");
        if (rc == 0)
                rc = json_next(&json, &token, err);
        while (rc == 0 && token.kind == JSON_KEY) {
                rc = read_pair(&json, &token, put, &rules, err);
                if (rc == 0)
                        rc = json_next(&json, &token, err);
        }
        if (rc == 0)
                rc = json_next(&json, &token, err); /* fails if anything follows the object */
        if (rc == 0 && !rules.count)
                rc = fail(err, -EINVAL, "names no GPU");
        if (rc < 0)
                return rc;
        rules.may_repeat = true; /* TensorFusion allows a GPU's index and its UUID together */
        *ret = rules;
        return 0;
}

static int put_bytes(uint64_t number, struct size *ret, struct error *err)
{
        ret->bytes = number;
        return number && number != UINT64_MAX
                       ? 0
                       : fail(err, -ERANGE, "%llu is no limit", (unsigned long long)number);
}

static int read_tensor_fusion(const struct said *said, struct settings_rules *memory,
                              struct error *err)
{
        int rc = rules_parse_json(said->value, put_bytes, memory, err);

        if (rc < 0)
                wrap(err, "expected JSON such as {\"0\": 2147483648}");
        return rc;
}

/* Reads a number or product of bytes, and ignores a remark after it. vcuda's documentation has such
 * a remark, "(1024 * 1024) // limit 1M". If a file of variables is read without a shell, the remark
 * is part of the value. */
static int read_vcuda(const struct said *said, struct settings_rules *memory, struct error *err)
{
        const char *remark = strstr(said->value, "//");
        size_t length = remark ? (size_t)(remark - said->value) : strlen(said->value);
        struct size size = { 0 };
        char product[128];
        int rc;

        if (length >= sizeof(product))
                return fail(err, -EINVAL, "more than %zu characters", sizeof(product) - 1);
        memcpy(product, said->value, length);
        product[length] = '\0';
        rc = bytes_parse_product(product, &size.bytes, err);
        return rc < 0 ? rc : rules_add(memory, "", &size, err);
}

static int read_xpushare(const struct said *said, struct settings_rules *memory, struct error *err)
{
        struct size size = { 0 };
        /* For xpushare K, M and G are decimal, and Ki, Mi and Gi are binary. size_parse() reads a
         * bare K as binary, but KB as decimal and KiB as binary, so a B is appended. */
        char spelled[64];
        struct text text;
        size_t length = strlen(said->value);
        char last = length ? text_lower(said->value[length - 1]) : '\0';
        int rc;

        text_begin(&text, spelled, sizeof(spelled));
        text_add(&text, "%s%s", said->value, strchr("kmgti", last) && last ? "B" : "");
        if (text.is_cut || strchr(said->value, '%'))
                return fail(err, -EINVAL, "expected bytes, or a number with K, M, G, Ki, Mi or Gi");
        rc = size_parse(spelled, &size, err);
        return rc < 0 ? rc : rules_add(memory, "", &size, err);
}

struct alias {
        const char *name;
        int (*read)(const struct said *said, struct settings_rules *memory, struct error *err);
};

static const struct alias memory_aliases[] = {
        { "TENSOR_FUSION_CUDA_MEM_LIMIT", read_tensor_fusion },
        { "VCUDA_MEMORY_LIMIT", read_vcuda },
        { "XPUSHARE_GPU_MEMORY_LIMIT", read_xpushare },
};

/* Copies the name of an environment entry, which is the text before '='. */
static void name_of(const char *entry, char ret[64])
{
        text_quote(entry, ret, 64);
        if (strchr(ret, '='))
                *strchr(ret, '=') = '\0';
}

/* Whether the entry is NAME=... or begins with NAME_. */
static bool is_indexed(const char *entry, const char *name)
{
        size_t stem = strlen(name);

        return strchr(entry, '=') && strncmp(entry, name, stem) == 0 &&
               (entry[stem] == '=' || entry[stem] == '_');
}

/* Adds the rule of an entry NAME=VALUE or NAME_i=VALUE. An empty value adds no rule if the variable
 * may be empty. */
static int add_indexed(const char *entry, const struct indexed_name *indexed,
                       struct settings_rules *rules, struct error *err)
{
        const size_t stem = strlen(indexed->name);
        char origin[64] = "";
        struct said said = { origin, strchr(entry, '=') + 1 };
        struct size size = { 0 };
        const char *selector;
        int rc;

        if (!said.value[0] && names_may_be_empty(indexed->name))
                return 0;
        name_of(entry, origin);
        selector = origin[stem] ? origin + stem + 1 : "";
        if (origin[stem] && (!selector[0] || strspn(selector, "0123456789") != strlen(selector)))
                rc = fail(err, -EINVAL, "expected an index behind %s_", indexed->name);
        else
                rc = indexed->parse(said.value, &size, err);
        if (rc == 0)
                rc = rules_add(rules, selector, &size, err);
        if (rc < 0)
                said_wrap(&said, err);
        return rc;
}

int rules_read_indexed(const struct reading *reading, const struct indexed_name *indexed,
                       struct settings_rules *ret, struct error *err)
{
        struct settings_rules rules = *ret;

        for (char *const *at = reading->environment; at && *at; at++) {
                int rc =
                        is_indexed(*at, indexed->name) ? add_indexed(*at, indexed, &rules, err) : 0;

                if (rc < 0)
                        return rc;
        }
        /* if the only rule is for one GPU, the origin is NAME_i */
        text_put(rules.origin, sizeof(rules.origin), NULL,
                 rules.count == 1 && rules.rule[0].selector[0] ? "%s_%s" : "%s", indexed->name,
                 rules.rule[0].selector);
        *ret = rules;
        return 0;
}

static int parse_binary(const char *text, struct size *ret, struct error *err)
{
        return bytes_parse_binary(text, &ret->bytes, err);
}

/* Reads a number, with or without decimals, and the letter of a binary unit. vgpu-manager ignores
 * all letters after the first, so "2g", "2GB" and "2GiB" are the same. */
static int parse_iec(const char *text, struct size *ret, struct error *err)
{
        static const char *const endings[] = { "", "b", "ib" };
        size_t digits = strspn(text, "0123456789.");
        bool has_unit = digits && text[digits] && strchr("kmgt", text_lower(text[digits]));
        bool is_good = digits && !text[digits];
        char spelled[64];

        for (unsigned i = 0; i < 3 && has_unit; i++)
                is_good |= text_is_same(text + digits + 1, endings[i]);
        if (!is_good || digits + 2 > sizeof(spelled))
                return fail(err, -EINVAL, "expected bytes, or a number with k, m, g or t (binary)");
        memcpy(spelled, text, digits + has_unit);
        spelled[digits + has_unit] = '\0';
        return size_parse(spelled, ret, err);
}

static bool is_same_wish(const struct settings_rules *a, const struct settings_rules *b)
{
        if (a->count != b->count)
                return false;
        for (unsigned i = 0; i < a->count; i++) {
                if (strcmp(a->rule[i].selector, b->rule[i].selector) != 0 ||
                    !size_is_same(&a->rule[i].size, &b->rule[i].size))
                        return false;
        }
        return true;
}

int rules_merge(struct settings_rules *into, const struct settings_rules *wish, const char *what,
                const char *variable, struct error *err)
{
        if (!wish->count)
                return 0;
        if (!into->count) {
                *into = *wish;
                return 0;
        }
        if (is_same_wish(into, wish))
                return 0;
        return fail(err, -EINVAL,
                    "%s and %s ask for different %s; keep one of them, or say it with %s",
                    into->origin, wish->origin, what, variable);
}

int aliases_read_memory(const struct reading *reading, struct settings_rules *ret,
                        struct error *err)
{
        static const struct indexed_name indexed[] = {
                { "CUDA_DEVICE_MEMORY_LIMIT", parse_binary },
                { "CUDA_MEM_LIMIT", parse_iec },
        };
        const size_t count = sizeof(memory_aliases) / sizeof(memory_aliases[0]);
        struct settings_rules all = { 0 };
        struct settings_rules wish = { 0 };
        int rc = rules_read_indexed(reading, &indexed[0], &all, err);

        if (rc == 0)
                rc = rules_read_indexed(reading, &indexed[1], &wish, err);
        if (rc == 0)
                rc = rules_merge(&all, &wish, "memory limits", "ALIQUOT_MEMORY", err);

        for (size_t i = 0; rc == 0 && i < count; i++) {
                struct said said;

                if (!reading_variable(reading, memory_aliases[i].name, &said))
                        continue;
                wish = (struct settings_rules){ 0 };
                rc = memory_aliases[i].read(&said, &wish, err);
                if (rc < 0) {
                        said_wrap(&said, err);
                        return rc;
                }
                text_quote(said.origin, wish.origin, sizeof(wish.origin));
                rc = rules_merge(&all, &wish, "memory limits", "ALIQUOT_MEMORY", err);
        }
        if (rc < 0)
                return rc;
        if (!all.count)
                return -ENOENT;
        *ret = all;
        return 0;
}

#define SOCKET_NAME "/aliquotd.sock"
#define SESSION_SOCKET_NAME "/socket"

static bool is_session_socket(const char *path)
{
        const char *name = strrchr(path, '/');

        return path[0] == '/' && strcmp(name, SESSION_SOCKET_NAME) == 0;
}

int aliases_read_socket(const struct reading *reading, struct said *ret)
{
        if (!reading_variable(reading, "GPUSLICE_IPC_SOCK", ret) || !is_session_socket(ret->value))
                return -ENOENT;
        return 0;
}

int aliases_read_folder(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                        struct error *err)
{
        struct said said;
        const char *name;

        if (!reading_variable(reading, "GPUSLICE_IPC_SOCK", &said) || is_session_socket(said.value))
                return -ENOENT;
        name = strrchr(said.value, '/');
        if (said.value[0] != '/' || name == said.value || strcmp(name, SOCKET_NAME) != 0 ||
            strlen(said.value) + 128 > SETTINGS_PATH_BYTES) {
                fail(err, -EINVAL,
                     "expected the absolute path of a daemon's aliquotd.sock, or of a "
                     "session's socket");
                said_wrap(&said, err);
                return -EINVAL;
        }
        memcpy(ret, said.value, (size_t)(name - said.value));
        ret[name - said.value] = '\0';
        return 0;
}

/* Converts vcuda's log levels, trace to critical, to ours. */
static bool parse_foreign_level(const char *text, enum log_level *ret)
{
        if (text_is_same(text, "trace")) {
                *ret = LOG_DEBUG;
                return true;
        }
        if (text_is_same(text, "critical") || text_is_same(text, "err")) {
                *ret = LOG_ERROR;
                return true;
        }
        if (text_is_same(text, "warning")) {
                *ret = LOG_WARN;
                return true;
        }
        return log_level_parse(text, ret);
}

/* Reads where the log goes: stderr, file[:PATH] or null. Standard output is replaced by standard
 * error, since the program uses standard output itself. */
static int parse_sink(const struct reading *reading, const char *sink, struct log_config *config,
                      struct error *err)
{
        struct said file = { NULL, "vcuda-hook.log" };
        const char *path;

        if (text_is_same(sink, "null") || text_is_same(sink, "none")) {
                config->level = LOG_OFF;
                return 0;
        }
        if (text_is_same(sink, "stderr") || text_is_same(sink, "stdout") ||
            text_is_same(sink, "console"))
                return 0;
        if (!text_begins(sink, "file") || (sink[4] && sink[4] != ':'))
                return fail(err, -EINVAL, "expected stderr, stdout, null or file:PATH");
        reading_variable(reading, "VCUDA_LOG_FILE", &file);
        path = sink[4] && sink[5] ? sink + 5 : file.value;
        if (strlen(path) >= sizeof(config->path))
                return fail(err, -ENAMETOOLONG, "expected a path of at most %zu characters",
                            sizeof(config->path) - 1);
        memcpy(config->path, path, strlen(path) + 1);
        return 0;
}

int aliases_read_log(const struct reading *reading, struct log_config *ret, struct error *err)
{
        struct log_config config = { 0 };
        struct said level, sink, debug;
        bool has_level = reading_variable(reading, "VCUDA_LOG_LEVEL", &level) && level.value[0];
        bool has_sink = reading_variable(reading, "VCUDA_LOG_SINK", &sink) && sink.value[0];

        if (has_level || has_sink)
                config.level = LOG_INFO;
        else if (reading_variable(reading, "GPUSLICE_DEBUG", &debug) && debug.value[0] &&
                 strcmp(debug.value, "0") != 0)
                config.level = LOG_DEBUG;
        if (has_level && !parse_foreign_level(level.value, &config.level)) {
                fail(err, -EINVAL, "expected trace, debug, info, warn, error, critical or off");
                said_wrap(&level, err);
                return -EINVAL;
        }
        if (has_sink && parse_sink(reading, sink.value, &config, err) < 0) {
                said_wrap(&sink, err);
                return -EINVAL;
        }
        *ret = config;
        return 0;
}
