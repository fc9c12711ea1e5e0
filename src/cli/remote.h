/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the daemon of a runtime folder on behalf of a command.
 *
 * A session's page says whether a daemon created the session. Only the daemon changes, renews and
 * removes such a session. While the daemon does not run, the session can only be read (CLIENT_AWAY
 * for changes), and its limits stay in force. A GPU that is not part of a session has a limit of
 * one byte in the session's page, or no row.
 */
#ifndef ALIQUOT_CLI_REMOTE_H
#define ALIQUOT_CLI_REMOTE_H

#include "cli/client.h"
#include "cli/client_policy.h"
#include "cli/request.h"
#include "store/store.h"

enum remote_owner {
        /* no session with this name is visible to this user; a daemon may know one */
        REMOTE_NOBODY,
        REMOTE_OURS,    /* created without a daemon */
        REMOTE_DAEMONS, /* created by a daemon */
        REMOTE_BROKEN,  /* unreadable, in a folder of this user */
};

/* Returns who created the session, from its page. */
enum remote_owner remote_owner(const struct store *store, const char *name);

/* Decides who handles a request about the session. 1: the daemon; 0: this command, because the
 * session was created without a daemon, or there is neither such a session nor a daemon.
 * CLIENT_AWAY: the daemon, but it does not answer. */
int remote_is_asked(const struct store *store, const char *name, struct error *err);

/* Returns whether a daemon may know a session for which store_join() returned `rc`: the session's
 * pages belong to another user, or are closed because the session is ending. */
bool remote_can_tell(const struct store *store, int rc);

/* Returns whether another user has a session with this name. In a daemon's folder, all users share
 * one set of names. */
bool remote_is_anothers(const struct store *store, const char *name);

/* Returns `rc`, the result of a request to the daemon about one session of many. After CLIENT_AWAY,
 * remote_can_tell() is false for the other sessions, so a command that lists sessions waits for a
 * hanging daemon only once. */
int remote_told(int rc);

/* Tells the user on standard error that of a daemon's sessions only what their pages contain is
 * shown. */
void remote_tell_silence(const struct store *store);

/* Creates the session. Its page exists when this function returns. */
int remote_create(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err);

/* The user for whom the policy is checked, and the function that receives what the user may
 * have. */
struct remote_question {
        const struct client_subject *subject;
        const struct client_bounds *bounds;
};

/* Checks whether the policy would allow the session to be created. */
int remote_check(const struct store *store, const struct request_flags *flags,
                 const struct cli_request *request, const struct remote_question *question,
                 struct error *err);

/* Changes the limits, time and labels that are given. If memory is given, request->gpus and
 * ->limits are resolved. */
int remote_change(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err);

/* Sets the request's selection to the GPUs that the session has, without those that are not
 * requested or not visible. Changes nothing if the session has all GPUs. */
int remote_narrow(const struct store_session *session, struct cli_request *request,
                  struct error *err);

#endif
