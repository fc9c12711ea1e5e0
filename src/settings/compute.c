/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the caps on GPU time and the rank of a session, from our variables and those of other
 * systems.
 *
 *      ALIQUOT_COMPUTE, --compute      percent, or GPU=percent, ...; 0.1 to 100
 *      TENSOR_FUSION_CUDA_UP_LIMIT     {"GPU-...": percent, "0": percent}; 100 and more: no cap
 *      CUDA_DEVICE_SM_LIMIT[_i]        percent; 0, and 100 and more: no cap
 *      CUDA_CORE_LIMIT[_i]             percent; 0, and 100 and more: no cap (vgpu-manager 3d7f66d:
 *                                      library/src/util.c, get_core_limit())
 *      CUDA_CORE_SOFT_LIMIT[_i]        percent up to which a session may go beyond CUDA_CORE_LIMIT
 *                                      while the GPU has time left (loader.c,
 *                                      init_g_vgpu_config_by_env())
 *      CUDA_TASK_PRIORITY              0: high, 1: low, the usual value (HAMi-core 8f3a89c:
 *                                      multiprocess_memory_limit.c; HAMi's monitor holds up
 *                                      programs of low priority while one of high priority works)
 *      ALIQUOT_GUARANTEE, _WEIGHT, _PRIORITY, _GANG, and their flags
 *                                      the rank of a session among others
 *
 * A variable that asks for 100 % of every GPU sets no cap, and so asks for no session. A flag for
 * 100 % counts as a setting, since it may be meant to raise the cap of an existing session.
 */
#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "settings/reading.h"

/* Whether the share is in range and can be stored exactly; a share is never rounded. */
static bool is_share(uint32_t micro_percent)
{
        return micro_percent >= SETTINGS_SHARE_MIN_MICRO_PERCENT &&
               micro_percent % SETTINGS_SHARE_GRAIN_MICRO_PERCENT == 0;
}

static int parse_cap(const char *text, struct size *ret, struct error *err)
{
        if (text_is_same(text, "none")) {
                ret->micro_percent = SIZE_MICRO_PERCENT_MAX;
                return 0;
        }
        if (percent_parse(text, &ret->micro_percent, NULL) == 0 && is_share(ret->micro_percent))
                return 0;
        return fail(
                err, -EINVAL,
                "'%s' is no share; expected a percentage from 0.1 to 100 in at most 3 decimals, "
                "or none",
                text_shown(text));
}

static int put_percent(uint64_t number, struct size *ret, struct error *err)
{
        if (!number)
                return fail(err, -ERANGE, "0 is no share");
        ret->micro_percent = number < 100 ? (uint32_t)number * (SIZE_MICRO_PERCENT_MAX / 100)
                                          : SIZE_MICRO_PERCENT_MAX;
        return 0;
}

static int read_up_limit(const struct reading *reading, struct settings_rules *ret,
                         struct error *err)
{
        struct said said;
        int rc;

        if (!reading_variable(reading, "TENSOR_FUSION_CUDA_UP_LIMIT", &said))
                return 0;
        rc = rules_parse_json(said.value, put_percent, ret, err);
        if (rc < 0) {
                wrap(err, "expected JSON such as {\"0\": 50}");
                said_wrap(&said, err);
                return rc;
        }
        text_quote(said.origin, ret->origin, sizeof(ret->origin));
        return 0;
}

static int parse_sm_limit(const char *text, struct size *ret, struct error *err)
{
        uint64_t number = 0;
        size_t digits = strspn(text, "0123456789");

        if (!digits || text[digits] || digits > 9)
                return fail(err, -EINVAL, "expected a whole percentage");
        for (; *text; text++)
                number = number * 10 + (uint64_t)(*text - '0');
        return put_percent(number ? number : 100, ret, err);
}

/* vgpu-manager reads 0 as no soft limit. That is stored as 0, which is below every hard limit. */
static int parse_soft(const char *text, struct size *ret, struct error *err)
{
        int rc = parse_sm_limit(text, ret, err);

        if (rc == 0 && strspn(text, "0") == strlen(text))
                ret->micro_percent = 0;
        return rc;
}

/* Whether all rules are 100 %. */
static bool is_whole(const struct settings_rules *rules)
{
        for (unsigned i = 0; i < rules->count; i++) {
                if (rules->rule[i].size.micro_percent != SIZE_MICRO_PERCENT_MAX)
                        return false;
        }
        return true;
}

/* Returns the share that the rules give to the GPU `selector`, or `otherwise` if no rule
 * applies. */
static uint32_t find_share(const struct settings_rules *rules, const char *selector,
                           uint32_t otherwise)
{
        uint32_t share = otherwise;

        for (unsigned i = 0; i < rules->count; i++) {
                if (!rules->rule[i].selector[0] || strcmp(rules->rule[i].selector, selector) == 0)
                        /* the default rule is first, so a GPU's own rule overrides it */
                        share = rules->rule[i].size.micro_percent;
        }
        return share;
}

/* Refuses a soft limit above the hard one: it would promise a share, and more while the GPU has
 * time left. In Aliquot that takes a guarantee with a cap, which need a daemon. */
static int check_soft(const struct settings_rules *hard, const struct settings_rules *soft,
                      struct error *err)
{
        const struct settings_rules *both[] = { hard, soft };

        for (unsigned i = 0; i < 2; i++) {
                for (unsigned j = 0; j < both[i]->count; j++) {
                        const char *selector = both[i]->rule[j].selector;
                        uint32_t cap = find_share(hard, selector, SIZE_MICRO_PERCENT_MAX);

                        if (cap == SIZE_MICRO_PERCENT_MAX || find_share(soft, selector, 0) <= cap)
                                continue;
                        return fail(err, -ENOTSUP,
                                    "%s is more than %s: soft limits are not supported; expected "
                                    "one that is no more, or a daemon and --guarantee with "
                                    "--compute",
                                    soft->origin, hard->origin);
                }
        }
        return 0;
}

/* Reads the hard and the soft limits of vgpu-manager. */
static int read_cores(const struct reading *reading, struct settings_rules *ret, struct error *err)
{
        static const struct indexed_name hard = { "CUDA_CORE_LIMIT", parse_sm_limit };
        static const struct indexed_name soft = { "CUDA_CORE_SOFT_LIMIT", parse_soft };
        struct settings_rules softs = { 0 };
        int rc = rules_read_indexed(reading, &hard, ret, err);

        if (rc == 0)
                rc = rules_read_indexed(reading, &soft, &softs, err);
        return rc < 0 ? rc : check_soft(ret, &softs, err);
}

static int read_sm_limit(const struct reading *reading, struct settings_rules *ret,
                         struct error *err)
{
        static const struct indexed_name sm = { "CUDA_DEVICE_SM_LIMIT", parse_sm_limit };

        return rules_read_indexed(reading, &sm, ret, err);
}

static int read_others(const struct reading *reading, struct settings_rules *ret, struct error *err)
{
        static int (*const systems[])(const struct reading *reading, struct settings_rules *ret,
                                      struct error *err) = { read_sm_limit, read_cores,
                                                             read_up_limit };
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < sizeof(systems) / sizeof(systems[0]); i++) {
                struct settings_rules wish = { 0 };

                rc = systems[i](reading, &wish, err);
                if (rc == 0)
                        rc = rules_merge(ret, &wish, "shares of compute", "ALIQUOT_COMPUTE", err);
        }
        return rc;
}

int compute_read(const struct reading *reading, struct settings_rules *ret, struct error *err)
{
        static const struct rule_value cap = { parse_cap, "PERCENT" };
        struct settings_rules rules = { 0 };
        struct said said;
        int rc = reading_find(reading, "ALIQUOT_COMPUTE", &said)
                         ? rules_parse(&said, &cap, &rules, err)
                         : read_others(reading, &rules, err);

        if (rc < 0)
                return rc;
        if (is_whole(&rules) && rules.origin[0] != '-')
                rules.count = 0;
        *ret = rules;
        return 0;
}

/* -- Rank among sessions ---------------------------------------------------------------------- */

#define WEIGHT_MAX 10000u
#define WEIGHT_USUAL 100u

static int read_guarantee(const struct said *said, struct settings_rank *ret, struct error *err)
{
        ret->has_guarantee = true;
        if (text_is_same(said->value, "none"))
                return 0;
        if (percent_parse(said->value, &ret->guarantee_micro_percent, NULL) == 0 &&
            (!ret->guarantee_micro_percent || is_share(ret->guarantee_micro_percent)))
                return 0;
        return fail(err, -EINVAL,
                    "expected none, or a percentage from 0.1 to 100 in at most 3 decimals");
}

static int read_weight(const struct said *said, struct settings_rank *ret, struct error *err)
{
        size_t digits = strspn(said->value, "0123456789");

        for (size_t i = 0; i < digits && digits < 6; i++)
                ret->weight = ret->weight * 10 + (uint32_t)(said->value[i] - '0');
        if (!said->value[digits] && ret->weight >= 1 && ret->weight <= WEIGHT_MAX)
                return 0;
        return fail(err, -EINVAL, "expected a whole number from 1 to %u", WEIGHT_MAX);
}

static int read_priority(const struct said *said, struct settings_rank *ret, struct error *err)
{
        static const char *const words[] = { "rt", "normal", "batch" };

        for (unsigned i = 0; i < 3; i++) {
                if (text_is_same(said->value, words[i]))
                        memcpy(ret->priority, words[i], strlen(words[i]) + 1);
        }
        return ret->priority[0] ? 0 : fail(err, -EINVAL, "expected rt, normal or batch");
}

/* Reads CUDA_TASK_PRIORITY. 1 is the usual value, so it sets no priority. */
static int read_task_priority(const struct said *said, struct settings_rank *ret, struct error *err)
{
        if (strcmp(said->value, "0") == 0)
                memcpy(ret->priority, "rt", sizeof("rt"));
        else if (strcmp(said->value, "1") != 0)
                return fail(err, -EINVAL, "expected 0 (high: rt) or 1 (low: the usual)");
        return 0;
}

/* Reads the name of a gang; "none" removes the session from its gang. */
static int read_gang(const struct said *said, struct settings_rank *ret, struct error *err)
{
        ret->has_gang = true;
        if (text_is_same(said->value, "none"))
                return 0;
        if (settings_check_name("", said->value, NULL) < 0)
                return fail(err, -EINVAL,
                            "expected a name as sessions have, or none: 1 to %u letters, digits, "
                            "dots, dashes or underscores, no dot or dash first",
                            PAGE_NAME_BYTES - 1);
        memcpy(ret->gang, said->value, strlen(said->value) + 1);
        return 0;
}

/* Whether the rank is the default one, which needs no daemon. */
static bool is_usual(const struct settings_rank *rank)
{
        return !rank->guarantee_micro_percent && (!rank->weight || rank->weight == WEIGHT_USUAL) &&
               (!rank->priority[0] || strcmp(rank->priority, "normal") == 0) && !rank->gang[0];
}

int rank_read(const struct reading *reading, struct settings_rank *ret, struct error *err)
{
        static const struct {
                const char *name;
                int (*read)(const struct said *said, struct settings_rank *ret, struct error *err);
                const char *unless; /* variable that overrides this one if it is set; NULL: none */
        } words[] = { { "ALIQUOT_GUARANTEE", read_guarantee, NULL },
                      { "ALIQUOT_WEIGHT", read_weight, NULL },
                      { "ALIQUOT_PRIORITY", read_priority, NULL },
                      { "CUDA_TASK_PRIORITY", read_task_priority, "ALIQUOT_PRIORITY" },
                      { "ALIQUOT_GANG", read_gang, NULL } };
        struct settings_rank rank = { 0 };

        for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
                struct said said;
                int rc;

                if ((words[i].unless && reading_find(reading, words[i].unless, &said)) ||
                    !reading_find(reading, words[i].name, &said))
                        continue;
                rc = words[i].read(&said, &rank, err);
                if (rc == 0 && reading->is_alone && !is_usual(&rank))
                        rc = fail(
                                err, -ENOTSUP,
                                "guarantees, weights, priorities and gangs need a daemon; leave it "
                                "out, or use aliquot run, which asks one");
                if (rc < 0) {
                        said_wrap(&said, err);
                        return rc;
                }
        }
        *ret = rank;
        return 0;
}
