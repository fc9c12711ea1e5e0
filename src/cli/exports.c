/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/preload.h"
#include "common/scoped.h"
#include "common/text.h"
#include "common/units.h"

#define LIST_BYTES 4096u

static int add_variable(struct exports *exports, const char *name, const char *value,
                        struct error *err)
{
        struct export *entry;

        if (exports->count == EXPORTS_MAX)
                return fail(err, -E2BIG, "more than %u variables to change", EXPORTS_MAX);
        entry = &exports->entry[exports->count++];
        entry->name = strdup(name);
        entry->value = value ? strdup(value) : NULL;
        if (!entry->name || (value && !entry->value))
                return fail(err, -ENOMEM, "%s: out of memory", name);
        return 0;
}

static int remove_wishes(struct exports *exports, struct error *err)
{
        int rc = 0;

        for (char **at = environ; rc == 0 && *at; at++) {
                char name[128];
                int length = (int)strcspn(*at, "=");

                if (text_put(name, sizeof(name), NULL, "%.*s", length, *at) == 0 &&
                    settings_is_limit_variable(name))
                        rc = add_variable(exports, name, NULL, err);
        }
        return rc;
}

/* Adds the variable for a list of rules, in the form in which the session is created. */
static int add_rules(struct exports *exports, const char *name, const struct settings_rules *rules,
                     struct error *err)
{
        char list[LIST_BYTES];
        struct text text;

        if (!rules->count)
                return 0;
        text_begin(&text, list, sizeof(list));
        settings_spell(rules, &text);
        return add_variable(exports, name, list, err);
}

/* Writes the host memory with a unit, because 1 alone would mean "yes". */
static const char *spell_host(uint64_t bytes, char ret[SIZE_TEXT_BYTES])
{
        if (bytes == SETTINGS_HOST_SPARE)
                return "yes";
        snprintf(ret, SIZE_TEXT_BYTES, "%lluB", (unsigned long long)bytes);
        return ret;
}

static int add_limits(struct exports *exports, const struct settings *settings, struct error *err)
{
        int rc = add_rules(exports, "ALIQUOT_MEMORY", &settings->memory, err);
        char host[SIZE_TEXT_BYTES];

        if (rc == 0)
                rc = add_rules(exports, "ALIQUOT_COMPUTE", &settings->compute, err);
        if (rc == 0 && settings->host_bytes)
                rc = add_variable(exports, "ALIQUOT_OVERSUBSCRIBE",
                                  spell_host(settings->host_bytes, host), err);
        if (rc == 0 && settings->is_context_free)
                rc = add_variable(exports, "ALIQUOT_CONTEXT", "free", err);
        if (rc == 0 && settings->device_name[0])
                rc = add_variable(exports, "ALIQUOT_DEVICE_NAME", settings->device_name, err);
        return rc;
}

/* Adds the variables that make only the selected GPUs visible. They have UUIDs, because CUDA and
 * NVML number the GPUs differently. */
static int add_visible(struct exports *exports, const struct cli_request *request,
                       struct error *err)
{
        const struct settings_selection *selection = &request->selection;
        char list[LIST_BYTES], uuid[UUID_TEXT_BYTES];
        struct text text;

        if (!selection->count)
                return 0;
        text_begin(&text, list, sizeof(list));
        for (unsigned i = 0; i < selection->count; i++) {
                const struct settings_gpu *gpu = &request->gpus.gpu[selection->at[i]];

                text_add(&text, "%s%s", i ? "," : "",
                         uuid_format(gpu->uuid, gpu->is_instance, uuid));
        }
        return add_variable(exports, "CUDA_VISIBLE_DEVICES", list, err);
}

/*
 * Puts Aliquot's simulator libraries first in LD_LIBRARY_PATH. A program that is linked with the
 * driver, NVML or the CUDA runtime needs such a library before the preloaded one is active, and the
 * toolkit's own runtime does not work on the simulated card.
 */
static int add_sim_folders(struct exports *exports, const struct installation *own,
                           struct error *err)
{
        const char *others = getenv("LD_LIBRARY_PATH");
        char ours[INSTALLATION_SIM_FOLDERS * PATH_MAX];
        scoped_free char *list = NULL;
        struct text text;

        text_begin(&text, ours, sizeof(ours));
        for (unsigned i = 0; i < INSTALLATION_SIM_FOLDERS && own->sim_folder[i][0]; i++)
                text_add(&text, "%s%s", i ? ":" : "", own->sim_folder[i]);
        if (!others)
                others = "";
        /* in a run within a run, they are already in the list */
        if (strncmp(others, ours, text.used) == 0 &&
            (others[text.used] == ':' || others[text.used] == '\0'))
                return 0;
        if (asprintf(&list, "%s%s%s", ours, others[0] ? ":" : "", others) < 0) {
                list = NULL;
                return fail(err, -ENOMEM, "LD_LIBRARY_PATH: out of memory");
        }
        return add_variable(exports, "LD_LIBRARY_PATH", list, err);
}

static int add_sim(struct exports *exports, const struct installation *own, struct error *err)
{
        int rc = add_variable(exports, "ALIQUOT_SIM", getenv("ALIQUOT_SIM"), err);

        if (rc == 0)
                rc = add_variable(exports, "ALIQUOT_REAL_LIBCUDA", own->sim_cuda, err);
        if (rc == 0)
                rc = add_variable(exports, "ALIQUOT_REAL_LIBNVML", own->sim_nvml, err);
        return rc == 0 ? add_sim_folders(exports, own, err) : rc;
}

int exports_make(const struct exports_about *about, struct exports *ret, struct error *err)
{
        const struct cli_request *request = about->request;
        scoped_free char *preload = preload_edit(getenv("LD_PRELOAD"), request->own.library, err);
        int rc = preload ? 0 : -EINVAL;

        ret->count = 0;
        if (rc == 0)
                rc = remove_wishes(ret, err);
        if (rc == 0 && about->session[0])
                rc = add_variable(ret, "ALIQUOT_SESSION", about->session, err);
        if (rc == 0 && about->runtime_dir[0])
                rc = add_variable(ret, "ALIQUOT_RUNTIME_DIR", about->runtime_dir, err);
        if (rc == 0 && about->with_limits)
                rc = add_limits(ret, &request->settings, err);
        if (rc == 0)
                rc = add_visible(ret, request, err);
        if (rc == 0 && request->is_sim)
                rc = add_sim(ret, &request->own, err);
        if (rc == 0)
                rc = add_variable(ret, "LD_PRELOAD", preload, err);
        return rc;
}

int exports_apply(const struct exports *exports, struct error *err)
{
        for (unsigned i = 0; i < exports->count; i++) {
                const struct export *entry = &exports->entry[i];
                int rc =
                        entry->value ? setenv(entry->name, entry->value, 1) : unsetenv(entry->name);

                if (rc < 0)
                        return fail(err, -errno, "%s: %m", entry->name);
        }
        return 0;
}

static bool is_plain(const char *text)
{
        for (; *text; text++) {
                if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                            "-_./:,=@%+",
                            *text))
                        return false;
        }
        return true;
}

static void print_quoted(const char *text, FILE *stream)
{
        if (is_plain(text)) {
                fputs(text, stream);
                return;
        }
        fputc('\'', stream);
        for (; *text; text++) {
                if (*text == '\'')
                        fputs("'\\''", stream);
                else
                        fputc(*text, stream);
        }
        fputc('\'', stream);
}

bool exports_is_last(const struct exports *exports, unsigned at)
{
        for (unsigned i = at + 1; i < exports->count; i++) {
                if (strcmp(exports->entry[i].name, exports->entry[at].name) == 0)
                        return false;
        }
        return true;
}

void exports_print(const struct exports *exports, FILE *stream)
{
        for (unsigned i = 0; i < exports->count; i++) {
                const struct export *entry = &exports->entry[i];

                if (!exports_is_last(exports, i))
                        continue;
                if (!entry->value) {
                        fprintf(stream, "unset %s\n", entry->name);
                        continue;
                }
                fprintf(stream, "export %s=", entry->name);
                print_quoted(entry->value, stream);
                fputc('\n', stream);
        }
}
