/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot cdi: makes the daemon's shares available as CDI devices, for podman and other programs
 * that read CDI.
 *
 *      add NAME...     adds shares to the daemon, and writes the specification
 *      enable          writes the specification of all shares: after an upgrade, at boot
 *      generate        prints the specification
 *      ls              lists the shares, with the arguments of podman for each
 *      rm NAME...      removes shares from the daemon, and writes the specification
 *
 * The specification depends only on the daemon's list and on what is installed on this machine, so
 * it is always written as a whole; if there are no shares, it is removed. The folder of libraries
 * is created before the specification that uses it.
 */
#include "cli/command.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cdi/files.h"
#include "cli/cdi/inject.h"
#include "cli/cdi/list.h"
#include "cli/cdi/spec.h"
#include "cli/client_profiles.h"
#include "cli/options.h"
#include "cli/request.h"
#include "cli/table.h"
#include "common/injected.h"
#include "common/json_out.h"
#include "common/scoped.h"
#include "common/text.h"

#define CDI_FOLDER "/etc/cdi"
#define LIBRARIES "/var/lib/aliquot/lib"

struct cdi_call {
        struct view view; /* its words are the verb, then names */
        struct request_flags flags;
        const char *folder, *libraries; /* NULL: the default folder */
        bool is_preload;
        struct cli_request request;
        struct store store;
        struct client_profile *profile; /* owned */
        size_t count;
        struct injection injection;
        struct table table;
};

enum { KEY_PRELOAD = 0x200, KEY_LIBRARIES };

static const struct argp_option argp_options[] = {
        { "dir", 'd', "DIR", 0, "Folder of CDI specifications (" CDI_FOLDER ")", 0 },
        { "lib-dir", KEY_LIBRARIES, "DIR", 0,
          "Where containers' copies of our libraries are kept (root: " LIBRARIES
          "; others: ~/.local/share/aliquot/lib)",
          0 },
        { "preload", KEY_PRELOAD, NULL, 0,
          "Put libaliquot.so into each container's /etc/ld.so.preload, instead of facades over the "
          "driver",
          0 },
        { 0 },
};

static const struct argp_child children[] = { { &view_list_argp, 0, NULL, 0 },
                                              { &request_sim_argp, 0, NULL, 0 },
                                              { 0 } };

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct cdi_call *call = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &call->view;
                state->child_inputs[1] = &call->flags;
                return 0;
        case 'd':
                call->folder = value;
                return 0;
        case KEY_LIBRARIES:
                call->libraries = value;
                return 0;
        case KEY_PRELOAD:
                call->is_preload = true;
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

const struct argp argp_cdi = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "add SHARE...\nenable\ngenerate [SHARE...]\nls\nrm SHARE...",
        .doc = "Give shares of GPUs to containers, as CDI devices. A share's name says what it is: "
               "gpu0-4GiB-30 is 4 GiB and 30 % of GPU 0.",
        .children = children,
};

/* -- Paths ------------------------------------------------------------------------------------ */

/* Makes a path absolute, as specifications need. */
static int make_absolute(const char *given, char ret[PATH_MAX], struct error *err)
{
        scoped_free char *here = given[0] == '/' ? NULL : getcwd(NULL, 0);

        return text_put(ret, PATH_MAX, err, "%s%s%s", here ? here : "", here ? "/" : "", given);
}

static int find_libraries(const struct cdi_call *call, char ret[PATH_MAX], struct error *err)
{
        const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

        if (call->libraries)
                return make_absolute(call->libraries, ret, err);
        if (geteuid() == 0)
                return text_put(ret, PATH_MAX, err, LIBRARIES);
        if (data && data[0] == '/')
                return text_put(ret, PATH_MAX, err, "%s/aliquot/lib", data);
        if (home && home[0] == '/')
                return text_put(ret, PATH_MAX, err, "%s/.local/share/aliquot/lib", home);
        return fail(err, -ENOENT, "HOME is not set; say --lib-dir");
}

static int find_spec(const struct cdi_call *call, char ret[PATH_MAX], struct error *err)
{
        char folder[PATH_MAX];
        int rc = make_absolute(call->folder ? call->folder : CDI_FOLDER, folder, err);

        return rc < 0 ? rc : text_put(ret, PATH_MAX, err, "%s/" SPEC_FILE, folder);
}

static int find_daemon(struct cdi_call *call, struct error *err)
{
        int rc = options_find_store(&call->store, err);

        if (rc == 0)
                rc = client_find(&call->store, err);
        if (rc == 0)
                return fail(err, CLIENT_AWAY,
                            "only a daemon has shares for containers, and none serves %s; start "
                            "aliquotd",
                            call->store.path);
        return rc < 0 ? rc : 0;
}

static int read_shares(struct cdi_call *call, struct error *err)
{
        free(call->profile);
        call->profile = NULL;
        call->count = 0;
        return client_profiles(&call->store, &call->profile, &call->count, err);
}

/* -- The specification ------------------------------------------------------------------------ */

static bool is_here(const struct cdi_call *call, size_t share)
{
        return call->profile[share].uuid[0];
}

static size_t count_here(const struct cdi_call *call)
{
        size_t count = 0;

        for (size_t i = 0; i < call->count; i++)
                count += is_here(call, i);
        return count;
}

/* Checks that the driver found here is that of the daemon: it must have the shares' GPUs. */
static int check_cards(const struct cdi_call *call, struct error *err)
{
        const struct cards *cards = &call->request.cards;

        for (size_t i = 0; i < call->count; i++) {
                bool is_found = !is_here(call, i);

                for (unsigned at = 0; at < cards->count; at++)
                        is_found |= uuid_matches(cards->card[at].uuid, cards->card[at].is_instance,
                                                 call->profile[i].uuid);
                if (call->profile[i].door[0] != '/')
                        return fail(err, -EPROTO,
                                    "the daemon says no door of share %s; bring both to one "
                                    "version of Aliquot",
                                    call->profile[i].name);
                if (!is_found)
                        return fail(err, -ENODEV,
                                    "share %s is of %s, which this machine's driver does not "
                                    "have; if the daemon's GPUs are simulated, say the same --sim",
                                    call->profile[i].name, call->profile[i].uuid);
        }
        return 0;
}

static int plan(struct cdi_call *call, struct error *err)
{
        char libraries[PATH_MAX];
        const struct inject_about about = { &call->request, libraries, call->is_preload };
        int rc = find_libraries(call, libraries, err);

        if (rc == 0)
                rc = request_open_driver(&call->flags, &call->request, err);
        if (rc == 0)
                rc = request_cards(&call->request, err);
        if (rc == 0)
                rc = check_cards(call, err);
        return rc < 0 ? rc : inject_plan(&about, &call->injection, err);
}

static bool is_wanted(const struct cdi_call *call, const char *name)
{
        for (unsigned i = 1; i < call->view.count; i++) {
                if (strcmp(call->view.name[i], name) == 0)
                        return true;
        }
        return call->view.count == 1;
}

/* Makes the text of the specification, for the requested shares only or for all. The caller frees
 * it. */
static int make_spec(const struct cdi_call *call, bool are_named, char **ret, size_t *ret_bytes,
                     struct error *err)
{
        scoped_free char *text = NULL;
        FILE *memory = open_memstream(&text, ret_bytes);
        struct json_out out = { .stream = memory };
        struct spec_share *share;
        size_t count = 0;
        int rc;

        if (!memory)
                return fail(err, -ENOMEM, "out of memory");
        share = calloc(call->count + 1, sizeof(*share));
        if (!share) {
                fclose(memory);
                return fail(err, -ENOMEM, "out of memory");
        }
        for (size_t i = 0; i < call->count; i++) {
                if (is_here(call, i) && (!are_named || is_wanted(call, call->profile[i].name)))
                        share[count++] =
                                (struct spec_share){ call->profile[i].name, call->profile[i].door };
        }
        spec_write(&out, &call->injection, share, count);
        free(share);
        rc = json_out_end(&out);
        if (fclose(memory) != 0 || rc < 0)
                return fail(err, -ENOMEM, "out of memory");
        *ret = steal_ptr(&text);
        return 0;
}

/* Writes the specification. Returns 1, or 0 if no share is of a GPU that is present: then there is
 * no specification. */
static int write_spec(struct cdi_call *call, char path[PATH_MAX], struct error *err)
{
        char folder[PATH_MAX];
        scoped_free char *text = NULL;
        size_t bytes = 0;
        int rc = find_spec(call, path, err);

        if (rc == 0)
                rc = read_shares(call, err);
        if (rc < 0)
                return rc;
        if (!count_here(call))
                return unlink(path) < 0 && errno != ENOENT ? fail(err, -errno, "%s: %m", path) : 0;
        rc = plan(call, err);
        if (rc == 0)
                rc = make_spec(call, false, &text, &bytes, err);
        if (rc == 0)
                rc = text_put(folder, sizeof(folder), err, "%.*s", (int)(strrchr(path, '/') - path),
                              path);
        if (rc == 0)
                rc = files_make_folder(folder, err);
        if (rc == 0)
                rc = files_replace(path, text, bytes, err);
        return rc < 0 ? rc : 1;
}

/* -- What a container needs of a real driver -------------------------------------------------- */

static bool is_file_there(const char *pattern)
{
        glob_t found;
        int rc = glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, &found);

        globfree(&found);
        return rc == 0;
}

/* Warns if the files of NVIDIA's own CDI device are missing. */
static void warn_of_missing(const struct cdi_call *call)
{
        static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };

        if (call->request.is_sim)
                return;
        for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
                if (access(nodes[i], F_OK) < 0)
                        fprintf(stderr,
                                "aliquot cdi: note: %s is not there, so containers have no GPU; "
                                "nvidia-modprobe -u -c=0 makes it\n",
                                nodes[i]);
        }
        if (!is_file_there("{/etc,/run}/cdi/*nvidia*.{json,yaml}"))
                fputs("aliquot cdi: note: NVIDIA's own CDI devices, which bring its driver into a "
                      "container, are not there; nvidia-ctk cdi generate "
                      "--output=/etc/cdi/nvidia.yaml makes them\n",
                      stderr);
}

/* Makes the arguments of podman. Aliquot's device is the last one, because of two mounts for one
 * path the last one is used. */
static void put_arguments(const struct cdi_call *call, const struct client_profile *profile,
                          char *ret, size_t bytes)
{
        struct text text;

        text_begin(&text, ret, bytes);
        if (!call->request.is_sim && strncmp(profile->uuid, "MIG-", 4) == 0)
                text_add(&text, "--device nvidia.com/gpu=%s ", profile->uuid);
        else if (!call->request.is_sim)
                text_add(&text, "--device nvidia.com/gpu=%u ", profile->gpu);
        text_add(&text, "--device " SPEC_KIND "=%s", profile->name);
}

/* -- The commands ----------------------------------------------------------------------------- */

static int print_arguments(const struct cdi_call *call)
{
        char arguments[PAGE_NAME_BYTES + UUID_TEXT_BYTES + 64];

        for (size_t i = 0; i < call->count; i++) {
                if (!is_here(call, i) || !is_wanted(call, call->profile[i].name))
                        continue;
                put_arguments(call, &call->profile[i], arguments, sizeof(arguments));
                printf("podman run %s IMAGE\n", arguments);
        }
        return 0;
}

static int on_each(struct cdi_call *call,
                   int (*one)(const struct store *store, const char *name, struct error *err),
                   struct error *err)
{
        int rc = 0;

        for (unsigned i = 1; rc == 0 && i < call->view.count; i++) {
                rc = settings_check_name("share", call->view.name[i], err);
                if (rc == 0)
                        rc = one(&call->store, call->view.name[i], err);
        }
        return rc;
}

static int do_add(struct cdi_call *call, struct error *err)
{
        char path[PATH_MAX];
        int rc = on_each(call, client_profile_add, err);

        if (rc == 0)
                rc = write_spec(call, path, err);
        if (rc < 0)
                return rc;
        warn_of_missing(call);
        return print_arguments(call);
}

static int do_enable(struct cdi_call *call, struct error *err)
{
        char path[PATH_MAX];
        int rc = write_spec(call, path, err);

        if (rc > 0)
                warn_of_missing(call);
        if (rc > 0)
                printf("%s: %zu of %zu shares\n", path, count_here(call), call->count);
        return rc < 0 ? rc : 0;
}

static int do_generate(struct cdi_call *call, struct error *err)
{
        scoped_free char *text = NULL;
        size_t bytes;
        int rc = read_shares(call, err);

        for (unsigned i = 1; rc == 0 && i < call->view.count; i++) {
                size_t at = 0;

                while (at < call->count && strcmp(call->profile[at].name, call->view.name[i]) != 0)
                        at++;
                if (at == call->count)
                        return fail(err, -ENOENT,
                                    "the daemon has no share %s; aliquot cdi add makes it",
                                    text_shown(call->view.name[i]));
        }
        if (rc == 0 && !count_here(call))
                return fail(err, -ENOENT,
                            "the daemon has no share of a GPU that is here; aliquot cdi add makes "
                            "one");
        if (rc == 0)
                rc = plan(call, err);
        if (rc == 0)
                rc = make_spec(call, true, &text, &bytes, err);
        if (rc == 0)
                fwrite(text, 1, bytes, stdout);
        return rc;
}

static int do_ls(struct cdi_call *call, struct error *err)
{
        int rc = read_shares(call, err);

        if (rc == 0 && call->view.is_json)
                list_print_json(call->profile, call->count);
        else if (rc == 0)
                list_print(call->profile, call->count, &call->table);
        return rc;
}

static int do_rm(struct cdi_call *call, struct error *err)
{
        char path[PATH_MAX];
        int rc = on_each(call, client_profile_remove, err);

        if (rc == 0)
                rc = write_spec(call, path, err);
        return rc < 0 ? rc : 0;
}

static const struct verb {
        const char *name;
        int (*run)(struct cdi_call *call, struct error *err);
        unsigned least, most; /* minimum and maximum number of names */
} verbs[] = {
        { "add", do_add, 1, 255 },
        { "enable", do_enable, 0, 0 },
        { "generate", do_generate, 0, 255 },
        { "ls", do_ls, 0, 0 },
        { "rm", do_rm, 1, 255 },
};

static const struct verb *find_verb(const struct view *view, struct error *err)
{
        for (unsigned i = 0; view->count && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
                if (strcmp(verbs[i].name, view->name[0]) != 0)
                        continue;
                if (view->count - 1 >= verbs[i].least && view->count - 1 <= verbs[i].most)
                        return &verbs[i];
                fail(err, -EINVAL,
                     verbs[i].most ? "%s: which share? expected such as gpu0-4GiB-30"
                                   : "%s takes no name",
                     verbs[i].name);
                return NULL;
        }
        fail(err, -EINVAL, "expected add, enable, generate, ls or rm%s%s",
             view->count ? ", not " : "", view->count ? text_shown(view->name[0]) : "");
        return NULL;
}

int command_cdi(int argc, char **argv)
{
        static struct cdi_call call = { .view.most = 256, .table.titles = LIST_TITLES };
        struct error err = { 0 };
        const struct verb *verb;
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_cdi, 0, &call);
        verb = find_verb(&call.view, &err);
        if (!verb || view_choose(&call.view, &call.table, &err) < 0)
                return command_fail("cdi", STATUS_WRONG, &err);
        rc = find_daemon(&call, &err);
        if (rc == 0)
                rc = verb->run(&call, &err);
        free(call.profile);
        return rc < 0 ? command_fail("cdi", STATUS_NO, &err) : STATUS_YES;
}
