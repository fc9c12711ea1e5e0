/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config_policy.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/units.h"

#define SECTION "policy"
#define SECTION_BYTES 49u /* inih truncates a section's name to less than this */
#define ANY "any"
#define MILLI 1000u
/* sum over all cards, in percent of one card */
#define CARDS_PERCENT_MAX (UINT64_C(100) * POLICY_CARDS_MAX)
#define WEIGHT_MAX 10000u
#define SESSIONS_A_USER_MAX 4096u
#define UUID_DIGITS 32u

#define MEMORY_EXPECTED "a size such as 8GiB, a percentage of the largest card, or any"

const struct config_policy_key config_policy_keys[POLICY_KEYS] = {
        { POLICY_MEMORY, "any", NULL, MEMORY_EXPECTED,
          "The most memory of one session, on all its GPUs" },
        { POLICY_MEMORY_IN_ALL, "100%", NULL, MEMORY_EXPECTED,
          "The most memory of all sessions of one user together" },
        { POLICY_COMPUTE, "100%", NULL, "1% to 100%",
          "The highest cap of GPU time of a session; who names none gets this one" },
        { POLICY_GUARANTEE_IN_ALL, "25%", NULL, "0% to 1600%, or any",
          "The most guarantee of all sessions of one user together, in percent of one GPU" },
        { POLICY_WEIGHT, "100", NULL, "a whole number, 1 to 10000",
          "The highest weight of a session" },
        { POLICY_PRIORITY, "normal", NULL, "batch, normal or rt",
          "The highest class of a session" },
        { POLICY_GPUS, "any", NULL,
          "any, or beginnings of UUIDs such as GPU-7d0e, separated by commas",
          "The GPUs of sessions" },
        { POLICY_SWAP, "yes", NULL, "yes or no",
          "Sessions may swap: take turns with their memory on a full GPU" },
        { POLICY_SESSIONS, NULL, "admission.sessions_per_owner",
          "a whole number, 0 to 4096, or any", "The most sessions of one user" },
        { POLICY_TTL, NULL, "admission.ttl_most", "a duration such as 30s or 1h30m, or any",
          "The longest TTL of a session" },
};

static const char *const priorities[] = { "batch", "normal", "rt" };

const struct config_policy_key *config_policy_find(const char *name)
{
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                if (strcmp(policy_key_name(config_policy_keys[i].key), name) == 0)
                        return &config_policy_keys[i];
        }
        return NULL;
}

const struct config_policy_key *config_policy_of(enum policy_key key)
{
        unsigned i = 0;

        while (config_policy_keys[i].key != key)
                i++;
        return &config_policy_keys[i];
}

void config_policy_init(struct policy *ret)
{
        memset(ret, 0, sizeof(*ret));
        ret->count = 1;
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                if (config_policy_keys[i].standard)
                        config_policy_parse(&config_policy_keys[i], config_policy_keys[i].standard,
                                            &ret->rule[0]);
        }
}

/* -- Sections --------------------------------------------------------------------------------- */

bool config_policy_is_section(const char *section)
{
        size_t bytes = strlen(SECTION);

        return strncmp(section, SECTION, bytes) == 0 &&
               (section[bytes] == '\0' || section[bytes] == ' ');
}

static bool read_number(const char *text, uint64_t most, uint64_t *ret)
{
        char *end;

        if (!text_is_digit(text[0]) || strlen(text) > 10)
                return false;
        *ret = strtoull(text, &end, 10);
        return !*end && *ret <= most;
}

static int find_user(const char *name, uint32_t *ret, struct error *err)
{
        uint64_t number;
        const struct passwd *user;

        if (read_number(name, UINT32_MAX - 1, &number)) {
                *ret = (uint32_t)number;
                return 0;
        }
        user = getpwnam(name);
        if (!user)
                return fail(err, -ENOENT, "there is no user %s", text_shown(name));
        *ret = user->pw_uid;
        return 0;
}

static int find_group(const char *name, uint32_t *ret, struct error *err)
{
        uint64_t number;
        const struct group *group;

        if (read_number(name, UINT32_MAX - 1, &number)) {
                *ret = (uint32_t)number;
                return 0;
        }
        group = getgrnam(name);
        if (!group)
                return fail(err, -ENOENT, "there is no group %s", text_shown(name));
        *ret = group->gr_gid;
        return 0;
}

static bool is_kind(enum policy_kind kind, const char *word, size_t bytes)
{
        const char *name = policy_kind_name(kind);

        return strlen(name) == bytes && strncmp(name, word, bytes) == 0;
}

/* Reads a section such as "policy user anna". */
static int read_section(const char *section, struct policy_rule *ret, struct error *err)
{
        const char *at = section + strlen(SECTION);
        unsigned kind = POLICY_GROUP;
        size_t bytes;

        at += strspn(at, " ");
        if (!*at)
                return 0;
        bytes = strcspn(at, " ");
        while (kind < POLICY_KINDS && !is_kind((enum policy_kind)kind, at, bytes))
                kind++;
        at += bytes;
        at += strspn(at, " ");
        if (kind == POLICY_KINDS || !*at || strchr(at, ' '))
                return fail(err, -EINVAL,
                            "expected [policy], or [policy user NAME], [policy group NAME] or "
                            "[policy profile NAME]");
        if (strlen(section) >= SECTION_BYTES ||
            text_put(ret->name, sizeof(ret->name), NULL, "%s", at) < 0)
                return fail(err, -EINVAL,
                            "the name is too long; of a user or group, say its "
                            "number");
        ret->kind = (enum policy_kind)kind;
        if (kind == POLICY_USER)
                return find_user(at, &ret->id, err);
        return kind == POLICY_GROUP ? find_group(at, &ret->id, err) : 0;
}

struct policy_rule *config_policy_rule(struct policy *policy, const char *section,
                                       struct error *err)
{
        struct policy_rule wanted = { .kind = POLICY_EVERYBODY };

        if (read_section(section, &wanted, err) < 0)
                return NULL;
        for (unsigned i = 0; i < policy->count; i++) {
                struct policy_rule *rule = &policy->rule[i];

                if (rule->kind == wanted.kind && strcmp(rule->name, wanted.name) == 0)
                        return rule;
        }
        if (policy->count == POLICY_RULES_MAX) {
                fail(err, -ENOSPC, "there are more than %u sections of policy", POLICY_RULES_MAX);
                return NULL;
        }
        policy->rule[policy->count] = wanted;
        return &policy->rule[policy->count++];
}

const char *config_policy_section(const struct policy_rule *rule,
                                  char ret[CONFIG_POLICY_NAME_BYTES])
{
        if (rule->kind == POLICY_EVERYBODY)
                snprintf(ret, CONFIG_POLICY_NAME_BYTES, SECTION);
        else
                snprintf(ret, CONFIG_POLICY_NAME_BYTES, SECTION " %s %s",
                         policy_kind_name(rule->kind), rule->name);
        return ret;
}

/* -- Values ----------------------------------------------------------------------------------- */

static bool read_percent(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
        char number[16];
        size_t bytes = strlen(text);

        if (bytes < 2 || bytes > sizeof(number) || text[bytes - 1] != '%')
                return false;
        memcpy(number, text, bytes - 1);
        number[bytes - 1] = '\0';
        return read_number(number, most, ret) && *ret >= least;
}

static bool read_memory(const char *text, struct policy_rule *rule, enum policy_key key,
                        uint64_t *ret)
{
        struct size size;

        rule->of_card &= ~(UINT32_C(1) << key);
        if (strchr(text, '%')) {
                rule->of_card |= UINT32_C(1) << key;
                return read_percent(text, 0, CARDS_PERCENT_MAX, ret);
        }
        *ret = 0;
        if (strcmp(text, "0") == 0)
                return true;
        if (size_parse(text, &size, NULL) < 0 || !size.bytes)
                return false;
        *ret = size.bytes;
        return true;
}

static bool read_word(const char *text, const char *const *words, unsigned count, uint64_t *ret)
{
        for (unsigned i = 0; i < count; i++) {
                if (strcmp(text, words[i]) == 0) {
                        *ret = i;
                        return true;
                }
        }
        return false;
}

static bool put_digit(struct policy_gpu *gpu, char digit)
{
        uint8_t value;

        if (!text_is_hex(digit) || gpu->digits == UUID_DIGITS)
                return false;
        value = (uint8_t)(text_is_digit(digit) ? digit - '0' : text_lower(digit) - 'a' + 10);
        gpu->uuid[gpu->digits / 2] |= (uint8_t)(gpu->digits % 2 ? value : value << 4);
        gpu->digits++;
        return true;
}

/* Reads a UUID prefix such as "GPU-7d0e", of any length. Dashes are ignored. */
static bool read_gpu(const char *text, size_t bytes, struct policy_gpu *ret)
{
        static const char prefix[] = "GPU-";

        *ret = (struct policy_gpu){ 0 };
        if (bytes < strlen(prefix) || strncmp(text, prefix, strlen(prefix)) != 0)
                return false;
        for (size_t i = strlen(prefix); i < bytes; i++) {
                if (text[i] != '-' && !put_digit(ret, text[i]))
                        return false;
        }
        return ret->digits > 0;
}

static bool read_gpus(const char *text, struct policy_rule *rule)
{
        rule->gpu_count = 0;
        for (const char *at = text; *at; at += strspn(at, ", ")) {
                size_t bytes = strcspn(at, ", ");

                if (rule->gpu_count == POLICY_CARDS_MAX ||
                    !read_gpu(at, bytes, &rule->gpu[rule->gpu_count]))
                        return false;
                rule->gpu_count++;
                at += bytes;
        }
        return rule->gpu_count > 0;
}

static bool read_amount(enum policy_key key, const char *text, struct policy_rule *rule,
                        uint64_t *ret)
{
        static const char *const switches[] = { "no", "yes" };

        switch (key) {
        case POLICY_GPUS:
                return read_gpus(text, rule);
        case POLICY_MEMORY:
        case POLICY_MEMORY_IN_ALL:
                return read_memory(text, rule, key, ret);
        case POLICY_COMPUTE:
                return read_percent(text, 1, 100, ret) && (*ret *= MILLI);
        case POLICY_GUARANTEE_IN_ALL:
                if (!read_percent(text, 0, CARDS_PERCENT_MAX, ret))
                        return false;
                *ret *= MILLI;
                return true;
        case POLICY_WEIGHT:
                return read_number(text, WEIGHT_MAX, ret) && *ret;
        case POLICY_PRIORITY:
                return read_word(text, priorities, 3, ret);
        case POLICY_SESSIONS:
                return read_number(text, SESSIONS_A_USER_MAX, ret);
        case POLICY_TTL:
                return duration_parse(text, ret, NULL) == 0;
        case POLICY_SWAP:
                return read_word(text, switches, 2, ret);
        default:
                return false;
        }
}

/* Whether a key may have the value "any". The others have a maximum that means the same. */
static bool may_be_any(enum policy_key key)
{
        return key != POLICY_COMPUTE && key != POLICY_WEIGHT && key != POLICY_PRIORITY &&
               key != POLICY_SWAP;
}

int config_policy_parse(const struct config_policy_key *key, const char *text,
                        struct policy_rule *rule)
{
        struct policy_rule read = *rule;
        uint64_t *most = &read.most[key->key];

        if (strcmp(text, ANY) == 0 && may_be_any(key->key)) {
                *most = POLICY_ANY;
                read.of_card &= ~(UINT32_C(1) << key->key);
                if (key->key == POLICY_GPUS)
                        read.gpu_count = 0;
        } else if (!read_amount(key->key, text, &read, most)) {
                return -EINVAL;
        }
        read.said |= UINT32_C(1) << key->key;
        *rule = read;
        return 0;
}

/* Adds the value in the largest unit of which it is a multiple. */
static void add_scaled(struct text *text, uint64_t value, const char *const *units,
                       const uint64_t *factors)
{
        while (*factors > 1 && value % *factors) {
                factors++;
                units++;
        }
        text_add(text, "%llu%s", (unsigned long long)(value / *factors), *units);
}

static void add_size(struct text *text, uint64_t bytes)
{
        static const char *const units[] = { "TiB", "GiB", "MiB", "KiB", "" };
        static const uint64_t factors[] = { UINT64_C(1) << 40, UINT64_C(1) << 30, UINT64_C(1) << 20,
                                            UINT64_C(1) << 10, 1 };

        if (bytes)
                add_scaled(text, bytes, units, factors);
        else
                text_add(text, "0");
}

static void add_time(struct text *text, uint64_t ns)
{
        static const char *const units[] = { "d", "h", "m", "s", "ms", "us", "ns" };
        static const uint64_t factors[] = { UINT64_C(86400000000000),
                                            UINT64_C(3600000000000),
                                            UINT64_C(60000000000),
                                            UINT64_C(1000000000),
                                            UINT64_C(1000000),
                                            UINT64_C(1000),
                                            1 };

        add_scaled(text, ns, units, factors);
}

const char *config_policy_amount(enum policy_key key, uint64_t amount,
                                 char ret[CONFIG_POLICY_TEXT_BYTES])
{
        struct text text;

        text_begin(&text, ret, CONFIG_POLICY_TEXT_BYTES);
        if (amount == POLICY_ANY)
                text_add(&text, ANY);
        else if (key == POLICY_MEMORY || key == POLICY_MEMORY_IN_ALL)
                add_size(&text, amount);
        else if (key == POLICY_COMPUTE || key == POLICY_GUARANTEE_IN_ALL)
                text_add(&text, "%g%%", (double)amount / MILLI);
        else if (key == POLICY_TTL)
                add_time(&text, amount);
        else if (key == POLICY_PRIORITY)
                text_add(&text, "%s", priorities[amount % 3]);
        else if (key == POLICY_SWAP)
                text_add(&text, "%s", amount ? "yes" : "no");
        else
                text_add(&text, "%llu", (unsigned long long)amount);
        return ret;
}

/* Adds the UUID prefix with its dashes. */
static void add_gpu(struct text *text, const struct policy_gpu *gpu)
{
        text_add(text, "GPU-");
        for (unsigned i = 0; i < gpu->digits; i++) {
                unsigned byte = gpu->uuid[i / 2];

                text_add(text, "%s%x", i == 8 || i == 12 || i == 16 || i == 20 ? "-" : "",
                         i % 2 ? byte & 15 : byte >> 4);
        }
}

const char *config_policy_format(const struct config_policy_key *key,
                                 const struct policy_rule *rule, char ret[CONFIG_POLICY_TEXT_BYTES])
{
        struct text text;

        text_begin(&text, ret, CONFIG_POLICY_TEXT_BYTES);
        if (key->key == POLICY_GPUS && !rule->gpu_count)
                text_add(&text, ANY);
        for (unsigned i = 0; key->key == POLICY_GPUS && i < rule->gpu_count; i++) {
                text_add(&text, "%s", i ? ", " : "");
                add_gpu(&text, &rule->gpu[i]);
        }
        if (key->key == POLICY_GPUS)
                return ret;
        if (rule->of_card & UINT32_C(1) << key->key) {
                text_add(&text, "%llu%%", (unsigned long long)rule->most[key->key]);
                return ret;
        }
        return config_policy_amount(key->key, rule->most[key->key], ret);
}

/* -- Printing --------------------------------------------------------------------------------- */

static void print_everybody(FILE *stream, const struct policy_rule *rule)
{
        char value[CONFIG_POLICY_TEXT_BYTES];

        fputs("\n# What users may take; root and the daemon's own user may take anything. The same "
              "keys, and\n# sessions and ttl, in [policy user NAME], [policy group NAME] and "
              "[policy profile NAME].\n[policy]\n",
              stream);
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                const struct config_policy_key *key = &config_policy_keys[i];

                if (!key->standard)
                        continue;
                config_policy_format(key, rule, value);
                fprintf(stream, "\n# %s.\n# %s\n%s%s = %s\n", key->meaning, key->expected,
                        strcmp(value, key->standard) == 0 ? "#" : "", policy_key_name(key->key),
                        value);
        }
}

void config_policy_print(FILE *stream, const struct policy *policy)
{
        char value[CONFIG_POLICY_TEXT_BYTES], section[CONFIG_POLICY_NAME_BYTES];

        print_everybody(stream, &policy->rule[0]);
        for (unsigned i = 1; i < policy->count; i++) {
                const struct policy_rule *rule = &policy->rule[i];

                fprintf(stream, "\n[%s]\n", config_policy_section(rule, section));
                for (unsigned j = 0; j < POLICY_KEYS; j++) {
                        const struct config_policy_key *key = &config_policy_keys[j];

                        if (rule->said & UINT32_C(1) << key->key)
                                fprintf(stream, "%s = %s\n", policy_key_name(key->key),
                                        config_policy_format(key, rule, value));
                }
        }
}
