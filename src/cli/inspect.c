/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines a process. Aliquot's library is recognised by a mark in the files that the process maps,
 * since the library may have the driver's name and be in a container.
 */
#include "cli/inspect.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/mapped.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "common/aside.h"
#include "common/injected.h"
#include "common/machine_clock.h"
#include "common/maps.h"
#include "common/scoped.h"
#include "common/text.h"
#include "common/units.h"
#include "interpose/self.h"

/* Maximum number of bytes that are read from all files together: several times the size of a driver
 * and the library. */
#define READ_MAX (UINT64_C(1) << 30)
#define TRY_NS (5 * CLOCK_SECOND_NS)

struct findings {
        char ours[PATH_MAX];
        char driver[2][PATH_MAX]; /* paths of its CUDA driver and of its NVML */
        char session[PAGE_NAME_BYTES];
        char runtime_dir[STORE_PATH_BYTES];
        char socket[STORE_PATH_BYTES]; /* the socket of its session, if it was given one */
        uint64_t budget;               /* number of bytes of files that may still be read */
};

static bool has_mark(const char *pid, const struct maps *at, struct findings *findings)
{
        scoped_fd int fd = mapped_open(pid, at);

        return fd >= 0 && mapped_has(fd, SELF_MARK, sizeof(SELF_MARK), &findings->budget);
}

static bool is_of_interest(const char *name)
{
        return strncmp(name, "libaliquot.so", 13) == 0 || strncmp(name, "libcuda.so", 10) == 0 ||
               strncmp(name, "libnvidia-ml.so", 15) == 0;
}

static void note_library(const char *pid, const struct maps *at, struct findings *findings)
{
        const char *file = at->path, *name = strrchr(file, '/') + 1;
        char *into;

        if (!is_of_interest(name) || strcmp(file, findings->ours) == 0 ||
            strcmp(file, findings->driver[0]) == 0 || strcmp(file, findings->driver[1]) == 0)
                return;
        into = has_mark(pid, at, findings) ? findings->ours
                                           : findings->driver[name[strlen("lib")] == 'n'];
        if (!into[0])
                text_put(into, PATH_MAX, NULL, "%s", file);
}

static int read_maps(const char *pid, struct findings *findings, struct error *err)
{
        scoped_maps struct maps maps = { 0 };
        int rc = maps_open(&maps, pid);

        if (rc < 0)
                return fail(err, rc, "/proc/%s/maps: %s", pid, strerror(-rc));
        while (maps_next(&maps))
                note_library(pid, &maps, findings);
        return ferror(maps.file) ? fail(err, -EIO, "/proc/%s/maps: %m", pid) : 0;
}

static void read_environment(const char *pid, struct findings *findings)
{
        char path[64];
        scoped_file FILE *entries = NULL;
        scoped_free char *entry = NULL;
        size_t room = 0;

        if (text_put(path, sizeof(path), NULL, "/proc/%s/environ", pid) < 0)
                return;
        entries = fopen(path, "re");
        while (entries && getdelim(&entry, &room, '\0', entries) > 0) {
                if (strncmp(entry, "ALIQUOT_SESSION=", 16) == 0)
                        text_put(findings->session, PAGE_NAME_BYTES, NULL, "%s", entry + 16);
                if (strncmp(entry, "ALIQUOT_SESSION_SOCKET=", 23) == 0)
                        text_put(findings->socket, STORE_PATH_BYTES, NULL, "%s", entry + 23);
                if (strncmp(entry, "ALIQUOT_RUNTIME_DIR=", 20) == 0)
                        text_put(findings->runtime_dir, STORE_PATH_BYTES, NULL, "%s", entry + 20);
        }
}

/* Returns whether the process is in a container that has a profile's share. The environment of such
 * a process contains no session. */
static bool has_share(const char *pid)
{
        char path[64 + sizeof(INJECTED_SELF)];

        return text_put(path, sizeof(path), NULL, "/proc/%s/root" INJECTED_SELF, pid) == 0 &&
               access(path, F_OK) == 0;
}

static void add_holdings(const char *pid, const struct findings *findings, struct report *report)
{
        char text[SIZE_TEXT_BYTES];
        struct store store;
        struct store_session session;
        struct usage usage;

        if (has_share(pid)) {
                report_add(report, VERDICT_GOOD, "session",
                           "that of its container's share, by " INJECTED_SOCKET
                           "; aliquot ps lists it");
                return;
        }
        if (findings->socket[0]) {
                report_add(report, VERDICT_NOTE, "session",
                           "that of the socket %s; aliquot ps lists those that have joined",
                           findings->socket);
                return;
        }
        if (!findings->session[0]) {
                report_add(report, VERDICT_NOTE, "session",
                           "no ALIQUOT_SESSION in its environment");
                return;
        }
        if (store_find(&store, findings->runtime_dir, false, NULL) < 0 ||
            store_join(&store, findings->session, false, &session, NULL) < 0) {
                report_add(report, VERDICT_BAD, "session", "%s is not there; its GPU calls fail",
                           findings->session);
                return;
        }
        report_add(report, VERDICT_GOOD, "session", "%s in %s", findings->session, store.path);
        if (usage_read(&session, &usage, NULL) < 0)
                return;
        for (unsigned i = 0; i < usage.count; i++) {
                uint64_t bytes = 0;

                if (usage.process[i].local_pid != strtoul(pid, NULL, 10))
                        continue;
                for (unsigned row = 0; row < PAGE_DEVICES; row++)
                        bytes += usage_has_row(&session, row) ? usage.process[i].bytes[row] : 0;
                report_add(report, VERDICT_GOOD, "session", "charged with %s",
                           size_format(bytes, text));
        }
        usage_free(&usage);
}

static uint8_t try_to_look(void *pid)
{
        scoped_maps struct maps maps = { 0 };

        return maps_open(&maps, pid) == 0 && maps_next(&maps);
}

/* Returns whether reading the process's files would block, for example because it is in execve().
 * If it enters execve() after this check, the command blocks until it gets a signal. */
static bool stands_still(const char *pid)
{
        const struct aside_question question = { "aliquot-look", try_to_look, (void *)pid };

        return aside_ask(&question, TRY_NS) == -ETIME;
}

void inspect_process(const char *pid, struct report *report)
{
        static struct findings findings = { .budget = READ_MAX };
        struct error err;

        if (stands_still(pid)) {
                report_add(report, VERDICT_BAD, "process",
                           "the kernel lets nobody look at it now; it may be in execve()");
                return;
        }
        if (read_maps(pid, &findings, &err) < 0) {
                report_add(report, VERDICT_BAD, "process", "%s; is it yours, and does it run?",
                           err.text);
                return;
        }
        read_environment(pid, &findings);
        if (findings.ours[0])
                report_add(report, VERDICT_GOOD, "process", "interposed, by %s", findings.ours);
        else if (!findings.driver[0][0] && !findings.driver[1][0])
                report_add(report, VERDICT_BAD, "process",
                           "not interposed (nor does it use a GPU so far); start it with aliquot "
                           "run");
        for (unsigned i = 0; i < 2; i++) {
                if (!findings.driver[i][0])
                        continue;
                if (findings.ours[0])
                        report_add(report, VERDICT_GOOD, "process", "the driver behind it is %s",
                                   findings.driver[i]);
                else
                        report_add(report, VERDICT_BAD, "process",
                                   "uses %s with nothing before it; start it with aliquot run",
                                   findings.driver[i]);
        }
        add_holdings(pid, &findings, report);
}
