/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon of a runtime folder does for a command: the command's wishes in its words.
 *
 * Whose a session is, its page says. What the daemon made it alone changes, renews and removes;
 * while it is away such a session is only read (CLIENT_AWAY), and its limits hold. A GPU that a
 * session was not granted has a limit of one byte in its page, or no row.
 */
#ifndef ALIQUOT_CLI_REMOTE_H
#define ALIQUOT_CLI_REMOTE_H

#include "cli/client.h"
#include "cli/client_policy.h"
#include "cli/request.h"
#include "store/store.h"

enum remote_owner {
        REMOTE_NOBODY,  /* no session of that name can be seen here; a daemon may know of one */
        REMOTE_OURS,    /* made without a daemon */
        REMOTE_DAEMONS, /* made by one */
        REMOTE_BROKEN,  /* nothing in its folder tells, which is this user's */
};

/* Whose session it is, by its page. */
enum remote_owner remote_owner(const struct store *store, const char *name);

/* Whether the daemon is to be asked about a session: 1; 0: no, it is ours, or there is neither
 * such a session nor a daemon. CLIENT_AWAY: it is the daemon's, and that does not answer. */
int remote_is_asked(const struct store *store, const char *name, struct error *err);

/* Whether a daemon can tell of a session that store_join() answered `rc` for: its pages are another
 * user's, or closed since it is ending. */
bool remote_can_tell(const struct store *store, int rc);

/* Whether another user has the name: names are of all users together in a daemon's folder. */
bool remote_is_anothers(const struct store *store, const char *name);

/* Returns `rc`, the result of a question to the daemon about one session of many. After
 * CLIENT_AWAY, remote_can_tell() is false for the others: a command that lists sessions waits for a
 * daemon that hangs once, and not once for each session. */
int remote_told(int rc);

/* For people, on standard error: of a daemon's sessions no more is shown than their pages tell. */
void remote_tell_silence(const struct store *store);

/* Makes the session; its page is there when this returns. */
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

/* The GPUs that a session was granted, as the request's selection: what was asked for besides, or
 * is visible to us, narrows it. Nothing changes where the session has all. */
int remote_narrow(const struct store_session *session, struct cli_request *request,
                  struct error *err);

#endif
