/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/enter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/options.h"
#include "cli/presence.h"
#include "cli/promises.h"
#include "cli/starter.h"
#include "common/text.h"

/* ATTEMPTS * PAUSE_NS: how long to wait for a session that is being removed (2 s) */
#define ATTEMPTS 200
#define PAUSE_NS 10000000
#define STARTS 3u

bool enter_has_wishes(const struct settings *settings)
{
        return settings->memory.count || settings->compute.count || settings->device_name[0] ||
               settings->host_bytes || settings->swaps || settings->is_context_free;
}

struct attempt {
        const struct request_flags *flags;
        const struct cli_request *request;
        struct store_request wish;
        char canonical[SETTINGS_CANONICAL_BYTES];
};

static int prepare_attempt(const struct request_flags *flags, const struct cli_request *request,
                           struct attempt *attempt, struct entrance *entrance, struct error *err)
{
        const struct settings *settings = &request->settings;
        int rc = settings_canonical(settings, attempt->canonical, err);

        if (rc == 0 &&
            !options_find_kept(settings->runtime_dir, settings->session, &entrance->store))
                rc = options_find_folder(settings->runtime_dir, true, &entrance->store, err);
        entrance->is_fresh = !settings->session[0];
        if (rc == 0 && entrance->is_fresh)
                rc = store_fresh_name(entrance->name, err);
        else if (rc == 0)
                memcpy(entrance->name, settings->session, sizeof(entrance->name));
        attempt->flags = flags;
        attempt->request = request;
        attempt->wish = (struct store_request){
                .name = entrance->name,
                .created_as = attempt->canonical,
                .device_name = settings->device_name,
                .flags = (settings->is_context_free ? PAGE_CONTEXT_FREE : 0u) |
                         (settings->swaps ? PAGE_SWAPS : 0u),
                .says_swap = settings->says_swap,
                .limits = &request->limits,
        };
        return rc;
}

/* Returns 1 if the daemon must create the session. 0 if there is no daemon, or if the request has
 * no limits, which the daemon would have to admit. */
static int find_daemon(const struct attempt *attempt, const struct entrance *entrance,
                       struct error *err)
{
        const char *wish = request_daemon_wish(attempt->flags, attempt->request);
        int rc;

        if (!wish && !enter_has_wishes(&attempt->request->settings))
                return 0;
        if (wish && !attempt->request->settings.memory.count && !attempt->request->settings.swaps)
                return fail(err, -EINVAL, "%s: say how much memory too, as in --memory 4GiB", wish);
        rc = client_find(&entrance->store, err);
        if (rc != 0 || !wish)
                return rc;
        if (!attempt->flags->may_start_daemon)
                return fail(err, CLIENT_AWAY,
                            "%s: only a daemon can do that, and none serves %s; start aliquotd",
                            wish, entrance->store.path);
        rc = promises_are_nobodys(&entrance->store, wish, err);
        if (rc == 0)
                rc = starter_start(&entrance->store, attempt->request, err);
        return rc < 0 ? rc : 1;
}

static int create_here(const struct attempt *attempt, struct entrance *entrance, struct error *err)
{
        int rc = 0;

        if (enter_has_wishes(&attempt->request->settings))
                rc = promises_check(&entrance->store, attempt->request, err);
        if (rc == 0)
                rc = store_create(&entrance->store, &attempt->wish, &entrance->session, err);
        entrance->is_created = rc == 0;
        return rc;
}

/* Adds to an error how the session is removed: the user did not choose its name, and so does not
 * know it. */
static void add_what_is_left(const char *name, struct error *err)
{
        char why[sizeof(err->text)];

        if (err && text_put(why, sizeof(why), NULL, "%s", err->text) == 0)
                fail(err, err->code,
                     "%s; session %s, if it was made, goes with the next aliquot ls, ps or run "
                     "after a minute, or with aliquot rm",
                     why, name);
}

static int create_remotely(const struct attempt *attempt, struct entrance *entrance,
                           struct error *err)
{
        int rc = CLIENT_AWAY, found = 1;

        /* A daemon that ends with its last session may end just now; then try again without it. A
         * daemon that is silent is not asked a second time. */
        for (unsigned i = 0; rc == CLIENT_AWAY && found > 0 && i < STARTS; i++) {
                rc = remote_create(&entrance->store, attempt->flags, attempt->request,
                                   entrance->name, err);
                if (rc != CLIENT_AWAY || presence_look(&entrance->store) == PRESENCE_LISTENS)
                        break;
                found = find_daemon(attempt, entrance, NULL);
        }
        if (rc == CLIENT_AWAY && found == 0)
                return create_here(attempt, entrance, err);
        entrance->is_created = rc == 0;
        if (rc == CLIENT_AWAY && entrance->is_fresh)
                add_what_is_left(entrance->name, err);
        return rc < 0 ? rc
                      : store_join(&entrance->store, entrance->name, false, &entrance->session,
                                   err);
}

static int create_session(const struct attempt *attempt, struct entrance *entrance,
                          struct error *err)
{
        const struct settings *settings = &attempt->request->settings;
        int rc;

        if (!entrance->is_fresh && !enter_has_wishes(settings))
                return fail(err, -ENOENT,
                            "session %s does not exist in %s; to make it, add --memory SIZE",
                            entrance->name, entrance->store.path);
        if (!entrance->is_fresh && store_is_fresh_name(entrance->name))
                return fail(err, -EINVAL,
                            "session %s: names like this are given to sessions of one run; choose "
                            "another",
                            entrance->name);
        rc = find_daemon(attempt, entrance, err);
        if (rc < 0)
                return rc;
        if (rc > 0)
                return create_remotely(attempt, entrance, err);
        return create_here(attempt, entrance, err);
}

/* Returns whether the session swaps although --swap=no was given. The variable with that value
 * requests nothing. */
static bool swaps_unasked(const struct attempt *attempt, const struct entrance *entrance)
{
        const struct settings_flag *flag = attempt->flags->flag;
        const struct limits_page *page = entrance->session.limits;

        while (flag->variable && strcmp(flag->flag, "--swap") != 0)
                flag++;
        return flag->variable && !attempt->request->settings.swaps && page &&
               page->flags & PAGE_SWAPS;
}

static int join_session(const struct attempt *attempt, struct entrance *entrance, struct error *err)
{
        const char *daemon_wish = request_daemon_asked(attempt->flags, attempt->request);
        int rc = store_join(&entrance->store, entrance->name, false, &entrance->session, err);

        if (rc == 0 && daemon_wish)
                return fail(err, -EEXIST,
                            "%s: session %s is there already; leave it out to join, or change it "
                            "with aliquot set",
                            daemon_wish, entrance->name);
        if (rc == 0 && swaps_unasked(attempt, entrance))
                return fail(err, -EEXIST,
                            "--swap=no: session %s swaps, which is fixed when a session is made; "
                            "leave it out to join, or name another with --session",
                            entrance->name);
        if (rc == 0 && enter_has_wishes(&attempt->request->settings))
                rc = store_check_same(&entrance->session, &attempt->wish, err);
        if (rc == -EACCES || rc == -EPERM)
                options_unknown(entrance->name, &entrance->store, rc, err);
        return rc;
}

int enter_session(const struct request_flags *flags, const struct cli_request *request,
                  struct entrance *ret, struct error *err)
{
        static struct attempt attempt;
        int rc = prepare_attempt(flags, request, &attempt, ret, err);

        if (rc < 0)
                return rc;
        if (ret->is_fresh)
                return create_session(&attempt, ret, err);
        for (unsigned i = 0;; i++) {
                rc = join_session(&attempt, ret, err);
                if (rc == -ENOENT)
                        rc = create_session(&attempt, ret, err);
                /* another command created or removed the session meanwhile: try again */
                if ((rc != -EEXIST || ret->session.limits) && rc != -EBUSY)
                        return rc;
                if (i == ATTEMPTS)
                        return rc;
                nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        }
}

/* Returns whether the session is in the folder of the machine's daemon, which does not run. This
 * user then may not create the session in another folder. */
static bool is_kept_without_daemon(const struct cli_request *request,
                                   const struct entrance *entrance)
{
        struct store store;

        return options_find_kept(request->settings.runtime_dir, entrance->name, &store) &&
               presence_look(&store) != PRESENCE_LISTENS;
}

int enter_new(const struct request_flags *flags, const struct cli_request *request,
              struct entrance *ret, struct error *err)
{
        static struct attempt attempt;
        int rc = prepare_attempt(flags, request, &attempt, ret, err);

        if (rc == 0 && !enter_has_wishes(&request->settings) &&
            !request_daemon_wish(flags, request))
                return fail(err, -EINVAL, "say how much session %s may use, as in --memory 4GiB",
                            ret->name);
        if (rc == 0 && is_kept_without_daemon(request, ret))
                return fail(err, -EEXIST, "session %s exists already", ret->name);
        return rc < 0 ? rc : create_session(&attempt, ret, err);
}

void enter_note_passed(const char *command, const struct cli_request *request,
                       const struct entrance *entrance)
{
        enum passed passed =
                entrance->is_created
                        ? options_passed_daemon(request->settings.runtime_dir, &entrance->store)
                        : PASSED_NONE;

        if (passed != PASSED_NONE)
                fprintf(stderr,
                        "aliquot %s: note: the daemon of " STORE_SYSTEM_FOLDER
                        " %s, and does not count session %s, which is made in %s\n",
                        command,
                        passed == PASSED_BARS ? "does not let this user in (its socket.mode and "
                                                "socket.group say who may)"
                                              : "is away",
                        entrance->name, entrance->store.path);
}

bool enter_is_daemons(const struct entrance *entrance)
{
        return entrance->session.limits && entrance->session.limits->owner == PAGE_OWNER_DAEMON;
}
