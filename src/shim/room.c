/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/room.h"

#include <limits.h>
#include <stddef.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "shim/attach.h"
#include "shim/charge.h"
#include "shim/session.h"

/* A wish is written again after so long; one that is older than a few of these is none. */
#define WISH_NS UINT64_C(10000000)
#define WISH_FRESH_NS (4 * WISH_NS)
#define DAEMON_SILENT_NS UINT64_C(5000000000)
/* Looks that another thread's charge, on its way back, may have spoilt. */
#define DOUBTS_OF_NO 3u
#define DOUBTS_OF_YES 50u
#define DOUBT_NS UINT64_C(100000)

static const struct room_rows no_rows = { CHARGE_NO_DEVICE, CHARGE_NO_DEVICE, CHARGE_NO_DEVICE };

/* Rows are fixed when such a session is made. */
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
        /* Each plus 1, in a byte; racing writers agree. */
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

static uint64_t used(int row)
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
                .most_bytes = load_acquire(shared_word(&room->most_bytes)),
                .pinned_bytes = load_acquire(shared_word(&room->pinned_bytes)),
                .answered_at_ns = load_acquire(shared_word(&room->answered_at_ns)),
                .limit_bytes =
                        load_acquire(shared_word(&session_limits()->device[rows.card].limit_bytes)),
                .out_bytes = used(rows.out),
                .swappable_bytes = used(rows.swap),
                .used_bytes = used(rows.card),
        };
}

static uint64_t less(uint64_t bytes, uint64_t taken)
{
        return bytes - min_u64(taken, bytes);
}

enum room_answer room_answer(const struct room_books *books, uint64_t more_bytes,
                             enum room_kind kind)
{
        uint64_t used_bytes = sum_of(books->used_bytes, more_bytes);

        if (used_bytes > books->most_bytes || used_bytes > books->limit_bytes)
                return ROOM_NEVER;
        if (kind == ROOM_OF_PINNED &&
            less(used_bytes, books->swappable_bytes) > books->pinned_bytes)
                return ROOM_PINNED;
        if (less(used_bytes, books->out_bytes) > books->resident_bytes)
                return ROOM_SHORT;
        return ROOM_FITS;
}

uint64_t room_excess(const struct room_books *books)
{
        return less(room_resident(books), books->resident_bytes);
}

/* Each row is recovered by itself: when the card's gave back what a dead process had, what of that
 * could move, or was out, has to follow, or the rest would look smaller than it is. */
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
        /* A running session has nothing out: it is a dead process's. */
        if (books.out_bytes && !load_acquire(shared_half(&session_limits()->gate))) {
                process_reap((unsigned)rows.out);
                books = room_read();
        }
        return room_answer(&books, 0, kind) == ROOM_FITS;
}

/* The greatest of those that wait; what this one wished before does not count. */
static uint64_t with_others(const uint64_t *word, uint64_t bytes, uint64_t own_bytes, bool is_fresh)
{
        uint64_t other = load_relaxed(shared_word(word));

        return is_fresh && other != own_bytes ? max_u64(bytes, other) : bytes;
}

static void wish(struct room_wait *wait, const struct room_books *books,
                 const struct room_want *want)
{
        struct page_meter *meter = &session_slots()->meter[room_rows().card];
        uint64_t now_ns = clock_now_ns(), bytes = sum_of(room_resident(books), want->bytes);
        uint64_t at_ns = load_acquire(shared_word(&meter->wished_at_ns));
        bool is_fresh = at_ns && now_ns - at_ns < WISH_FRESH_NS;
        uint64_t pinned_bytes =
                want->kind != ROOM_OF_PINNED
                        ? 0
                        : sum_of(less(books->used_bytes, books->swappable_bytes), want->bytes);

        if (!wait->wished_ns || bytes > wait->wished_bytes)
                wait->wished_ns = now_ns;
        store_relaxed(
                shared_word(&meter->wished_resident_bytes),
                with_others(&meter->wished_resident_bytes, bytes, wait->wished_bytes, is_fresh));
        store_relaxed(shared_word(&meter->wished_pinned_bytes),
                      with_others(&meter->wished_pinned_bytes, pinned_bytes, 0, is_fresh));
        wait->wished_bytes = bytes;
        store_release(shared_word(&meter->wished_at_ns), now_ns);
}

static void ring(void)
{
        struct slots_page *slots = session_slots();

        add_acq_rel(shared_half(&slots->bell), 1);
        clock_wake(shared_half(&slots->bell), INT_MAX);
}

/* False: for good. */
static bool doubt(struct room_wait *wait, unsigned most)
{
        if (wait->looks++ >= most)
                return false;
        clock_sleep_ns(DOUBT_NS);
        return true;
}

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
        process_reap((unsigned)rows.out);
        process_reap((unsigned)rows.swap);
        process_reap((unsigned)rows.card);
        epoch = load_acquire(shared_half(&limits->epoch));
        books = room_read();
        answer = room_answer(&books, want->bytes, want->kind);
        if (answer == ROOM_FITS && !want->is_held)
                return doubt(wait, DOUBTS_OF_YES);
        if (answer == ROOM_NEVER ||
            (answer == ROOM_PINNED && wait->wished_ns && books.answered_at_ns > wait->wished_ns))
                return doubt(wait, DOUBTS_OF_NO);
        if (is_silent(wait, &books))
                return false;
        if (want->is_held)
                room_stand();
        if (!wait->wished_ns)
                ring();
        wish(wait, &books, want);
        clock_wait(shared_half(&limits->epoch), epoch, clock_now_ns() + WISH_NS);
        return true;
}

void room_stand(void)
{
        int card = room_rows().card;

        if (card < 0)
                return;
        store_relaxed(shared_word(&session_slots()->meter[card].stood_at_ns), clock_now_ns());
        ring();
}
