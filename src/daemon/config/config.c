/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, checks, reloads and prints the configuration. inih parses the file; take_line() gives it
 * the lines, and counts them.
 */
#include "daemon/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/address.h"
#include "daemon/base/owner.h"
#include "daemon/config/config_keys.h"
#include "daemon/config/config_policy.h"

#define EXPECTED_BYTES 256u

/* A file that is being read. */
struct config_reading {
        struct config *config;
        struct config_report *report;
        const char *name;
        const char *at, *end;
        unsigned line;
        int rc;
        uint64_t said; /* keys that were read; one bit per key */
        /* keys that were read of each rule; one bit per key */
        uint32_t rule_said[POLICY_RULES_MAX];
};

/* Adds a mistake to the report; returns -EINVAL. */
static int complain(struct config_report *report, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static int complain(struct config_report *report, const char *format, ...)
{
        size_t used = strlen(report->text);
        size_t room = sizeof(report->text) - used;
        va_list args;
        int length;

        report->count++;
        va_start(args, format);
        length = vsnprintf(report->text + used, room, format, args);
        va_end(args);
        /* A line that does not fit is left out as a whole; `count` includes it. */
        if (length < 0 || (size_t)length + 2 > room)
                report->text[used] = '\0';
        else
                memcpy(report->text + used + length, "\n", 2);
        return -EINVAL;
}

int config_report_add(struct config_report *report, const char *mistake)
{
        return complain(report, "%s", mistake);
}

void config_init(struct config *ret)
{
        memset(ret, 0, sizeof(*ret));
        for (size_t i = 0; i < config_key_count; i++)
                config_key_parse(&config_keys[i], config_keys[i].standard, ret);
        config_policy_init(&ret->rules);
}

static const struct config_key *find_key(const char *key)
{
        char section[CONFIG_NAME_BYTES];
        const char *dot = strchr(key, '.');

        if (!dot || text_put(section, sizeof(section), NULL, "%.*s", (int)(dot - key), key) < 0)
                return NULL;
        return config_key_find(section, dot + 1);
}

const char *config_place(const struct config *config, const char *key, char ret[CONFIG_PLACE_BYTES])
{
        const struct config_places *places = &config->places;
        const struct config_key *found = find_key(key);
        size_t at = found ? (size_t)(found - config_keys) : 0;

        ret[0] = '\0';
        if (found && places->other[at])
                snprintf(ret, CONFIG_PLACE_BYTES, "%s: ", places->other[at]);
        else if (found && places->line[at])
                snprintf(ret, CONFIG_PLACE_BYTES, "%s:%u: ", places->file, places->line[at]);
        return ret;
}

bool config_was_refused(const struct config *config, const char *key)
{
        const struct config_key *found = find_key(key);

        return found && config->places.refused & UINT64_C(1) << (found - config_keys);
}

static int set_key(struct config *config, const struct config_key *key, const char *value,
                   const char *origin, struct config_report *report)
{
        const char *now = config_key_now(key, value);
        char expected[EXPECTED_BYTES];

        if (now) {
                complain(report,
                         "%s: %s.%s = %s: warning: this is a word of older versions, read as %s",
                         origin, key->section, key->name, value, now);
                value = now;
        }
        if (config_key_parse(key, value, config) == 0) {
                config->places.refused &= ~(UINT64_C(1) << (key - config_keys));
                return 0;
        }
        config->places.refused |= UINT64_C(1) << (key - config_keys);
        return complain(report, "%s: %s.%s = %s: expected %s", origin, key->section, key->name,
                        text_shown(value), config_key_expected(key, expected, sizeof(expected)));
}

int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct config_report *report)
{
        const struct config_key *found = find_key(key);

        if (!found)
                return complain(report, "%s: there is no key %s", origin, text_shown(key));
        config->places.other[found - config_keys] = origin;
        return set_key(config, found, value, origin, report);
}

static bool has_section(const char *section)
{
        for (size_t i = 0; i < config_key_count; i++) {
                if (strcmp(config_keys[i].section, section) == 0)
                        return true;
        }
        return false;
}

static void list_keys(const char *section, struct text *text)
{
        for (size_t i = 0; i < config_key_count; i++) {
                if (strcmp(config_keys[i].section, section) == 0)
                        text_add(text, "%s%s", text->used ? ", " : "", config_keys[i].name);
        }
}

static void list_sections(struct text *text)
{
        const char *before = "";

        for (size_t i = 0; i < config_key_count; i++) {
                if (strcmp(config_keys[i].section, before) != 0)
                        text_add(text, "%s[%s]", text->used ? ", " : "", config_keys[i].section);
                before = config_keys[i].section;
        }
        text_add(text, ", [policy]");
}

/* Lists the valid names: the keys of the section, or the sections if it does not exist. */
static void list_known(const char *section, char *ret, size_t bytes)
{
        struct text text;

        text_begin(&text, ret, bytes);
        if (has_section(section))
                list_keys(section, &text);
        else
                list_sections(&text);
}

/* -- Policy ----------------------------------------------------------------------------------- */

static void list_policy_keys(const struct policy_rule *rule, char *ret, size_t bytes)
{
        struct text text;

        text_begin(&text, ret, bytes);
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                if (config_policy_keys[i].standard || rule->kind != POLICY_EVERYBODY)
                        text_add(&text, "%s%s", text.used ? ", " : "",
                                 policy_key_name(config_policy_keys[i].key));
        }
}

/* Finds a key that the rule may have. NULL: it may not, which was reported. */
static const struct config_policy_key *policy_key(const struct config_reading *reading,
                                                  const struct policy_rule *rule, const char *name)
{
        const struct config_policy_key *key = config_policy_find(name);
        char section[CONFIG_POLICY_NAME_BYTES], known[512];

        config_policy_section(rule, section);
        list_policy_keys(rule, known, sizeof(known));
        if (!key)
                complain(reading->report, "%s:%u: [%s] %s: no such key; expected one of %s",
                         reading->name, reading->line, text_shown(section), text_shown(name),
                         known);
        else if (!key->standard && rule->kind == POLICY_EVERYBODY)
                complain(reading->report, "%s:%u: [%s] %s: of everybody this is said by %s",
                         reading->name, reading->line, section, name, key->instead);
        else
                return key;
        return NULL;
}

static int take_policy(struct config_reading *reading, const char *section, const char *name,
                       const char *value)
{
        struct policy *rules = &reading->config->rules;
        const struct config_policy_key *key;
        struct policy_rule *rule;
        uint32_t *said, bit;
        struct error err = { 0 };

        rule = config_policy_rule(rules, section, &err);
        if (!rule)
                return complain(reading->report, "%s:%u: [%s]: %s", reading->name, reading->line,
                                text_shown(section), err.text);
        key = policy_key(reading, rule, name);
        if (!key)
                return -EINVAL;
        said = &reading->rule_said[rule - rules->rule];
        bit = UINT32_C(1) << key->key;
        if (*said & bit)
                return complain(reading->report, "%s:%u: [%s] %s = %s: is said a second time",
                                reading->name, reading->line, text_shown(section), name,
                                text_shown(value));
        *said |= bit;
        if (config_policy_parse(key, value, rule) == 0)
                return 0;
        return complain(reading->report, "%s:%u: [%s] %s = %s: expected %s", reading->name,
                        reading->line, text_shown(section), name, text_shown(value), key->expected);
}

/* -- Lines ------------------------------------------------------------------------------------ */

/* Tells inih to continue. Mistakes are noted here, because inih keeps only the first. */
#define GO_ON 1

static int take_key(struct config_reading *reading, const char *section, const char *name,
                    const char *value)
{
        const struct config_key *key = config_key_find(section, name);
        char origin[CONFIG_PATH_BYTES + 16], known[512];
        uint64_t bit;
        int rc = 0;

        snprintf(origin, sizeof(origin), "%s:%u", reading->name, reading->line);
        if (!key) {
                list_known(section, known, sizeof(known));
                rc = complain(reading->report, "%s: [%s] %s = %s: no such key; expected one of %s",
                              origin, text_shown(section), text_shown(name), text_shown(value),
                              known);
        } else {
                bit = UINT64_C(1) << (key - config_keys);
                if (reading->said & bit)
                        rc = complain(reading->report, "%s: %s.%s = %s: is said a second time",
                                      origin, section, name, text_shown(value));
                else
                        rc = set_key(reading->config, key, value, origin, reading->report);
                reading->said |= bit;
                reading->config->places.line[key - config_keys] = reading->line;
                reading->config->places.other[key - config_keys] = NULL;
        }
        return rc;
}

static int take_value(void *context, const char *section, const char *name, const char *value)
{
        struct config_reading *reading = context;
        int rc = config_policy_is_section(section) ? take_policy(reading, section, name, value)
                                                   : take_key(reading, section, name, value);

        if (rc < 0)
                reading->rc = rc;
        return GO_ON;
}

/* Returns the next line, like fgets(). A line that does not fit is a mistake, and is returned
 * empty. */
static char *take_line(char *ret, int room, void *context)
{
        struct config_reading *reading = context;
        const char *newline = memchr(reading->at, '\n', (size_t)(reading->end - reading->at));
        const char *next = newline ? newline + 1 : reading->end;
        size_t length = (size_t)(next - reading->at);

        if (reading->at == reading->end)
                return NULL;
        reading->line++;
        if (length >= (size_t)room) {
                reading->rc = complain(reading->report, "%s:%u: is longer than %d characters",
                                       reading->name, reading->line, room - 2);
                ret[0] = '\0';
        } else {
                memcpy(ret, reading->at, length);
                ret[length] = '\0';
        }
        reading->at = next;
        return ret;
}

int config_read_text(struct config *config, const char *name, const char *text, size_t length,
                     struct config_report *report)
{
        struct config_reading reading = { .config = config, .report = report, .name = name };
        int line;

        if (memchr(text, '\0', length))
                return complain(report, "%s: is not a text: it holds a NUL character", name);
        text_put(config->places.file, sizeof(config->places.file), NULL, "%s", name);
        reading.at = text;
        reading.end = text + length;
        line = ini_parse_stream(take_line, &reading, take_value, &reading);
        if (line > 0)
                return complain(report, "%s:%d: expected [section], key = value, or a # comment",
                                name, line);
        if (line < 0)
                return complain(report, "%s: no memory to read it", name);
        return reading.rc;
}

static int check_file(int fd, const char *path, struct config_report *report)
{
        struct error err;
        struct stat st;

        if (fstat(fd, &st) < 0)
                return complain(report, "%s: %m", path);
        if (!S_ISREG(st.st_mode))
                return complain(report, "%s: is not a plain file", path);
        if (owner_check(&st, path, &err) < 0)
                return complain(report, "%s", err.text);
        if (st.st_mode & 022)
                return complain(report, "%s: can be written by others (mode %04o), expected 0644",
                                path, st.st_mode & 07777);
        if (st.st_size > (off_t)CONFIG_FILE_MAX)
                return complain(report, "%s: has more than %u bytes", path, CONFIG_FILE_MAX);
        return 0;
}

int config_read_file(struct config *config, const char *path, struct config_report *report)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        char text[CONFIG_FILE_MAX];
        ssize_t length;
        int rc;

        if (fd < 0)
                return complain(report, "%s: %m", path);
        rc = check_file(fd, path, report);
        if (rc < 0)
                return rc;
        length = read(fd, text, CONFIG_FILE_MAX);
        if (length < 0)
                return complain(report, "%s: %m", path);
        return config_read_text(config, path, text, (size_t)length, report);
}

/* Reports a key whose value is valid by itself but not with other keys. */
static int complain_of(const struct config *config, const char *key, const char *why,
                       struct config_report *report)
{
        char place[CONFIG_PLACE_BYTES], value[CONFIG_PATH_BYTES];

        return complain(report, "%s%s = %s: %s", config_place(config, key, place), key,
                        text_shown(config_key_format(find_key(key), config, value, sizeof(value))),
                        why);
}

static int check_address(const struct config *config, struct config_report *report)
{
        struct address address;

        if (!config->http_address[0] || address_parse(config->http_address, &address, NULL) < 0 ||
            address_is_loopback(&address))
                return 0;
        if (!config->is_remote_allowed)
                return complain_of(config, "http.address",
                                   "other machines could reach it; expected a loopback address, "
                                   "or http.allow_remote = yes",
                                   report);
        if (!config->is_token_required)
                return complain_of(config, "http.address",
                                   "with http.allow_remote, expected http.token_file, and "
                                   "http.token_required = yes",
                                   report);
        return 0;
}

/* Whether a path is not set, and nobody tried to set it to an invalid value. */
static bool is_missing(const struct config *config, const char *file, const char *key)
{
        return !file[0] && !config_was_refused(config, key);
}

int config_check(const struct config *config, struct config_report *report)
{
        const struct sessions_policy *policy = &config->policy;
        /* as in the environment of GPU Slice's server: an empty value means that there is no
         * token */
        const char *token = getenv("GPUSLICE_IPC_TOKEN");
        int rc = check_address(config, report);

        if (config->is_token_required && is_missing(config, config->token_file, "http.token_file"))
                rc = complain_of(config, "http.token_required", "expected http.token_file as well",
                                 report);
        if (config->is_join_token_required && !(token && token[0]) &&
            is_missing(config, config->join_token_file, "join.token_file"))
                rc = complain_of(config, "join.token_required",
                                 "expected join.token_file as well, or GPUSLICE_IPC_TOKEN", report);
        if (policy->ttl_max_ns && policy->ttl_ns > policy->ttl_max_ns)
                rc = complain_of(config, "admission.ttl", "is longer than admission.ttl_most",
                                 report);
        return rc;
}

int config_reload(struct config *config, const struct config *fresh, struct config_report *report)
{
        char now[CONFIG_PATH_BYTES], wanted[CONFIG_PATH_BYTES];
        int kept = 0;

        for (size_t i = 0; i < config_key_count; i++) {
                const struct config_key *key = &config_keys[i];

                if (key->is_reloadable) {
                        config_key_copy(key, fresh, config);
                } else if (!config_key_is_same(key, fresh, config)) {
                        complain(report, "%s.%s stays '%s' until a restart; the file says '%s'",
                                 key->section, key->name,
                                 text_shown(config_key_format(key, config, now, sizeof(now))),
                                 text_shown(config_key_format(key, fresh, wanted, sizeof(wanted))));
                        kept++;
                }
        }
        config->rules = fresh->rules;
        config->places = fresh->places;
        return kept;
}

void config_print(FILE *stream, const struct config *config)
{
        struct config standard;
        char value[CONFIG_PATH_BYTES], expected[EXPECTED_BYTES];
        const char *section = "";

        config_init(&standard);
        fputs("# aliquotd: every key. A line in a comment shows the default.\n"
              "# \"restart\": a change is not taken by a reload (SIGHUP).\n",
              stream);
        for (size_t i = 0; i < config_key_count; i++) {
                const struct config_key *key = &config_keys[i];

                if (strcmp(key->section, section) != 0)
                        fprintf(stream, "\n[%s]\n", key->section);
                section = key->section;
                fprintf(stream, "\n# %s.\n# %s%s\n", key->meaning,
                        config_key_expected(key, expected, sizeof(expected)),
                        key->is_reloadable ? "" : "; restart");
                config_key_format(key, config, value, sizeof(value));
                fprintf(stream, "%s%s =%s%s\n",
                        config_key_is_same(key, config, &standard) ? "#" : "", key->name,
                        value[0] ? " " : "", value);
        }
        config_policy_print(stream, &config->rules);
}
