/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_walk.h"
#include "common/scoped.h"
#include "common/text.h"

#define BYTES_MAX (64u << 20)
#define CHUNK 65536u
#define POINTS_MAX (1u << 21)

void figure_free(struct figure *figure)
{
        for (unsigned i = 0; i < figure->line_count; i++)
                free(figure->line[i].at);
        figure->line_count = 0;
}

static int read_number(struct json_walk *walk, double *ret)
{
        char text[64];

        if (walk->token.kind != JSON_NUMBER ||
            text_put(text, sizeof(text), NULL, "%.*s", (int)walk->token.length, walk->token.at) < 0)
                return fail(walk->err, -EINVAL, "expected a number");
        *ret = strtod(text, NULL);
        return isfinite(*ret) ? 0
                              : fail(walk->err, -EINVAL, "expected a number that is not so large");
}

/* Reads a string; null leaves `ret` unchanged, as if the member were missing. */
static int read_text(struct json_walk *walk, char ret[FIGURE_TEXT_BYTES])
{
        if (walk->token.kind == JSON_NULL)
                return 0;
        if (walk->token.kind != JSON_STRING)
                return fail(walk->err, -EINVAL, "expected a text");
        return json_text(&walk->token, ret, FIGURE_TEXT_BYTES, walk->err);
}

static int read_of_axis(struct json_walk *walk, const struct json_token *key, void *context)
{
        struct figure_axis *axis = context;

        if (json_walk_is(key, "label"))
                return read_text(walk, axis->label);
        if (json_walk_is(key, "from"))
                return read_number(walk, &axis->from);
        if (json_walk_is(key, "to"))
                return read_number(walk, &axis->to);
        if (json_walk_is(key, "unit"))
                return read_number(walk, &axis->unit);
        return json_walk_skip(walk);
}

static int read_style(struct json_walk *walk, enum figure_style *ret)
{
        static const char *const styles[FIGURE_STYLES] = { "line",    "dashes",  "discs",
                                                           "circles", "squares", "diamonds",
                                                           "crosses" };

        for (unsigned i = 0; walk->token.kind == JSON_STRING && i < FIGURE_STYLES; i++) {
                if (json_walk_is(&walk->token, styles[i])) {
                        *ret = i;
                        return 0;
                }
        }
        return fail(walk->err, -EINVAL, "expected a style that there is");
}

static int read_point(struct json_walk *walk, void *context)
{
        struct figure_line *line = context;

        if (line->count == line->room) {
                size_t room = line->room ? 2 * line->room : 256;
                double *grown =
                        room > POINTS_MAX ? NULL : reallocarray(line->at, room, sizeof(*grown));

                if (!grown)
                        return fail(walk->err, -ENOMEM, "too many points");
                line->at = grown;
                line->room = room;
        }
        return read_number(walk, &line->at[line->count++]);
}

static int read_of_line(struct json_walk *walk, const struct json_token *key, void *context)
{
        struct figure_line *line = context;
        double colour = 0;
        int rc;

        if (json_walk_is(key, "name"))
                return read_text(walk, line->name);
        if (json_walk_is(key, "style"))
                return read_style(walk, &line->style);
        if (json_walk_is(key, "points"))
                return json_walk_array(walk, read_point, line);
        if (!json_walk_is(key, "colour"))
                return json_walk_skip(walk);
        rc = read_number(walk, &colour);
        if (rc == 0 && (colour < 0 || colour > 1000))
                rc = fail(walk->err, -EINVAL, "expected a colour's number");
        line->colour = rc == 0 ? (unsigned)colour : 0;
        return rc;
}

static int read_line(struct json_walk *walk, void *context)
{
        struct figure *figure = context;
        struct figure_line *line = &figure->line[figure->line_count];
        int rc;

        if (figure->line_count == FIGURE_LINES)
                return fail(walk->err, -EINVAL, "more than %u lines", FIGURE_LINES);
        figure->line_count++;
        rc = json_walk_object(walk, read_of_line, line);
        if (rc == 0 && line->count % 2)
                rc = fail(walk->err, -EINVAL, "expected an x and a y for each point");
        return rc;
}

static int read_of_figure(struct json_walk *walk, const struct json_token *key, void *context)
{
        struct figure *figure = context;

        if (json_walk_is(key, "title"))
                return read_text(walk, figure->title);
        if (json_walk_is(key, "about"))
                return read_text(walk, figure->about);
        if (json_walk_is(key, "note"))
                return read_text(walk, figure->note);
        if (json_walk_is(key, "x"))
                return json_walk_object(walk, read_of_axis, &figure->x);
        if (json_walk_is(key, "y"))
                return json_walk_object(walk, read_of_axis, &figure->y);
        if (json_walk_is(key, "lines"))
                return json_walk_array(walk, read_line, figure);
        return json_walk_skip(walk);
}

/* Enlarges the text to have room for another CHUNK bytes. */
static int make_room(char **text, size_t *room, size_t length, struct error *err)
{
        size_t wanted = *room ? 2 * *room : CHUNK;
        char *grown;

        if (length + CHUNK <= *room)
                return 0;
        grown = wanted > BYTES_MAX ? NULL : realloc(*text, wanted);
        if (!grown)
                return fail(err, -ENOMEM, "the figure is too large");
        *text = grown;
        *room = wanted;
        return 0;
}

/* Reads all of the stream. The caller must free *ret, even after a failure. */
static int read_all(FILE *stream, char **ret, size_t *ret_length, struct error *err)
{
        size_t room = 0;

        for (;;) {
                int rc = make_room(ret, &room, *ret_length, err);

                if (rc < 0)
                        return rc;
                *ret_length += fread(*ret + *ret_length, 1, room - *ret_length, stream);
                if (feof(stream))
                        return 0;
                if (ferror(stream))
                        return fail(err, -EIO, "the figure cannot be read");
        }
}

static int check_axis(const struct figure_axis *axis, struct error *err)
{
        return axis->to > axis->from && axis->unit > 0
                       ? 0
                       : fail(err, -EINVAL, "expected axes that go from less to more");
}

int figure_read(FILE *stream, struct figure *ret, struct error *err)
{
        scoped_free char *text = NULL;
        struct json_walk walk;
        size_t length = 0;
        int rc = read_all(stream, &text, &length, err);

        *ret = (struct figure){ .x.unit = 1, .y.unit = 1 };
        if (rc == 0)
                rc = json_walk_begin(&walk, text, length, err);
        if (rc == 0)
                rc = json_walk_object(&walk, read_of_figure, ret);
        if (rc == 0)
                rc = json_walk_end(&walk);
        if (rc == 0)
                rc = check_axis(&ret->x, err);
        if (rc == 0)
                rc = check_axis(&ret->y, err);
        if (rc < 0)
                figure_free(ret);
        return rc;
}
