/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/presence.h"
#include "cli/usage.h"
#include "common/atomic.h"
#include "common/text.h"
#include "common/units.h"

/* attempts to change a session that others change at the same time */
#define ATTEMPTS 5u

/* -- The owner of a session ------------------------------------------------------------------- */

static bool is_in_anothers_folder(const struct store *store)
{
        struct stat st;

        return stat(store->path, &st) == 0 && st.st_uid != geteuid();
}

/* The page of a broken session shows no owner. But in another user's folder only that user's daemon
 * creates sessions. */
enum remote_owner remote_owner(const struct store *store, const char *name)
{
        struct store_session session;
        enum remote_owner owner;
        int rc = store_join(store, name, false, &session, NULL);

        /* the session is ending and cannot be joined; a daemon of this user still knows it */
        if (rc == -EBUSY)
                rc = store_join_owned(store, name, &session, NULL) == 0 ? 0 : -EACCES;
        if (rc == -ENOENT || rc == -EACCES || rc == -EPERM)
                return REMOTE_NOBODY;
        if (rc < 0)
                return is_in_anothers_folder(store) ? REMOTE_DAEMONS : REMOTE_BROKEN;
        owner = session.limits->owner == PAGE_OWNER_DAEMON ? REMOTE_DAEMONS : REMOTE_OURS;
        store_close(&session);
        return owner;
}

int remote_is_asked(const struct store *store, const char *name, struct error *err)
{
        enum remote_owner owner = remote_owner(store, name);
        /* a forced removal of a broken session asks the daemon itself */
        bool is_ours = owner == REMOTE_OURS || owner == REMOTE_BROKEN;
        int rc = is_ours ? 0 : client_find(store, err);

        if (rc == 0 && owner == REMOTE_DAEMONS)
                rc = fail(err, CLIENT_AWAY,
                          "session %s is a daemon's, and none serves %s; start aliquotd to change "
                          "it (its limits hold meanwhile)",
                          name, store->path);
        return rc;
}

static bool is_silent; /* a request to the daemon got no answer; a process uses only one daemon */

bool remote_can_tell(const struct store *store, int rc)
{
        return !is_silent && (rc == -EACCES || rc == -EPERM || rc == -EBUSY) &&
               presence_look(store) == PRESENCE_LISTENS;
}

int remote_told(int rc)
{
        is_silent |= rc == CLIENT_AWAY;
        return rc;
}

bool remote_is_anothers(const struct store *store, const char *name)
{
        static struct client_session seen;
        struct store_session session;
        int rc = store_join(store, name, false, &session, NULL);

        if (rc == 0)
                store_close(&session);
        if ((rc != -EACCES && rc != -EPERM) || !is_in_anothers_folder(store))
                return false;
        /* the pages of an ending session are closed even to its own user */
        return !remote_can_tell(store, rc) || client_show(store, name, &seen, NULL) == -ENOENT;
}

void remote_tell_silence(const struct store *store)
{
        fprintf(stderr,
                "aliquot: note: no daemon answers for %s: what it alone knows of its sessions "
                "(guarantee, weight, priority, gang, labels, end) is not shown; limits and caps "
                "are, and hold\n",
                store->path);
}

/* -- Requests --------------------------------------------------------------------------------- */

static bool is_instance(const struct cli_request *request, const uint8_t uuid[16])
{
        for (int i = 0; i < request->gpus.count; i++) {
                if (memcmp(request->gpus.gpu[i].uuid, uuid, 16) == 0)
                        return request->gpus.gpu[i].is_instance;
        }
        return false;
}

static bool has_share(const struct client_session *seen, const char *uuid)
{
        for (unsigned i = 0; i < seen->share_count; i++) {
                if (strcasecmp(seen->share[i].uuid, uuid) == 0)
                        return true;
        }
        return false;
}

/* Makes the list of the requested GPUs and their limits; a GPU without a limit gets the whole card.
 * For an existing session (`seen`), a size that applies to every GPU is used for the GPUs that the
 * session has. */
static unsigned shares_of(const struct cli_request *request, const struct client_session *seen,
                          struct client_share ret[PAGE_DEVICES])
{
        const struct settings_limits *limits = &request->limits;
        unsigned count = 0;

        for (unsigned i = 0; i < limits->count; i++) {
                const struct settings_limit *limit = &limits->device[i];
                struct client_share *share = &ret[count];

                uuid_format(limit->uuid, is_instance(request, limit->uuid), share->uuid);
                share->memory_bytes = limit->limit_bytes == PAGE_UNLIMITED ? limit->card_bytes
                                                                           : limit->limit_bytes;
                if (seen ? limit->is_named || (limits->has_default && has_share(seen, share->uuid))
                    : request->selection.count ? request_selects(request, limit->uuid)
                                               : limits->has_default || limit->is_named)
                        count++;
        }
        return count;
}

/* The texts of the requested cap and guarantee. */
struct shares_of_time {
        char compute[SIZE_TEXT_BYTES], guarantee[SIZE_TEXT_BYTES];
};

static void wish_for_rank(const struct cli_request *request, struct shares_of_time *room,
                          struct client_wish *wish)
{
        const struct settings_rank *rank = &request->settings.rank;
        const struct size guarantee = { 0, rank->guarantee_micro_percent };

        wish->weight = rank->weight;
        wish->priority = rank->priority[0] ? rank->priority : NULL;
        wish->gang = rank->has_gang ? rank->gang : NULL;
        if (rank->has_guarantee)
                wish->guarantee = size_canonical(&guarantee, room->guarantee);
}

/* -- Caps: in a daemon, a session has one cap for all its GPUs --------------------------------- */

/* Returns whether the rules are the same for every GPU, so that the GPUs need not be known. */
static bool is_for_all(const struct settings_rules *rules)
{
        for (unsigned i = 1; i < rules->count; i++) {
                if (!size_is_same(&rules->rule[i].size, &rules->rule[0].size))
                        return false;
        }
        return !rules->rule[0].selector[0];
}

/* The GPUs that a session has (`seen`), or will have; none: the daemon chooses. */
struct session_gpus {
        const struct client_session *seen;
        const struct client_share *share;
        unsigned count;
};

/* The cap that was requested for a GPU; ppm PAGE_WHOLE_PPM: no cap. */
struct said_cap {
        bool is_said;
        uint32_t ppm;
};

static struct said_cap said_of(const struct cli_request *request, const struct client_share *share)
{
        const struct settings_limits *limits = &request->limits;
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < limits->count; i++) {
                const struct settings_limit *limit = &limits->device[i];

                uuid_format(limit->uuid, is_instance(request, limit->uuid), uuid);
                if (strcasecmp(uuid, share->uuid) == 0)
                        return (struct said_cap){ limit->is_cap_named || limits->has_default_cap,
                                                  limit->cap_ppm };
        }
        return (struct said_cap){ limits->has_default_cap, limits->default_cap_ppm };
}

static int fail_caps(const struct settings_rules *compute, const char *why, struct error *err)
{
        char said[160];
        struct text text;

        text_begin(&text, said, sizeof(said));
        settings_spell(compute, &text);
        return fail(err, -EINVAL, "%s %s: %s", compute->origin, said, why);
}

/* Finds the one cap that the request gives for all GPUs; an error if they differ. */
static int find_one_cap(const struct cli_request *request, const struct session_gpus *gpus,
                        struct size *ret, struct error *err)
{
        const struct settings_rules *compute = &request->settings.compute;
        char first[SIZE_TEXT_BYTES], other[SIZE_TEXT_BYTES], why[256];
        bool is_said = false;

        for (unsigned i = 0; i < gpus->count; i++) {
                const struct client_share *share = &gpus->share[i];
                struct said_cap said = said_of(request, share);
                uint32_t ppm = said.is_said || !gpus->seen ? said.ppm : share->cap_ppm;
                struct size cap = { 0, ppm * MICRO_PERCENT_A_PPM };

                is_said |= said.is_said;
                if (i == 0)
                        *ret = cap;
                if (size_is_same(&cap, ret))
                        continue;
                snprintf(why, sizeof(why),
                         "%s of %s and %s of %s: a daemon keeps one cap for all GPUs of a session; "
                         "expected the same for each, or a session for each GPU",
                         size_canonical(ret, first), gpus->share[0].uuid,
                         size_canonical(&cap, other), share->uuid);
                return fail_caps(compute, why, err);
        }
        return is_said ? 0
                       : fail_caps(compute,
                                   "the session has none of these GPUs; an index is the physical "
                                   "one, as in aliquot gpus",
                                   err);
}

static int wish_for_cap(const struct cli_request *request, const struct session_gpus *gpus,
                        struct shares_of_time *room, struct client_wish *wish, struct error *err)
{
        const struct settings_rules *compute = &request->settings.compute;
        struct size cap;
        int rc = 0;

        if (!compute->count)
                return 0;
        if (is_for_all(compute))
                cap = compute->rule[0].size;
        else if (!gpus->count)
                rc = fail_caps(compute,
                               "the daemon chooses the GPUs; expected one percentage for all of "
                               "them, as in --compute 30",
                               err);
        else
                rc = find_one_cap(request, gpus, &cap, err);
        if (rc == 0)
                wish->compute = size_canonical(&cap, room->compute);
        return rc;
}

/* Makes a wish (what is requested from the daemon, see client.h) with the parts that do not depend
 * on GPUs. */
static struct client_wish wish_of(const struct request_flags *flags,
                                  const struct cli_request *request)
{
        const struct settings *settings = &request->settings;

        return (struct client_wish){
                .has_ttl = settings->has_ttl,
                .ttl_ns = settings->ttl_ns,
                .on_end = flags->on_end,
                .is_context_free = settings->is_context_free,
                .host_bytes = settings->host_bytes,
                .swaps = settings->swaps,
                .device_name = settings->device_name[0] ? settings->device_name : NULL,
                .label_count = flags->label_count,
                .label = flags->label,
        };
}

static int wish_for_any(const struct request_flags *flags, const struct cli_request *request,
                        char size[SIZE_TEXT_BYTES], struct client_wish *wish, struct error *err)
{
        const struct settings_rules *memory = &request->settings.memory;

        wish->any_gpus = flags->any_gpus;
        if (wish->swaps && !memory->count)
                return 0;
        if (memory->count != 1 || memory->rule[0].selector[0])
                return fail(err, -EINVAL,
                            "--gpu any: expected --memory SIZE, the same for each GPU");
        wish->memory = size_canonical(&memory->rule[0].size, size);
        return 0;
}

/* Adds the GPU of a session that swaps, which must be a single one. Without --memory, the session
 * gets the maximum for one session on it. */
static int wish_for_swap(const struct request_flags *flags, const struct cli_request *request,
                         char uuid[UUID_TEXT_BYTES], struct client_wish *wish, struct error *err)
{
        const struct settings_gpu *gpu = &request->gpus.gpu[0];
        bool has_memory = request->settings.memory.count > 0;
        unsigned count = has_memory                 ? wish->share_count
                         : request->selection.count ? request->selection.count
                         : request->gpus.count > 0  ? (unsigned)request->gpus.count
                                                    : 0;

        if (flags->any_gpus ? flags->any_gpus > 1 : count != 1)
                return fail(err, -EINVAL,
                            "--swap: a session that swaps has one GPU; choose one with --gpu");
        if (has_memory || flags->any_gpus)
                return 0;
        wish->share_count = 0;
        if (request->selection.count)
                gpu = &request->gpus.gpu[request->selection.at[0]];
        wish->gpu = uuid_format(gpu->uuid, gpu->is_instance, uuid);
        return 0;
}

/* Memory for the texts and shares of a wish for a new session. */
struct new_room {
        struct client_share share[PAGE_DEVICES];
        char size[SIZE_TEXT_BYTES], uuid[UUID_TEXT_BYTES];
        struct shares_of_time time;
};

static int wish_for_new(const struct store *store, const struct request_flags *flags,
                        const struct cli_request *request, struct new_room *room,
                        struct client_wish *ret, struct error *err)
{
        struct client_wish wish = wish_of(flags, request);
        int rc = 0;

        wish.says_swap = request->settings.says_swap;
        wish_for_rank(request, &room->time, &wish);
        if (flags->any_gpus)
                rc = wish_for_any(flags, request, room->size, &wish, err);
        else if (!request->settings.memory.count && !wish.swaps)
                rc = fail(err, -EINVAL,
                          "a daemon serves %s and grants memory; say how much, as in --memory 4GiB",
                          store->path);
        else if (!request->has_cards)
                rc = fail(err, -ENODEV, "the GPUs of this machine cannot be listed");
        wish.share = room->share;
        wish.share_count = wish.any_gpus || rc < 0 ? 0 : shares_of(request, NULL, room->share);
        if (rc == 0 && wish.swaps)
                rc = wish_for_swap(flags, request, room->uuid, &wish, err);
        if (rc == 0)
                rc = wish_for_cap(request,
                                  &(struct session_gpus){ NULL, room->share, wish.share_count },
                                  &room->time, &wish, err);
        *ret = wish;
        return rc;
}

int remote_check(const struct store *store, const struct request_flags *flags,
                 const struct cli_request *request, const struct remote_question *question,
                 struct error *err)
{
        struct client_wish wish;
        struct new_room room;
        int rc = wish_for_new(store, flags, request, &room, &wish, err);

        return rc < 0 ? rc : client_check(store, question->subject, &wish, question->bounds, err);
}

int remote_create(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err)
{
        struct client_wish wish;
        struct new_room room;
        int rc = wish_for_new(store, flags, request, &room, &wish, err);

        wish.name = name;
        if (rc == 0)
                rc = client_create(store, &wish, err);
        /* The daemon's GPUs are not those that this command sees. */
        if (rc == -EINVAL && request->is_sim && strstr(err->text, "there is no GPU"))
                wrap(err, "the daemon of %s has GPUs of its own, whatever --sim says", store->path);
        return rc;
}

int remote_change(const struct store *store, const struct request_flags *flags,
                  const struct cli_request *request, const char *name, struct error *err)
{
        static struct client_session seen;
        struct client_share share[PAGE_DEVICES];
        struct client_wish wish = wish_of(flags, request);
        struct shares_of_time room;
        int rc = -ESTALE;

        wish_for_rank(request, &room, &wish);
        for (unsigned i = 0; rc == -ESTALE && i < ATTEMPTS; i++) {
                rc = client_show(store, name, &seen, err);
                if (rc < 0)
                        break;
                wish.share = share;
                wish.share_count = shares_of(request, &seen, share);
                rc = wish_for_cap(request,
                                  &(struct session_gpus){ &seen, seen.share, seen.share_count },
                                  &room, &wish, err);
                if (rc == 0)
                        rc = client_change(store, &seen, &wish, err);
        }
        return rc;
}

/* -- GPUs ------------------------------------------------------------------------------------- */

static bool is_granted(const struct store_session *session, unsigned row)
{
        return usage_has_row(session, row) &&
               load_acquire(shared_word(&session->limits->device[row].limit_bytes)) >
                       SETTINGS_NOTHING_BYTES;
}

/* Returns whether some GPU is not for the session. That is always so for a daemon's session, which
 * has only its own GPUs. */
static bool has_bounds(const struct store_session *session)
{
        bool has_one = false, lacks_one = session->limits->owner == PAGE_OWNER_DAEMON;

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                has_one |= is_granted(session, i);
                lacks_one |= usage_has_row(session, i) && !is_granted(session, i);
        }
        return has_one && lacks_one;
}

/* Returns the row of a GPU that the session may use; -ENOENT: it may not use that GPU. */
static int row_of(const struct store_session *session, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (is_granted(session, i) &&
                    memcmp(session->limits->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -ENOENT;
}

/* Uses the session's rows as the list of GPUs, if this machine's GPUs are unknown. */
static void gpus_from_rows(const struct store_session *session, struct settings_gpus *ret)
{
        ret->count = 0;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (is_granted(session, i))
                        memcpy(ret->gpu[ret->count++].uuid, session->limits->device[i].uuid, 16);
        }
}

/* Selects all GPUs of the machine, or those in CUDA_VISIBLE_DEVICES. */
static void select_visible(const struct cli_request *request, struct settings_selection *ret)
{
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");

        if (visible && settings_select(visible, &request->gpus, ret, NULL) == 0)
                return;
        for (ret->count = 0; (int)ret->count < request->gpus.count; ret->count++)
                ret->at[ret->count] = ret->count;
}

int remote_narrow(const struct store_session *session, struct cli_request *request,
                  struct error *err)
{
        struct settings_selection *selection = &request->selection;
        bool was_asked = selection->count > 0;
        unsigned kept = 0;

        if (!has_bounds(session))
                return 0;
        if (request->gpus.count <= 0)
                gpus_from_rows(session, &request->gpus);
        if (!was_asked)
                select_visible(request, selection);
        for (unsigned i = 0; i < selection->count; i++) {
                unsigned at = selection->at[i];

                if (row_of(session, request->gpus.gpu[at].uuid) >= 0)
                        selection->at[kept++] = at;
                else if (was_asked)
                        return fail(err, -EINVAL,
                                    "--gpu %s: session %s does not have all of these; aliquot "
                                    "show %s lists those it has",
                                    request->settings.gpu, session->limits->name,
                                    session->limits->name);
        }
        selection->count = kept;
        return kept ? 0
                    : fail(err, -ENODEV, "none of the GPUs of session %s can be seen here",
                           session->limits->name);
}
