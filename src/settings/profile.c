/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the parts of a profile's name from the end, since the GPU at its beginning may be a UUID,
 * which contains dashes.
 */
#include "settings/profile.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "common/units.h"

#define INDEX_STEM "gpu"
#define USUAL_PRIORITY 1u

static int refuse_profile(const char *name, const char *why, struct error *err)
{
        return fail(err, -EINVAL, "profile %s: %s; expected " PROFILE_EXPECTED, text_shown(name),
                    why);
}

/* Cuts the part behind the last dash off `rest` and returns it. Without a dash, returns `rest`. */
static char *last_part(char *rest)
{
        char *dash = strrchr(rest, '-');

        if (!dash)
                return rest;
        *dash = '\0';
        return dash + 1;
}

static bool is_class(const char *part, uint8_t *ret)
{
        static const char *const names[] = { "batch", "normal", "rt" };

        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                if (strcmp(part, names[i]) == 0) {
                        *ret = (uint8_t)i;
                        return true;
                }
        }
        return false;
}

static int read_compute(const char *part, struct profile *ret, struct error *err)
{
        uint32_t micro;

        if (percent_parse(part, &micro, NULL) < 0 || micro < SETTINGS_SHARE_MIN_MICRO_PERCENT ||
            micro % SETTINGS_SHARE_GRAIN_MICRO_PERCENT)
                return refuse_profile(ret->name,
                                      "the percentage is 0.1 to 100, in at most 3 decimals", err);
        ret->compute_milli_percent = micro / SETTINGS_SHARE_GRAIN_MICRO_PERCENT;
        return 0;
}

/* Reads the memory part. It is always in bytes, since a name cannot contain %. */
static int read_memory(const char *part, struct profile *ret, struct error *err)
{
        struct size size = { 0 };
        struct error why = { 0 };

        if (size_parse_typed(part, &size, &why) < 0)
                return refuse_profile(ret->name, why.text, err);
        if (size.bytes > INT64_MAX)
                return refuse_profile(ret->name, "that is more memory than any GPU has", err);
        ret->memory_bytes = size.bytes;
        return 0;
}

/* Reads the GPU part: "gpu0", or the beginning of a UUID. */
static int read_gpu(const char *part, struct profile *ret, struct error *err)
{
        const size_t stem = sizeof(INDEX_STEM) - 1;
        const char *index = part + stem;
        const char *selector = part;

        if (strncmp(part, INDEX_STEM, stem) == 0 && index[0] &&
            strspn(index, "0123456789") == strlen(index))
                selector = index;
        else if (!text_begins(part, "gpu-") && !text_begins(part, "mig-"))
                return refuse_profile(ret->name,
                                      "the GPU is gpu and its index, or begins with GPU- or MIG-",
                                      err);
        if (text_put(ret->gpu, sizeof(ret->gpu), NULL, "%s", selector) < 0)
                return refuse_profile(ret->name, "that is no GPU", err);
        return 0;
}

int profile_parse(const char *name, struct profile *ret, struct error *err)
{
        struct profile profile = { .priority = USUAL_PRIORITY };
        char rest[PAGE_NAME_BYTES];
        const char *part;
        int rc = settings_check_name("profile", name, err);

        if (rc < 0)
                return rc;
        text_put(profile.name, sizeof(profile.name), NULL, "%s", name);
        memcpy(rest, profile.name, sizeof(rest));
        part = last_part(rest);
        if (is_class(part, &profile.priority))
                part = part == rest ? "" : last_part(rest);
        if (part == rest || !part[0])
                return refuse_profile(name, "it says memory and a percentage", err);
        rc = read_compute(part, &profile, err);
        if (rc < 0)
                return rc;
        part = last_part(rest);
        rc = read_memory(part, &profile, err);
        if (rc == 0 && part != rest)
                rc = read_gpu(rest, &profile, err);
        if (rc == 0)
                *ret = profile;
        return rc;
}

bool profile_is_in(const char *name, const char *list)
{
        const size_t length = strlen(name);

        for (list += strspn(list, ", "); *list; list += strspn(list, ", ")) {
                const size_t word = strcspn(list, ", ");

                if (word == length && memcmp(list, name, length) == 0)
                        return true;
                list += word;
        }
        return false;
}

int profile_gpu(const struct profile *profile, const struct settings_gpus *gpus, struct error *err)
{
        struct settings_selection selection = { 0 };
        struct error why = { 0 };

        if (gpus->count <= 0)
                return fail(err, -ENODEV, "profile %s: no GPU is known here", profile->name);
        if (!profile->gpu[0])
                return gpus->count == 1
                               ? 0
                               : fail(err, -EINVAL,
                                      "profile %s names no GPU, and here are %d; expected a name "
                                      "such as gpu0-%s",
                                      profile->name, gpus->count, profile->name);
        if (settings_select(profile->gpu, gpus, &selection, &why) < 0)
                return fail(err, -ENODEV, "profile %s: %s", profile->name, why.text);
        return (int)selection.at[0];
}
