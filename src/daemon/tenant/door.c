/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a door for each profile: the socket doors/PROFILE/socket, to which every process that can
 * reach it may connect.
 *
 * Only the owner of the folder `doors` (and root) can traverse it. The folder doors/PROFILE is
 * mounted into containers, so it is never removed, even when its profile is: daemons only create
 * and remove the socket in it.
 *
 * Profiles are in the configuration, or were added through the API and are in the database. A
 * removed profile keeps its door as long as sessions exist that were created with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/tenant/tenant_parts.h"
#include "machine/cards.h"

#define DOORS_MAX 128u
#define DOORS_FOLDER "doors"
#define PARENT_MODE 0700
#define FOLDER_MODE 0755
#define SOCKET_MODE 0666

/* -- Folder and socket of a door -------------------------------------------------------------- */

/* Opens a folder of the daemon's user, and creates it if it does not exist. Its mode becomes `mode`
 * whatever the umask is. */
static int open_made(int at, const char *name, mode_t mode, struct error *err)
{
        scoped_fd int fd = -1;
        struct stat st;

        if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
                return fail(err, -errno, "make %s: %m", name);
        fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", name);
        if (st.st_uid != geteuid())
                return fail(err, -EPERM, "%s belongs to user %u, expected %u", name, st.st_uid,
                            geteuid());
        if ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0)
                return fail(err, -errno, "mode of %s: %m", name);
        return steal_fd(&fd);
}

static int open_folder(const struct tenant_door *door, struct error *err)
{
        scoped_fd int runtime = open(node_store(door->tenants->options.node)->path,
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped_fd int doors = -1;

        if (runtime < 0)
                return fail(err, -errno, "the runtime folder: %m");
        doors = open_made(runtime, DOORS_FOLDER, PARENT_MODE, err);
        return doors < 0 ? doors : open_made(doors, door->profile.name, FOLDER_MODE, err);
}

static void close_socket(struct tenant_door *door)
{
        tenant_accept_end(&door->accept);
        if (door->accept.fd >= 0)
                close(door->accept.fd);
        door->accept.fd = -1;
}

static int open_socket(struct tenant_door *door, struct error *err)
{
        scoped_fd int folder = open_folder(door, err);
        int rc;

        if (folder < 0)
                return folder;
        door->accept.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (door->accept.fd < 0)
                return fail(err, -errno, "a socket: %m");
        rc = tenant_bind(
                &(struct tenant_binding){ folder, door->accept.fd, SOCKET_MODE, geteuid() },
                &door->device, &door->inode, err);
        return rc < 0 ? rc : tenant_accept_begin(&door->accept, err);
}

/* Opens a door, even if opening it failed before, or its folder or socket was removed. */
static void open_door(struct tenant_door *door)
{
        struct error err = { 0 };

        close_socket(door);
        if (open_socket(door, &err) < 0) {
                close_socket(door);
                if (!door->is_troubled)
                        log_line(LOG_ERROR,
                                 "the door of profile %s cannot be opened, and no container can "
                                 "join by it: %s",
                                 door->profile.name, err.text);
                door->is_troubled = true;
                return;
        }
        if (door->is_troubled)
                log_line(LOG_INFO, "the door of profile %s is open again", door->profile.name);
        door->is_troubled = false;
}

static bool is_open(const struct tenant_door *door)
{
        scoped_fd int folder = door->accept.event ? open_folder(door, NULL) : -1;

        return folder >= 0 && tenant_is_bound(folder, door->device, door->inode);
}

/* -- All doors -------------------------------------------------------------------------------- */

struct tenant_door *tenant_door_find(const struct tenants *tenants, const char *profile)
{
        struct tenant_door *door;

        LIST_FOREACH(door, &tenants->doors, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                if (strcmp(door->profile.name, profile) == 0)
                        break;
        }
        /* cppcheck-suppress uninitvar ; NULL if the loop has ended */
        return door;
}

/* Counts the profile's sessions, including those that are ending. */
static unsigned count_sessions(const struct tenants *tenants, const char *profile)
{
        const struct sessions *all = node_sessions(tenants->options.node);
        unsigned count = 0;

        for (unsigned i = 0; i < all->entries; i++)
                count += all->session[i].state != SESSIONS_FREE &&
                         strcmp(all->session[i].container.profile, profile) == 0;
        return count;
}

static void end_door(struct tenant_door *door)
{
        struct tenants *tenants = door->tenants;
        struct tenant_visit *visit = TAILQ_FIRST(&tenants->visits);

        while (visit) {
                struct tenant_visit *next = TAILQ_NEXT(visit, entry);

                if (visit->door == door)
                        tenant_visit_leave(visit);
                visit = next;
        }
        close_socket(door);
        peers_leave(door->accept.owner);
        LIST_REMOVE(door, entry);
        tenants->door_count--;
        free(door);
}

/* Finds the profile's door, or adds one that the caller must open. */
static int need_door(struct tenants *tenants, const char *name, struct tenant_door **ret,
                     struct error *err)
{
        const struct peer_key key = peers_door(name);
        struct tenant_door *door = tenant_door_find(tenants, name);
        int rc;

        *ret = door;
        if (door)
                return 0;
        if (tenants->door_count == DOORS_MAX)
                return fail(err, -ENOSPC, "there are %u profiles already", DOORS_MAX);
        door = calloc(1, sizeof(*door));
        if (!door)
                return fail(err, -ENOMEM, "out of memory");
        *door = (struct tenant_door){ .tenants = tenants,
                                      .accept = { .tenants = tenants, .door = door, .fd = -1 } };
        rc = profile_parse(name, &door->profile, err);
        if (rc == 0)
                door->accept.owner = peers_enter(&tenants->guests, &key, &(struct peers_rate){ 0 },
                                                 clock_machine_ns());
        if (rc < 0 || !door->accept.owner) {
                free(door);
                return rc < 0 ? rc : fail(err, -ENOMEM, "out of memory");
        }
        LIST_INSERT_HEAD(&tenants->doors, door, entry);
        tenants->door_count++;
        *ret = door;
        return 0;
}

/* Finds or adds the profile's door, and opens it. Errors are logged. */
static struct tenant_door *need_open(struct tenants *tenants, const char *name)
{
        struct tenant_door *door;
        struct error err = { 0 };

        if (need_door(tenants, name, &door, &err) < 0) {
                log_line(LOG_ERROR, "profile %s has no door: %s", text_shown(name), err.text);
                return NULL;
        }
        if (!door->accept.event)
                open_door(door);
        return door;
}

static void take_config(struct tenants *tenants)
{
        const char *list = tenants->options.config->profiles;
        struct tenant_door *door;

        LIST_FOREACH(door, &tenants->doors, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                door->is_of_config = false;
        }
        for (list += strspn(list, ", "); *list; list += strspn(list, ", ")) {
                const size_t length = strcspn(list, ", ");
                char name[PAGE_NAME_BYTES];

                text_put(name, sizeof(name), NULL, "%.*s", (int)length, list);
                door = need_open(tenants, name);
                if (door)
                        door->is_of_config = true;
                list += length;
        }
}

static int take_added(const char *name, void *context)
{
        struct tenant_door *door = need_open(context, name);

        if (door)
                door->is_of_api = true;
        return 0;
}

/* Whether no profile and no session needs the door any more. */
static bool is_door_unneeded(const struct tenant_door *door)
{
        return !door->is_of_config && !door->is_of_api &&
               !count_sessions(door->tenants, door->profile.name);
}

void tenant_doors_tend(struct tenants *tenants)
{
        struct tenant_door *door = LIST_FIRST(&tenants->doors);

        while (door) {
                struct tenant_door *next = LIST_NEXT(door, entry);

                if (is_door_unneeded(door))
                        end_door(door);
                else if (!is_open(door))
                        open_door(door);
                else
                        tenant_accept_resume(&door->accept);
                door = next;
        }
}

void tenant_doors_follow(struct tenants *tenants)
{
        take_config(tenants);
        tenant_doors_tend(tenants);
}

int tenant_doors_start(struct tenants *tenants, struct error *err)
{
        const struct sessions *all = node_sessions(tenants->options.node);

        for (unsigned i = 0; i < all->entries; i++) {
                if (all->session[i].state != SESSIONS_FREE && all->session[i].container.profile[0])
                        need_open(tenants, all->session[i].container.profile);
        }
        take_config(tenants);
        return database_profiles(node_database(tenants->options.node), take_added, tenants, err);
}

void tenant_doors_stop(struct tenants *tenants)
{
        while (!LIST_EMPTY(&tenants->doors))
                end_door(LIST_FIRST(&tenants->doors));
}

/* -- For the API ------------------------------------------------------------------------------ */

static bool is_profile(const struct tenant_door *door)
{
        return door->is_of_config || door->is_of_api;
}

void tenants_profiles(const struct tenants *tenants, const char *name,
                      void (*each)(const struct tenants_profile *profile, void *context),
                      void *context)
{
        const struct tenant_door *door;

        LIST_FOREACH(door, &tenants->doors, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                if (!is_profile(door) || (name && strcmp(name, door->profile.name) != 0))
                        continue;
                each(&(struct tenants_profile){ &door->profile, door->is_of_config,
                                                count_sessions(tenants, door->profile.name) },
                     context);
        }
}

/* Checks whether this node could ever grant the profile. */
static int check_here(const struct tenants *tenants, const char *name, struct error *err)
{
        struct settings_gpus gpus;
        struct profile profile;
        int rc = profile_parse(name, &profile, err);

        if (rc < 0)
                return rc;
        if (profile.priority == 2 && !tenants->options.config->has_leases)
                return fail(err, -EINVAL,
                            "profile %s: this daemon hands out no leases (compute.leases = no)",
                            name);
        cards_as_gpus(&node_cards(tenants->options.node)->cards, &gpus);
        rc = gpus.count > 0 ? profile_gpu(&profile, &gpus, err) : 0;
        return rc < 0 ? -EINVAL : 0;
}

int tenants_add_profile(struct tenants *tenants, const char *name, struct error *err)
{
        const struct tenant_door *there = tenant_door_find(tenants, name);
        struct tenant_door *door = NULL;
        int rc;

        if (there && is_profile(there))
                return 0;
        rc = check_here(tenants, name, err);
        if (rc == 0)
                rc = need_door(tenants, name, &door, err);
        if (rc == 0)
                rc = database_add_profile(node_database(tenants->options.node), name, err);
        if (rc < 0 || !door)
                return rc;
        door->is_of_api = true;
        if (!door->accept.event)
                open_door(door);
        return 1;
}

int tenants_drop_profile(struct tenants *tenants, const char *name, struct error *err)
{
        struct tenant_door *door = tenant_door_find(tenants, name);
        int rc;

        if (!door || !is_profile(door))
                return fail(err, -ENOENT, "there is no profile %s", text_shown(name));
        if (door->is_of_config)
                return fail(err, -EEXIST,
                            "profile %s is of the configuration (profiles.names); take it from "
                            "there",
                            name);
        rc = database_drop_profile(node_database(tenants->options.node), name, err);
        if (rc < 0)
                return rc;
        door->is_of_api = false;
        if (is_door_unneeded(door))
                end_door(door);
        return 0;
}
