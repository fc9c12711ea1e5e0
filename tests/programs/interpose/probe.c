/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what a program may do to obtain entry points, and says what it got.
 *
 * One command a line on stdin, one answer a line on stdout:
 *      open FILE [noload]      handle for what follows: "object", or "! dlerror"
 *      newns FILE              the same by dlmopen in a new namespace
 *      sym NAME | default NAME | next NAME | version NAME VERSION
 *                              "object symbol", or "! dlerror"
 *      proc ABI NAME VERSION FLAGS
 *                              "rc status object symbol"; ABI 1: the older, four arguments
 *      call NAME               the function's result, called without arguments
 *      close
 * An object is the base name of the file an address lies in; a symbol is "-" if the address is not
 * exactly its own.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *handle;

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static void say_error(void)
{
        const char *text = dlerror();

        printf("! %s\n", text ? text : "(nothing)");
}

static void say_address(void *address, int is_error_wanted)
{
        Dl_info info;

        if (!address && is_error_wanted)
                say_error();
        else if (!address || !dladdr(address, &info))
                printf("- -\n");
        else
                printf("%s %s\n", base_name(info.dli_fname),
                       info.dli_saddr == address && info.dli_sname ? info.dli_sname : "-");
}

static void do_open(char *const *word, int count, int is_new)
{
        int mode = RTLD_NOW | (count > 2 && strcmp(word[2], "noload") == 0 ? RTLD_NOLOAD : 0);

        handle = is_new ? dlmopen(LM_ID_NEWLM, word[1], mode) : dlopen(word[1], mode);
        if (handle)
                printf("%s\n", base_name(((struct link_map *)handle)->l_name));
        else
                say_error();
}

static void do_proc(char *const *word)
{
        void *address = (void *)&handle; /* must be overwritten */
        int version = atoi(word[3]), status = -1, rc;
        unsigned long flags = strtoul(word[4], NULL, 0);
        int is_old = word[1][0] == '1';
        void *find = dlsym(handle, is_old ? "cuGetProcAddress" : "cuGetProcAddress_v2");

        if (!find) {
                printf("! no such ABI\n");
                return;
        }
        if (is_old)
                rc = ((int (*)(const char *, void **, int, unsigned long))find)(word[2], &address,
                                                                                version, flags);
        else
                rc = ((int (*)(const char *, void **, int, unsigned long, int *))find)(
                        word[2], &address, version, flags, &status);
        printf("%d %d ", rc, status);
        say_address(address, 0);
}

static void do_call(const char *name)
{
        int (*function)(void) = (int (*)(void))dlsym(handle, name);

        if (function)
                printf("%d\n", function());
        else
                say_error();
}

static void do_command(char *const *word, int count)
{
        if (strcmp(word[0], "open") == 0)
                do_open(word, count, 0);
        else if (strcmp(word[0], "newns") == 0)
                do_open(word, count, 1);
        else if (strcmp(word[0], "sym") == 0)
                say_address(dlsym(handle, word[1]), 1);
        else if (strcmp(word[0], "default") == 0)
                say_address(dlsym(RTLD_DEFAULT, word[1]), 1);
        else if (strcmp(word[0], "next") == 0)
                say_address(dlsym(RTLD_NEXT, word[1]), 1);
        else if (strcmp(word[0], "version") == 0)
                say_address(dlvsym(handle, word[1], word[2]), 1);
        else if (strcmp(word[0], "proc") == 0)
                do_proc(word);
        else if (strcmp(word[0], "call") == 0)
                do_call(word[1]);
        else if (strcmp(word[0], "close") == 0)
                printf("%d\n", dlclose(handle));
        else
                printf("! unknown command %s\n", word[0]);
}

int main(void)
{
        char line[4096];

        while (fgets(line, sizeof(line), stdin)) {
                char *word[8] = { NULL };
                int count = 0;

                for (char *w = strtok(line, " \n"); w && count < 7; w = strtok(NULL, " \n"))
                        word[count++] = w;
                if (count)
                        do_command(word, count);
        }
        return 0;
}
