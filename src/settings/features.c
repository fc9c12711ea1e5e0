/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads switches for features: oversubscription, swap, and the variables of other systems for
 * features that Aliquot has or lacks.
 *
 * Each variable has values that ask for nothing, such as 0, which are accepted. Any other value is
 * granted if Aliquot has the feature, and otherwise refused, because a program that was promised a
 * feature must not run without it. Some variables turn another system's limits off. They are
 * ignored if no other setting asks for a limit, and refused if one does, because they contradict
 * it.
 */
#include "settings/reading.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

enum verdict { ASKS_NOTHING, ASKS, MALFORMED };

/* Reads yes or no in one of four spellings. */
static enum verdict judge_switch(const char *value)
{
        static const char *const off[] = { "0", "no", "off", "false" };
        static const char *const on[] = { "1", "yes", "on", "true" };

        for (unsigned i = 0; i < 4; i++) {
                if (text_is_same(value, off[i]))
                        return ASKS_NOTHING;
                if (text_is_same(value, on[i]))
                        return ASKS;
        }
        return MALFORMED;
}

/* Judges a variable that asks for its feature whenever it is set, whatever its value. */
static enum verdict judge_presence(const char *value)
{
        (void)value;
        return ASKS;
}

/* Judges a variable that its system's plugin sets to "true"; any other value asks for nothing. */
static enum verdict judge_true(const char *value)
{
        return strcmp(value, "true") == 0 ? ASKS : ASKS_NOTHING;
}

/* Judges a variable of vgpu-manager that is on for true, TRUE or 1; any other value asks
 * for nothing. */
static enum verdict judge_oversold(const char *value)
{
        bool is_on =
                strcmp(value, "true") == 0 || strcmp(value, "TRUE") == 0 || strcmp(value, "1") == 0;

        return is_on ? ASKS : ASKS_NOTHING;
}

/* Judges a variable that HAMi's device plugin reads with Go's ParseBool(), which takes an invalid
 * value as false. */
static enum verdict judge_go(const char *value)
{
        static const char *const on[] = { "1", "t", "T", "true", "True", "TRUE" };

        for (unsigned i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
                if (strcmp(value, on[i]) == 0)
                        return ASKS;
        }
        return ASKS_NOTHING;
}

/* Judges CUDA_MEM_RATIO: total memory as a multiple of the card's. Above 1 a part of the memory is
 * in the host. */
static enum verdict judge_ratio(const char *value)
{
        size_t whole = strspn(value, "0123456789");
        bool has_point = value[whole] == '.';
        size_t fraction = has_point ? strspn(value + whole + 1, "0123456789") : 0;
        size_t zeros = strspn(value, "0");
        bool is_one = whole == zeros + 1 && value[zeros] == '1';

        if (!value[0])
                return ASKS_NOTHING;
        if (!(whole + fraction) || value[whole + has_point + fraction])
                return MALFORMED;
        if (whole == zeros)
                return ASKS_NOTHING;
        return is_one && strspn(value + whole + has_point, "0") == fraction ? ASKS_NOTHING : ASKS;
}

/* A variable that asks for a feature, and how to judge its value. */
struct feature {
        const char *name;
        const char *unless; /* variable that overrides this one if it is set; NULL: none */
        enum verdict (*judge)(const char *value);
        const char *expected; /* the valid values, for the message about a malformed one */
        /* message if the feature is refused: the reason, and what the user can do */
        const char *missing;
        bool is_indexed; /* NAME_0, NAME_1, ... are variables too, one per GPU */
        bool is_built;   /* Aliquot has the feature */
};

/* Features that Aliquot lacks. Source: vgpu-manager 3d7f66d, library/src/util.c, get_mem_ratio()
 * and get_mem_oversold(). */
static const struct feature features[] = {
        { "CUDA_MEM_RATIO", "ALIQUOT_OVERSUBSCRIBE", judge_ratio, "a number such as 1.00",
          "memory by a ratio of the card's is not supported; expected 1 or less, or "
          "ALIQUOT_OVERSUBSCRIBE with a size",
          true },
};

/* Variables of other systems that ask for host memory in place of card memory. */
static const struct feature host_wishes[] = {
        { "NVSHARE_ENABLE_SINGLE_OVERSUB", NULL, judge_presence, "", .is_built = true },
        { "XPUSHARE_ENABLE_SINGLE_OVERSUB", NULL, judge_presence, "", .is_built = true },
        { "CUDA_OVERSUBSCRIBE", NULL, judge_true, "", .is_built = true },
        { "CUDA_MEM_OVERSOLD", NULL, judge_oversold, "", .is_indexed = true, .is_built = true },
};

/* Variables that turn off the limits of other systems in a container: HAMi (its device plugin's
 * server.go), vgpu-manager (ValueEnabled()), TensorFusion (its bootstrap). */
#define NO_LIMIT "contradicts the limit or session that is also set; remove one of the two"
static const struct feature off_switches[] = {
        { "CUDA_DISABLE_CONTROL", NULL, judge_go, "", NO_LIMIT },
        { "DISABLE_VGPU_CONTROL", NULL, judge_oversold, "", NO_LIMIT },
        { "DISABLE_GPU_LIMITER", NULL, judge_true, "", NO_LIMIT },
};

/* Checks one value. 1: it asks for a feature that Aliquot has; 0: it asks for nothing;
 * negative: refused. */
static int check_feature(const struct feature *feature, const struct said *said, struct error *err)
{
        enum verdict verdict = feature->judge(said->value);
        int code = verdict == ASKS ? -ENOTSUP : -EINVAL;

        if (verdict == ASKS_NOTHING)
                return 0;
        if (verdict == ASKS && feature->is_built)
                return 1;
        if (verdict == ASKS)
                fail(err, code, "%s", feature->missing);
        else
                fail(err, code, "expected %s", feature->expected);
        said_wrap(said, err);
        return code;
}

/* Checks NAME_0, NAME_1, ... It searches the environment for them, since their number is unknown.
 * Returns as check_feature(). */
static int check_indexed(const struct reading *reading, const struct feature *feature,
                         struct error *err)
{
        const size_t stem = strlen(feature->name);
        int rc = 0;

        for (char *const *at = reading->environment; rc == 0 && at && *at; at++) {
                const char *equals = strchr(*at, '=');
                char name[64];
                struct said said = { name, equals ? equals + 1 : "" };

                if (!equals || strncmp(*at, feature->name, stem) != 0 || (*at)[stem] != '_' ||
                    text_put(name, sizeof(name), NULL, "%.*s", (int)(equals - *at), *at) < 0 ||
                    strspn(name + stem + 1, "0123456789") != strlen(name + stem + 1))
                        continue;
                rc = check_feature(feature, &said, err);
        }
        return rc;
}

/* Checks all variables of a table that are set. Stops at the first result that is not 0, and
 * returns it (check_feature()). */
static int check_table(const struct reading *reading, const struct feature *table, size_t count,
                       struct error *err)
{
        struct said said;
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < count; i++) {
                const struct feature *feature = &table[i];

                if (feature->unless && reading_find(reading, feature->unless, &said))
                        continue;
                if (reading_find(reading, feature->name, &said))
                        rc = check_feature(feature, &said, err);
                if (rc == 0 && feature->is_indexed)
                        rc = check_indexed(reading, feature, err);
        }
        return rc;
}

int oversubscribe_read(const struct reading *reading, uint64_t *ret, struct error *err)
{
        struct size size = { 0 };
        struct said said;
        int rc;

        *ret = 0;
        if (!reading_find(reading, "ALIQUOT_OVERSUBSCRIBE", &said)) {
                rc = check_table(reading, host_wishes, sizeof(host_wishes) / sizeof(host_wishes[0]),
                                 err);
                *ret = rc > 0 ? SETTINGS_HOST_SPARE : 0;
                return rc < 0 ? rc : 0;
        }
        switch (judge_switch(said.value)) {
        case ASKS:
                *ret = SETTINGS_HOST_SPARE;
                return 0;
        case ASKS_NOTHING:
                return 0;
        default:
                break;
        }
        rc = size_parse(said.value, &size, err);
        if (rc == 0 && size.micro_percent)
                rc = fail(err, -EINVAL, "a part of the card says nothing of the host's memory");
        if (rc < 0) {
                fail(err, rc, "expected yes, no, or how much of the host's memory, as in 8GiB");
                said_wrap(&said, err);
        }
        *ret = size.bytes;
        return rc;
}

int swap_read(const struct reading *reading, struct settings *into, struct error *err)
{
        enum verdict verdict;
        struct said said;
        int rc = 0;

        into->says_swap = reading_find(reading, "ALIQUOT_SWAP", &said);
        if (!into->says_swap)
                return 0;
        verdict = judge_switch(said.value);
        if (verdict == MALFORMED)
                rc = fail(err, -EINVAL, "expected yes or no");
        else if (verdict == ASKS && into->host_bytes)
                rc = fail(
                        err, -EINVAL,
                        "contradicts oversubscription (--oversubscribe, ALIQUOT_OVERSUBSCRIBE, or "
                        "another system's variable for it); remove one of the two");
        if (rc < 0)
                said_wrap(&said, err);
        into->swaps = verdict == ASKS;
        return rc;
}

/* A program that asks the daemon by itself may ask for swap of the whole card, and for no
 * other setting. */
int swap_check_alone(const struct reading *reading, const struct settings *settings,
                     struct error *err)
{
        bool has_more = settings->session[0] || settings->socket[0] || settings->memory.count ||
                        settings->compute.count || settings->device_name[0] ||
                        settings->is_context_free;
        struct said said;
        int rc;

        if (!reading->is_alone || !settings->swaps || !has_more ||
            !reading_find(reading, "ALIQUOT_SWAP", &said))
                return 0;
        rc = fail(err, -ENOTSUP,
                  "beside another setting only aliquot run --swap can ask a daemon for that; "
                  "expected no other setting, or aliquot run");
        said_wrap(&said, err);
        return rc;
}

int features_check(const struct reading *reading, struct error *err)
{
        return check_table(reading, features, sizeof(features) / sizeof(features[0]), err);
}

int features_check_off(const struct reading *reading, struct error *err)
{
        return check_table(reading, off_switches, sizeof(off_switches) / sizeof(off_switches[0]),
                           err);
}
