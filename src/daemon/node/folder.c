/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/sums.h"
#include "common/text.h"
#include "common/uuid.h"
#include "daemon/base/budget.h"
#include "daemon/node/promise.h"
#include "daemon/processes/names.h"
#include "daemon/processes/victim.h"
#include "settings/settings.h"
#include "store/folder.h"
#include "store/liveness.h"

#define OTHERS_GO_THROUGH 0711
/* Limits on the time that a session's tenant can cause by its number of mappings, descriptors and
 * locks: for one search for the processes to signal. */
#define SIGNALS_MAX_NS UINT64_C(100000000)
/* maximum expected length of one check whether a session is live */
#define LIVES_MAX_NS UINT64_C(5000000)

_Static_assert(SESSIONS_NAME_BYTES == PAGE_NAME_BYTES && SESSIONS_GPUS == PAGE_DEVICES,
               "a session of the node fits its page, and its page it");

static int open_to_all(int folder, const char *path, struct error *err)
{
        return fchmod(folder, OTHERS_GO_THROUGH) < 0 ? fail(err, -errno, "%s: %m", path) : 0;
}

/* Opens and checks each folder first, and changes it through the descriptor, because a path may
 * lead elsewhere by then. */
int folder_prepare(const struct store *store, struct error *err)
{
        scoped_fd int runtime = -1;
        scoped_fd int sessions = folder_open_sessions(store, true, err);
        int rc;

        if (sessions < 0)
                return sessions;
        if (geteuid() != 0)
                return 0;
        runtime = folder_open_directory(AT_FDCWD, store->path, false, err);
        if (runtime < 0)
                return runtime;
        rc = open_to_all(runtime, store->path, err);
        return rc < 0 ? rc : open_to_all(sessions, FOLDER_SESSIONS, err);
}

static uint64_t card_bytes(const struct cards *cards, const uint8_t uuid[16])
{
        for (unsigned i = 0; cards && i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, sizeof(cards->card[i].uuid)) == 0)
                        return cards->card[i].promisable_bytes;
        }
        return 0;
}

static uint32_t cap_ppm_of(const struct sessions_share *share)
{
        return share->compute_milli_percent ? share->compute_milli_percent * 10 : PAGE_WHOLE_PPM;
}

/* Fills in the session's limits on its own GPUs, and no memory on any other. `cards` may be NULL if
 * the session's page exists, because the page has the sizes of the cards. */
static void limits_of(const struct sessions_one *session, const struct cards *cards,
                      struct settings_limits *ret)
{
        *ret = (struct settings_limits){ .has_default = true,
                                         .default_bytes = SETTINGS_NOTHING_BYTES,
                                         .default_cap_ppm = PAGE_WHOLE_PPM,
                                         .count = session->share_count };
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct sessions_share *share = &session->share[i];
                struct settings_limit *limit = &ret->device[i];

                memcpy(limit->uuid, share->uuid, sizeof(limit->uuid));
                limit->limit_bytes = share->memory_bytes;
                limit->card_bytes = card_bytes(cards, share->uuid);
                limit->is_named = true;
                limit->cap_ppm = cap_ppm_of(share);
                limit->is_cap_named = true;
        }
}

static void add_caps(const struct sessions_one *session, struct text *text)
{
        const struct sessions_share *share = session->share;
        char uuid[UUID_TEXT_BYTES], shown[SIZE_TEXT_BYTES];
        bool is_same = true, is_whole = true;

        for (unsigned i = 0; i < session->share_count; i++) {
                is_same = is_same && cap_ppm_of(&share[i]) == cap_ppm_of(&share[0]);
                is_whole = is_whole && cap_ppm_of(&share[i]) == PAGE_WHOLE_PPM;
        }
        for (unsigned i = 0; !is_whole && i < (is_same ? 1 : session->share_count); i++) {
                const struct size size = { 0, cap_ppm_of(&share[i]) * MICRO_PERCENT_A_PPM };

                text_add(text, "%s%s%s%s", i ? "," : ";compute=",
                         is_same ? "" : uuid_format(share[i].uuid, false, uuid), is_same ? "" : "=",
                         size_canonical(&size, shown));
        }
}

/* Writes the session's settings as the text that `aliquot ls` shows, and with which the settings of
 * a joining program are compared. */
static int words_of(const struct sessions_one *session, char ret[SETTINGS_CANONICAL_BYTES],
                    struct error *err)
{
        const struct sessions_share *share = session->share;
        char uuid[UUID_TEXT_BYTES];
        bool is_same = true;
        struct text text;

        for (unsigned i = 1; i < session->share_count; i++)
                is_same = is_same && share[i].memory_bytes == share[0].memory_bytes;
        text_begin(&text, ret, SETTINGS_CANONICAL_BYTES);
        if (is_same)
                text_add(&text, "memory=%llu", (unsigned long long)share[0].memory_bytes);
        for (unsigned i = 0; !is_same && i < session->share_count; i++)
                text_add(&text, "%s%s=%llu",
                         i ? "," : "memory=", uuid_format(share[i].uuid, false, uuid),
                         (unsigned long long)share[i].memory_bytes);
        add_caps(session, &text);
        if (session->host_bytes)
                text_add(&text, ";oversubscribe=%llu", (unsigned long long)session->host_bytes);
        if (session->swaps)
                text_add(&text, ";swap=yes");
        if (session->is_context_free)
                text_add(&text, ";context=free");
        return text.is_cut ? fail(err, -E2BIG, "too many limits") : 0;
}

int folder_make(const struct store *store, const struct sessions_one *session,
                const struct cards *cards, struct error *err)
{
        char words[SETTINGS_CANONICAL_BYTES];
        struct settings_limits limits;
        struct store_tenancy tenancy = { .uid = session->owner_uid,
                                         .is_containers = session->container.profile[0] != '\0' };
        struct store_session made;
        const struct store_request request = {
                .name = session->name,
                .created_as = words,
                .flags = (session->is_context_free ? PAGE_CONTEXT_FREE : 0u) |
                         (tenancy.is_containers ? PAGE_OF_CONTAINER : 0u),
                .limits = &limits,
                .tenancy = &tenancy,
        };
        int rc = words_of(session, words, err);

        if (rc < 0)
                return rc;
        memcpy(tenancy.id, session->id, sizeof(tenancy.id));
        limits_of(session, cards, &limits);
        limits.host_bytes = session->host_bytes;
        limits.swaps = session->swaps;
        rc = store_create(store, &request, &made, err);
        if (rc < 0)
                return rc;
        promise_write(made.limits, session);
        /* Check that liveness can be found out; otherwise the session could never end. */
        rc = store_is_live(&made, err);
        store_close(&made);
        return rc < 0 ? rc : 0;
}

/* Opens the session's folder. -ENOENT: there is no folder of that name. FOLDER_USERS or
 * FOLDER_NOBODYS: the folder of that name is not this session's. */
static int join_folder(const struct store *store, const struct sessions_one *session,
                       struct store_session *ret, struct error *err)
{
        int rc = store_join_owned(store, session->name, ret, err);

        if (rc == -EEXIST)
                return fail(err, FOLDER_USERS,
                            "%s/sessions/%s is its user's own session and left alone; this one "
                            "has its place when that is removed",
                            store->path, session->name);
        if (rc == -EPROTO)
                return fail(err, FOLDER_NOBODYS, "%s/sessions/%s is damaged", store->path,
                            session->name);
        if (rc < 0 || memcmp(ret->limits->session_id, session->id, sizeof(session->id)) == 0)
                return rc;
        store_close(ret);
        return fail(err, FOLDER_NOBODYS, "session %s in %s carries another id", session->name,
                    store->path);
}

static bool is_absent(int rc)
{
        return rc == -ENOENT || rc == FOLDER_USERS || rc == FOLDER_NOBODYS;
}

int folder_find(const struct store *store, const char *name, const uint8_t id[16],
                struct error *err)
{
        struct sessions_one session = { 0 };
        struct store_session found;
        int rc;

        memcpy(session.name, name, strlen(name) + 1);
        memcpy(session.id, id, sizeof(session.id));
        rc = join_folder(store, &session, &found, err);
        if (rc == 0)
                store_close(&found);
        return rc == 0 ? 1 : rc == -ENOENT ? 0 : rc;
}

/* Moves the folder away if its pages have an older version and no process maps them, so that the
 * caller creates a new one. 1: moved. 0: the folder stays. */
static int bury_older(const struct store *store, const struct store_session *joined,
                      const char *name, struct error *err)
{
        int rc = page_has_turns(joined->limits->version) ? 1 : store_is_live(joined, err);

        if (rc != 0)
                return rc < 0 ? rc : 0;
        store_shut(joined);
        rc = store_is_live(joined, err);
        if (rc != 0) { /* a process joined before the session was closed to new ones */
                store_release(shared_half(&joined->limits->removed), 0);
                return rc < 0 ? rc : 0;
        }
        rc = store_bury(store, name, err);
        return rc < 0 ? rc : 1;
}

/* Raises the limit of the host row, because all memory of a session that swaps may be in the host.
 * The limit is never lowered: the host may still hold memory under the higher limit. */
static void raise_host(struct limits_page *page, uint64_t bytes)
{
        int row = page_host_row(page);
        _Atomic uint64_t *limit;

        if (row < 0)
                return;
        limit = shared_word(&page->device[row].limit_bytes);
        if (bytes > load_relaxed(limit))
                store_release(limit, bytes);
}

int folder_limit(const struct store *store, const struct sessions_one *session, bool is_clamped,
                 struct error *err)
{
        struct settings_limits limits;
        struct store_session joined;
        int rc = join_folder(store, session, &joined, err);

        if (rc < 0)
                return rc;
        rc = bury_older(store, &joined, session->name, err);
        if (rc != 0) {
                store_close(&joined);
                return rc < 0 ? rc : fail(err, -ENOENT, "made anew");
        }
        limits_of(session, NULL, &limits);
        for (unsigned i = 0; is_clamped && i < limits.count; i++)
                limits.device[i].limit_bytes = SETTINGS_NOTHING_BYTES;
        if (session->swaps)
                raise_host(joined.limits, session->share[0].memory_bytes);
        rc = store_set(&joined, &limits, err);
        if (rc == 0)
                promise_write(joined.limits, session);
        store_close(&joined);
        return rc;
}

/* Prevents that further processes join the session. 1: done. 0: the session has no folder. */
static int shut_folder(const struct store *store, const struct sessions_one *session,
                       struct error *err)
{
        struct store_session joined;
        int rc = join_folder(store, session, &joined, err);

        if (rc < 0)
                return is_absent(rc) ? 0 : rc;
        store_shut(&joined);
        store_close(&joined);
        return 1;
}

int folder_shut(const struct store *store, const struct sessions_one *session, struct error *err)
{
        int rc = shut_folder(store, session, err);

        return rc < 0 ? rc : 0;
}

int folder_remove(const struct store *store, const struct sessions_one *session, struct error *err)
{
        int rc = shut_folder(store, session, err);

        if (rc <= 0)
                return rc;
        rc = store_bury(store, session->name, err);
        return rc == -ENOENT ? 0 : rc;
}

/* Fills in the path and inode of the session's `slots`. `path` has STORE_PATH_BYTES. */
static int slots_of(const struct store_session *session, char *path, struct liveness_file *ret,
                    struct error *err)
{
        *ret = (struct liveness_file){ path, session->slots_file.device,
                                       session->slots_file.inode };
        return text_put(path, STORE_PATH_BYTES, err, "%s/slots", session->path);
}

/* Budget for checks whether a session is live. One check takes longer the more locks the file
 * has. */
static struct budget lives = { .max_ns = LIVES_MAX_NS };

int folder_is_live(const struct store *store, const struct sessions_one *session, struct error *err)
{
        const struct budget_work work = { session->id, sessions_payer(session) };
        struct store_session joined;
        uint64_t began_ns;
        int rc;

        if (!budget_begin(&lives, &work, clock_machine_ns()))
                return fail(err, -EAGAIN, "session %s was looked at a lot", session->name);
        rc = join_folder(store, session, &joined, err);
        if (rc < 0)
                return is_absent(rc) ? 0 : rc;
        began_ns = clock_thread_ns();
        rc = store_is_live(&joined, err);
        budget_end(&lives, &work, clock_machine_ns(), clock_thread_ns() - began_ns);
        store_close(&joined);
        return rc;
}

static int read_part(int fd, void *to, size_t offset, size_t bytes, struct error *err)
{
        ssize_t got = pread(fd, (char *)to + offset, bytes, (off_t)offset);

        if (got < 0)
                return fail(err, -errno, "slots: %m");
        return (size_t)got == bytes ? 0 : fail(err, -EPROTO, "slots was cut short");
}

/* Reads the part before the slots, which has the same size in every file. */
static int copy_head(int fd, struct slots_page *ret, struct error *err)
{
        int rc = read_part(fd, ret, 0, offsetof(struct slots_page, slot), err);

        return rc < 0 ? rc : page_check_slots(ret, sizeof(*ret), err);
}

/* Reads only the slots that were ever used. */
static int copy_slots(int fd, struct slots_page *ret, struct error *err)
{
        const uint32_t high = ret->slots_high < PAGE_SLOTS ? ret->slots_high : PAGE_SLOTS;
        int rc = read_part(fd, ret, offsetof(struct slots_page, slot), high * sizeof(ret->slot[0]),
                           err);

        if (rc == 0)
                rc = read_part(fd, ret, offsetof(struct slots_page, row),
                               high * sizeof(ret->row[0]), err);
        return rc;
}

/* Fills in the GPU of each row: folder_make() gives row i to the session's i-th share. */
static void name_rows(const struct sessions_one *session, struct folder_use *ret)
{
        memset(ret->uuid, 0, sizeof(ret->uuid));
        for (unsigned i = 0; i < session->share_count; i++)
                memcpy(ret->uuid[i], session->share[i].uuid, sizeof(ret->uuid[i]));
        /* The rows after the GPUs, in the order of store_create(). */
        if ((session->host_bytes || session->swaps) && session->share_count < PAGE_DEVICES)
                memcpy(ret->uuid[session->share_count], PAGE_HOST_NAME, sizeof(ret->uuid[0]));
        if (session->swaps && session->share_count + 1u < PAGE_DEVICES)
                memcpy(ret->uuid[session->share_count + 1], PAGE_SWAP_NAME, sizeof(ret->uuid[0]));
}

/* Budget for listings. Each check of a slot walks all locks on the file. The tenant sets these
 * locks, and decides how many slots must be read and so how long the search for pids takes. */
static struct budget listings = { .max_ns = USAGE_MAX_NS };

/* The `slots` file of one session, opened to be read. */
struct opened {
        int fd;
        const struct liveness_file *file;
        struct slots_page *copy; /* its head is copied here */
};

static int list_within(const struct opened *slots, uint64_t max_ns, struct folder_use *ret,
                       struct error *err)
{
        const struct usage_look look = { slots->file, max_ns };
        int rc = copy_slots(slots->fd, slots->copy, err);

        if (rc < 0)
                return rc;
        rc = usage_list_within(slots->copy, &look, ret->process, PAGE_SLOTS);
        return rc < 0 ? fail(err, rc, "locks of %s: %s", slots->file->path, strerror(-rc)) : rc;
}

static int list_slots(const struct opened *slots, const struct sessions_one *session,
                      struct folder_use *ret, struct error *err)
{
        const struct budget_work work = { session->id, sessions_payer(session) };
        const uint64_t max_ns = budget_begin(&listings, &work, clock_machine_ns());
        const uint64_t began_ns = clock_thread_ns();
        int rc;

        if (!max_ns)
                return fail(err, -EAGAIN, "%s was looked at a lot", slots->file->path);
        rc = list_within(slots, max_ns, ret, err);
        budget_end(&listings, &work, clock_machine_ns(), clock_thread_ns() - began_ns);
        return rc == -EOVERFLOW && max_ns < listings.max_ns ? -EAGAIN : rc;
}

/* Opens the session's `slots` and copies its head. 1: open. 0: the session has no such file, or
 * none of its slots was ever used. `path` has STORE_PATH_BYTES. The folder was checked when it was
 * made, and only the daemon can write to it. */
static int open_slots(const struct store *store, const struct sessions_one *session, char *path,
                      struct opened *slots, struct error *err)
{
        int rc = text_put(path, STORE_PATH_BYTES, err, "%s/sessions/%s/slots", store->path,
                          session->name);

        if (rc < 0)
                return rc;
        slots->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (slots->fd < 0)
                return errno == ENOENT ? 0 : fail(err, -errno, "%s: %m", path);
        rc = copy_head(slots->fd, slots->copy, err);
        if (rc < 0 || !slots->copy->slots_high)
                return rc;
        if (memcmp(slots->copy->session_id, session->id, sizeof(session->id)) != 0)
                return fail(err, -EPROTO, "%s is another session's", path);
        return 1;
}

/* Returns early if no slot was ever used: lists often cover many sessions, most of which have no
 * processes. */
int folder_read(const struct store *store, const struct sessions_one *session,
                struct folder_use *ret, struct error *err)
{
        static struct slots_page copy; /* untouched pages take no memory */
        char path[STORE_PATH_BYTES];
        struct liveness_file file = { .path = path };
        struct opened slots = { .fd = -1, .file = &file, .copy = &copy };
        struct stat st;
        int rc;

        ret->count = 0;
        memset(ret->ledger, 0, sizeof(ret->ledger));
        name_rows(session, ret);
        rc = open_slots(store, session, path, &slots, err);
        if (rc == 1) {
                memcpy(ret->ledger, copy.ledger, sizeof(ret->ledger));
                rc = fstat(slots.fd, &st) < 0 ? fail(err, -errno, "%s: %m", path) : 0;
                file.device = (uint64_t)st.st_dev;
                file.inode = (uint64_t)st.st_ino;
                if (rc == 0)
                        rc = list_slots(&slots, session, ret, err);
        }
        if (slots.fd >= 0)
                close(slots.fd);
        ret->count = rc > 0 ? (unsigned)rc : 0;
        return rc < 0 ? rc : 0;
}

void folder_name(const struct sessions_one *session, struct folder_use *use, unsigned count)
{
        const struct budget_work work = { session->id, sessions_payer(session) };
        const uint64_t began_ns = clock_machine_ns(), max_ns = budget_left(&listings);

        names_find(use->process, count, max_ns);
        if (max_ns)
                budget_end(&listings, &work, clock_machine_ns(), clock_machine_ns() - began_ns);
}

int folder_read_ledger(const struct store *store, const struct sessions_one *session,
                       struct page_ledger ret[PAGE_DEVICES], struct error *err)
{
        static struct slots_page copy;
        char path[STORE_PATH_BYTES];
        struct opened slots = { .fd = -1, .copy = &copy };
        int rc = open_slots(store, session, path, &slots, err);

        if (slots.fd >= 0)
                close(slots.fd);
        if (rc == 1)
                memcpy(ret, copy.ledger, sizeof(copy.ledger));
        else
                memset(ret, 0, sizeof(copy.ledger));
        return rc < 0 ? rc : 0;
}

uint64_t folder_used_bytes(const struct folder_use *use, const uint8_t uuid[16])
{
        uint64_t sum = 0;

        for (unsigned row = 0; row < PAGE_DEVICES; row++) {
                if (memcmp(use->uuid[row], uuid, 16) != 0)
                        continue;
                for (unsigned i = 0; i < use->count; i++)
                        sum = sum_of(sum, use->process[i].bytes[row]);
        }
        return sum;
}

/* Signals the processes that the slots name, if the kernel confirms each. Returns how many got the
 * signal. */
static int signal_told(const struct store *store, const struct sessions_one *session,
                       const struct victim_order *order)
{
        static struct folder_use use;

        if (folder_read(store, session, &use, NULL) < 0)
                return 0;
        return (int)victim_signal_told(use.process, use.count, order);
}

int folder_can_signal(const struct store *store, const struct sessions_one *session,
                      struct error *err)
{
        struct store_session joined;
        int rc = join_folder(store, session, &joined, err);

        if (rc < 0)
                return is_absent(rc) ? 0 : rc;
        store_close(&joined);
        return 0;
}

int folder_signal(const struct store *store, const struct sessions_one *session,
                  const struct folder_signal *signal, struct victim_walk *walk)
{
        char path[STORE_PATH_BYTES];
        struct liveness_file file;
        const struct victim_order order = { .slots = &file,
                                            .owner_uid = session->owner_uid,
                                            .number = signal->number,
                                            .max_ns = SIGNALS_MAX_NS,
                                            .walk = walk,
                                            .container = session->container.id };
        struct store_session joined;
        int sent = 0;
        int rc = join_folder(store, session, &joined, NULL);

        if (rc < 0)
                return is_absent(rc) ? 0 : rc;
        slots_of(&joined, path, &file, NULL);
        if (!signal->is_repeated)
                sent = signal_told(store, session, &order);
        /* Some process may live in the session that no slot names, or only a forged slot. */
        if (sent == 0 && store_is_live(&joined, NULL) != 0)
                sent = (int)victim_signal_all(&order);
        store_close(&joined);
        return sent;
}
