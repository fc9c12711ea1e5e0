/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "daemon/base/owner.h"

static int check_file(int fd, const char *path, struct error *err)
{
        struct stat st;
        int rc;

        if (fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        if (!S_ISREG(st.st_mode))
                return fail(err, -EINVAL, "%s is not a plain file", path);
        rc = owner_check(&st, path, err);
        if (rc < 0)
                return rc;
        if (st.st_mode & 027)
                return fail(err, -EPERM,
                            "%s can be read or written by others (mode %04o), expected 0600", path,
                            st.st_mode & 07777);
        return 0;
}

/* Reads up to `most` bytes, with as many calls as needed. */
static ssize_t read_whole(int fd, char *ret, size_t most)
{
        size_t length = 0;

        while (length < most) {
                ssize_t got = read(fd, ret + length, most - length);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                if (got == 0)
                        break;
                length += (size_t)got;
        }
        return (ssize_t)length;
}

static int check_length(const char *path, size_t length, size_t least, struct error *err)
{
        if (length >= least && length <= TOKEN_MAX)
                return 0;
        return fail(err, -EINVAL, "%s holds %s than %zu characters, expected %zu to %u", path,
                    length < least ? "less" : "more", length < least ? least : TOKEN_MAX, least,
                    TOKEN_MAX);
}

static int check_text(const char *path, const char *text, size_t length, struct error *err)
{
        for (size_t i = 0; i < length; i++) {
                if (text[i] <= ' ' || text[i] > '~')
                        return fail(err, -EINVAL,
                                    "%s: character %zu is not a visible ASCII character, which no "
                                    "HTTP header can carry",
                                    path, i + 1);
        }
        return 0;
}

int token_read(const char *path, size_t least, struct token *ret, struct error *err)
{
        /* One byte more for the newline, and one more to notice that the file is too long. */
        char text[TOKEN_MAX + 2];
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        ssize_t length;
        int rc;

        if (fd < 0)
                return fail(err, -errno, "token file %s: %m", path);
        rc = check_file(fd, path, err);
        if (rc < 0)
                return wrap(err, "token file");
        length = read_whole(fd, text, sizeof(text));
        if (length < 0) {
                errno = (int)-length;
                return fail(err, -errno, "token file %s: %m", path);
        }
        if (length > 0 && text[length - 1] == '\n')
                length--;
        rc = check_length(path, (size_t)length, least, err);
        if (rc == 0)
                rc = check_text(path, text, (size_t)length, err);
        if (rc == 0) {
                ret->length = (size_t)length;
                memcpy(ret->text, text, ret->length);
        }
        explicit_bzero(text, sizeof(text));
        return rc < 0 ? wrap(err, "token file") : 0;
}

int token_take(const char *text, const char *origin, struct token *ret, struct error *err)
{
        size_t length = strlen(text);
        int rc = check_length(origin, length, 1, err);

        if (rc == 0)
                rc = check_text(origin, text, length, err);
        if (rc < 0)
                return rc;
        ret->length = length;
        memcpy(ret->text, text, length);
        return 0;
}

bool token_is(const struct token *token, const char *said, size_t length)
{
        unsigned char difference = length != token->length || !token->length;

        /* Compares every character of the token, even if `said` is shorter or already differs. */
        for (size_t i = 0; i < token->length; i++) {
                unsigned char theirs = i < length ? (unsigned char)said[i] : 0;

                difference |= (unsigned char)token->text[i] ^ theirs;
                /* keeps the compiler from ending the loop early */
                __asm__ volatile("" : "+r"(difference));
        }
        return difference == 0;
}

void token_wipe(struct token *token)
{
        explicit_bzero(token, sizeof(*token));
}
