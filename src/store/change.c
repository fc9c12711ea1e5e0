/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and changes the limits of a session that other processes use at the same time.
 *
 * All data is in shared single words; the only lock makes processes that change limits wait for
 * each other. A row is claimed by one 16-byte swap of its UUID, and is valid once its limit is not
 * 0. A process that finds a claimed row without a limit writes the same value that the claimer
 * would.
 *
 * The claim of a row and a change of the default may overlap. The changer writes the default and
 * then each row: a row with a limit gets the new one; in any other row it raises the word beside
 * the limit. The claimer reads that word, then the default, and writes the first limit by one swap
 * of both words. So either the limit follows the new default, or the swap fails and is repeated.
 * Only the owner changes an existing limit. A cap needs no such care: a row without a cap follows
 * the default.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/scoped.h"
#include "common/swap128.h"
#include "common/text.h"
#include "common/uuid.h"
#include "store/folder.h"
#include "store/rows.h"

/* how often words that other processes change are read; limits are not changed continuously */
#define LOOKS 16u

static bool is_row_of(const struct limits_device *row, const uint64_t uuid[2])
{
        return load_acquire(shared_word(&row->uuid[0])) == uuid[0] &&
               load_acquire(shared_word(&row->uuid[1])) == uuid[1];
}

struct limits_device *rows_find(struct limits_page *page, const uint64_t uuid[2])
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (is_row_of(&page->device[i], uuid))
                        return &page->device[i];
        }
        return NULL;
}

void rows_default(const struct limits_page *page, struct settings_limits *ret)
{
        _Atomic uint64_t *part = shared_word(&page->default_micro_percent);
        uint64_t seen, now = load_acquire(part);

        for (unsigned look = 0; look < LOOKS; look++) {
                seen = now;
                ret->default_bytes = load_acquire(shared_word(&page->default_limit_bytes));
                ret->default_micro_percent = (uint32_t)seen;
                now = load_acquire(part);
                if (now == seen)
                        return;
        }
}

static void write_default(struct limits_page *page, const struct settings_limits *limits)
{
        _Atomic uint64_t *part = shared_word(&page->default_micro_percent);

        if (limits->default_micro_percent)
                store_release(part, limits->default_micro_percent);
        store_release(shared_word(&page->default_limit_bytes), limits->default_bytes);
        store_release(part, limits->default_micro_percent);
}

int rows_default_limit(const struct limits_page *page, uint64_t card_bytes, uint64_t *ret,
                       struct error *err)
{
        struct settings_limits limits = { 0 };
        int rc;

        rows_default(page, &limits);
        rc = settings_resolve_default(&limits, card_bytes, ret, err);
        if (rc == 0 && !*ret)
                return fail(err, -EPROTO, "the session's limit is zero");
        return rc;
}

/* Returns the row of the GPU, and claims a free row if there is none. NULL: all rows are in use.
 * All claimers try the rows in the same order, so no GPU gets two rows. */
static struct limits_device *take_row(struct limits_page *page, const uint64_t uuid[2])
{
        static const uint64_t nobody[2] = { 0, 0 };

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct limits_device *row = &page->device[i];

                if (swap128(row->uuid, nobody, uuid) || is_row_of(row, uuid))
                        return row;
        }
        return NULL;
}

/* Publishes a change of the limits: waiting processes wake up and read them again. */
static void publish_change(struct limits_page *page)
{
        add_acq_rel(shared_half(&page->epoch), 1);
        clock_wake(shared_half(&page->epoch), PAGE_WAKE_MAX);
        clock_wake(shared_half(&page->gate), PAGE_WAKE_MAX);
}

/* Writes the first limit of a row, with the size of its card. */
static int complete_row(const struct limits_page *page, struct limits_device *row,
                        uint64_t card_bytes, struct error *err)
{
        for (unsigned look = 0; look < LOOKS; look++) {
                const uint64_t none[2] = { 0, load_acquire(shared_word(&row->card_bytes)) };
                uint64_t first[2] = { 0, card_bytes };
                int rc = rows_default_limit(page, card_bytes, &first[0], err);

                if (rc < 0)
                        return rc;
                if (load_acquire(shared_word(&row->limit_bytes)) ||
                    swap128(&row->limit_bytes, none, first))
                        return 0;
        }
        return fail(err, -EBUSY, "the session's limits change all the time");
}

static int claim_row(struct limits_page *page, const uint64_t uuid[2], uint64_t card_bytes,
                     struct error *err)
{
        struct limits_device *row;
        uint64_t limit_bytes;
        int rc = rows_default_limit(page, card_bytes, &limit_bytes, err);

        if (rc < 0)
                return rc;
        row = take_row(page, uuid);
        if (!row)
                return fail(err, -ENOSPC, "all %u places for GPUs are taken", PAGE_DEVICES);
        rc = complete_row(page, row, card_bytes, err);
        return rc < 0 ? rc : (int)(row - page->device);
}

/* Maps the session's `limits` file again, writable: the shim has only a read-only mapping. */
static int map_writable(const struct store_session *session, struct limits_page **ret,
                        struct error *err)
{
        char path[STORE_PATH_BYTES];
        scoped_fd int fd = -1;
        struct stat st;
        void *mapped;
        int rc = text_put(path, sizeof(path), err, "%s/%s", session->path, FOLDER_LIMITS);

        if (rc < 0)
                return rc;
        fd = folder_open_file(AT_FDCWD, path, O_RDWR);
        if (fd < 0) {
                errno = -fd;
                return fail(err, fd, "%s: %m", path);
        }
        if (fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        if (st.st_dev != session->limits_file.device || st.st_ino != session->limits_file.inode ||
            st.st_size != (off_t)sizeof(**ret))
                return fail(err, -ESTALE, "%s is not the file it was", path);
        mapped = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                return fail(err, -errno, "map %s: %m", path);
        *ret = mapped;
        return 0;
}

int store_find_row(const struct store_session *session, const uint8_t uuid[16])
{
        struct limits_page *page = session->limits;
        const struct limits_device *row;
        uint64_t words[2];

        memcpy(words, uuid, sizeof(words));
        row = words[0] || words[1] ? rows_find(page, words) : NULL;
        return row && load_acquire(shared_word(&row->limit_bytes)) ? (int)(row - page->device) : -1;
}

int store_claim_row(const struct store_session *session, const uint8_t uuid[16],
                    uint64_t card_bytes, struct error *err)
{
        struct limits_page *page = session->limits;
        int rc = store_find_row(session, uuid);
        char shown[UUID_TEXT_BYTES];
        uint64_t words[2];

        if (rc >= 0)
                return rc;
        memcpy(words, uuid, sizeof(words));
        if (!words[0] && !words[1])
                return fail(err, -EINVAL, "a GPU without a UUID");
        if (load_relaxed(shared_half(&page->owner)) != PAGE_OWNER_USER)
                rc = fail(err, -EPERM, "its session does not include it");
        else if (session->is_writable)
                rc = claim_row(page, words, card_bytes, err);
        else if ((rc = map_writable(session, &page, err)) == 0) {
                rc = claim_row(page, words, card_bytes, err);
                munmap(page, sizeof(*page));
        }
        if (rc < 0)
                wrap(err, "GPU %s", uuid_format(uuid, false, shown));
        return rc;
}

/* Computes the new limit of a row. Sets *ret to 0 if the limit stays: the row is free, its
 * claimer will complete it, or it stands for no card, so that it is fixed when the session is
 * created. */
static int plan_row(const struct limits_device *row, const struct settings_limits *limits,
                    uint64_t *ret, struct error *err)
{
        const struct settings_limit *named = NULL;
        char shown[UUID_TEXT_BYTES];
        uint8_t uuid[16];
        int rc = 0;

        *ret = 0;
        memcpy(uuid, row->uuid, sizeof(uuid));
        if (!load_acquire(shared_word(&row->limit_bytes)) || page_is_no_card(uuid))
                return 0;
        for (unsigned i = 0; i < limits->count; i++) {
                if (memcmp(limits->device[i].uuid, uuid, sizeof(uuid)) == 0)
                        named = &limits->device[i];
        }
        if (named && (named->is_named || limits->has_default))
                *ret = named->limit_bytes;
        else if (limits->has_default)
                rc = settings_resolve_default(limits, row->card_bytes, ret, err);
        if (rc < 0)
                wrap(err, "GPU %s", uuid_format(uuid, false, shown));
        return rc;
}

/* Returns the new cap of a row, or 0 if it stays. */
static uint32_t plan_cap(const struct limits_device *row, const struct settings_limits *limits)
{
        for (unsigned i = 0; i < limits->count; i++) {
                const struct settings_limit *device = &limits->device[i];

                if (device->is_cap_named && memcmp(device->uuid, row->uuid, 16) == 0)
                        return device->cap_ppm;
        }
        return limits->has_default_cap ? limits->default_cap_ppm : 0;
}

/* Makes a process that is about to write a row's first limit read the limits again. Returns 1 if
 * that was necessary, 0 if the row has a limit. */
static int outdate_claims(struct limits_device *row)
{
        for (unsigned look = 0; look < LOOKS; look++) {
                const uint64_t seen[2] = { 0, load_acquire(shared_word(&row->card_bytes)) };
                const uint64_t next[2] = { 0, seen[1] + 1 };

                if (load_acquire(shared_word(&row->limit_bytes)))
                        return 0;
                if (swap128(&row->limit_bytes, seen, next))
                        return 1;
        }
        return -EBUSY;
}

static int set_row(struct limits_device *row, const struct settings_limits *limits)
{
        uint32_t cap_ppm = plan_cap(row, limits);
        uint64_t limit_bytes;
        int rc = outdate_claims(row);

        if (rc != 0)
                return rc < 0 ? rc : 0;
        if (cap_ppm)
                store_release(shared_half(&row->cap_ppm), cap_ppm);
        if (plan_row(row, limits, &limit_bytes, NULL) == 0 && limit_bytes)
                store_release(shared_word(&row->limit_bytes), limit_bytes);
        return 0;
}

/* Lets the users of a session change it one at a time; otherwise the default could come from one
 * change and the rows from another. The lock ends with the descriptor *ret_fd, and so with its
 * holder. For a daemon's session no lock is taken: tenants can open its files and could hold the
 * lock, and only the daemon's one thread changes the session. */
static int take_turn(const struct store_session *session, int *ret_fd, struct error *err)
{
        char path[STORE_PATH_BYTES];
        int rc;

        if (session->limits->owner == PAGE_OWNER_USER &&
            text_put(path, sizeof(path), NULL, "%s/%s", session->path, FOLDER_LIMITS) == 0)
                *ret_fd = folder_open_file(AT_FDCWD, path, O_RDONLY);
        rc = *ret_fd < 0 ? 0 : folder_lock(*ret_fd);
        if (rc == -EBUSY)
                return fail(err, rc,
                            "another change of %s does not end; is an aliquot set stopped?",
                            session->path);
        errno = -rc;
        return rc < 0 ? fail(err, rc, "lock of %s: %m", path) : 0;
}

int store_set(const struct store_session *session, const struct settings_limits *limits,
              struct error *err)
{
        struct limits_page *page = session->limits;
        scoped_fd int turn = -1;
        uint64_t planned;
        bool is_whole = true;
        int rc;

        if (!page || !session->is_writable)
                return fail(err, -EPERM, "the session is open for reading only");
        rc = take_turn(session, &turn, err);
        for (unsigned i = 0; rc >= 0 && i < limits->count; i++) {
                if (limits->device[i].is_named || limits->device[i].is_cap_named)
                        rc = store_claim_row(session, limits->device[i].uuid,
                                             limits->device[i].card_bytes, err);
        }
        for (unsigned i = 0; rc >= 0 && i < PAGE_DEVICES; i++)
                rc = plan_row(&page->device[i], limits, &planned, err);
        if (rc < 0)
                return rc;
        if (limits->has_default)
                write_default(page, limits);
        if (limits->has_default_cap)
                store_release(shared_half(&page->default_cap_ppm), limits->default_cap_ppm);
        fence_seq_cst();
        /* the limits are computed again, because there may be new rows */
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                is_whole &= set_row(&page->device[i], limits) == 0;
        publish_change(page);
        return is_whole ? 0 : fail(err, -EBUSY, "GPUs that are new here have the old default");
}

void store_shut(const struct store_session *session)
{
        struct limits_page *page = session->limits;
        const struct settings_limits nothing = { .default_bytes = SETTINGS_NOTHING_BYTES };

        store_release(shared_half(&page->removed), 1);
        write_default(page, &nothing);
        fence_seq_cst();
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                /* memory of a session that swaps still moves until its programs end */
                if ((page->flags & PAGE_SWAPS) && page_is_no_card(page->device[i].uuid))
                        continue;
                if (outdate_claims(&page->device[i]) <= 0)
                        store_release(shared_word(&page->device[i].limit_bytes),
                                      SETTINGS_NOTHING_BYTES);
        }
        publish_change(page);
}
