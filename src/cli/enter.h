/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining the session that was asked for, or making it: by the daemon that serves the runtime
 * folder, else ourselves.
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
        bool is_fresh;   /* made for one run, to go with it */
        bool is_created; /* by this call */
};

/* Whether limits were asked for, besides a session's name. */
bool enter_has_wishes(const struct settings *settings);

/*
 * The named session: joined if it is there (asking for other limits is refused), else made, which
 * takes limits. Without a name a fresh one.
 */
int enter_session(const struct request_flags *flags, const struct cli_request *request,
                  struct entrance *ret, struct error *err);

/* Makes a session and never joins one; -EEXIST: it is there. */
int enter_new(const struct request_flags *flags, const struct cli_request *request,
              struct entrance *ret, struct error *err);

/* On standard error, for people: the daemon of the machine does not count what was made here. */
void enter_note_passed(const char *command, const struct cli_request *request,
                       const struct entrance *entrance);

/* Whether a daemon made the session. */
bool enter_is_daemons(const struct entrance *entrance);

#endif
