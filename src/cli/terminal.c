/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_utf8(void)
{
        setlocale(LC_CTYPE, "");
        return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int terminal_columns(void)
{
        struct winsize size;

        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
