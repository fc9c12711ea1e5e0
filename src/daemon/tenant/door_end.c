/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends the session of a container when the container has ended: its control group is empty or gone,
 * and no process holds a lock in the session's `slots`. The kernel reports both, and no timeout
 * ends the session. If the node has a maximum TTL, the session's TTL is renewed while the container
 * exists.
 *
 * The control group of a container that is still starting is not empty at this point, because the
 * process that created the session is in it.
 */
#include <unistd.h>

#include "common/log.h"
#include "daemon/tenant/tenant_parts.h"

#define LOOKS 64u /* maximum number of sessions checked in one clock beat */

static void apply_event(struct tenants *tenants, const struct sessions_event *asked)
{
        struct sessions_event event = *asked;
        struct sessions_actions actions;
        struct error err = { 0 };

        event.uid = geteuid();
        event.is_admin = true;
        if (node_step(tenants->options.node, &event, "daemon", &actions, &err) < 0)
                log_line(LOG_WARN, "session %s: %s", event.name, err.text);
}

void tenant_renew(struct tenants *tenants, const struct sessions_one *session)
{
        const uint64_t now_ns = node_now_ns();
        const char *profile = session->container.profile;

        if (session->expires_ns && session->ttl_ns &&
            session->expires_ns < now_ns + session->ttl_ns / 2)
                apply_event(tenants,
                            &(struct sessions_event){ .type = SESSIONS_RENEW,
                                                      .name = session->name,
                                                      .profile = profile[0] ? profile : NULL });
}

static void check_container(struct tenants *tenants, const struct sessions_one *session)
{
        char name[SESSIONS_NAME_BYTES];

        if (cgroup_is_populated(session->container.cgroup, session->container.inode)) {
                tenant_renew(tenants, session);
                return;
        }
        /* A process outside the container may have received `slots` from a process inside. */
        if (folder_is_live(node_store(tenants->options.node), session, NULL) != 0)
                return;
        text_put(name, sizeof(name), NULL, "%s", session->name);
        apply_event(tenants, &(struct sessions_event){ .type = SESSIONS_RELEASE, .name = name });
}

void tenant_doors_look(struct tenants *tenants)
{
        const struct sessions *all = node_sessions(tenants->options.node);
        unsigned seen = 0;

        for (unsigned i = 0; i < all->entries && seen < LOOKS; i++) {
                const unsigned at = (tenants->look_from + i) % all->entries;
                const struct sessions_one *session = &all->session[at];

                if (session->state != SESSIONS_OPEN || !session->container.profile[0])
                        continue;
                seen++;
                check_container(tenants, session);
                if (seen == LOOKS) {
                        tenants->look_from = at + 1;
                        return;
                }
        }
}
