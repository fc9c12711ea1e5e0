/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at a session's socket, in either direction: refused with a code, or understood with
 * every text terminated and the token inside the message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_so)
{
        if (!is_so)
                abort();
}

static void as_hello(const char *message, size_t size)
{
        struct message_asked asked;
        int code = message_read_hello(message, size, &asked, NULL);

        expect(code >= 0 && code <= MESSAGE_TROUBLE);
        if (code)
                return;
        expect(asked.version >= MESSAGE_VERSION_MIN && asked.version <= MESSAGE_VERSION_MAX);
        expect(memchr(asked.command, '\0', sizeof(asked.command)));
        expect(!asked.token == !asked.token_bytes);
        if (asked.token)
                expect(asked.token > message && asked.token_bytes <= MESSAGE_TOKEN_MAX &&
                       asked.token + asked.token_bytes <= message + size);
}

static void as_answer(const char *message, size_t size)
{
        union message_answer answer;
        int type = message_read_answer(message, size, &answer, NULL);

        if (type == MESSAGE_WELCOME)
                expect(memchr(answer.welcome.name, '\0', sizeof(answer.welcome.name)));
        else if (type == MESSAGE_REFUSED)
                expect(memchr(answer.refused.reason, '\0', sizeof(answer.refused.reason)));
        else
                expect(type < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* Exactly as large, so that a sanitizer sees the first byte behind it. */
        char *message = malloc(size ? size : 1);
        struct message_head head;

        if (!message)
                return 0;
        if (size)
                memcpy(message, data, size);
        as_hello(message, size);
        as_answer(message, size);
        if (size >= sizeof(head)) { /* past the head, which a fuzzer would take long to guess */
                memcpy(&head, message, sizeof(head));
                head.magic = MESSAGE_MAGIC;
                head.bytes = (uint32_t)size;
                memcpy(message, &head, sizeof(head));
                as_hello(message, size);
                as_answer(message, size);
        }
        free(message);
        return 0;
}
