/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_walk.h"

#include <errno.h>
#include <string.h>

static int next(struct json_walk *walk)
{
        return json_next(&walk->json, &walk->token, walk->err);
}

int json_walk_begin(struct json_walk *walk, const char *text, size_t length, struct error *err)
{
        json_begin(&walk->json, text, length);
        walk->err = err;
        return next(walk);
}

int json_walk_end(struct json_walk *walk)
{
        return next(walk);
}

int json_walk_object(struct json_walk *walk, json_read_member *read, void *context)
{
        int rc = walk->token.kind == JSON_OBJECT ? next(walk)
                                                 : fail(walk->err, -EINVAL, "expected an object");

        while (rc == 0 && walk->token.kind != JSON_OBJECT_END) {
                struct json_token key = walk->token;

                rc = next(walk);
                if (rc == 0)
                        rc = read(walk, &key, context);
                if (rc == 0)
                        rc = next(walk);
        }
        return rc;
}

int json_walk_array(struct json_walk *walk, json_read_item *read, void *context)
{
        int rc = walk->token.kind == JSON_ARRAY ? next(walk)
                                                : fail(walk->err, -EINVAL, "expected a list");

        while (rc == 0 && walk->token.kind != JSON_ARRAY_END) {
                rc = read(walk, context);
                if (rc == 0)
                        rc = next(walk);
        }
        return rc;
}

int json_walk_skip(struct json_walk *walk)
{
        unsigned depth = 0;

        for (;;) {
                enum json_kind kind = walk->token.kind;
                int rc;

                if (kind == JSON_OBJECT || kind == JSON_ARRAY)
                        depth++;
                if (kind == JSON_OBJECT_END || kind == JSON_ARRAY_END)
                        depth--;
                if (depth == 0)
                        return 0;
                rc = next(walk);
                if (rc < 0)
                        return rc;
        }
}

bool json_walk_is(const struct json_token *token, const char *text)
{
        return token->length == strlen(text) && memcmp(token->at, text, token->length) == 0;
}
