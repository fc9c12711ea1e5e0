/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/http/request.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "daemon/base/address.h"

enum { BAD_REQUEST = 400, LENGTH_REQUIRED = 411, TOO_MANY_FIELDS = 431, OTHER_VERSION = 505 };

static int refuse_request(struct error *err, int status, const char *what)
{
        fail(err, -EINVAL, "%s", what);
        return status;
}

static bool is_alphanumeric(char c)
{
        c = text_lower(c);
        return (c >= 'a' && c <= 'z') || text_is_digit(c);
}

/* Whether the text is a token of RFC 9110, 5.6.2. */
static bool is_token(const char *text)
{
        if (!*text)
                return false;
        for (; *text; text++) {
                if (!is_alphanumeric(*text) && !strchr("!#$%&'*+-.^_`|~", *text))
                        return false;
        }
        return true;
}

static bool is_visible(const char *text)
{
        for (; *text; text++) {
                if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
                        return false;
        }
        return true;
}

/* Returns the next line without its end, and moves `*at` behind it. NULL: the line does not end in
 * CR LF. */
static char *next_line(char **at, const char *end)
{
        char *line = *at;
        char *feed = memchr(line, '\n', (size_t)(end - line));

        if (!feed || feed == line || feed[-1] != '\r' ||
            memchr(line, '\r', (size_t)(feed - line)) != feed - 1 ||
            memchr(line, '\0', (size_t)(feed - line)))
                return NULL;
        feed[-1] = '\0';
        *at = feed + 1;
        return line;
}

static int parse_target(char *target, struct request *ret, struct error *err)
{
        char *query;

        if (target[0] != '/' || !is_visible(target) || strchr(target, '#'))
                return refuse_request(err, BAD_REQUEST, "the target is no path");
        query = strchr(target, '?');
        if (query)
                *query++ = '\0';
        ret->path = target;
        ret->query = query ? query : target + strlen(target);
        return 0;
}

static int parse_first(char *line, struct request *ret, struct error *err)
{
        char *target = strchr(line, ' ');
        char *version = target ? strchr(target + 1, ' ') : NULL;

        if (!version)
                return refuse_request(err, BAD_REQUEST,
                                      "the first line is not METHOD TARGET VERSION");
        *target++ = '\0';
        *version++ = '\0';
        if (!is_token(line))
                return refuse_request(err, BAD_REQUEST, "the method is no word");
        if (strncmp(version, "HTTP/", 5) != 0)
                return refuse_request(err, BAD_REQUEST,
                                      "the first line is not METHOD TARGET VERSION");
        ret->is_old = strcmp(version, "HTTP/1.0") == 0;
        if (!ret->is_old && strcmp(version, "HTTP/1.1") != 0)
                return refuse_request(err, OTHER_VERSION, "only HTTP/1.1 and 1.0 are spoken here");
        ret->method = line;
        return parse_target(target, ret, err);
}

static char *trim_spaces(char *value)
{
        size_t length;

        while (*value == ' ' || *value == '\t')
                value++;
        length = strlen(value);
        while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
                value[--length] = '\0';
        return value;
}

static int parse_header(char *line, struct request *ret, struct error *err)
{
        char *colon = strchr(line, ':');
        char *value;

        if (!colon)
                return refuse_request(err, BAD_REQUEST, "a header without a colon");
        *colon = '\0';
        if (!is_token(line))
                return refuse_request(err, BAD_REQUEST, "the name of a header is no word");
        value = trim_spaces(colon + 1);
        for (const char *at = value; *at; at++) {
                if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
                        return refuse_request(err, BAD_REQUEST,
                                              "a header holds control characters");
        }
        if (ret->count == REQUEST_HEADERS)
                return refuse_request(err, TOO_MANY_FIELDS, "too many headers");
        ret->header[ret->count++] = (struct request_header){ line, value };
        return 0;
}

static unsigned count_of(const struct request *request, const char *name)
{
        unsigned count = 0;

        for (unsigned i = 0; i < request->count; i++)
                count += text_is_same(request->header[i].name, name);
        return count;
}

const char *request_header(const struct request *request, const char *name)
{
        for (unsigned i = 0; i < request->count; i++) {
                if (text_is_same(request->header[i].name, name))
                        return request->header[i].value;
        }
        return NULL;
}

static bool parse_length(const char *text, uint64_t *ret)
{
        uint64_t value = 0;

        if (!*text || strlen(text) > 18)
                return false;
        for (; *text; text++) {
                if (!text_is_digit(*text))
                        return false;
                value = value * 10 + (uint64_t)(*text - '0');
        }
        *ret = value;
        return true;
}

/* Whether the word is in a comma-separated list. */
static bool has_word(const char *list, const char *word)
{
        size_t length = strlen(word);

        while (list && *list) {
                size_t span;

                list += strspn(list, " \t,");
                span = strcspn(list, " \t,");
                if (span == length && strncasecmp(list, word, length) == 0)
                        return true;
                list += span;
        }
        return false;
}

/* Whether the text is a Host header of RFC 9110, 7.2: a name or address with an optional port, or
 * empty. */
static bool is_host(const char *text)
{
        const char *port;
        size_t bytes = address_split(text, &port);

        if (!bytes || text[0] == '[')
                return !*text || address_is_number(text, bytes);
        for (size_t i = 0; i < bytes; i++) {
                if (!is_alphanumeric(text[i]) && !strchr("-._~%", text[i]))
                        return false;
        }
        return true;
}

static int parse_meaning(struct request *ret, struct error *err)
{
        const char *length = request_header(ret, "Content-Length");
        const char *expect = request_header(ret, "Expect");
        const char *host = request_header(ret, "Host");
        const char *connection = request_header(ret, "Connection");
        bool is_close = has_word(connection, "close");

        if (request_header(ret, "Transfer-Encoding"))
                return refuse_request(err, LENGTH_REQUIRED,
                                      "say Content-Length: chunks are not read");
        if (count_of(ret, "Content-Length") > 1 || count_of(ret, "Host") > 1 ||
            count_of(ret, "Authorization") > 1)
                return refuse_request(err, BAD_REQUEST, "a header is there twice");
        if (length && !parse_length(length, &ret->body_bytes))
                return refuse_request(err, BAD_REQUEST, "Content-Length is no number");
        if (!ret->is_old && !host)
                return refuse_request(err, BAD_REQUEST, "there is no Host");
        if (host && !is_host(host))
                return refuse_request(err, BAD_REQUEST, "Host is no HOST or HOST:PORT");
        ret->keeps_alive = !is_close && (!ret->is_old || has_word(connection, "keep-alive"));
        ret->awaits_continue = !ret->is_old && expect && text_is_same(expect, "100-continue");
        return 0;
}

int request_parse(char *head, size_t length, struct request *ret, struct error *err)
{
        const char *end = head + length;
        struct request request = { 0 };
        char *line = next_line(&head, end);
        int status;

        if (!line)
                return refuse_request(err, BAD_REQUEST, "lines do not end in CR LF");
        status = parse_first(line, &request, err);
        while (status == 0) {
                line = next_line(&head, end);
                if (!line)
                        return refuse_request(err, BAD_REQUEST, "lines do not end in CR LF");
                if (!*line)
                        break;
                status = parse_header(line, &request, err);
        }
        if (status == 0)
                status = parse_meaning(&request, err);
        if (status == 0)
                *ret = request;
        return status;
}

/* Returns the value of a hexadecimal digit; -EINVAL: it is none. */
static int digit_of(char c)
{
        if (text_is_digit(c))
                return c - '0';
        c = text_lower(c);
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -EINVAL;
}

bool request_decode(char *text, bool is_query)
{
        char *to = text;

        for (; *text; text++, to++) {
                int high, low;

                *to = is_query && *text == '+' ? ' ' : *text;
                if (*text != '%')
                        continue;
                high = digit_of(text[1]);
                low = high < 0 ? high : digit_of(text[2]);
                if (low < 0 || high * 16 + low == 0)
                        return false;
                *to = (char)(high * 16 + low);
                text += 2;
        }
        *to = '\0';
        return true;
}

bool request_next_pair(char **query, char **ret_name, char **ret_value)
{
        char *pair, *value;

        do {
                pair = strsep(query, "&");
        } while (pair && !*pair);
        if (!pair)
                return false;
        value = strchr(pair, '=');
        if (value)
                *value++ = '\0';
        else
                value = pair + strlen(pair);
        *ret_name = request_decode(pair, true) && request_decode(value, true) ? pair : NULL;
        *ret_value = value;
        return true;
}

bool request_is_local_host(const char *host)
{
        static const char local[] = "localhost";
        const char *port;
        size_t bytes = address_split(host, &port);

        return address_is_number(host, bytes) ||
               (bytes == sizeof(local) - 1 && strncasecmp(host, local, bytes) == 0);
}
