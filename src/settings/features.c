/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wishes that are understood but cannot be granted yet.
 *
 * Each such variable has values that ask for nothing ("off") and pass; any other is
 * refused, because a program that was promised something must not run without.
 * When a feature is built its lines move to the reader.
 */
#include "settings/reading.h"

#include <errno.h>
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
