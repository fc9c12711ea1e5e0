/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot doctor: checks whether limits would work on this machine or, for a given process, whether
 * they do.
 */
#include "cli/command.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "machine/cards.h"
#include "cli/findings.h"
#include "cli/client.h"
#include "cli/inspect.h"
#include "cli/options.h"
#include "cli/presence.h"
#include "cli/probe.h"
#include "cli/report.h"
#include "cli/request.h"
#include "common/pidfd.h"
#include "common/scoped.h"
#include "common/text.h"
#include "interpose/self.h"

#define NAMES_SHOWN 5u

struct visit {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
        bool is_long;
        struct report report;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct visit *visit = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &visit->view;
                state->child_inputs[1] = &visit->flags;
                return 0;
        case 'l':
                visit->is_long = true;
                return 0;
        case ARGP_KEY_END:
                if (visit->view.count &&
                    strspn(visit->view.name[0], "0123456789") != strlen(visit->view.name[0]))
                        argp_error(state, "%s: expected the number of a process",
                                   visit->view.name[0]);
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 },
                                              { &request_sim_argp, 0, NULL, 0 },
                                              { 0 } };

static const struct argp_option argp_options[] = {
        { "long", 'l', NULL, 0, "List all unknown functions, not the first few", 0 },
        { 0 },
};

const struct argp argp_doctor = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "[PID]",
        .doc = "Check whether limits would hold on this machine, or do for a process.",
        .children = children,
};

#define NAMES 4096u

/* Names of functions, borrowed from the libraries. */
struct symbols {
        const char *name[NAMES];
        unsigned count;
};

static void add_name(const char *name, void *arg)
{
        struct symbols *names = arg;

        if (names->count < NAMES)
                names->name[names->count++] = name;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void report_names(struct visit *visit, const char *about, const char *what,
                         struct symbols *names)
{
        unsigned shown = visit->is_long || names->count < NAMES_SHOWN ? names->count : NAMES_SHOWN;
        static char list[NAMES * 64];
        struct text text;

        if (!names->count)
                return;
        qsort(names->name, names->count, sizeof(names->name[0]), compare_names);
        text_begin(&text, list, sizeof(list));
        for (unsigned i = 0; i < shown; i++)
                text_add(&text, "%s%s", i ? ", " : "", names->name[i]);
        report_add(&visit->report, VERDICT_NOTE, about, "%s: %u: %s%s", what, names->count, list,
                   shown < names->count ? ", ... (--long)" : "");
}

static void check_table(struct visit *visit, unsigned number, const struct doctor_api *api)
{
        const struct own_library *library = &visit->request.library;
        static struct symbols names;
        struct doctor_row row;

        names.count = 0;
        library->unknown(number, add_name, &names);
        report_names(visit, api->name,
                     "functions of the driver that Aliquot does not know, passed on unchanged",
                     &names);
        names.count = 0;
        for (unsigned i = 0; library->row(number, i, &row); i++) {
                if (!row.is_in_library)
                        add_name(row.symbol, &names);
        }
        report_names(visit, api->name, "functions that Aliquot knows and this driver does not have",
                     &names);
}

/* Returns the driver's CUDA version; 0 if the driver does not report one. */
static int driver_version(const struct doctor_api *api)
{
        int (*ask)(int *) = NULL;
        int version = 0;

        if (api->table_version)
                ask = dlsym(api->handle, "cuDriverGetVersion");
        return ask && ask(&version) == 0 ? version : 0;
}

static void check_version(struct visit *visit, const struct doctor_api *api)
{
        int version = driver_version(api), known = api->table_version;

        if (version > known)
                report_add(&visit->report, VERDICT_NOTE, api->name,
                           "the driver is of CUDA %d.%d, our table of %d.%d: memory and GPU time "
                           "that programs get by newer functions are not counted; a newer "
                           "Aliquot may know them",
                           version / 1000, version % 1000 / 10, known / 1000, known % 1000 / 10);
}

static void check_driver(struct visit *visit)
{
        struct doctor_api api;

        for (unsigned i = 0; visit->request.library.api(i, &api); i++) {
                if (!api.library[0]) {
                        report_add(&visit->report, VERDICT_BAD, api.name,
                                   "no %s found; install the driver, name it in %s, or use --sim",
                                   api.soname, api.variable);
                        continue;
                }
                if (!api.is_open) {
                        report_add(&visit->report, VERDICT_BAD, api.name, "%s does not load",
                                   api.library);
                        continue;
                }
                report_add(&visit->report, VERDICT_GOOD, api.name, "the driver's is %s",
                           api.library);
                check_version(visit, &api);
                check_table(visit, i, &api);
        }
}

static void check_cards(struct visit *visit)
{
        struct cards *cards = &visit->request.cards;
        struct error err;

        if (library_cards(&visit->request.library, cards, &err) < 0)
                report_add(&visit->report, VERDICT_BAD, "gpus", "%s", err.text);
        else
                report_add(&visit->report, cards->count ? VERDICT_GOOD : VERDICT_BAD, "gpus",
                           "%u, driver %s", cards->count,
                           cards->driver[0] ? cards->driver : "of unknown version");
}

static void check_folder(struct visit *visit)
{
        struct report *report = &visit->report;
        struct store store;
        struct error err = { 0 };
        struct statfs fs;
        struct stat st;
        bool is_good;

        if (options_find_store(&store, &err) == -ENOENT) {
                report_add(report, VERDICT_NOTE, "folder", "no runtime folder yet; run makes one");
                return;
        }
        if (options_find_store(&store, &err) < 0 || stat(store.path, &st) < 0 ||
            statfs(store.path, &fs) < 0) {
                report_add(report, VERDICT_BAD, "folder", "%s", err.text);
                return;
        }
        /* the folder of a daemon that also serves other users is writable only by the daemon */
        is_good = access(store.path, W_OK) == 0 || presence_look(&store) == PRESENCE_LISTENS;
        report_add(report, is_good ? VERDICT_GOOD : VERDICT_BAD, "folder",
                   "%s, of user %u, mode %o%s", store.path, st.st_uid, st.st_mode & 07777,
                   is_good ? "" : ": this user cannot make sessions there, and no daemon does");
        if (fs.f_type != TMPFS_MAGIC)
                report_add(report, VERDICT_NOTE, "folder",
                           "not on tmpfs: limits hold, but pages are written to a disk; choose "
                           "another with ALIQUOT_RUNTIME_DIR");
}

/* Reports the sessions that are `what` ("clamped" or "reported"). */
static void report_seen(struct report *report, const struct store *store, const char *what)
{
        struct names seen = { 0 };
        char line[256];
        struct text text;

        findings_list(store, what, &seen);
        text_begin(&text, line, sizeof(line));
        for (size_t i = 0; i < seen.count; i++)
                text_add(&text, "%s%s", i ? ", " : "", seen.at[i]);
        if (seen.count)
                report_add(report, VERDICT_NOTE, what,
                           "sessions that use more than they report or may use: %zu (%s%s); "
                           "aliquot show says why",
                           seen.count, line, text.is_cut ? "..." : "");
        names_free(&seen);
}

static void report_daemon(struct report *report, const struct store *store)
{
        struct error err = { 0 };
        int rc = client_protection(store, &err);

        report_add(report, VERDICT_GOOD, "daemon", "one serves %s", store->path);
        if (rc < 0) {
                report_add(report, VERDICT_BAD, "daemon", "%s", err.text);
                return;
        }
        report_add(report, VERDICT_NOTE, "daemon",
                   rc > 0 ? "containers that join by socket get their limits through a read-only "
                            "mount: not even root in a container can write them"
                          : "containers that join by socket get their limits as read-only files: "
                            "root in a container can write them; a daemon with CAP_SYS_ADMIN "
                            "prevents that");
        report_seen(report, store, "clamped");
        report_seen(report, store, "reported");
}

/* Reports who creates and changes sessions here. */
static void check_daemon(struct visit *visit)
{
        struct report *report = &visit->report;
        char asked[SETTINGS_PATH_BYTES];
        struct store store;
        struct error err = { 0 };
        int rc;

        if (!client_is_built)
                report_add(report, VERDICT_NOTE, "daemon",
                           "this aliquot was built without libcurl or jansson: it can ask no "
                           "daemon");
        if (settings_read_folder(environ, asked, NULL) < 0 || options_find_store(&store, NULL) < 0)
                return;
        if (options_passed_daemon(asked, &store) == PASSED_BARS)
                report_add(report, VERDICT_NOTE, "daemon",
                           "one serves " STORE_SYSTEM_FOLDER
                           " and does not let this user in (its socket.mode and socket.group say "
                           "who may): it does not count sessions in %s",
                           store.path);
        if (options_passed_daemon(asked, &store) == PASSED_AWAY)
                report_add(report, VERDICT_NOTE, "daemon",
                           "that of " STORE_SYSTEM_FOLDER
                           " is away: it does not count sessions in %s",
                           store.path);
        rc = client_find(&store, &err);
        if (rc < 0)
                report_add(report, VERDICT_BAD, "daemon", "%s", err.text);
        else if (rc > 0)
                report_daemon(report, &store);
        else if (client_is_built)
                report_add(report, VERDICT_NOTE, "daemon",
                           "none serves %s; sessions are this user's own", store.path);
}

static bool has_ofd_locks(void)
{
        scoped_fd int fd = memfd_create("aliquot-doctor", MFD_CLOEXEC);
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

        return fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Returns whether the processor can swap 16 bytes atomically. x86-64 may lack that; every 64-bit
 * ARM has it. */
static bool has_wide_swap(const char *machine)
{
        scoped_file FILE *info = fopen("/proc/cpuinfo", "re");
        bool is_known = strcmp(machine, "x86_64") != 0;
        bool has = is_known;
        char line[8192];

        while (!is_known && info && fgets(line, sizeof(line), info)) {
                is_known = strncmp(line, "flags", 5) == 0;
                has = is_known && strstr(line, " cx16");
        }
        return has;
}

static void check_machine(struct visit *visit)
{
        struct utsname name;

        uname(&name);
        report_add(&visit->report, has_wide_swap(name.machine) ? VERDICT_GOOD : VERDICT_BAD,
                   "machine", "%s, 16-byte compare and swap", name.machine);
        report_add(&visit->report, has_ofd_locks() ? VERDICT_GOOD : VERDICT_BAD, "machine",
                   "Linux %s, open file description locks", name.release);
        if (!pidfd_is_there())
                report_add(&visit->report, VERDICT_NOTE, "machine",
                           "no pidfd_open (Linux before 5.3, or a filter): a daemon looks for the "
                           "end of programs instead of being told, and aliquot top can end none");
}

static void check_self(struct visit *visit)
{
        const char *session = getenv("ALIQUOT_SESSION");

        if (dlsym(RTLD_DEFAULT, SELF_MARK))
                report_add(&visit->report, VERDICT_GOOD, "here",
                           "this very process is interposed, session %s",
                           session ? session : "none");
        else
                report_add(&visit->report, VERDICT_NOTE, "here",
                           "this shell is not under a limit; what aliquot run starts is");
}

static void check_protection(struct visit *visit)
{
        struct store store;
        struct stat st;

        if (options_find_store(&store, NULL) == 0 && stat(store.path, &st) == 0 &&
            st.st_uid != geteuid() && presence_look(&store) == PRESENCE_LISTENS)
                report_add(&visit->report, VERDICT_GOOD, "protection",
                           "limits are set by the daemon of user %u, and this user cannot write "
                           "them",
                           st.st_uid);
        else
                report_add(&visit->report, VERDICT_NOTE, "protection",
                           "sessions belong to user %u, so limits hold against accident, not "
                           "against that user's intent",
                           geteuid());
}

static void check_all(struct visit *visit)
{
        struct cli_request *request = &visit->request;
        struct report *report = &visit->report;
        struct error err;

        check_machine(visit);
        check_folder(visit);
        check_daemon(visit);
        if (request_open_driver(&visit->flags, request, &err) < 0) {
                report_add(report, VERDICT_BAD, "library", "%s", err.text);
                return;
        }
        report_add(report, VERDICT_GOOD, "library", "%s loads", request->own.library);
        check_driver(visit);
        check_cards(visit);
        probe_preload(&request->own, report);
        probe_shims(&request->own, report);
        check_self(visit);
        check_protection(visit);
}

int command_doctor(int argc, char **argv)
{
        static struct visit visit = { .view.most = 1 };

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_doctor, 0, &visit);
        report_begin(&visit.report, visit.view.is_json);
        if (visit.view.count)
                inspect_process(visit.view.name[0], &visit.report);
        else
                check_all(&visit);
        return report_end(&visit.report) < 0 || visit.report.has_bad ? STATUS_NO : STATUS_YES;
}
