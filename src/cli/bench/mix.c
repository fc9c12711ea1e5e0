/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/mix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/units.h"

#define DEFAULT_KERNEL_NS UINT64_C(1000000)
#define MIN_KERNEL_NS UINT64_C(5000)
#define MAX_KERNEL_NS UINT64_C(10000000000)
#define MAX_NS UINT64_C(3600000000000)
#define DEFAULT_WEIGHT 100u
#define MAX_WEIGHT 10000u
#define MICRO_PERCENT_PER_PPM 100u

const char *const mix_class_names[MIX_CLASSES] = { "rt", "normal", "batch" };

#define KIND_NAME(name) #name,
#define KIND_LISTED(name) #name ", "
static const char *const kinds[] = { LOAD_KINDS(KIND_NAME) };
static const char kinds_listed[] = LOAD_KINDS(KIND_LISTED);

int mix_time(const char *text, uint64_t *ret_ns, struct error *err)
{
        static const struct {
                const char *name;
                double ns;
        } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
        char *end = NULL;
        double value = text_is_digit(text[0]) ? strtod(text, &end) : 0;

        for (unsigned i = 0; end && value > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
                if (strcmp(end, units[i].name) != 0 || value * units[i].ns > (double)MAX_NS ||
                    value * units[i].ns < 1)
                        continue;
                *ret_ns = (uint64_t)(value * units[i].ns + 0.5);
                return 0;
        }
        return fail(err, -EINVAL, "expected a time up to an hour, as in 200us, 2ms or 1.5s");
}

static int read_part(const char *text, bool may_be_none, uint32_t *ret_ppm, struct error *err)
{
        uint32_t micro_percent;
        int rc = percent_parse(text, &micro_percent, NULL);

        if (rc == 0)
                *ret_ppm = micro_percent / MICRO_PERCENT_PER_PPM;
        if (rc < 0 || (*ret_ppm < 1000 && (*ret_ppm || !may_be_none)))
                return fail(err, -EINVAL, "expected %s0.1 to 100 percent",
                            may_be_none ? "0, or " : "");
        return 0;
}

static int read_weight(const char *text, uint32_t *ret, struct error *err)
{
        char *end = NULL;
        unsigned long value = text_is_digit(text[0]) ? strtoul(text, &end, 10) : 0;

        if (!end || *end || !value || value > MAX_WEIGHT)
                return fail(err, -EINVAL, "expected 1 to %u", MAX_WEIGHT);
        *ret = (uint32_t)value;
        return 0;
}

static int read_class(const char *text, enum mix_class *ret, struct error *err)
{
        for (unsigned i = 0; i < MIX_CLASSES; i++) {
                if (strcmp(text, mix_class_names[i]) == 0) {
                        *ret = i;
                        return 0;
                }
        }
        return fail(err, -EINVAL, "expected rt, normal or batch");
}

/* Reads a change such as "60@5s". Changes must be in the order of their times. */
static int read_change(const char *item, struct mix_session *session, struct error *err)
{
        char part[MIX_WORD_BYTES];
        const char *at = strchr(item, '@');
        struct mix_change *change = &session->change[session->change_count];
        int rc;

        if (session->change_count == LOAD_CHANGES)
                return fail(err, -EINVAL, "more than %u changes", LOAD_CHANGES);
        text_put(part, sizeof(part), NULL, "%.*s", (int)(at - item), item);
        rc = read_part(part, false, &change->cap_ppm, err);
        if (rc == 0)
                rc = mix_time(at + 1, &change->at_ns, err);
        if (rc == 0 && session->change_count && change[-1].at_ns >= change->at_ns)
                rc = fail(err, -EINVAL, "expected a later time than that of the change before");
        if (rc == 0)
                session->change_count++;
        return rc;
}

/* The kinds of items. Each may be given once, except a change of the cap. */
enum said {
        SAID_CHANGE,
        SAID_CAP = 1 << 0,
        SAID_GUARANTEE = 1 << 1,
        SAID_WEIGHT = 1 << 2,
        SAID_CLASS = 1 << 3,
        SAID_KIND = 1 << 4,
        SAID_LENGTH = 1 << 5,
        SAID_FROM = 1 << 6,
        SAID_UNTIL = 1 << 7,
};

static int saying(int rc, enum said said)
{
        return rc < 0 ? rc : (int)said;
}

static int read_named(const char *item, struct mix_session *session, struct error *err)
{
        const char *value = strchr(item, '=') + 1;

        if (strncmp(item, "compute=", 8) == 0)
                return saying(read_part(value, false, &session->cap_ppm, err), SAID_CAP);
        if (strncmp(item, "guarantee=", 10) == 0)
                return saying(read_part(value, true, &session->guarantee_ppm, err), SAID_GUARANTEE);
        if (strncmp(item, "weight=", 7) == 0)
                return saying(read_weight(value, &session->weight, err), SAID_WEIGHT);
        if (strncmp(item, "priority=", 9) == 0)
                return saying(read_class(value, &session->class, err), SAID_CLASS);
        return fail(err, -EINVAL, "expected compute=, guarantee=, weight= or priority=");
}

static int read_length(const char *item, struct mix_session *session, struct error *err)
{
        int rc = mix_time(item, &session->kernel_ns, err);

        if (rc == 0 && (session->kernel_ns < MIN_KERNEL_NS || session->kernel_ns > MAX_KERNEL_NS))
                rc = fail(err, -EINVAL, "expected kernels of 5us to 10s");
        return rc;
}

static int read_word(const char *item, struct mix_session *session, struct error *err)
{
        for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                if (strcmp(item, kinds[i]) == 0) {
                        session->kind = kinds[i];
                        return SAID_KIND;
                }
        }
        if (read_class(item, &session->class, NULL) == 0)
                return SAID_CLASS;
        return fail(err, -EINVAL,
                    "expected a percentage, 200us (the length of a kernel), %srt, normal, batch, "
                    "weight=N, guarantee=P, +TIME, -TIME or P@TIME",
                    kinds_listed);
}

/* Reads one item of a word. Returns its kind, or a negative errno. */
static int read_item(const char *item, struct mix_session *session, struct error *err)
{
        size_t digits = strspn(item, "0123456789.");

        if (strchr(item, '='))
                return read_named(item, session, err);
        if (strchr(item, '@'))
                return saying(read_change(item, session, err), SAID_CHANGE);
        if (item[0] == '+')
                return saying(mix_time(item + 1, &session->from_ns, err), SAID_FROM);
        if (item[0] == '-')
                return saying(mix_time(item + 1, &session->until_ns, err), SAID_UNTIL);
        if (digits && (item[digits] == '\0' || item[digits] == '%'))
                return saying(read_part(item, false, &session->cap_ppm, err), SAID_CAP);
        if (digits)
                return saying(read_length(item, session, err), SAID_LENGTH);
        return read_word(item, session, err);
}

int mix_add(struct mix *mix, const char *word, struct error *err)
{
        struct mix_session *session = &mix->session[mix->count];
        char list[MIX_WORD_BYTES], *rest = list, *item;
        int rc = 0, said = 0;

        if (mix->count == MIX_SESSIONS)
                return fail(err, -EINVAL, "%s: more than %u sessions", text_shown(word),
                            MIX_SESSIONS);
        *session = (struct mix_session){ .cap_ppm = MIX_WHOLE_PPM,
                                         .weight = DEFAULT_WEIGHT,
                                         .class = MIX_NORMAL,
                                         .kind = kinds[0],
                                         .kernel_ns = DEFAULT_KERNEL_NS,
                                         .until_ns = MIX_NEVER };
        if (!text_is_plain(word) || text_put(session->word, MIX_WORD_BYTES, NULL, "%s", word) < 0)
                return fail(err, -EINVAL, "%s: expected a word of at most %u characters",
                            text_shown(word), MIX_WORD_BYTES - 1);
        memcpy(list, session->word, sizeof(list));
        while (rc >= 0 && (item = strsep(&rest, ","))) {
                rc = read_item(item, session, err);
                if (rc > 0 && said & rc)
                        rc = fail(err, -EINVAL,
                                  "another item has said that; a space begins the next session");
                said |= rc;
                if (rc < 0)
                        return wrap(err, strcmp(item, word) == 0 ? "%s" : "%s in %s",
                                    text_shown(item), text_shown(word));
        }
        if (session->until_ns <= session->from_ns)
                return fail(err, -EINVAL, "%s: expected it to stop after it begins",
                            text_shown(word));
        mix->count++;
        return 0;
}

static int check_session(const struct mix_session *session, uint64_t length_ns, struct error *err)
{
        if (session->guarantee_ppm > session->cap_ppm)
                return fail(err, -EINVAL, "%s: the guarantee is above the cap", session->word);
        if (session->from_ns >= length_ns ||
            (session->until_ns != MIX_NEVER && session->until_ns >= length_ns))
                return fail(err, -EINVAL, "%s: the run is over by then; see --seconds",
                            session->word);
        for (unsigned at = 0; at < session->change_count; at++) {
                if (session->change[at].at_ns >= length_ns)
                        return fail(err, -EINVAL, "%s: the run is over by then; see --seconds",
                                    session->word);
                if (session->guarantee_ppm > session->change[at].cap_ppm)
                        return fail(err, -EINVAL, "%s: the guarantee is above a cap",
                                    session->word);
        }
        return 0;
}

int mix_check(const struct mix *mix, uint64_t length_ns, struct error *err)
{
        uint64_t guarantees_ppm = 0;

        for (unsigned i = 0; i < mix->count; i++) {
                int rc = check_session(&mix->session[i], length_ns, err);

                if (rc < 0)
                        return rc;
                guarantees_ppm += mix->session[i].guarantee_ppm;
        }
        if (guarantees_ppm > MIX_WHOLE_PPM)
                return fail(err, -EINVAL, "guarantees of %g %% together; 100 can be given",
                            (double)guarantees_ppm / 1e4);
        return 0;
}
