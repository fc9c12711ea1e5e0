/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and changing the limits of a session that others use at this moment.
 *
 * Every word here is shared: single words, no lock. A row is claimed by one 16-byte swap of its
 * UUID, and is of use once its limit is not 0; whoever finds it claimed but without one writes
 * the same value that the claimer would have.
 *
 * A claim and a change of the default may cross. The changer writes the default and then looks at
 * the rows; the claimer makes its row and then looks at the default: one of them sees the other.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "common/swap128.h"
#include "common/text.h"
#include "common/uuid.h"
#include "store/folder.h"

#define LOOKS 16u /* at words that others change: nobody changes limits in a loop */

static bool is_row_of(const struct limits_device *row, const uint64_t uuid[2])
{
        return load_acquire(shared_word(&row->uuid[0])) == uuid[0] &&
               load_acquire(shared_word(&row->uuid[1])) == uuid[1];
}

static struct limits_device *find_row(struct limits_page *page, const uint64_t uuid[2])
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (is_row_of(&page->device[i], uuid))
                        return &page->device[i];
        }
        return NULL;
}

/* Two words, of which "no part of the card" and "any number of bytes" must never meet, not even in
 * the eye of a reader that comes in between: the order of write_default(), read twice. */
static void read_default(const struct limits_page *page, struct settings_limits *ret)
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

/* What a card without a rule of its own may use now. */
static int default_limit(const struct limits_page *page, uint64_t card_bytes, uint64_t *ret,
                         struct error *err)
{
        struct settings_limits limits = { 0 };
        int rc;

        read_default(page, &limits);
        rc = settings_resolve_default(&limits, card_bytes, ret, err);
        if (rc == 0 && !*ret)
                return fail(err, -EPROTO, "the session's limit is zero");
        return rc;
}

/* All claimers walk the same way, so no GPU gets two rows. */
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

/* `given` is what we gave a new row: a change that crossed it may not have found the row. */
static void follow_default(const struct limits_page *page, struct limits_device *row,
                           uint64_t given)
{
        uint64_t card_bytes = load_relaxed(shared_word(&row->card_bytes));
        uint64_t now;

        fence_seq_cst();
        for (unsigned look = 0; look < LOOKS; look++) {
                if (default_limit(page, card_bytes, &now, NULL) < 0 || now == given ||
                    !cas_acq_rel(shared_word(&row->limit_bytes), &given, now))
                        return;
                given = now;
        }
}

static int claim(struct limits_page *page, const uint64_t uuid[2], uint64_t card_bytes,
                 struct error *err)
{
        struct limits_device *row;
        uint64_t limit_bytes, none = 0;
        int rc = default_limit(page, card_bytes, &limit_bytes, err);

        if (rc < 0)
                return rc;
        row = take_row(page, uuid);
        if (!row)
                return fail(err, -ENOSPC, "all %u places for GPUs are taken", PAGE_DEVICES);
        store_relaxed(shared_word(&row->card_bytes), card_bytes);
        if (cas_acq_rel(shared_word(&row->limit_bytes), &none, limit_bytes))
                follow_default(page, row, limit_bytes);
        return (int)(row - page->device);
}

/* The same file again, writable: the shim keeps only a read-only mapping. */
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

int store_claim_row(const struct store_session *session, const uint8_t uuid[16],
                    uint64_t card_bytes, struct error *err)
{
        struct limits_page *page = session->limits;
        struct limits_device *row;
        char shown[UUID_TEXT_BYTES];
        uint64_t words[2];
        int rc;

        memcpy(words, uuid, sizeof(words));
        if (!words[0] && !words[1])
                return fail(err, -EINVAL, "a GPU without a UUID");
        row = find_row(page, words);
        if (row && load_acquire(shared_word(&row->limit_bytes)))
                return (int)(row - page->device);
        if (load_relaxed(shared_half(&page->owner)) != PAGE_OWNER_USER)
                rc = fail(err, -EPERM, "its session does not include it");
        else if (session->is_writable)
                rc = claim(page, words, card_bytes, err);
        else if ((rc = map_writable(session, &page, err)) == 0) {
                rc = claim(page, words, card_bytes, err);
                munmap(page, sizeof(*page));
        }
        if (rc < 0)
                wrap(err, "GPU %s", uuid_format(uuid, false, shown));
        return rc;
}

/* What a row, or a GPU without one, may use now. */
static uint64_t current_limit(struct limits_page *page, const struct settings_limit *device)
{
        struct limits_device *row;
        uint64_t words[2], bytes = 0;

        memcpy(words, device->uuid, sizeof(words));
        row = find_row(page, words);
        if (row)
                return load_acquire(shared_word(&row->limit_bytes));
        default_limit(page, device->card_bytes, &bytes, NULL);
        return bytes;
}

/* What no GPU here has of its own: for those that are not known, which a daemon's session never
 * gets. Where all of them are known, what each has says it all. */
static bool is_same_default(struct limits_page *page, const struct settings_limits *limits)
{
        struct settings_limits defaults = { 0 };

        if (page->owner != PAGE_OWNER_USER || (limits->count > 0 && limits->count < PAGE_DEVICES))
                return true;
        read_default(page, &defaults);
        return defaults.default_bytes == limits->default_bytes &&
               defaults.default_micro_percent == limits->default_micro_percent;
}

static bool is_same_now(struct limits_page *page, const struct store_request *request)
{
        const struct settings_limits *limits = request->limits;
        const char *name = request->device_name ? request->device_name : "";

        if (!limits || page->flags != request->flags ||
            strncmp(page->device_name, name, sizeof(page->device_name)) != 0 ||
            !is_same_default(page, limits))
                return false;
        for (unsigned i = 0; i < limits->count; i++) {
                if (current_limit(page, &limits->device[i]) != limits->device[i].limit_bytes)
                        return false;
        }
        return true;
}

/* What holds now where no row says otherwise. A daemon's session has rows alone: as its first. */
static void usual_now(struct limits_page *page, struct settings_limits *ret)
{
        read_default(page, ret);
        if (page->owner == PAGE_OWNER_USER)
                return;
        ret->default_bytes = load_acquire(shared_word(&page->device[0].limit_bytes));
        ret->default_micro_percent = 0;
}

static void add_limit(struct text *text, const char *gpu, uint64_t bytes, uint32_t micro_percent)
{
        const struct size size = { micro_percent ? 0 : bytes, micro_percent };
        char shown[SIZE_TEXT_BYTES];

        text_add(text, "%s=%s", gpu,
                 !micro_percent && bytes == PAGE_UNLIMITED ? "card" : size_canonical(&size, shown));
}

/* As settings_canonical() has it, of what holds now. */
static void describe_now(struct limits_page *page, char *ret, size_t bytes)
{
        struct settings_limits usual = { 0 };
        struct text text;

        usual_now(page, &usual);
        text_begin(&text, ret, bytes);
        add_limit(&text, "memory", usual.default_bytes, usual.default_micro_percent);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct limits_device *row = &page->device[i];
                uint64_t limit_bytes = load_acquire(shared_word(&row->limit_bytes)), default_bytes;
                char shown[UUID_TEXT_BYTES];
                uint8_t uuid[16];

                memcpy(uuid, row->uuid, sizeof(uuid));
                if (!limit_bytes ||
                    (settings_resolve_default(&usual, load_relaxed(shared_word(&row->card_bytes)),
                                              &default_bytes, NULL) == 0 &&
                     default_bytes == limit_bytes))
                        continue;
                text_add(&text, ",");
                add_limit(&text, uuid_format(uuid, false, shown), limit_bytes, 0);
        }
}

int store_check_same(const struct store_session *session, const struct store_request *request,
                     struct error *err)
{
        struct limits_page *page = session->limits;
        char now[SETTINGS_CANONICAL_BYTES], has[160], asked[160];

        if (strncmp(page->created_as, request->created_as, sizeof(page->created_as)) == 0 ||
            is_same_now(page, request))
                return 0;
        if (load_acquire(shared_half(&page->epoch)))
                describe_now(page, now, sizeof(now));
        else
                memcpy(now, page->created_as, sizeof(now));
        return fail(
                err, -EEXIST,
                "session %s exists with other limits: it has %s, asked was %s; leave the limits "
                "out to join it, change it with aliquot set, or name another with --session",
                request->name, text_quote(now, has, sizeof(has)),
                text_quote(request->created_as, asked, sizeof(asked)));
}

static void wake(uint32_t *word)
{
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The new limit of a row, or 0 where it stays: free, or still its claimer's to complete. */
static int plan_row(const struct limits_device *row, const struct settings_limits *limits,
                    uint64_t *ret, struct error *err)
{
        const struct settings_limit *named = NULL;
        char shown[UUID_TEXT_BYTES];
        uint8_t uuid[16];
        int rc = 0;

        *ret = 0;
        if (!load_acquire(shared_word(&row->limit_bytes)))
                return 0;
        memcpy(uuid, row->uuid, sizeof(uuid));
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

/* After a change, whoever waits for one looks again. */
static void publish(struct limits_page *page)
{
        add_acq_rel(shared_half(&page->epoch), 1);
        wake(&page->epoch);
        wake(&page->gate);
}

int store_set(const struct store_session *session, const struct settings_limits *limits,
              struct error *err)
{
        struct limits_page *page = session->limits;
        uint64_t planned;
        int rc = 0;

        if (!page || !session->is_writable)
                return fail(err, -EPERM, "the session is open for reading only");
        for (unsigned i = 0; rc >= 0 && i < limits->count; i++) {
                if (limits->device[i].is_named)
                        rc = store_claim_row(session, limits->device[i].uuid,
                                             limits->device[i].card_bytes, err);
        }
        for (unsigned i = 0; rc >= 0 && i < PAGE_DEVICES; i++)
                rc = plan_row(&page->device[i], limits, &planned, err);
        if (rc < 0)
                return rc;
        if (limits->has_default)
                write_default(page, limits);
        fence_seq_cst();
        /* Planned anew: rows may have come since. */
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (plan_row(&page->device[i], limits, &planned, NULL) == 0 && planned)
                        store_release(shared_word(&page->device[i].limit_bytes), planned);
        }
        publish(page);
        return 0;
}

#define NOTHING_FITS 1u /* byte: a limit of 0 is a row that is not ready yet */

void store_shut(const struct store_session *session)
{
        struct limits_page *page = session->limits;
        const struct settings_limits nothing = { .default_bytes = NOTHING_FITS };

        store_release(shared_half(&page->removed), 1);
        write_default(page, &nothing);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (load_acquire(shared_word(&page->device[i].limit_bytes)))
                        store_release(shared_word(&page->device[i].limit_bytes), NOTHING_FITS);
        }
        publish(page);
}
