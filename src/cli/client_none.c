/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client in a build without libcurl or jansson: it can detect a daemon, but cannot send
 * requests.
 */
#include "cli/client.h"

#include <errno.h>

#include "cli/client_devices.h"
#include "cli/client_events.h"
#include "cli/client_policy.h"
#include "cli/client_profiles.h"
#include "cli/presence.h"

const bool client_is_built = false;

static int fail_unbuilt(const struct store *store, struct error *err)
{
        return fail(err, CLIENT_AWAY,
                    "a daemon serves %s, and this aliquot was built without libcurl or jansson, "
                    "so it cannot ask it",
                    store->path);
}

int client_find(const struct store *store, struct error *err)
{
        enum presence presence = presence_look(store);

        return presence == PRESENCE_NONE || presence == PRESENCE_UNKNOWN ? 0
                                                                         : fail_unbuilt(store, err);
}

int client_protection(const struct store *store, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_create(const struct store *store, const struct client_wish *wish, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_show(const struct store *store, const char *name, struct client_session *ret,
                struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_list(const struct store *store, const struct client_listener *listener,
                struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_processes(const struct store *store, const char *name,
                     void (*each)(const struct client_process *process, void *context),
                     void *context, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_change(const struct store *store, const struct client_session *seen,
                  const struct client_wish *wish, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_rule(const struct store *store, const char *mode, const char *turn,
                struct client_rules *ret, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_renew(const struct store *store, const char *name, const struct client_wish *wish,
                 struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_remove(const struct store *store, const char *name, bool is_forced, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_devices(const struct store *store, long patience_ms,
                   struct client_device ret[SETTINGS_GPUS], struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_rules(const struct store *store, const struct client_bounds *bounds, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_check(const struct store *store, const struct client_subject *subject,
                 const struct client_wish *wish, const struct client_bounds *bounds,
                 struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_events(const struct store *store, const struct client_hearing *hearing,
                  bool (*each)(const struct client_event *event, void *context), void *context,
                  struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_profiles(const struct store *store, struct client_profile **ret, size_t *ret_count,
                    struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_profile_add(const struct store *store, const char *name, struct error *err)
{
        return fail_unbuilt(store, err);
}

int client_profile_remove(const struct store *store, const char *name, struct error *err)
{
        return fail_unbuilt(store, err);
}
