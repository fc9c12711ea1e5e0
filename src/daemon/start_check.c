/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/start_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "daemon/http/http.h"
#include "daemon/options.h"
#include "daemon/tenant/tenant.h"

int start_read_token(const struct config *config, struct token *ret, struct error *err)
{
        char place[CONFIG_PLACE_BYTES];
        int rc;

        token_wipe(ret);
        if (!config->token_file[0])
                return 0;
        rc = token_read(config->token_file, TOKEN_MIN, ret, err);
        return rc < 0 ? wrap(err, "%shttp.token_file",
                             config_place(config, "http.token_file", place))
                      : 0;
}

int start_find_runtime(const struct config *config, bool make, struct store *ret, struct error *err)
{
        const char *asked = config->runtime_dir;
        char place[CONFIG_PLACE_BYTES];
        int rc = store_find(ret, asked[0] ? asked : getenv("ALIQUOT_RUNTIME_DIR"), make, err);

        return rc < 0 && asked[0] ? wrap(err, "%sdaemon.runtime_dir",
                                         config_place(config, "daemon.runtime_dir", place))
                                  : rc;
}

void start_warn_unused(const struct config *config, const struct store *store)
{
        const struct store machine = { .path = STORE_SYSTEM_FOLDER };
        const char *asked = getenv("ALIQUOT_RUNTIME_DIR");

        if (!config->runtime_dir[0] && !(asked && asked[0]) &&
            strcmp(store->path, machine.path) != 0 && store_try_daemon(&machine) == 0)
                log_line(LOG_WARN,
                         "the daemon of %s lets this user in, and aliquot uses that one; to use "
                         "this one, name a folder with --runtime-dir here and in "
                         "ALIQUOT_RUNTIME_DIR for aliquot",
                         machine.path);
}

/* Checks the runtime folder. One that does not exist is fine, because the start creates it. */
static int check_runtime(const struct config *config, struct error *err)
{
        const char *said =
                config->runtime_dir[0] ? config->runtime_dir : getenv("ALIQUOT_RUNTIME_DIR");
        char path[STORE_PATH_BYTES + sizeof("/" START_SOCKET_FILE)];
        struct store store;
        int rc;

        if (config_was_refused(config, "daemon.runtime_dir"))
                return 0;
        rc = start_find_runtime(config, false, &store, err);
        if (rc == 0)
                said = store.path;
        if (rc < 0 && rc != -ENOENT)
                return rc;
        if (!said || !said[0])
                return 0;
        rc = text_put(path, sizeof(path), err, "%s/" START_SOCKET_FILE, said);
        return rc < 0 ? rc : http_check_path(path, err);
}

static int check_http_token(const struct config *config, struct error *err)
{
        struct token token = { 0 };
        int rc = start_read_token(config, &token, err);

        token_wipe(&token);
        return rc;
}

static int check_join_token(const struct config *config, struct error *err)
{
        struct token token = { 0 };
        int rc = tenants_read_token(config, &token, err);

        token_wipe(&token);
        return rc;
}

static int check_state(const struct config *config, struct error *err)
{
        char folder[CONFIG_PATH_BYTES];

        return options_state_dir(config, folder, err);
}

int start_check(const struct config *config, struct config_report *report)
{
        static int (*const checks[])(const struct config *config, struct error *err) = {
                check_runtime, http_check_group, check_http_token, check_join_token, check_state,
        };
        struct error err;
        int rc = 0;

        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
                err = (struct error){ 0 };
                if (checks[i](config, &err) < 0)
                        rc = config_report_add(report, err.text);
        }
        return rc;
}
