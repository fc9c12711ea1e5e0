/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads a record as JSON. The figures are for other readers; only mix, period and
 * samples are read back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/record.h"
#include "common/json_out.h"
#include "common/json_walk.h"
#include "common/scoped.h"
#include "common/text.h"

#define FILE_BYTES_MAX (64L << 20)
#define PERIOD_US_MAX UINT64_C(3600000000)
#define NS_PER_US UINT64_C(1000)

static const char *const judges[] = { "none", "engine", "stamps" };

/* -- Writing ---------------------------------------------------------------------------------- */

static void put_share(struct json_out *out, const char *key, double share)
{
        json_out_percent(out, key, share > 0 ? (uint32_t)(share * MIX_WHOLE_PPM + 0.5) : 0);
}

static void put_worst(struct json_out *out, double worst)
{
        if (worst < 0)
                json_out_null(out, "worst_second_points");
        else
                put_share(out, "worst_second_points", worst);
}

static void put_figures(struct json_out *out, const struct record *record, unsigned at)
{
        struct record_figures figures;

        record_figures(record, at, &figures);
        if (!figures.has_any)
                return;
        put_share(out, "promised_percent", figures.promised);
        put_share(out, "delivered_percent", figures.delivered);
        put_worst(out, figures.worst_second);
}

static void put_session(struct json_out *out, const struct record *record, unsigned at)
{
        const struct load_sample *sample = record_samples(record, at);

        json_out_open(out, NULL, '{');
        json_out_text(out, "mix", record->mix.session[at].word);
        put_figures(out, record, at);
        json_out_open(out, "at_us", '[');
        for (unsigned i = 0; i < record->samples; i++)
                json_out_u64(out, NULL, sample[i].at_ns / NS_PER_US);
        json_out_close(out, ']');
        json_out_open(out, "busy_us", '[');
        for (unsigned i = 0; i < record->samples; i++)
                json_out_u64(out, NULL, sample[i].busy_ns / NS_PER_US);
        json_out_close(out, ']');
        json_out_close(out, '}');
}

int record_write(const struct record *record, FILE *stream)
{
        struct json_out out = { .stream = stream };
        struct record_summary summary;

        record_summarize(record, &summary);
        json_out_open(&out, NULL, '{');
        json_out_text(&out, "bench", "share");
        json_out_text(&out, "version", ALIQUOT_VERSION);
        json_out_text(&out, "gpu", record->gpu);
        json_out_text(&out, "clock", record->clock);
        json_out_text(&out, "judge", judges[record->judge]);
        json_out_u64(&out, "period_us", record->period_ns / NS_PER_US);
        put_share(&out, "mean_error_points", summary.mean_error);
        put_worst(&out, summary.worst_second);
        put_share(&out, "together_percent", summary.together);
        put_share(&out, "jain_percent", summary.jain);
        json_out_open(&out, "sessions", '[');
        for (unsigned i = 0; i < record->mix.count; i++)
                put_session(&out, record, i);
        json_out_close(&out, ']');
        json_out_close(&out, '}');
        return json_out_end(&out);
}

/* -- Reading ---------------------------------------------------------------------------------- */

struct reader {
        struct record *record;
        uint64_t *number; /* the numbers of the list that was read last; owned */
        size_t count, room;
};

static int keep_number(struct json_walk *walk, void *context)
{
        struct reader *reader = context;

        if (reader->count == reader->room) {
                size_t room = reader->room ? 2 * reader->room : 256;
                void *grown = reallocarray(reader->number, room, sizeof(*reader->number));

                if (!grown)
                        return fail(walk->err, -ENOMEM, "out of memory");
                reader->number = grown;
                reader->room = room;
        }
        if (walk->token.kind != JSON_NUMBER)
                return fail(walk->err, -EINVAL, "expected a number");
        return json_whole(&walk->token, &reader->number[reader->count++], walk->err);
}

/* Stores the numbers of a list. All sessions have the same number of samples; the first list
 * determines it. */
static int place_numbers(struct reader *reader, bool is_busy, struct error *err)
{
        struct record *record = reader->record;
        struct load_sample *sample;

        if (!record->sample && reader->count && reader->count <= LOAD_SAMPLES_MAX) {
                record->samples = (unsigned)reader->count;
                record->sample = calloc(MIX_SESSIONS * reader->count, sizeof(*record->sample));
                if (!record->sample)
                        return fail(err, -ENOMEM, "out of memory");
        }
        if (!record->mix.count || !record->sample || !reader->number ||
            reader->count != record->samples)
                return fail(err, -EINVAL, "expected as many samples of each session");
        sample = &record->sample[(size_t)(record->mix.count - 1) * record->samples];
        for (unsigned i = 0; i < record->samples; i++) {
                if (reader->number[i] > UINT64_MAX / NS_PER_US / 2 ||
                    (i && reader->number[i] < reader->number[i - 1]))
                        return fail(err, -EINVAL, "expected samples that do not go back");
                *(is_busy ? &sample[i].busy_ns : &sample[i].at_ns) = reader->number[i] * NS_PER_US;
        }
        return 0;
}

static int read_mix(struct json_walk *walk, struct reader *reader)
{
        char word[MIX_WORD_BYTES];
        int rc = walk->token.kind == JSON_STRING
                         ? json_text(&walk->token, word, sizeof(word), walk->err)
                         : fail(walk->err, -EINVAL, "expected a word of a mix");

        return rc < 0 ? rc : mix_add(&reader->record->mix, word, walk->err);
}

static int read_of_session(struct json_walk *walk, const struct json_token *key, void *context)
{
        struct reader *reader = context;
        bool is_busy = json_walk_is(key, "busy_us");
        int rc;

        if (json_walk_is(key, "mix"))
                return read_mix(walk, reader);
        if (!is_busy && !json_walk_is(key, "at_us"))
                return json_walk_skip(walk);
        reader->count = 0;
        rc = json_walk_array(walk, keep_number, reader);
        return rc < 0 ? rc : place_numbers(reader, is_busy, walk->err);
}

static int read_session(struct json_walk *walk, void *context)
{
        return json_walk_object(walk, read_of_session, context);
}

static int read_judge(struct json_walk *walk, struct record *record)
{
        for (unsigned i = 0; i < sizeof(judges) / sizeof(judges[0]); i++) {
                if (json_walk_is(&walk->token, judges[i])) {
                        record->judge = i;
                        return 0;
                }
        }
        return fail(walk->err, -EINVAL, "expected engine or stamps as judge");
}

static int read_period(struct json_walk *walk, struct record *record)
{
        uint64_t period_us = 0;
        int rc = walk->token.kind == JSON_NUMBER ? json_whole(&walk->token, &period_us, walk->err)
                                                 : fail(walk->err, -EINVAL, "expected a period");

        if (rc == 0 && (!period_us || period_us > PERIOD_US_MAX))
                rc = fail(walk->err, -EINVAL, "expected a period of at most an hour");
        if (rc == 0)
                record->period_ns = period_us * NS_PER_US;
        return rc;
}

static int read_of_record(struct json_walk *walk, const struct json_token *key, void *context)
{
        struct record *record = ((struct reader *)context)->record;
        bool is_text = walk->token.kind == JSON_STRING;

        if (json_walk_is(key, "gpu") && is_text)
                return json_text(&walk->token, record->gpu, sizeof(record->gpu), walk->err);
        if (json_walk_is(key, "clock") && is_text)
                return json_text(&walk->token, record->clock, sizeof(record->clock), walk->err);
        if (json_walk_is(key, "judge") && is_text)
                return read_judge(walk, record);
        if (json_walk_is(key, "sessions"))
                return json_walk_array(walk, read_session, context);
        return json_walk_is(key, "period_us") ? read_period(walk, record) : json_walk_skip(walk);
}

static int check_record(const struct record *record, struct error *err)
{
        if (!record->mix.count || !record->period_ns || !record->samples)
                return fail(err, -EINVAL, "it is not what aliquot bench share --json wrote");
        for (unsigned i = 0; i < record->mix.count; i++) {
                if (record_samples(record, i)[record->samples - 1].at_ns == 0)
                        return fail(err, -EINVAL, "a session has no samples");
        }
        return 0;
}

static int read_file(FILE *file, char **ret, size_t *ret_length, struct error *err)
{
        long length = -1;

        if (file && fseek(file, 0, SEEK_END) == 0)
                length = ftell(file);
        if (length < 0 || fseek(file, 0, SEEK_SET) < 0)
                return fail(err, -errno, "%m");
        if (length > FILE_BYTES_MAX)
                return fail(err, -EFBIG, "too large");
        *ret = malloc((size_t)length + 1);
        if (!*ret)
                return fail(err, -ENOMEM, "out of memory");
        *ret_length = fread(*ret, 1, (size_t)length, file);
        return 0;
}

int record_read(const char *path, struct record *ret, struct error *err)
{
        struct reader reader = { .record = ret };
        scoped_file FILE *file = fopen(path, "re");
        scoped_free char *text = NULL;
        struct json_walk walk;
        size_t length = 0;
        int rc = read_file(file, &text, &length, err);

        *ret = (struct record){ .judge = LOAD_JUDGE_NONE };
        if (rc == 0)
                rc = json_walk_begin(&walk, text, length, err);
        if (rc == 0)
                rc = json_walk_object(&walk, read_of_record, &reader);
        if (rc == 0)
                rc = json_walk_end(&walk);
        if (rc == 0)
                rc = check_record(ret, err);
        free(reader.number);
        if (rc < 0)
                record_free(ret);
        return rc < 0 ? wrap(err, "%s", text_shown(path)) : 0;
}
