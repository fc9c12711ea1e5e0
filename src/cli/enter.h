/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the requested session, or creates it: through the daemon that serves the runtime folder, or
 * directly if there is none.
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
        bool is_fresh;   /* created for one run, and removed at the end of that run */
        bool is_created; /* created by this call */
};

/* Returns whether limits are requested, in addition to a session's name. */
bool enter_has_wishes(const struct settings *settings);

/*
 * Joins the session with the requested name if it exists (requests for other limits are refused);
 * otherwise creates it, for which limits must be given. Without a name, creates a session with a
 * new name.
 */
int enter_session(const struct request_flags *flags, const struct cli_request *request,
                  struct entrance *ret, struct error *err);

/* Creates a session without joining an existing one. -EEXIST: it exists. */
int enter_new(const struct request_flags *flags, const struct cli_request *request,
              struct entrance *ret, struct error *err);

/* If the daemon of the whole machine does not count the session created here, says so on standard
 * error. */
void enter_note_passed(const char *command, const struct cli_request *request,
                       const struct entrance *entrance);

/* Returns whether a daemon created the session. */
bool enter_is_daemons(const struct entrance *entrance);

#endif
