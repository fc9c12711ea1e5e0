/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds or creates the session of a process that connected to a door.
 *
 * The session is identified by the profile, the container's id, and the inode of the container's
 * control group. The profile is that of the door, so no process can choose another one; the other
 * two are found by what the kernel reports. The first process of a container creates the session.
 * Later ones find it, even after a restart of the daemon, because all three are saved with the
 * session. The session's name is only for display.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/random.h"
#include "common/text.h"
#include "common/units.h"
#include "daemon/tenant/tenant_parts.h"
#include "machine/cards.h"

#define USUAL_WEIGHT 100u
#define SOON_MS 100u /* retry delay if something that is in the way ends soon */
#define NAME_SHORT_ID 12
#define NO_ROOM_YET (-EAGAIN)

_Static_assert(SESSIONS_CONTAINER_BYTES >= CONTAINER_ID_BYTES &&
                       SESSIONS_CGROUP_BYTES >= CGROUP_PATH_BYTES &&
                       SESSIONS_NAME_BYTES >= sizeof(((struct profile *)0)->name),
               "a session carries its container");

static int set_refusal(struct tenant_refusal *ret, enum message_code code, const char *why)
{
        fail(&ret->why, -EPERM, "%s", why);
        return (int)code;
}

/* -- The existing session ---------------------------------------------------------------------- */

static bool is_of_container(const struct sessions_one *session, const struct tenant_visit *visit)
{
        const struct sessions_container *container = &session->container;

        return session->state != SESSIONS_FREE &&
               strcmp(container->profile, visit->door->profile.name) == 0 &&
               strcmp(container->id, visit->guest->cgroup.container) == 0;
}

/* Returns the session of this container; NULL: it has none. *ret_former: a session that the
 * container had before it was restarted, or NULL. */
static const struct sessions_one *find_session(const struct tenant_visit *visit,
                                               const struct sessions_one **ret_former)
{
        const struct sessions *all = node_sessions(visit->tenants->options.node);

        *ret_former = NULL;
        for (unsigned i = 0; i < all->entries; i++) {
                if (!is_of_container(&all->session[i], visit))
                        continue;
                if (all->session[i].container.inode == visit->guest->cgroup.inode)
                        return &all->session[i];
                *ret_former = &all->session[i];
        }
        return NULL;
}

static int find_listener(struct tenant_visit *visit, const char *name, struct tenant_refusal *ret)
{
        visit->listener = tenant_find(visit->tenants, name);
        if (visit->listener)
                return 0;
        ret->retry_ms = SOON_MS;
        fail(&ret->why, -EMFILE, "session %s has no socket: the daemon's open files are used up",
             name);
        return MESSAGE_TOO_MANY;
}

/* -- A new session ---------------------------------------------------------------------------- */

/* Fills in a session with the terms of the profile, on this GPU. */
static void fill_terms(const struct tenant_visit *visit, const uint8_t uuid[16],
                       struct sessions_one *ret)
{
        const struct profile *profile = &visit->door->profile;
        const struct cgroup *cgroup = &visit->guest->cgroup;
        struct sessions_container *container = &ret->container;
        struct sessions_share *share = &ret->share[0];

        *ret = (struct sessions_one){ .owner_uid = geteuid(),
                                      .weight = USUAL_WEIGHT,
                                      .priority = profile->priority,
                                      .share_count = 1 };
        memcpy(share->uuid, uuid, sizeof(share->uuid));
        share->memory_bytes = profile->memory_bytes;
        if (profile->compute_milli_percent < SESSIONS_WHOLE_MILLI_PERCENT)
                share->compute_milli_percent = profile->compute_milli_percent;
        memcpy(container->profile, profile->name, sizeof(profile->name));
        memcpy(container->id, cgroup->container, sizeof(cgroup->container));
        memcpy(container->cgroup, cgroup->folder, sizeof(cgroup->folder));
        container->inode = cgroup->inode;
        text_put(ret->labels, sizeof(ret->labels), NULL,
                 "{\"aliquot.dev/container\":\"%s\",\"aliquot.dev/profile\":\"%s\"}",
                 cgroup->container, profile->name);
}

/* Names the session after profile and container; if that name is taken (is_taken), adds random
 * digits. */
static int name_it(struct sessions_one *one, bool is_taken, struct error *err)
{
        uint16_t digits = 0;
        int rc;

        if (!is_taken)
                return text_put(one->name, sizeof(one->name), err, "%.50s.%.*s",
                                one->container.profile, NAME_SHORT_ID, one->container.id);
        rc = random_fill(&digits, sizeof(digits), err);
        return rc < 0 ? rc
                      : text_put(one->name, sizeof(one->name), err, "%.45s.%.*s-%04x",
                                 one->container.profile, NAME_SHORT_ID, one->container.id, digits);
}

static int refuse_room(const struct tenant_visit *visit, const struct sessions_actions *actions,
                       struct tenant_refusal *ret)
{
        const char *name = visit->door->profile.name;
        char wanted[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];

        switch (actions->answer) {
        case SESSIONS_NO_ROOM:
        case SESSIONS_NO_GPU:
                fail(&ret->why, actions->answer == SESSIONS_NO_ROOM ? NO_ROOM_YET : -ENOSPC,
                     "no room for share %s: %s asked for, %s %s on its GPU", name,
                     size_format(actions->wanted_bytes, wanted),
                     size_format(actions->free_bytes, room),
                     actions->answer == SESSIONS_NO_ROOM ? "free" : "at most");
                return MESSAGE_TOO_MANY;
        case SESSIONS_FULL:
                fail(&ret->why, -ENOSPC, "no room for share %s: the node has too many sessions",
                     name);
                return MESSAGE_TOO_MANY;
        case SESSIONS_RULED:
                fail(&ret->why, -EPERM, "share %s is more than the policy of this node allows: %s",
                     name, policy_key_name(actions->excess.key));
                return MESSAGE_TROUBLE;
        default:
                fail(&ret->why, -EINVAL, "share %s cannot be given here: %s", name,
                     actions->field ? actions->field : "its session is refused");
                return MESSAGE_TROUBLE;
        }
}

bool tenant_has_bounded_ttl(const struct sessions_actions *actions)
{
        return actions->answer == SESSIONS_TOO_LONG ||
               (actions->answer == SESSIONS_RULED && actions->excess.key == POLICY_TTL);
}

static int step_create(const struct tenant_visit *visit, struct sessions_one *one,
                       struct sessions_actions *ret, struct error *err)
{
        struct node *node = visit->tenants->options.node;
        struct sessions_event event = {
                .type = SESSIONS_CREATE,
                .uid = geteuid(),
                .is_admin = true,
                .change_bits = node_sessions(node)->policy.ttl_max_ns ? 0 : SESSIONS_HAS_TTL,
                .profile = visit->door->profile.name,
                .session = one,
        };
        char who[DATABASE_WHO_BYTES];
        int rc;

        tenant_batch_begin(visit->tenants);
        text_put(who, sizeof(who), NULL, "door uid %u pid %d", visit->peer.uid, visit->peer.pid);
        rc = node_step(node, &event, who, ret, err);
        if (rc < 0 || !event.change_bits || !tenant_has_bounded_ttl(ret))
                return rc;
        event.change_bits = 0;
        return node_step(node, &event, who, ret, err);
}

static int create_session(const struct tenant_visit *visit, struct sessions_one *one,
                          struct tenant_refusal *ret)
{
        struct sessions_actions actions = { .answer = SESSIONS_EXISTS };
        struct error err = { 0 };
        int rc = random_fill(one->id, sizeof(one->id), &err);

        for (unsigned try = 0; rc == 0 && actions.answer == SESSIONS_EXISTS && try < 3; try++) {
                rc = name_it(one, try > 0, &err);
                if (rc == 0)
                        rc = step_create(visit, one, &actions, &err);
        }
        if (rc == 0)
                return actions.answer == SESSIONS_YES ? 0 : refuse_room(visit, &actions, ret);
        log_line(LOG_WARN, "door %s: %s", visit->door->profile.name, err.text);
        return set_refusal(ret, MESSAGE_TROUBLE,
                           "the container's session cannot be made; see the daemon's log");
}

/* Creates the session, or queues the container if there is no room. A container whose share is
 * larger than the card is not queued. */
static int create_or_wait(const struct tenant_visit *visit, struct sessions_one *one,
                          struct tenant_refusal *ret)
{
        struct tenants *tenants = visit->tenants;
        int code;

        if (tenant_waits_behind(tenants, one)) {
                fail(&ret->why, NO_ROOM_YET, "no room for share %s: others wait before it",
                     one->container.profile);
                code = MESSAGE_TOO_MANY;
        } else {
                code = create_session(visit, one, ret);
        }
        if (code == MESSAGE_TOO_MANY && ret->why.code == NO_ROOM_YET)
                tenant_wait(tenants, one, ret);
        else
                tenant_wait_end(tenants, one);
        return code;
}

/* Whether the session table has room. The last SESSIONS_KEPT entries are reserved for
 * administrators. */
static bool has_entry(const struct tenants *tenants)
{
        return node_sessions(tenants->options.node)->count + SESSIONS_KEPT < SESSIONS_MAX;
}

static int make_session(struct tenant_visit *visit, struct sessions_one *one,
                        struct tenant_refusal *ret)
{
        const struct profile *profile = &visit->door->profile;
        const struct cards *cards = &node_cards(visit->tenants->options.node)->cards;
        struct settings_gpus gpus;
        int at;

        if (!visit->door->is_of_config && !visit->door->is_of_api)
                return set_refusal(ret, MESSAGE_ENDED, "this profile was removed");
        if (profile->priority == 2 && !visit->tenants->options.config->has_leases)
                return set_refusal(
                        ret, MESSAGE_TROUBLE,
                        "the share asks for class rt, and this daemon hands out no leases");
        cards_as_gpus(cards, &gpus);
        at = profile_gpu(profile, &gpus, &ret->why);
        if (at < 0)
                return MESSAGE_TROUBLE;
        if (!has_entry(visit->tenants))
                return set_refusal(ret, MESSAGE_TOO_MANY, "the node has too many sessions");
        fill_terms(visit, gpus.gpu[at].uuid, one);
        return create_or_wait(visit, one, ret);
}

/* -- Admission -------------------------------------------------------------------------------- */

static int refuse_stray(const struct tenant_visit *visit, struct tenant_refusal *ret)
{
        fail(&ret->why, -ESRCH, "share %s is for programs in containers: %s",
             visit->door->profile.name, visit->guest->stray.text);
        return MESSAGE_NOT_YOURS;
}

int tenant_door_admit(struct tenant_visit *visit, struct tenant_refusal *ret)
{
        const struct sessions_one *session, *former;
        struct sessions_one one;
        int code;

        if (!visit->guest->cgroup.container[0])
                return refuse_stray(visit, ret);
        session = find_session(visit, &former);
        if (session)
                return session->state == SESSIONS_OPEN
                               ? find_listener(visit, session->name, ret)
                               : set_refusal(ret, MESSAGE_ENDED,
                                             "this container's session has ended");
        /* A container that was started again has a new control group, and the old one is gone. So
         * this is the same container, whose root has made a control group of that name. */
        if (former && cgroup_is_populated(former->container.cgroup, former->container.inode))
                return set_refusal(ret, MESSAGE_NOT_YOURS,
                                   "this container has its session in another control group");
        code = make_session(visit, &one, ret);
        if (code == 0)
                return find_listener(visit, one.name, ret);
        /* the container's former session ends soon, so retry soon */
        if (code == MESSAGE_TOO_MANY && former)
                ret->retry_ms = SOON_MS;
        return code;
}
