/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/room.h"

#include <stddef.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "shim/attach.h"
#include "shim/charge.h"
#include "shim/session.h"

/* A waiting request writes its wish again after WISH_NS. A wish that is older than WISH_FRESH_NS
 * does not count. */
#define WISH_NS UINT64_C(10000000)
#define WISH_FRESH_NS (4 * WISH_NS)
/* A daemon that has answered no wish for this long counts as gone. */
#define DAEMON_SILENT_NS UINT64_C(5000000000)
/* How often a request is checked, DOUBT_NS apart, before the answer counts: another thread's
 * charge may be about to be given back. DOUBTS_OF_NO: before it is refused for good.
 * DOUBTS_OF_YES: while it fits and yet was not admitted. */
#define DOUBTS_OF_NO 3u
#define DOUBTS_OF_YES 50u
#define DOUBT_NS UINT64_C(100000)

static const struct room_rows no_rows = { CHARGE_NO_DEVICE, CHARGE_NO_DEVICE, CHARGE_NO_DEVICE };

/* Returns the rows of a session that swaps; they are fixed when the session is created. */
static struct room_rows find_rows(const struct limits_page *limits)
{
        struct room_rows rows = { .card = CHARGE_NO_DEVICE,
                                  .out = page_host_row(limits),
                                  .swap = page_swap_row(limits) };

        for (int i = 0; i < (int)PAGE_DEVICES && rows.card < 0; i++) {
                if (i != rows.out && i != rows.swap &&
                    load_acquire(shared_word(limits->device[i].uuid)))
                        rows.card = i;
        }
        return rows.card < 0 || rows.out < 0 || rows.swap < 0 ? no_rows : rows;
}

struct room_rows room_rows(void)
{
        /* Each row plus 1, one in a byte. Threads that race write the same value. */
        static _Atomic uint32_t known;
        uint32_t packed = load_relaxed(&known);
        const struct limits_page *limits;
        struct room_rows rows;

        if (packed)
                return (struct room_rows){ (int)(packed & 0xff) - 1, (int)(packed >> 8 & 0xff) - 1,
                                           (int)(packed >> 16) - 1 };
        limits = session_limits();
        if (!limits || !(limits->flags & PAGE_SWAPS))
                return no_rows;
        rows = find_rows(limits);
        if (rows.card >= 0)
                store_relaxed(&known, (uint32_t)(rows.card + 1) | (uint32_t)(rows.out + 1) << 8 |
                                              (uint32_t)(rows.swap + 1) << 16);
        return rows;
}

static const struct page_room *room_of_card(int card)
{
        return &session_limits()->device[card].lease.room;
}

static uint64_t used_bytes_of(int row)
{
        return load_acquire(shared_word(&session_slots()->ledger[row].used_bytes));
}

struct room_books room_read(void)
{
        struct room_rows rows = room_rows();
        const struct page_room *room;

        if (rows.card < 0)
                return (struct room_books){ 0 };
        room = room_of_card(rows.card);
        return (struct room_books){
                .resident_bytes = load_acquire(shared_word(&room->resident_bytes)),
                .max_bytes = load_acquire(shared_word(&room->max_bytes)),
                .pinned_bytes = load_acquire(shared_word(&room->pinned_bytes)),
                .answered_at_ns = load_acquire(shared_word(&room->answered_at_ns)),
                .limit_bytes =
                        load_acquire(shared_word(&session_limits()->device[rows.card].limit_bytes)),
                .out_bytes = used_bytes_of(rows.out),
                .swappable_bytes = used_bytes_of(rows.swap),
                .used_bytes = used_bytes_of(rows.card),
        };
}

enum room_answer room_answer(const struct room_books *books, uint64_t more_bytes,
                             enum room_kind kind)
{
        uint64_t used_bytes = sum_of(books->used_bytes, more_bytes);

        if (used_bytes > books->max_bytes || used_bytes > books->limit_bytes)
                return ROOM_NEVER;
        if (kind == ROOM_OF_PINNED &&
            difference_of(used_bytes, books->swappable_bytes) > books->pinned_bytes)
                return ROOM_PINNED;
        if (difference_of(used_bytes, books->out_bytes) > books->resident_bytes)
                return ROOM_SHORT;
        return ROOM_FITS;
}

uint64_t room_excess(const struct room_books *books)
{
        return difference_of(room_resident(books), books->resident_bytes);
}

void room_reap(void)
{
        struct room_rows rows = room_rows();

        if (rows.card < 0)
                return;
        process_reap((unsigned)rows.out);
        process_reap((unsigned)rows.swap);
        process_reap((unsigned)rows.card);
}

/* Recovers dead processes' bytes in the other two rows, once the card's row has given them back.
 * Otherwise used less out, and used less swappable, would look too small. */
static void reap_after_card(struct room_rows rows)
{
        static _Atomic uint64_t seen_ns;
        uint64_t reclaimed_ns =
                load_acquire(shared_word(&session_slots()->ledger[rows.card].reclaimed_at_ns));

        if (load_relaxed(&seen_ns) == reclaimed_ns)
                return;
        process_reap((unsigned)rows.out);
        process_reap((unsigned)rows.swap);
        store_relaxed(&seen_ns, reclaimed_ns);
}

bool room_admits(enum room_kind kind)
{
        struct room_rows rows = room_rows();
        struct room_books books;

        if (rows.card < 0)
                return true;
        fence_seq_cst();
        reap_after_card(rows);
        books = room_read();
        /* A session that runs has nothing in the host, so these bytes belong to a dead process. */
        if (books.out_bytes && !load_acquire(shared_half(&session_limits()->gate))) {
                process_reap((unsigned)rows.out);
                books = room_read();
        }
        return room_answer(&books, 0, kind) == ROOM_FITS;
}

static bool is_same(const struct room_wish *a, const struct room_wish *b)
{
        return a->resident_bytes == b->resident_bytes && a->pinned_bytes == b->pinned_bytes;
}

/* Whether wish `a` goes before wish `b`. Pinned bytes are compared first: a request for pinned
 * memory can be refused, so it must not wait long. */
static bool is_larger(const struct room_wish *a, const struct room_wish *b)
{
        return a->pinned_bytes != b->pinned_bytes ? a->pinned_bytes > b->pinned_bytes
                                                  : a->resident_bytes > b->resident_bytes;
}

/* Returns the wish in the page; all zero if it is too old to count. */
static struct room_wish read_wish(const struct page_meter *meter, uint64_t now_ns)
{
        uint64_t at_ns = load_acquire(shared_word(&meter->wished_at_ns));

        if (!at_ns || now_ns - at_ns >= WISH_FRESH_NS)
                return (struct room_wish){ 0 };
        return (struct room_wish){
                .resident_bytes = load_relaxed(shared_word(&meter->wished_resident_bytes)),
                .pinned_bytes = load_relaxed(shared_word(&meter->wished_pinned_bytes)),
        };
}

/* Writes the request's wish into the page, which has room for one, the largest. A request with a
 * smaller wish does not change the page until the larger wish is no longer repeated: if another
 * request repeated it, it would outlast its own request. */
static void wish(struct room_wait *wait, const struct room_books *books,
                 const struct room_want *want)
{
        struct page_meter *meter = &session_slots()->meter[room_rows().card];
        uint64_t now_ns = clock_now_ns();
        struct room_wish there = read_wish(meter, now_ns);
        struct room_wish own = { .resident_bytes = sum_of(room_resident(books), want->bytes) };

        if (want->kind == ROOM_OF_PINNED)
                own.pinned_bytes = sum_of(difference_of(books->used_bytes, books->swappable_bytes),
                                          want->bytes);
        if (!is_same(&there, &wait->wish) && is_larger(&there, &own)) {
                wait->wished_ns = 0;
                return;
        }
        if (!wait->wished_ns || is_larger(&own, &wait->wish))
                wait->wished_ns = now_ns;
        store_relaxed(shared_word(&meter->wished_resident_bytes), own.resident_bytes);
        store_relaxed(shared_word(&meter->wished_pinned_bytes), own.pinned_bytes);
        wait->wish = own;
        store_release(shared_word(&meter->wished_at_ns), now_ns);
}

/* Whether the daemon has answered this request's wish, and not another one that replaced it in
 * the page. */
static bool is_answered(const struct room_wait *wait, const struct room_books *books)
{
        const struct page_meter *meter = &session_slots()->meter[room_rows().card];
        struct room_wish there = {
                .resident_bytes = load_relaxed(shared_word(&meter->wished_resident_bytes)),
                .pinned_bytes = load_relaxed(shared_word(&meter->wished_pinned_bytes)),
        };

        return wait->wished_ns && books->answered_at_ns > wait->wished_ns &&
               is_same(&there, &wait->wish);
}

/* Waits for the next check, at most `most` times. Returns false if the answer is final. */
static bool wait_in_doubt(struct room_wait *wait, unsigned most)
{
        if (wait->looks++ >= most)
                return false;
        clock_sleep_ns(DOUBT_NS);
        return true;
}

/* Whether the daemon has not answered for too long. */
static bool is_silent(const struct room_wait *wait, const struct room_books *books)
{
        uint64_t heard_ns = max_u64(books->answered_at_ns, wait->began_ns);
        uint64_t now_ns = clock_now_ns();

        return now_ns > heard_ns && now_ns - heard_ns > DAEMON_SILENT_NS;
}

bool room_wait(struct room_wait *wait, const struct room_want *want)
{
        struct room_rows rows = room_rows();
        const struct limits_page *limits = session_limits();
        struct room_books books;
        enum room_answer answer;
        uint32_t epoch;

        if (rows.card < 0)
                return false;
        if (!wait->began_ns)
                wait->began_ns = clock_now_ns();
        room_reap();
        epoch = load_acquire(shared_half(&limits->epoch));
        books = room_read();
        answer = room_answer(&books, want->bytes, want->kind);
        if (answer == ROOM_FITS && !want->is_held)
                return wait_in_doubt(wait, DOUBTS_OF_YES);
        if (answer == ROOM_NEVER || (answer == ROOM_PINNED && is_answered(wait, &books)))
                return wait_in_doubt(wait, DOUBTS_OF_NO);
        if (is_silent(wait, &books))
                return false;
        if (want->is_held)
                room_stand();
        wish(wait, &books, want);
        clock_wait(shared_half(&limits->epoch), epoch, clock_now_ns() + WISH_NS);
        return true;
}

void room_stand(void)
{
        int card = room_rows().card;

        if (card >= 0)
                store_relaxed(shared_word(&session_slots()->meter[card].stood_at_ns),
                              clock_now_ns());
}
