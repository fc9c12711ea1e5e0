/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot show: prints one session, its limits and its usage.
 */
#include "cli/command.h"

#include "cli/options.h"
#include "cli/views.h"
#include "settings/settings.h"

const struct argp argp_show = {
        .parser = view_list_parse,
        .args_doc = "SESSION",
        .doc = "Show a session: its limits, and what is used of them.",
        .children = view_list_children,
};

int command_show(int argc, char **argv)
{
        struct view view = { .least = 1, .most = 1 };
        struct table table = { .titles = VIEWS_TITLES };
        struct store store = { 0 };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_show, 0, &view);
        if (view_choose(&view, &table, &err) < 0)
                return command_fail("show", STATUS_WRONG, &err);
        rc = settings_check_name("session", view.name[0], &err);
        if (rc == 0)
                rc = options_find_store_of(view.name[0], &store, &err);
        if (rc == 0)
                rc = view.columns ? views_rows(&store, view.name[0], &table, &err)
                                  : views_named(&store, view.name[0], view.is_json, &err);
        return rc < 0 ? command_fail("show", STATUS_NO,
                                     options_unknown(view.name[0], &store, rc, &err))
                      : STATUS_YES;
}
