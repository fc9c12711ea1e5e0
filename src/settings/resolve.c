/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the rules for the GPUs of a machine, writes the canonical text of the limits, and
 * derives the session's name from it.
 */
#include "settings/resolve.h"

#include <errno.h>
#include <string.h>

#include "common/hash.h"
#include "common/text.h"
#include "common/uuid.h"
#include "settings/settings.h"

void settings_spell(const struct settings_rules *rules, struct text *text)
{
        char shown[SIZE_TEXT_BYTES];

        for (unsigned i = 0; i < rules->count; i++) {
                const struct settings_rule *rule = &rules->rule[i];

                text_add(text, "%s%s%s%s", i ? "," : "", rule->selector,
                         rule->selector[0] ? "=" : "", size_canonical(&rule->size, shown));
        }
}

/* Whether every compute rule is 100 %. Such rules set no cap, and are left out of the
 * canonical text. */
static bool is_whole(const struct settings_rules *compute)
{
        for (unsigned i = 0; i < compute->count; i++) {
                if (compute->rule[i].size.micro_percent != SIZE_MICRO_PERCENT_MAX)
                        return false;
        }
        return true;
}

static void add_host(struct text *text, uint64_t bytes)
{
        char shown[SIZE_TEXT_BYTES];

        if (bytes == SETTINGS_HOST_SPARE)
                text_add(text, ";oversubscribe=yes");
        else if (bytes)
                text_add(text, ";oversubscribe=%s",
                         size_canonical(&(struct size){ .bytes = bytes }, shown));
}

int settings_canonical(const struct settings *settings, char ret[SETTINGS_CANONICAL_BYTES],
                       struct error *err)
{
        char line[SETTINGS_CANONICAL_BYTES];
        struct text text;

        text_begin(&text, line, sizeof(line));
        text_add(&text, "memory=%s", settings->memory.count ? "" : "card");
        settings_spell(&settings->memory, &text);
        if (!is_whole(&settings->compute)) {
                text_add(&text, ";compute=");
                settings_spell(&settings->compute, &text);
        }
        add_host(&text, settings->host_bytes);
        if (settings->swaps)
                text_add(&text, ";swap=yes");
        if (settings->is_context_free)
                text_add(&text, ";context=free");
        if (settings->device_name[0])
                text_add(&text, ";name=%s", settings->device_name);
        if (text.is_cut)
                return fail(err, -E2BIG,
                            "%s: the limits of a session take more than %u characters; use "
                            "indices or fewer rules",
                            settings->memory.origin, SETTINGS_CANONICAL_BYTES - 1);
        memcpy(ret, line, text.used + 1);
        return 0;
}

int settings_name(const struct settings *settings, uint32_t uid, char ret[PAGE_NAME_BYTES],
                  struct error *err)
{
        char canonical[SETTINGS_CANONICAL_BYTES];
        uint64_t hash;
        int rc;

        if (settings->session[0]) {
                memcpy(ret, settings->session, strlen(settings->session) + 1);
                return 0;
        }
        rc = settings_canonical(settings, canonical, err);
        if (rc < 0)
                return rc;
        /* Different limits with the same hash still cannot share a session, because its page stores
         * the canonical text, which is compared. */
        hash = hash_bytes(HASH_BASIS, &uid, sizeof(uid));
        hash = hash_bytes(hash, canonical, strlen(canonical));
        return text_put(ret, PAGE_NAME_BYTES, err, SETTINGS_HASH_STEM "%016llx",
                        (unsigned long long)hash);
}

static bool is_index(const char *selector)
{
        return strspn(selector, "0123456789") == strlen(selector);
}

/* Fails with a message that lists the known GPUs. */
static int fail_unknown(const char *selector, const struct settings_gpus *gpus, struct error *err)
{
        char known[320];
        char uuid[UUID_TEXT_BYTES];
        struct text text;
        unsigned index = 0;

        text_begin(&text, known, sizeof(known));
        for (int i = 0; i < gpus->count; i++) {
                const struct settings_gpu *gpu = &gpus->gpu[i];

                text_add(&text, "%s", i ? ", " : "");
                if (!gpu->is_instance)
                        text_add(&text, "%u = ", index++);
                text_add(&text, "%s", uuid_format(gpu->uuid, gpu->is_instance, uuid));
        }
        return fail(err, -ENODEV, "there is no GPU '%s' here; there %s %s%s", selector,
                    gpus->count == 1 ? "is" : "are", gpus->count > 0 ? known : "none",
                    text.is_cut ? " ..." : "");
}

/* Returns the index in gpus->gpu of the GPU with this physical index. */
static int find_index(const char *selector, const struct settings_gpus *gpus, struct error *err)
{
        unsigned wanted = 0, index = 0;

        for (const char *at = selector; *at; at++)
                wanted = wanted * 10 + (unsigned)(*at - '0');
        for (int i = 0; i < gpus->count; i++) {
                if (!gpus->gpu[i].is_instance && index++ == wanted)
                        return i;
        }
        return fail_unknown(selector, gpus, err);
}

/* Returns the index in gpus->gpu of the GPU that the selector names; fails if none or
 * several match. */
static int find_gpu(const char *selector, const struct settings_gpus *gpus, struct error *err)
{
        char first[UUID_TEXT_BYTES], second[UUID_TEXT_BYTES];
        int found = -1;

        if (is_index(selector))
                return find_index(selector, gpus, err);
        for (int i = 0; i < gpus->count; i++) {
                const struct settings_gpu *gpu = &gpus->gpu[i];

                if (!uuid_matches(gpu->uuid, gpu->is_instance, selector))
                        continue;
                if (found >= 0)
                        return fail(err, -ENOTUNIQ, "'%s' could be %s or %s; write more of it",
                                    selector,
                                    uuid_format(gpus->gpu[found].uuid, gpus->gpu[found].is_instance,
                                                first),
                                    uuid_format(gpu->uuid, gpu->is_instance, second));
                found = i;
        }
        return found >= 0 ? found : fail_unknown(selector, gpus, err);
}

/* Sets rule_of[i] to the index of the rule that names GPU i; -1: no rule names it. */
static int assign(const struct settings_rules *rules, const struct settings_gpus *gpus,
                  int rule_of[SETTINGS_GPUS], struct error *err)
{
        for (int i = 0; i < gpus->count; i++)
                rule_of[i] = -1;
        for (unsigned i = 0; i < rules->count; i++) {
                const struct settings_rule *rule = &rules->rule[i];
                const struct settings_rule *before;
                int at;

                if (!rule->selector[0])
                        continue;
                at = find_gpu(rule->selector, gpus, err);
                if (at < 0)
                        return at;
                before = rule_of[at] >= 0 ? &rules->rule[rule_of[at]] : NULL;
                if (before && !(rules->may_repeat && size_is_same(&before->size, &rule->size)))
                        return fail(err, -EINVAL, "'%s' and '%s' are the same GPU",
                                    before->selector, rule->selector);
                rule_of[at] = (int)i;
        }
        return 0;
}

static const struct settings_rule *default_rule(const struct settings_rules *rules)
{
        /* the rules are sorted: the default is first */
        return rules->count && !rules->rule[0].selector[0] ? &rules->rule[0] : NULL;
}

static uint32_t ppm_of(const struct settings_rule *rule)
{
        return rule ? rule->size.micro_percent / MICRO_PERCENT_A_PPM : PAGE_WHOLE_PPM;
}

/* The rules for memory, or those for compute, and for each GPU the index of the rule that names it
 * (-1: none). */
struct assigned {
        const struct settings_rules *rules;
        int rule_of[SETTINGS_GPUS];
};

static const struct settings_rule *rule_for(const struct assigned *assigned, int gpu)
{
        int at = assigned->rule_of[gpu];

        return at >= 0 ? &assigned->rules->rule[at] : default_rule(assigned->rules);
}

struct assignment {
        struct assigned memory, compute;
};

/* Whether a memory or compute rule names the GPU. */
static bool has_own_rule(const struct assignment *assignment, int gpu)
{
        return assignment->memory.rule_of[gpu] >= 0 || assignment->compute.rule_of[gpu] >= 0;
}

static int add_gpu(struct settings_limits *limits, const struct settings_gpus *gpus, int at,
                   const struct assignment *assignment, struct error *err)
{
        const struct settings_gpu *gpu = &gpus->gpu[at];
        const struct settings_rule *memory = rule_for(&assignment->memory, at);
        struct settings_limit limit = { .limit_bytes = PAGE_UNLIMITED,
                                        .card_bytes = gpu->card_bytes };
        char shown[UUID_TEXT_BYTES];
        int rc = 0;

        memcpy(limit.uuid, gpu->uuid, sizeof(limit.uuid));
        limit.is_named = assignment->memory.rule_of[at] >= 0;
        limit.is_cap_named = assignment->compute.rule_of[at] >= 0;
        limit.cap_ppm = ppm_of(rule_for(&assignment->compute, at));
        if (memory)
                rc = size_resolve(&memory->size, gpu->card_bytes, &limit.limit_bytes, err);
        if (rc < 0) {
                wrap(err, "GPU %s", uuid_format(gpu->uuid, gpu->is_instance, shown));
                return rc;
        }
        if (limits->count < PAGE_DEVICES)
                limits->device[limits->count++] = limit;
        return 0;
}

/* Adds the limits of all GPUs. If there are more than PAGE_DEVICES, pass 0 adds those that a rule
 * names, and pass 1 adds others while there is room. */
static int add_gpus(const struct assignment *assignment, const struct settings_gpus *gpus,
                    struct settings_limits *limits, struct error *err)
{
        bool is_crowded = gpus->count > (int)PAGE_DEVICES;
        int rc = 0;

        for (int pass = is_crowded ? 0 : 1; rc == 0 && pass < 2; pass++) {
                for (int i = 0; rc == 0 && i < gpus->count; i++) {
                        bool is_named = has_own_rule(assignment, i);

                        if (is_crowded && is_named != (pass == 0))
                                continue;
                        if (is_named && limits->count == PAGE_DEVICES)
                                return fail(err, -E2BIG, "more than %u GPUs with a limit",
                                            PAGE_DEVICES);
                        rc = add_gpu(limits, gpus, i, assignment, err);
                }
        }
        return rc;
}

bool settings_names_gpus(const struct settings_rules *rules)
{
        return rules->count > (default_rule(rules) ? 1u : 0u);
}

static int assign_all(const struct settings *settings, const struct settings_gpus *gpus,
                      struct assignment *ret, struct error *err)
{
        struct assigned *const all[] = { &ret->memory, &ret->compute };
        int rc = 0;

        ret->memory.rules = &settings->memory;
        ret->compute.rules = &settings->compute;
        for (unsigned i = 0; rc == 0 && i < 2; i++) {
                const struct settings_rules *rules = all[i]->rules;

                if (gpus->count < 0 && settings_names_gpus(rules))
                        rc = fail(err, -ENODEV,
                                  "which GPUs this machine has could not be told, so a limit for "
                                  "one of them cannot be set");
                if (rc == 0)
                        rc = assign(rules, gpus, all[i]->rule_of, err);
                if (rc < 0)
                        wrap(err, "%s", rules->origin[0] ? rules->origin : "limits");
        }
        return rc;
}

int settings_resolve(const struct settings *settings, const struct settings_gpus *gpus,
                     struct settings_limits *ret, struct error *err)
{
        const struct settings_rule *rule = default_rule(&settings->memory);
        const struct settings_rule *cap = default_rule(&settings->compute);
        struct settings_limits limits = { .has_default = rule,
                                          .default_bytes = PAGE_UNLIMITED,
                                          .has_default_cap = cap,
                                          .default_cap_ppm = ppm_of(cap),
                                          .host_bytes = settings->host_bytes,
                                          .swaps = settings->swaps };
        struct assignment assignment;
        int rc = assign_all(settings, gpus, &assignment, err);

        if (rc < 0)
                return rc;
        if (rule && rule->size.bytes)
                limits.default_bytes = rule->size.bytes;
        if (rule)
                limits.default_micro_percent = rule->size.micro_percent;
        rc = add_gpus(&assignment, gpus, &limits, err);
        if (rc < 0) {
                wrap(err, "%s", settings->memory.origin[0] ? settings->memory.origin : "limits");
                return rc;
        }
        *ret = limits;
        return 0;
}

/* Whether a compute (`is_cap`) or memory rule names the GPU. */
static bool is_named(const struct settings_limits *limits, const uint8_t uuid[16], bool is_cap)
{
        for (unsigned i = 0; i < limits->count; i++) {
                const struct settings_limit *limit = &limits->device[i];

                if ((is_cap ? limit->is_cap_named : limit->is_named) &&
                    memcmp(limit->uuid, uuid, sizeof(limit->uuid)) == 0)
                        return true;
        }
        return false;
}

/* Turns "4 GiB" into "4GiB", the form that a user types. */
static void without_space(char *size)
{
        char *space = strchr(size, ' ');

        if (space)
                memmove(space, space + 1, strlen(space));
}

/* Checks the compute rules (`is_cap`) or the memory rules for settings_check_selected(). */
static int check_rules(const struct settings *settings, const struct settings_gpus *gpus,
                       const struct settings_selection *selection,
                       const struct settings_limits *limits, bool is_cap, struct error *err)
{
        const struct settings_rules *rules = is_cap ? &settings->compute : &settings->memory;
        char shown[SIZE_TEXT_BYTES], said[160];
        struct text text;

        if (!rules->count || default_rule(rules))
                return 0;
        for (unsigned i = 0; i < selection->count; i++) {
                if (is_named(limits, gpus->gpu[selection->at[i]].uuid, is_cap))
                        return 0;
        }
        text_begin(&text, said, sizeof(said));
        for (unsigned i = 0; i < rules->count; i++) {
                const struct settings_rule *rule = &rules->rule[i];

                if (rule->size.bytes)
                        size_format(rule->size.bytes, shown);
                else
                        size_canonical(&rule->size, shown);
                without_space(shown);
                text_add(&text, "%s%s=%s", i ? "," : "", rule->selector, shown);
        }
        return fail(err, -EINVAL,
                    "%s %s: limits none of the chosen GPUs (%s); expected a limit for all of them "
                    "or for one of those: an index is the physical one, as in aliquot gpus",
                    rules->origin[0] ? rules->origin : "limits", said, text_shown(settings->gpu));
}

int settings_check_selected(const struct settings *settings, const struct settings_gpus *gpus,
                            const struct settings_selection *selection,
                            const struct settings_limits *limits, struct error *err)
{
        int rc = 0;

        if (selection->count)
                rc = check_rules(settings, gpus, selection, limits, false, err);
        if (rc == 0 && selection->count)
                rc = check_rules(settings, gpus, selection, limits, true, err);
        return rc;
}

int settings_resolve_default(const struct settings_limits *limits, uint64_t card_bytes,
                             uint64_t *ret, struct error *err)
{
        struct size size = { .micro_percent = limits->default_micro_percent };

        if (!size.micro_percent && limits->default_bytes == PAGE_UNLIMITED) {
                *ret = PAGE_UNLIMITED;
                return 0;
        }
        if (!size.micro_percent)
                size.bytes = limits->default_bytes;
        return size_resolve(&size, card_bytes, ret, err);
}

/* Adds the GPU that `item`, an index or UUID, names to the selection. */
static int select_item(const char *item, const struct settings_gpus *gpus,
                       struct settings_selection *selection, struct error *err)
{
        int at;

        if (is_index(item) ? strlen(item) > 4 : !uuid_is_prefix(item))
                return fail(err, -EINVAL, "'%s' is no GPU; expected an index or a UUID",
                            text_shown(item));
        at = find_gpu(item, gpus, err);
        if (at < 0)
                return at;
        for (unsigned i = 0; i < selection->count; i++) {
                if (selection->at[i] == (unsigned)at)
                        return fail(err, -EINVAL, "'%s' names a GPU that stands before it",
                                    text_shown(item));
        }
        selection->at[selection->count++] = (unsigned)at;
        return 0;
}

int settings_select(const char *list, const struct settings_gpus *gpus,
                    struct settings_selection *ret, struct error *err)
{
        struct settings_selection selection = { 0 };
        int rc = 0;

        while (list && rc == 0) {
                char item[SETTINGS_SELECTOR_BYTES] = "";
                size_t length = strcspn(list, ",");

                if (!length || length >= sizeof(item))
                        return fail(err, -EINVAL, "expected indices or UUIDs, as in 0,2 or GPU-3f");
                memcpy(item, list, length);
                rc = select_item(item, gpus, &selection, err);
                list = list[length] ? list + length + 1 : NULL;
        }
        if (rc == 0)
                *ret = selection;
        return rc;
}
