/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the daemon of a runtime folder on behalf of a command.
 *
 * A session's page says whether a daemon made it. Only the daemon changes, renews and removes such
 * a session. While the daemon is away the session can only be read (CLIENT_AWAY), and its limits
 * hold. A GPU that is not part of a session has a limit of one byte in its page, or no row.
 */
#ifndef ALIQUOT_CLI_REMOTE_H
#define ALIQUOT_CLI_REMOTE_H

#include "cli/client.h"
#include "cli/client_policy.h"
#include "cli/request.h"
#include "store/store.h"

enum remote_owner {
        REMOTE_NOBODY,  /* no session of that name is visible here; a daemon may know one */
        REMOTE_OURS,    /* made without a daemon */
        REMOTE_DAEMONS, /* made by a daemon */
        REMOTE_BROKEN,  /* unreadable, in a folder of this user */
};

/* Who made the session, by its page. */
enum remote_owner remote_owner(const struct store *store, const char *name);

/* 1: the daemon must be asked about the session; 0: the session is ours, or there is neither such a
 * session nor a daemon. CLIENT_AWAY: it is the daemon's, which does not answer. */
int remote_is_asked(const struct store *store, const char *name, struct error *err);

/* Whether a daemon may know a session for which store_join() returned `rc`: its pages are another
 * user's, or closed because it is ending. */
bool remote_can_tell(const struct store *store, int rc);

/* Whether another user has the name: names are of all users together in a daemon's folder. */
bool remote_is_anothers(const struct store *store, const char *name);

/* Returns `rc`, the result of a question to the daemon about one session of many. After
 * CLIENT_AWAY, remote_can_tell() is false for the others: so a command that lists sessions waits
 * once for a hanging daemon, and not once for each session. */
int remote_told(int rc);

/* For people, on standard error: of a daemon's sessions no more is shown than their pages tell. */
void remote_tell_silence(const struct store *store);

/* Creates the session; its page exists when this returns. */
int remote_create(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err);

/* Whom a check of the policy is about, and who is told of what they may take. */
struct remote_question {
        const struct client_subject *subject;
        const struct client_bounds *bounds;
};

/* Whether the policy would let the session be made. */
int remote_check(const struct store *store, const struct request_flags *flags,
                 const struct cli_request *request, const struct remote_question *question,
                 struct error *err);

/* Changes what was given of limits, time and labels. `request->gpus` and ->limits are resolved
 * where memory was given. */
int remote_change(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err);

/* Sets the request's selection to the GPUs that a session was granted, narrowed by the requested
 * and the visible ones. Changes nothing if the session has all GPUs. */
int remote_narrow(const struct store_session *session, struct cli_request *request,
                  struct error *err);

#endif
