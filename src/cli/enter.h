/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the requested session, or creates it: through the daemon that serves the runtime folder,
 * else directly.
 */
#ifndef ALIQUOT_CLI_ENTER_H
#define ALIQUOT_CLI_ENTER_H

#include <stdbool.h>

#include "cli/remote.h"
#include "cli/request.h"
#include "store/store.h"

struct entrance {
        char name[PAGE_NAME_BYTES];
        struct store store;
        struct store_session session;
        bool is_fresh;   /* created for one run, to be removed with it */
        bool is_created; /* by this call */
};

/* Whether limits were asked for, besides a session's name. */
bool enter_has_wishes(const struct settings *settings);

/*
 * The named session: joins it if it exists (other limits are refused), else creates it, which needs
 * limits. Without a name, creates one with a new name.
 */
int enter_session(const struct request_flags *flags, const struct cli_request *request,
                  struct entrance *ret, struct error *err);

/* Creates a session and never joins one; -EEXIST: it exists. */
int enter_new(const struct request_flags *flags, const struct cli_request *request,
              struct entrance *ret, struct error *err);

/* Notes on standard error that the machine's daemon does not count the session created here. */
void enter_note_passed(const char *command, const struct cli_request *request,
                       const struct entrance *entrance);

/* Whether a daemon made the session. */
bool enter_is_daemons(const struct entrance *entrance);

#endif
