/* SPDX-License-Identifier: Apache-2.0 */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(struct error *err, int code, const char *format, ...)
{
        va_list args;

        if (!err)
                return code;
        err->code = code;
        va_start(args, format);
        vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        return code;
}

int wrap(struct error *err, const char *format, ...)
{
        char inner[sizeof(err->text)];
        va_list args;
        int used;

        if (!err)
                return -EIO;
        memcpy(inner, err->text, sizeof(inner));
        va_start(args, format);
        used = vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        if (used < 0 || (size_t)used >= sizeof(err->text))
                return err->code;
        snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %s", inner);
        return err->code;
}
