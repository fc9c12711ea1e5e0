/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates sessions for programs that load the library but name no session.
 *
 * With default.swap the daemon listens on the socket <runtime>/share, for the users that [socket]
 * allows. A program sends HELLO there, as to a session's socket, and gets a session of its own. The
 * session swaps, and its limit is all memory of the node's only GPU except admission.reserve. From
 * then on the connection belongs to that session. The existence of the socket tells programs that
 * the daemon shares its card in this way, so the file is removed when the socket is closed.
 *
 * The session ends with its program: the daemon releases it when no process that joined is alive
 * and no process (such as a child of fork(), which has the pages too) holds one of its slots. After
 * a restart the daemon does not know which processes joined, and only checks the slots. It
 * recognises such a session by its name and labels.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/random.h"
#include "common/text.h"
#include "daemon/tenant/tenant_parts.h"

#define BACKLOG 512
#define STEM "share-"
#define DIGITS 16u
/* Labels of the sessions created here, because another session may have a similar name. */
#define MARK "{\"aliquot.dev/made-for\":\"a program without a setting\"}"
#define USUAL_WEIGHT 100u
#define USUAL_PRIORITY 1u
/* Clock beats, half a second each, before an unused session is released. LEFT_BEATS: after the last
 * process that was watched in it has died. UNKNOWN_BEATS: if it is unknown whether any joined, or
 * after a release that failed because the session was in use. */
#define LEFT_BEATS 1u
#define UNKNOWN_BEATS 120u

/* -- The socket ------------------------------------------------------------------------------- */

static int path_of(const struct tenants *tenants, char ret[STORE_PATH_BYTES], struct error *err)
{
        return text_put(ret, STORE_PATH_BYTES, err, "%s/share",
                        node_store(tenants->options.node)->path);
}

/* Binds the socket under another name, and renames it once it listens. */
static int listen_at(const struct tenants *tenants, int fd, const char *path, struct error *err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        mode_t mask;
        int rc = text_put(address.sun_path, sizeof(address.sun_path), err, "%s.new", path);

        if (rc < 0)
                return rc;
        if (unlink(address.sun_path) < 0 && errno != ENOENT)
                return fail(err, -errno, "%s: %m", address.sun_path);
        mask = umask(0177);
        rc = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
        umask(mask);
        if (rc < 0)
                return fail(err, rc, "bind: %s", strerror(-rc));
        rc = tenants->options.admit(tenants->options.config, address.sun_path, err);
        if (rc == 0 && (listen(fd, BACKLOG) < 0 || rename(address.sun_path, path) < 0))
                rc = fail(err, -errno, "%m");
        return rc;
}

static int open_listener(struct tenant_listener *share, struct error *err)
{
        char path[STORE_PATH_BYTES];
        int rc = path_of(share->tenants, path, err);

        if (rc < 0)
                return rc;
        share->accept.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (share->accept.fd < 0)
                return fail(err, -errno, "a socket: %m");
        rc = listen_at(share->tenants, share->accept.fd, path, err);
        return rc < 0 ? rc : tenant_accept_begin(&share->accept, err);
}

static void open_share(struct tenants *tenants)
{
        struct tenant_listener *share = tenant_listener_new(tenants, geteuid());
        struct error err = { 0 };

        if (!share)
                return;
        share->is_share = true;
        if (open_listener(share, &err) == 0) {
                tenants->share = share;
                return;
        }
        log_line(LOG_WARN, "the socket for programs without a session: %s; they run unshared",
                 err.text);
        tenant_listener_close(share);
}

void tenant_share_keep(struct tenants *tenants)
{
        bool is_wanted = tenants->is_started && tenants->options.config->is_swap_default;
        char path[STORE_PATH_BYTES];

        if (is_wanted && !tenants->share)
                open_share(tenants);
        if (is_wanted || !tenants->share)
                return;
        if (path_of(tenants, path, NULL) == 0)
                unlink(path);
        tenant_listener_close(tenants->share);
        tenants->share = NULL;
}

/* -- A session for a program ------------------------------------------------------------------ */

static int set_terms(const struct tenants *tenants, uint32_t uid, struct sessions_one *ret,
                     struct error *err)
{
        const struct cards *cards = &node_cards(tenants->options.node)->cards;
        uint64_t reserve_bytes = node_sessions(tenants->options.node)->policy.reserve_bytes;
        uint64_t number;

        if (cards->count != 1)
                return fail(err, -EINVAL,
                            "%u GPUs are here, and a session that swaps has one; choose it with "
                            "aliquot run --swap --gpu",
                            cards->count);
        if (cards->card[0].promisable_bytes <= reserve_bytes)
                return fail(err, -ENOSPC, "the GPU has nothing beside admission.reserve");
        *ret = (struct sessions_one){ .owner_uid = uid,
                                      .weight = USUAL_WEIGHT,
                                      .priority = USUAL_PRIORITY,
                                      .share_count = 1,
                                      .swaps = true,
                                      .labels = MARK };
        memcpy(ret->share[0].uuid, cards->card[0].uuid, sizeof(ret->share[0].uuid));
        ret->share[0].memory_bytes = cards->card[0].promisable_bytes - reserve_bytes;
        if (random_fill(ret->id, sizeof(ret->id), err) < 0 ||
            random_fill(&number, sizeof(number), err) < 0)
                return -EIO;
        return text_put(ret->name, sizeof(ret->name), err, STEM "%016llx",
                        (unsigned long long)number);
}

static int explain_refusal(const struct sessions_actions *actions, struct error *err)
{
        if (actions->answer == SESSIONS_NO_ROOM)
                return fail(err, -ENOSPC, "sessions that do not swap have the memory of the GPU");
        if (actions->answer == SESSIONS_FULL)
                return fail(err, -ENOSPC, "no more sessions (admission.sessions_per_owner)");
        if (actions->answer == SESSIONS_RULED)
                return fail(err, -EPERM, "more than the policy of this node allows: %s",
                            policy_key_name(actions->excess.key));
        return fail(err, -EINVAL, "no session can be made (%s)",
                    actions->field ? actions->field : "?");
}

struct tenant_listener *tenant_share_admit(const struct tenant_visit *visit, struct error *err)
{
        struct tenants *tenants = visit->tenants;
        const uint32_t uid = visit->peer.uid;
        struct sessions_one one;
        struct sessions_event event = { .type = SESSIONS_CREATE,
                                        .session = &one,
                                        .uid = uid,
                                        .is_admin = uid == 0 || uid == geteuid(),
                                        .change_bits = SESSIONS_HAS_MEMORY | SESSIONS_HAS_TTL };
        struct sessions_actions actions = { .answer = SESSIONS_YES };
        struct tenant_listener *made;
        char who[32];
        int rc = set_terms(tenants, uid, &one, err);

        snprintf(who, sizeof(who), "uid %u", uid);
        event.group = peers_groups(visit->fd, &event.group_count);
        if (rc == 0)
                rc = node_step(tenants->options.node, &event, who, &actions, err);
        if (rc == 0 && tenant_has_bounded_ttl(&actions)) {
                event.change_bits = SESSIONS_HAS_MEMORY;
                rc = node_step(tenants->options.node, &event, who, &actions, err);
        }
        if (rc == 0 && actions.answer != SESSIONS_YES)
                rc = explain_refusal(&actions, err);
        if (rc < 0)
                return NULL;
        made = tenant_find(tenants, one.name);
        if (!made)
                fail(err, -ENFILE, "session %s has no socket; see the daemon's log", one.name);
        return made;
}

/* -- The end of a session --------------------------------------------------------------------- */

static bool is_made_here(const char *name)
{
        const char *digits = name + strlen(STEM);

        return strncmp(name, STEM, strlen(STEM)) == 0 && strlen(digits) == DIGITS &&
               strspn(digits, "0123456789abcdef") == DIGITS;
}

void tenant_share_undo(struct tenants *tenants, const char *name)
{
        struct node *node = tenants->options.node;
        const struct sessions_one *session = sessions_find(node_sessions(node), name);
        struct sessions_event event = { .type = SESSIONS_RELEASE, .name = name, .is_admin = true };
        struct sessions_actions actions;

        if (!session || session->state != SESSIONS_OPEN || strcmp(session->labels, MARK) != 0)
                return;
        event.is_busy = folder_is_live(node_store(node), session, NULL) != 0;
        if (event.is_busy)
                tenant_renew(tenants, session);
        else
                node_step(node, &event, "daemon", &actions, NULL);
}

static void renew_session(const struct tenant_listener *listener)
{
        const struct sessions_one *session =
                sessions_find(node_sessions(listener->tenants->options.node), listener->name);

        if (session && session->state == SESSIONS_OPEN)
                tenant_renew(listener->tenants, session);
}

static void check_residents(struct tenant_listener *listener)
{
        unsigned most = listener->was_used ? LEFT_BEATS : UNKNOWN_BEATS;
        char name[SESSIONS_NAME_BYTES];

        if (!LIST_EMPTY(&listener->residents)) {
                listener->unused_beats = 0;
                renew_session(listener);
                return;
        }
        if (++listener->unused_beats <= most)
                return;
        /* If a process still holds the session, the next check follows after UNKNOWN_BEATS. */
        listener->was_used = false;
        listener->unused_beats = 0;
        memcpy(name, listener->name, sizeof(name));
        tenant_share_undo(listener->tenants, name); /* this may free the listener */
}

void tenant_share_sweep(struct tenants *tenants)
{
        struct tenant_listener *listener = LIST_FIRST(&tenants->listeners), *next;

        for (; listener; listener = next) {
                next = LIST_NEXT(listener, entry);
                if (is_made_here(listener->name))
                        check_residents(listener);
        }
}
