/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wishes that are understood but cannot be granted yet, and names that are nearly ours.
 *
 * Each such variable has values that ask for nothing ("off") and pass; any other is
 * refused, because a program that was promised something must not run without.
 * When a feature is built its lines move to the reader.
 */
#include "settings/reading.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/text.h"

enum verdict { ASKS_NOTHING, ASKS, MALFORMED };

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

/* Set at all is a wish, whatever the value: so it is where it comes from. */
static enum verdict judge_presence(const char *value)
{
        (void)value;
        return ASKS;
}

/* As its plugin sets it; anything else asks for nothing there. */
static enum verdict judge_true(const char *value)
{
        return strcmp(value, "true") == 0 ? ASKS : ASKS_NOTHING;
}

struct feature {
        const char *name;
        const char *unless; /* a stronger variable that makes this one moot; NULL: none */
        enum verdict (*judge)(const char *value);
        const char *expected;
        const char *missing; /* what is not there */
        const char *instead; /* what the user can do now */
};

#define OVERSUBSCRIBE "more memory than the card has is not built yet"
#define UNSET_IT "that variable unset, or a version that has it"

static const struct feature features[] = {
        { "ALIQUOT_OVERSUBSCRIBE", NULL, judge_switch, "0 or 1", OVERSUBSCRIBE, "0 or nothing" },
        { "NVSHARE_ENABLE_SINGLE_OVERSUB", "ALIQUOT_OVERSUBSCRIBE", judge_presence, "",
          OVERSUBSCRIBE, UNSET_IT },
        { "XPUSHARE_ENABLE_SINGLE_OVERSUB", "ALIQUOT_OVERSUBSCRIBE", judge_presence, "",
          OVERSUBSCRIBE, UNSET_IT },
        { "CUDA_OVERSUBSCRIBE", "ALIQUOT_OVERSUBSCRIBE", judge_true, "", OVERSUBSCRIBE, UNSET_IT },
};

#define FEATURE_COUNT (sizeof(features) / sizeof(features[0]))

static int check_feature(const struct feature *feature, const struct said *said, struct error *err)
{
        enum verdict verdict = feature->judge(said->value);
        int code = verdict == ASKS ? -ENOTSUP : -EINVAL;

        if (verdict == ASKS_NOTHING)
                return 0;
        if (verdict == ASKS)
                fail(err, code, "%s; expected %s", feature->missing, feature->instead);
        else
                fail(err, code, "expected %s", feature->expected);
        said_wrap(said, err);
        return code;
}

int features_check(const struct reading *reading, struct error *err)
{
        struct said said;
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < FEATURE_COUNT; i++) {
                const struct feature *feature = &features[i];

                if (feature->unless && reading_find(reading, feature->unless, &said))
                        continue;
                if (reading_find(reading, feature->name, &said))
                        rc = check_feature(feature, &said, err);
        }
        return rc;
}

/* The variables that limit, without ALIQUOT_: what a slip of the pen must not lose. */
static const char *const limiting[] = {
        "MEMORY", "SESSION",       "GPU", "COMPUTE", "GUARANTEE",   "WEIGHT",         "PRIORITY",
        "GANG",   "OVERSUBSCRIBE", "TTL", "CONTEXT", "DEVICE_NAME", "SESSION_SOCKET",
};

#define LIMITING_COUNT (sizeof(limiting) / sizeof(limiting[0]))
#define WORD_BYTES 24u

static const char *const other_limit_names[] = {
        "TENSOR_FUSION_CUDA_MEM_LIMIT", "VCUDA_MEMORY_LIMIT",          "VCUDA_DEVICE_NAME",
        "XPUSHARE_GPU_MEMORY_LIMIT",    "CUDA_DEVICE_MEMORY_LIMIT",    "GPUSLICE_SESSION",
        "GPUSLICE_DEFAULT_TTL",         "TENSOR_FUSION_CUDA_UP_LIMIT", "CUDA_DEVICE_SM_LIMIT",
};

bool settings_is_limit_variable(const char *name)
{
        for (size_t i = 0; i < LIMITING_COUNT; i++) {
                if (strncmp(name, "ALIQUOT_", 8) == 0 && strcmp(name + 8, limiting[i]) == 0)
                        return true;
        }
        for (size_t i = 0; i < FEATURE_COUNT; i++) {
                if (strcmp(name, features[i].name) == 0)
                        return true;
        }
        for (size_t i = 0; i < sizeof(other_limit_names) / sizeof(other_limit_names[0]); i++) {
                if (strcmp(name, other_limit_names[i]) == 0)
                        return true;
        }
        return strncmp(name, "CUDA_DEVICE_MEMORY_LIMIT_", 25) == 0 ||
               strncmp(name, "CUDA_DEVICE_SM_LIMIT_", 21) == 0;
}

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

/* Letters to insert, drop, replace or swap with a neighbour to get from a to b; both < WORD_BYTES.
 */
static unsigned distance(const char *a, const char *b)
{
        unsigned table[WORD_BYTES][WORD_BYTES];
        unsigned rows = (unsigned)strlen(a);
        unsigned columns = (unsigned)strlen(b);

        for (unsigned i = 0; i <= rows; i++) {
                for (unsigned j = 0; j <= columns; j++) {
                        if (!i || !j) {
                                table[i][j] = i + j;
                                continue;
                        }
                        table[i][j] = least(least(table[i - 1][j], table[i][j - 1]) + 1,
                                            table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
                }
        }
        return table[rows][columns];
}

#define NO_SLIP UINT_MAX

/* "MEM", "MEMORY_LIMIT", "MEMROY", "memory": how far it is from what was meant. */
static unsigned slip(const char *word, const char *meant)
{
        unsigned length = (unsigned)strlen(word), whole = (unsigned)strlen(meant);
        unsigned far = length < WORD_BYTES ? distance(word, meant) : NO_SLIP - 1;
        bool is_part = length >= 3 && strncmp(word, meant, least(length, whole)) == 0;

        return is_part || far <= (whole <= 4 ? 1u : 2u) ? far : NO_SLIP;
}

/* The nearest of the names, the first of equals; LIMITING_COUNT: it is like none of them. */
static size_t find_meant(const char *word)
{
        size_t meant = LIMITING_COUNT;
        unsigned nearest = NO_SLIP;

        for (size_t i = 0; i < LIMITING_COUNT; i++) {
                if (slip(word, limiting[i]) >= nearest)
                        continue;
                nearest = slip(word, limiting[i]);
                meant = i;
        }
        return meant;
}

/* `entry` is the whole of it, from ALIQUOT_ in whatever case. */
static int check_name(const char *entry, struct error *err)
{
        char name[8 + WORD_BYTES + 1] = "";
        char word[WORD_BYTES + 1] = "";
        size_t length = least((unsigned)strcspn(entry, "="), sizeof(name) - 1);
        size_t meant;

        memcpy(name, entry, length);
        for (size_t i = 8; i < length; i++) {
                char c = text_lower(name[i]);

                word[i - 8] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        }
        for (size_t i = 0; i < LIMITING_COUNT; i++) {
                if (strncmp(name, "ALIQUOT_", 8) == 0 && strcmp(name + 8, limiting[i]) == 0)
                        return 0;
        }
        meant = find_meant(word);
        if (meant == LIMITING_COUNT)
                return 0;
        return fail(err, -EINVAL, "%s is not a setting; did you mean ALIQUOT_%s", text_shown(name),
                    limiting[meant]);
}

int typos_check(const struct reading *reading, struct error *err)
{
        int rc = 0;

        for (char *const *at = reading->environment; rc == 0 && at && *at; at++) {
                if (text_begins(*at, "aliquot_"))
                        rc = check_name(*at, err);
        }
        return rc;
}
