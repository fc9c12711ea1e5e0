/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads settings in this order: log, misspelled names, unsupported features, session, limits, the
 * rest.
 *
 * A variable that is set but empty is refused like any other malformed value (except those for the
 * log and the runtime folder). Usually a script set it from another variable that was missing, so a
 * limit was meant, and the program must not run without one.
 */
#include "settings/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/uuid.h"
#include "settings/reading.h"

bool reading_variable(const struct reading *reading, const char *name, struct said *ret)
{
        size_t length = strlen(name);

        for (char *const *at = reading->environment; at && *at; at++) {
                if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
                        *ret = (struct said){ name, *at + length + 1 };
                        return true;
                }
        }
        return false;
}

bool reading_find(const struct reading *reading, const char *name, struct said *ret)
{
        const struct settings_flag *flag = reading->flags;

        for (; flag && flag->variable; flag++) {
                if (flag->value && strcmp(flag->variable, name) == 0) {
                        *ret = (struct said){ flag->flag, flag->value };
                        return true;
                }
        }
        return reading_variable(reading, name, ret);
}

void said_wrap(const struct said *said, struct error *err)
{
        wrap(err, said->origin[0] == '-' ? "%s %s" : "%s=%s", said->origin,
             text_shown(said->value));
}

/* Orders selectors as strcmp() does strings: the default first, then indices as numbers, then UUIDs
 * as text. */
static int compare_selectors(const char *a, const char *b)
{
        bool a_is_index = text_is_digit(a[0]) && !strpbrk(a, "abcdef-");
        bool b_is_index = text_is_digit(b[0]) && !strpbrk(b, "abcdef-");

        if (!a[0] || !b[0])
                return (a[0] != 0) - (b[0] != 0);
        if (a_is_index != b_is_index)
                return a_is_index ? -1 : 1;
        if (a_is_index && strlen(a) != strlen(b))
                return strlen(a) < strlen(b) ? -1 : 1;
        return strcmp(a, b);
}

/* Checks a selector and writes its normal form: "007" becomes "7", "gpu-ABC" becomes "GPU-abc". */
static int normalise_selector(const char *given, char ret[SETTINGS_SELECTOR_BYTES],
                              struct error *err)
{
        size_t at = 0;

        if (strspn(given, "0123456789") == strlen(given)) {
                while (given[0] == '0' && given[1])
                        given++;
                if (!given[0] || strlen(given) > 4)
                        return fail(err, -EINVAL, "'%s' is no GPU; expected an index or a UUID",
                                    text_shown(given));
        } else if (!uuid_is_prefix(given)) {
                return fail(err, -EINVAL,
                            "'%s' is no GPU; expected an index or (the beginning of) a UUID",
                            text_shown(given));
        }
        for (; given[at]; at++)
                ret[at] = text_lower(given[at]);
        ret[at] = '\0';
        if (text_begins(ret, "gpu-"))
                memcpy(ret, "GPU", 3);
        else if (text_begins(ret, "mig-"))
                memcpy(ret, "MIG", 3);
        return 0;
}

int rules_add(struct settings_rules *rules, const char *selector, const struct size *size,
              struct error *err)
{
        struct settings_rule rule = { .size = *size };
        unsigned at = 0;
        int order = -1;
        int rc = selector[0] ? normalise_selector(selector, rule.selector, err) : 0;

        if (rc < 0)
                return rc;
        for (; at < rules->count; at++) {
                order = compare_selectors(rule.selector, rules->rule[at].selector);
                if (order <= 0)
                        break;
        }
        if (at < rules->count && order == 0)
                return rule.selector[0] ? fail(err, -EINVAL, "GPU %s is named twice", rule.selector)
                                        : fail(err, -EINVAL,
                                               "two limits without a GPU; expected one (with "
                                               "a point before decimals), or GPU=... each");
        if (rules->count == SETTINGS_RULES)
                return fail(err, -E2BIG, "more than %u limits", SETTINGS_RULES);
        memmove(&rules->rule[at + 1], &rules->rule[at],
                (rules->count - at) * sizeof(rules->rule[0]));
        rules->rule[at] = rule;
        rules->count++;
        return 0;
}

/* Adds the rule of one item: "4GiB" or "GPU=4GiB". */
static int add_item(struct settings_rules *rules, const char *item, const struct rule_value *value,
                    struct error *err)
{
        char selector[SETTINGS_SELECTOR_BYTES] = "";
        const char *equals = strchr(item, '=');
        struct size size = { 0 };
        int rc;

        if (equals) {
                if (equals == item || (size_t)(equals - item) >= sizeof(selector))
                        return fail(err, -EINVAL, "'%s' names no GPU; expected GPU=%s",
                                    text_shown(item), value->word);
                memcpy(selector, item, (size_t)(equals - item));
        }
        rc = value->parse(equals ? equals + 1 : item, &size, err);
        return rc < 0 ? rc : rules_add(rules, selector, &size, err);
}

int rules_parse(const struct said *said, const struct rule_value *value, struct settings_rules *ret,
                struct error *err)
{
        struct settings_rules rules = { 0 };
        const char *at = said->value;
        int rc = 0;

        while (rc == 0 && at) {
                char item[128] = "";
                size_t length = strcspn(at, ",");

                if (length >= sizeof(item))
                        rc = fail(err, -EINVAL, "an item of %zu characters; expected GPU=%s",
                                  length, value->word);
                else
                        rc = add_item(&rules, memcpy(item, at, length), value, err);
                at = at[length] ? at + length + 1 : NULL;
        }
        if (rc < 0) {
                said_wrap(said, err);
                return rc;
        }
        text_quote(said->origin, rules.origin, sizeof(rules.origin));
        *ret = rules;
        return 0;
}

static int read_memory(const struct reading *reading, struct settings_rules *ret, struct error *err)
{
        static const struct rule_value size = { size_parse, "SIZE" };
        static const struct rule_value typed = { size_parse_typed, "SIZE" };
        struct said said;
        int rc;

        if (reading_find(reading, "ALIQUOT_MEMORY", &said)) {
                rc = rules_parse(&said, &size, ret, err);
                /* A flag is parsed again, with the stricter size_parse_typed(). size_parse() comes
                 * first since it has a better message for "1,5GiB". */
                return rc == 0 && said.origin[0] == '-' ? rules_parse(&said, &typed, ret, err) : rc;
        }
        rc = aliases_read_memory(reading, ret, err);
        return rc == -ENOENT ? 0 : rc;
}

int settings_check_name(const char *origin, const char *name, struct error *err)
{
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789._-";
        size_t length = strlen(name);

        if (length && length < PAGE_NAME_BYTES && name[0] != '.' && name[0] != '-' &&
            strspn(name, allowed) == length)
                return 0;
        return fail(err, -EINVAL,
                    "%s=%s: expected a session name: 1 to %u letters, digits, dots, dashes or "
                    "underscores, no dot or dash first",
                    origin, text_shown(name), PAGE_NAME_BYTES - 1);
}

static int read_session(const struct reading *reading, struct settings *into, struct error *err)
{
        struct said said;
        int rc;

        if (!reading_find(reading, "ALIQUOT_SESSION", &said) &&
            !reading_variable(reading, "GPUSLICE_SESSION", &said))
                return 0;
        rc = settings_check_name(said.origin, said.value, err);
        if (rc < 0)
                return rc;
        memcpy(into->session, said.value, strlen(said.value) + 1);
        return text_put(into->session_origin, sizeof(into->session_origin), err, "%s", said.origin);
}

/* Checks that a socket variable may be set. A program joins the session of that socket. A command
 * refuses the variable, since it would make another session, or join one through the runtime
 * folder, unless --session or --memory overrides the socket. */
static int check_socket(const struct reading *reading, struct error *err)
{
        static const char *const stronger[] = { "ALIQUOT_SESSION", "ALIQUOT_MEMORY" };
        struct said said;

        for (unsigned i = 0; i < 2; i++) {
                if (reading_find(reading, stronger[i], &said) && said.origin[0] == '-')
                        return 0;
        }
        return reading->is_alone
                       ? 0
                       : fail(err, -EINVAL,
                              "programs join that session by themselves: start it without this "
                              "command, or say --session or --memory for another");
}

static int read_socket(const struct reading *reading, struct settings *into, struct error *err)
{
        struct said said;
        int rc = 0;

        if (!reading_variable(reading, "ALIQUOT_SESSION_SOCKET", &said)) {
                rc = aliases_read_socket(reading, &said);
                if (rc == -ENOENT)
                        return 0;
        }
        if (said.value[0] != '/' || strlen(said.value) >= sizeof(into->socket))
                rc = fail(err, -EINVAL, "expected the absolute path of a session's socket");
        if (rc == 0)
                rc = check_socket(reading, err);
        if (rc < 0) {
                said_wrap(&said, err);
                return rc;
        }
        if (reading->is_alone)
                memcpy(into->socket, said.value, strlen(said.value) + 1);
        return 0;
}

/* Reads the join token. Error messages must not contain it. */
static int read_token(const struct reading *reading, char ret[SETTINGS_TOKEN_BYTES],
                      struct error *err)
{
        struct said said;
        size_t length;

        if (!reading_variable(reading, "ALIQUOT_JOIN_TOKEN", &said) &&
            !reading_variable(reading, "GPUSLICE_IPC_TOKEN", &said))
                return 0;
        length = strlen(said.value);
        if (length >= SETTINGS_TOKEN_BYTES)
                return fail(err, -EINVAL, "%s: %zu characters; expected at most %u", said.origin,
                            length, SETTINGS_TOKEN_BYTES - 1);
        memcpy(ret, said.value, length + 1);
        return 0;
}

static int read_context(const struct reading *reading, bool *ret_is_free, struct error *err)
{
        struct said said;

        if (!reading_find(reading, "ALIQUOT_CONTEXT", &said))
                return 0;
        if (!text_is_same(said.value, "free") && !text_is_same(said.value, "charge")) {
                fail(err, -EINVAL, "expected charge or free");
                said_wrap(&said, err);
                return -EINVAL;
        }
        *ret_is_free = text_is_same(said.value, "free");
        return 0;
}

/* Checks the name for the card: it has no control characters, since it is shown in other
 * people's terminals. */
static int check_device_name(const char *name, struct error *err)
{
        size_t length = strlen(name);

        if (!length || length >= sizeof(((struct settings *)0)->device_name))
                return fail(err, -EINVAL, "expected a name of 1 to %zu characters",
                            sizeof(((struct settings *)0)->device_name) - 1);
        for (const char *at = name; *at; at++) {
                if ((unsigned char)*at < ' ' || *at == 0x7f)
                        return fail(err, -EINVAL, "expected a name without control characters");
        }
        return 0;
}

static int read_device_name(const struct reading *reading, struct settings *into, struct error *err)
{
        struct said said;

        if (!reading_find(reading, "ALIQUOT_DEVICE_NAME", &said) &&
            !reading_variable(reading, "VCUDA_DEVICE_NAME", &said))
                return 0;
        if (check_device_name(said.value, err) < 0) {
                said_wrap(&said, err);
                return -EINVAL;
        }
        memcpy(into->device_name, said.value, strlen(said.value) + 1);
        return 0;
}

/* Checks a list of GPU selectors: each is well formed, and none is named twice. */
static int check_selectors(const char *list, struct error *err)
{
        struct settings_rules seen = { 0 };
        struct size any = { .bytes = 1 };

        while (list) {
                char item[SETTINGS_SELECTOR_BYTES] = "";
                size_t length = strcspn(list, ",");
                int rc;

                if (!length || length >= sizeof(item))
                        return fail(err, -EINVAL, "expected indices or UUIDs, as in 0,2 or GPU-3f");
                rc = rules_add(&seen, memcpy(item, list, length), &any, err);
                if (rc < 0)
                        return rc;
                list = list[length] ? list + length + 1 : NULL;
        }
        return 0;
}

static int read_gpu(const struct reading *reading, char ret[SETTINGS_GPU_BYTES], struct error *err)
{
        struct said said;
        int rc;

        if (!reading_find(reading, "ALIQUOT_GPU", &said))
                return 0;
        if (strlen(said.value) >= SETTINGS_GPU_BYTES)
                rc = fail(err, -E2BIG, "more than %u characters", SETTINGS_GPU_BYTES - 1);
        else
                rc = check_selectors(said.value, err);
        if (rc < 0) {
                said_wrap(&said, err);
                return rc;
        }
        memcpy(ret, said.value, strlen(said.value) + 1);
        return 0;
}

static int read_ttl(const struct reading *reading, struct settings *into, struct error *err)
{
        uint64_t ttl_ns = 0;
        struct said said;
        int rc;

        if (!reading_find(reading, "ALIQUOT_TTL", &said) &&
            !reading_variable(reading, "GPUSLICE_DEFAULT_TTL", &said))
                return 0;
        if (text_is_same(said.value, "none"))
                rc = 0;
        else if (duration_parse(said.value, &ttl_ns, NULL) < 0)
                rc = fail(err, -EINVAL, "expected a duration such as 30m, or none");
        else
                rc = reading->is_alone ? fail(err, -ENOTSUP,
                                              "only a daemon ends sessions; expected none, or "
                                              "aliquot run --ttl, which asks one")
                                       : 0;
        if (rc < 0) {
                said_wrap(&said, err);
                return rc;
        }
        into->has_ttl = true;
        into->ttl_ns = ttl_ns;
        return 0;
}

static int read_runtime_dir(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                            struct error *err)
{
        struct said said;
        int rc;

        if (!reading_find(reading, "ALIQUOT_RUNTIME_DIR", &said) || !said.value[0]) {
                rc = aliases_read_folder(reading, ret, err);
                return rc == -ENOENT ? 0 : rc;
        }
        /* The 128 characters are for /sessions/NAME/slots behind the folder. */
        if (said.value[0] != '/' || strlen(said.value) + 128 > SETTINGS_PATH_BYTES) {
                fail(err, -EINVAL, "expected an absolute path of at most %u characters",
                     SETTINGS_PATH_BYTES - 128);
                said_wrap(&said, err);
                return -EINVAL;
        }
        memcpy(ret, said.value, strlen(said.value) + 1);
        return 0;
}

static int read_log(const struct reading *reading, struct log_config *ret, struct error *err)
{
        struct said level, file;
        bool has_level = reading_find(reading, "ALIQUOT_LOG", &level) && level.value[0];
        bool has_file = reading_find(reading, "ALIQUOT_LOG_FILE", &file) && file.value[0];

        if (!has_level && !has_file)
                return aliases_read_log(reading, ret, err);
        ret->level = LOG_INFO;
        if (has_level && !log_level_parse(level.value, &ret->level)) {
                fail(err, -EINVAL, "expected error, warn, info, debug or off");
                said_wrap(&level, err);
                return -EINVAL;
        }
        if (has_file && strlen(file.value) >= sizeof(ret->path)) {
                fail(err, -EINVAL, "expected a path of at most %zu characters",
                     sizeof(ret->path) - 1);
                said_wrap(&file, err);
                return -EINVAL;
        }
        if (has_file)
                memcpy(ret->path, file.value, strlen(file.value) + 1);
        return 0;
}

static int read_all(const struct reading *reading, struct settings *into, struct error *err)
{
        int rc = read_log(reading, &into->log, err);

        if (rc == 0)
                rc = typos_check(reading, err);
        if (rc == 0)
                rc = features_check(reading, err);
        if (rc == 0)
                rc = read_session(reading, into, err);
        if (rc == 0)
                rc = read_socket(reading, into, err);
        if (rc == 0)
                rc = read_token(reading, into->token, err);
        if (rc == 0)
                rc = read_memory(reading, &into->memory, err);
        if (rc == 0)
                rc = compute_read(reading, &into->compute, err);
        if (rc == 0)
                rc = rank_read(reading, &into->rank, err);
        if (rc == 0)
                rc = oversubscribe_read(reading, &into->host_bytes, err);
        if (rc == 0)
                rc = swap_read(reading, into, err);
        if (rc == 0)
                rc = read_gpu(reading, into->gpu, err);
        if (rc == 0)
                rc = read_context(reading, &into->is_context_free, err);
        if (rc == 0)
                rc = read_device_name(reading, into, err);
        if (rc == 0)
                rc = read_ttl(reading, into, err);
        if (rc == 0)
                rc = read_runtime_dir(reading, into->runtime_dir, err);
        return rc;
}

static int read_settings(const struct reading *reading, struct settings *ret, struct error *err)
{
        struct settings settings = { 0 };
        int rc = read_all(reading, &settings, err);

        if (rc < 0)
                return rc;
        settings.is_asked = settings.session[0] || settings.socket[0] || settings.memory.count ||
                            settings.compute.count || settings.device_name[0] ||
                            settings.host_bytes || settings.swaps;
        if (settings.is_asked)
                rc = features_check_off(reading, err);
        if (rc == 0)
                rc = swap_check_alone(reading, &settings, err);
        if (rc < 0)
                return rc;
        *ret = settings;
        return 0;
}

int settings_read_flags(struct settings *ret, char *const *environment,
                        const struct settings_flag *flags, struct error *err)
{
        return read_settings(&(struct reading){ .environment = environment, .flags = flags }, ret,
                             err);
}

int settings_read(struct settings *ret, char *const *environment, struct error *err)
{
        return read_settings(&(struct reading){ .environment = environment, .is_alone = true }, ret,
                             err);
}

void settings_read_given(struct settings *ret, const char *socket, char *const *environment)
{
        const struct reading reading = { .environment = environment, .is_alone = true };
        struct settings settings = { .is_asked = true };

        if (read_log(&reading, &settings.log, NULL) < 0)
                settings.log = (struct log_config){ 0 };
        if (read_token(&reading, settings.token, NULL) < 0)
                settings.token[0] = '\0';
        text_put(settings.socket, sizeof(settings.socket), NULL, "%s", socket);
        *ret = settings;
}

int settings_read_folder(char *const *environment, char ret[SETTINGS_PATH_BYTES], struct error *err)
{
        const struct reading reading = { .environment = environment };
        int rc = typos_check_folder(&reading, err);

        ret[0] = '\0';
        return rc < 0 ? rc : read_runtime_dir(&reading, ret, err);
}
