/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the probe: the child tries each door and prints a line for it, "NAME ours FILE",
 * "NAME theirs FILE" or "NAME none"; the parent turns these lines into findings.
 */
#include "cli/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/preload.h"
#include "common/scoped.h"
#include "common/text.h"
#include "interpose/self.h"
#include "settings/front_ends.h"

#define PROBE "probe"

/* The child. */

static const char *file_of(const void *address)
{
        Dl_info info;

        return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Prints a line for a door. An address is "ours" if it is in the same file as `mark`. */
static void say(const char *door, const void *address, const void *mark)
{
        const char *file = file_of(address);

        if (!address)
                printf("%s none\n", door);
        else
                printf("%s %s %s\n", door,
                       mark && strcmp(file, file_of(mark)) == 0 ? "ours" : "theirs", file);
}

#define FRONT_END_FILE(file, hooked)             \
        {                                        \
                "dlopen(" file ")", file, hooked \
        }

static const struct {
        const char *door; /* as the library's users write it */
        const char *file;
        const char *symbol; /* a function in it that Aliquot hooks */
} by_name[] = {
        FRONT_END_FILES,
};

static void say_by_name(void)
{
        for (unsigned i = 0; i < sizeof(by_name) / sizeof(by_name[0]); i++) {
                void *handle = dlopen(by_name[i].file, RTLD_NOW | RTLD_LOCAL);
                void *mark = handle ? dlsym(handle, SELF_MARK) : NULL;

                say(by_name[i].door, handle ? dlsym(handle, by_name[i].symbol) : NULL,
                    mark ? mark : dlsym(RTLD_DEFAULT, SELF_MARK));
        }
}

/* Tries cuGetProcAddress(symbol, address, version, flags). */
static void say_getproc(void)
{
        void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        int (*get)(const char *, void **, int, uint64_t) =
                handle ? dlsym(handle, "cuGetProcAddress") : NULL;
        void *address = NULL;
        void *mark = handle ? dlsym(handle, SELF_MARK) : NULL;

        if (!get || get("cuMemAlloc", &address, 11030, 0) != 0)
                address = NULL;
        say("cuGetProcAddress", address, mark ? mark : dlsym(RTLD_DEFAULT, SELF_MARK));
}

int command_probe(int argc, char **argv)
{
        void *mark = dlsym(RTLD_DEFAULT, SELF_MARK);

        /* only a preloaded library comes before the C library */
        if (argc > 1) {
                say("dlopen", dlsym(RTLD_DEFAULT, "dlopen"), mark);
                say("dlsym", dlsym(RTLD_DEFAULT, "dlsym"), mark);
                say("symbol", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), mark);
        }
        say_by_name();
        say_getproc();
        return fflush(stdout) == 0 ? STATUS_YES : STATUS_NO;
}

/* The parent. */

struct probe_attempt {
        const char *program;
        const char *variable;
        const char *value;
        char *argument; /* NULL: none */
};

static _Noreturn void become_probe(const struct probe_attempt *attempt, int out)
{
        char *const argv[] = { (char *)"aliquot", (char *)PROBE, attempt->argument, NULL };

        /* The child must have only the tested way to the library, and no session's limits. */
        unsetenv("LD_PRELOAD");
        setenv(attempt->variable, attempt->value, 1);
        if (dup2(out, STDOUT_FILENO) >= 0)
                execv(attempt->program, argv);
        _exit(STATUS_CANNOT_RUN);
}

static void add_line(struct report *report, const char *about, char *line)
{
        char *verdict = strchr(line, ' ');
        char *file;

        if (!verdict)
                return;
        *verdict++ = '\0';
        file = strchr(verdict, ' ');
        if (file)
                *file++ = '\0';
        if (strcmp(verdict, "ours") == 0)
                report_add(report, VERDICT_GOOD, about, "%s leads to us", line);
        else if (strcmp(verdict, "none") == 0)
                report_add(report, VERDICT_NOTE, about, "%s finds no driver, as without Aliquot",
                           line);
        else
                report_add(report, VERDICT_BAD, about, "%s leads past us, to %s", line,
                           file ? file : "?");
}

static void probe(const struct probe_attempt *attempt, struct report *report, const char *about)
{
        scoped_file FILE *lines = NULL;
        char line[PATH_MAX + 64];
        int pipes[2], status = 0;
        unsigned count = 0;
        pid_t child;

        if (pipe(pipes) < 0)
                return;
        fflush(stdout);
        child = fork();
        if (child == 0)
                become_probe(attempt, pipes[1]);
        close(pipes[1]);
        lines = fdopen(pipes[0], "r");
        while (lines && fgets(line, sizeof(line), lines)) {
                line[strcspn(line, "\n")] = '\0';
                add_line(report, about, line);
                count++;
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0 || !count)
                report_add(report, VERDICT_BAD, about,
                           "a program started so does not run (status %d)", status);
}

void probe_preload(const struct installation *own, struct report *report)
{
        struct error err;
        scoped_free char *preload = preload_edit(NULL, own->library, &err);

        if (!preload) {
                report_add(report, VERDICT_BAD, "preload", "%s", err.text);
                return;
        }
        probe(&(struct probe_attempt){ own->program, "LD_PRELOAD", preload, (char *)"preloaded" },
              report, "preload");
}

void probe_shims(const struct installation *own, struct report *report)
{
        char folder[PATH_MAX];
        char *slash;

        memcpy(folder, own->library, sizeof(folder));
        slash = strrchr(folder, '/');
        if (!slash ||
            text_put(slash, sizeof(folder) - (size_t)(slash - folder), NULL, "/shims") < 0)
                return;
        if (access(folder, X_OK) < 0) {
                report_add(report, VERDICT_NOTE, "shims", "not installed in %s", folder);
                return;
        }
        probe(&(struct probe_attempt){ own->program, "LD_LIBRARY_PATH", folder, NULL }, report,
              "shims");
}
