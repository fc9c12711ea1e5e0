/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the head of a request: refused, or understood with every text inside the head,
 * terminated, and without a line end in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct head {
        char *text;
        size_t length;
};

static void expect_inside(const struct head *head, const char *text)
{
        if (text < head->text || text >= head->text + head->length ||
            !memchr(text, '\0', head->length - (size_t)(text - head->text)) ||
            strpbrk(text, "\r\n"))
                abort();
}

static void use(const struct head *head, struct request *request)
{
        char *rest = request->query, *name, *value;
        const char *host = request_header(request, "Host");

        expect_inside(head, request->method);
        expect_inside(head, request->path);
        expect_inside(head, request->query);
        if (request->path[0] != '/' || request->count > REQUEST_HEADERS)
                abort();
        for (unsigned i = 0; i < request->count; i++) {
                expect_inside(head, request->header[i].name);
                expect_inside(head, request->header[i].value);
        }
        if (host)
                request_is_local_host(host);
        while (request_next_pair(&rest, &name, &value))
                ;
        request_decode(request->path, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
        struct head head = { .length = end ? (size_t)(end - data) + 4 : size };
        struct request request;
        struct error err;

        head.text = malloc(head.length + 1);
        if (!head.text)
                return 0;
        memcpy(head.text, data, head.length);
        head.text[head.length] = '\0';
        if (request_parse(head.text, head.length, &request, &err) == 0)
                use(&head, &request);
        free(head.text);
        return 0;
}
