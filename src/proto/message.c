/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs and reads messages, and asserts the offsets of their fields. The offsets are protocol: they
 * never change in any version.
 */
#include "proto/message.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

#define AT(type, field, offset) \
        _Static_assert(offsetof(struct type, field) == (offset), "the offsets are protocol")

AT(message_head, magic, 0);
AT(message_head, type, 4);
AT(message_head, version, 6);
AT(message_head, version_least, 8);
AT(message_head, version_most, 10);
AT(message_head, bytes, 12);

AT(message_hello, session_id, 16);
AT(message_hello, command, 32);
AT(message_hello, token_at, 64);
AT(message_hello, token_bytes, 68);

AT(message_welcome, session_id, 16);
AT(message_welcome, name, 32);
AT(message_welcome, flags, 96);
AT(message_welcome, page_version, 100);

AT(message_refused, code, 16);
AT(message_refused, retry_ms, 20);
AT(message_refused, reason, 24);
AT(message_refused, wait_ms, 216);

_Static_assert(sizeof(struct message_head) == 16 && sizeof(struct message_hello) == 72 &&
                       sizeof(struct message_welcome) == 104 &&
                       sizeof(struct message_refused) == 220,
               "nothing is between the fields or behind them");
_Static_assert(sizeof(struct message_hello) + MESSAGE_TOKEN_MAX <= MESSAGE_MAX,
               "the longest HELLO is a message");

/* -- Writing ---------------------------------------------------------------------------------- */

static struct message_head head_of(enum message_type type, unsigned version, size_t bytes)
{
        return (struct message_head){ .magic = MESSAGE_MAGIC,
                                      .type = (uint16_t)type,
                                      .version = (uint16_t)version,
                                      .version_least = MESSAGE_VERSION_MIN,
                                      .version_most = MESSAGE_VERSION_MAX,
                                      .bytes = (uint32_t)bytes };
}

/* Copies the text, cut if it is too long, and fills the rest of `ret` with zeroes. NULL is an
 * empty text. */
static void put_text(char *ret, size_t size, const char *text)
{
        size_t length = text ? strnlen(text, size - 1) : 0;

        memset(ret, 0, size);
        if (length)
                memcpy(ret, text, length);
}

size_t message_write_hello(void *buffer, const struct message_wish *wish)
{
        struct message_hello hello = { 0 };
        size_t token_bytes = wish->token ? strnlen(wish->token, MESSAGE_TOKEN_MAX) : 0;
        size_t bytes = sizeof(hello) + token_bytes;

        hello.head = head_of(MESSAGE_HELLO, 0, bytes);
        if (wish->session_id)
                memcpy(hello.session_id, wish->session_id, sizeof(hello.session_id));
        put_text(hello.command, sizeof(hello.command), wish->command);
        if (token_bytes) {
                hello.token_at = sizeof(hello);
                hello.token_bytes = (uint32_t)token_bytes;
                memcpy((char *)buffer + sizeof(hello), wish->token, token_bytes);
        }
        memcpy(buffer, &hello, sizeof(hello));
        return bytes;
}

size_t message_write_welcome(struct message_welcome *ret, unsigned version,
                             const uint8_t session_id[16], const char *name, uint32_t flags)
{
        *ret = (struct message_welcome){ .head = head_of(MESSAGE_WELCOME, version, sizeof(*ret)),
                                         .flags = flags,
                                         .page_version = PAGE_VERSION };
        memcpy(ret->session_id, session_id, sizeof(ret->session_id));
        put_text(ret->name, sizeof(ret->name), name);
        return sizeof(*ret);
}

size_t message_write_refused(struct message_refused *ret, unsigned version, enum message_code code,
                             uint32_t retry_ms, const char *reason)
{
        *ret = (struct message_refused){ .head = head_of(MESSAGE_REFUSED, version, sizeof(*ret)),
                                         .code = code,
                                         .retry_ms = retry_ms };
        put_text(ret->reason, sizeof(ret->reason), reason);
        return sizeof(*ret);
}

/* -- Reading ---------------------------------------------------------------------------------- */

static int read_head(const void *buffer, size_t bytes, struct message_head *ret, struct error *err)
{
        if (bytes < sizeof(*ret))
                return fail(err, -EPROTO, "a message of %zu bytes", bytes);
        memcpy(ret, buffer, sizeof(*ret));
        if (ret->magic != MESSAGE_MAGIC)
                return fail(err, -EPROTO, "no message of ours (it begins with %08x)", ret->magic);
        if (ret->bytes != bytes || bytes > MESSAGE_MAX)
                return fail(err, -EPROTO, "a message of %zu bytes that says it has %u", bytes,
                            ret->bytes);
        if (!ret->version_least || ret->version_least > ret->version_most)
                return fail(err, -EPROTO, "a message of versions %u to %u", ret->version_least,
                            ret->version_most);
        return 0;
}

/* Returns the highest version that both sides speak; 0: none. */
static unsigned choose_version(const struct message_head *head)
{
        unsigned most =
                head->version_most < MESSAGE_VERSION_MAX ? head->version_most : MESSAGE_VERSION_MAX;

        return most >= head->version_least && most >= MESSAGE_VERSION_MIN ? most : 0;
}

static int refuse_versions(const struct message_head *head, struct error *err)
{
        return fail(err, -EPROTO,
                    "no version in common: it speaks %u to %u, this side %u to %u; bring both to "
                    "one version of Aliquot",
                    head->version_least, head->version_most, MESSAGE_VERSION_MIN,
                    MESSAGE_VERSION_MAX);
}

static int check_token(const struct message_hello *hello, struct error *err)
{
        uint32_t at = hello->token_at;
        uint32_t bytes = hello->token_bytes;

        if (!at && !bytes)
                return 0;
        if (at < sizeof(*hello) || !bytes || bytes > MESSAGE_TOKEN_MAX || at > hello->head.bytes ||
            bytes > hello->head.bytes - at)
                return fail(err, -EPROTO, "a token of %u bytes at %u in a message of %u", bytes, at,
                            hello->head.bytes);
        return 0;
}

/* Copies a text for display, with '?' for characters that could harm a terminal. */
static void copy_shown(char *ret, const char *text, size_t size)
{
        char terminated[MESSAGE_REASON_BYTES + 1] = "";

        memcpy(terminated, text, size);
        memset(ret, 0, size);
        text_quote(terminated, ret, size);
}

int message_read_hello(const void *buffer, size_t bytes, struct message_asked *ret,
                       struct error *err)
{
        static const uint8_t any[16];
        struct message_hello hello = { 0 };
        struct message_asked asked;

        if (read_head(buffer, bytes, &hello.head, err) < 0)
                return MESSAGE_MALFORMED;
        asked.version = choose_version(&hello.head);
        if (!asked.version) {
                refuse_versions(&hello.head, err);
                return MESSAGE_NO_VERSION;
        }
        if (hello.head.type != MESSAGE_HELLO || bytes < sizeof(hello)) {
                fail(err, -EPROTO, "expected a HELLO, not type %u of %zu bytes", hello.head.type,
                     bytes);
                return MESSAGE_MALFORMED;
        }
        memcpy(&hello, buffer, sizeof(hello));
        if (check_token(&hello, err) < 0)
                return MESSAGE_MALFORMED;
        memcpy(asked.session_id, hello.session_id, sizeof(asked.session_id));
        asked.has_session_id = memcmp(hello.session_id, any, sizeof(any)) != 0;
        copy_shown(asked.command, hello.command, sizeof(asked.command));
        asked.token = hello.token_bytes ? (const char *)buffer + hello.token_at : NULL;
        asked.token_bytes = hello.token_bytes;
        *ret = asked;
        return 0;
}

static int read_welcome(const void *buffer, size_t bytes, struct message_welcome *ret,
                        struct error *err)
{
        if (bytes < sizeof(*ret))
                return fail(err, -EPROTO, "a WELCOME of %zu bytes", bytes);
        memcpy(ret, buffer, sizeof(*ret));
        if (ret->head.version < MESSAGE_VERSION_MIN || ret->head.version > MESSAGE_VERSION_MAX)
                return refuse_versions(&ret->head, err);
        if (!memchr(ret->name, '\0', sizeof(ret->name)))
                return fail(err, -EPROTO, "a WELCOME to a name without an end");
        return MESSAGE_WELCOME;
}

static int read_refused(const void *buffer, size_t bytes, struct message_refused *ret,
                        struct error *err)
{
        char reason[sizeof(ret->reason)];

        if (bytes < offsetof(struct message_refused, wait_ms))
                return fail(err, -EPROTO, "a refusal of %zu bytes", bytes);
        *ret = (struct message_refused){ 0 };
        memcpy(ret, buffer,
               bytes < sizeof(*ret) ? offsetof(struct message_refused, wait_ms) : sizeof(*ret));
        copy_shown(reason, ret->reason, sizeof(reason));
        memcpy(ret->reason, reason, sizeof(reason));
        return MESSAGE_REFUSED;
}

int message_read_answer(const void *buffer, size_t bytes, union message_answer *ret,
                        struct error *err)
{
        union message_answer answer = { 0 };
        int rc = read_head(buffer, bytes, &answer.head, err);

        if (rc == 0 && answer.head.type == MESSAGE_WELCOME)
                rc = read_welcome(buffer, bytes, &answer.welcome, err);
        else if (rc == 0 && answer.head.type == MESSAGE_REFUSED)
                rc = read_refused(buffer, bytes, &answer.refused, err);
        else if (rc == 0)
                rc = fail(err, -EPROTO, "an answer of type %u", answer.head.type);
        if (rc > 0)
                *ret = answer;
        return rc;
}
