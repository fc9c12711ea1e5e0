/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/swap/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "common/text.h"
#include "store/liveness.h"

/* Rows of the session's ledger, in the order of store_create(). */
enum { ROW_GPU, ROW_HOST, ROW_SWAP };

/* How long claims count. A process renews its wish every 10 ms, and so does a thread that waits at
 * the GPU's gate (WANT_NS). A thread that waits at the session's gate renews its time every 50 ms
 * (STOOD_NS). An older time does not count. */
#define WISH_NS UINT64_C(100000000)
#define WANT_NS UINT64_C(100000000)
#define STOOD_NS UINT64_C(120000000)
#define WALK_EVERY_NS UINT64_C(100000000)
/* To probe a slot's lock, the kernel goes through all locks on the file, and a tenant can hold any
 * number of them. After a call that took longer than PROBE_DEAR_NS, no slot is probed for
 * PROBE_REST times as long. */
#define PROBE_DEAR_NS UINT64_C(100000)
#define PROBE_REST 50u

#define HEAD_BYTES (offsetof(struct slots_page, meter) + sizeof(struct page_meter))

/* The part of `slots` before the slots themselves. */
struct head {
        bool is_page;
        uint32_t high;
        struct page_ledger ledger[PAGES_ROWS];
        struct page_meter meter; /* the GPU's meter */
};

int pages_open(struct pages **ret, const struct store *store, const struct sessions_one *session,
               struct error *err)
{
        struct pages *pages = calloc(1, sizeof(*pages));
        const struct limits_page *limits;
        int rc;

        if (!pages)
                return fail(err, -ENOMEM, "out of memory");
        rc = seat_open(store, session, &pages->seat, err);
        if (rc < 0) {
                free(pages);
                return rc;
        }
        limits = pages->seat->limits;
        if (!(limits->flags & PAGE_SWAPS) || page_host_row(limits) != ROW_HOST ||
            page_swap_row(limits) != ROW_SWAP) {
                pages_close(pages);
                return fail(err, -EPROTO, "its page is none of a session that swaps");
        }
        *ret = pages;
        return 0;
}

void pages_close(struct pages *pages)
{
        seat_close(pages->seat);
        free(pages);
}

bool pages_are_current(const struct pages *pages, const struct store *store,
                       const struct sessions_one *session)
{
        char path[STORE_PATH_BYTES];
        struct stat there, open;

        return text_put(path, sizeof(path), NULL, "%s/sessions/%s/slots", store->path,
                        session->name) == 0 &&
               lstat(path, &there) == 0 && fstat(pages->seat->slots, &open) == 0 &&
               there.st_ino == open.st_ino && there.st_dev == open.st_dev;
}

uint32_t pages_gate(const struct pages *pages)
{
        return load_relaxed(shared_half(&pages->seat->limits->gate));
}

/* -- Reading `slots` -------------------------------------------------------------------------- */

/* Reads bytes of the file, and zeroes beyond its end. */
static void read_at(const struct pages *pages, void *to, size_t offset, size_t bytes)
{
        ssize_t got = pread(pages->seat->slots, to, bytes, (off_t)offset);
        size_t filled = got > 0 ? (size_t)got : 0;

        memset((char *)to + filled, 0, bytes - filled);
}

static void read_head(const struct pages *pages, struct head *ret)
{
        _Alignas(64) uint8_t bytes[HEAD_BYTES];
        uint64_t magic;

        read_at(pages, bytes, 0, sizeof(bytes));
        memcpy(&magic, bytes + offsetof(struct slots_page, magic), sizeof(magic));
        memcpy(&ret->high, bytes + offsetof(struct slots_page, slots_high), sizeof(ret->high));
        memcpy(ret->ledger, bytes + offsetof(struct slots_page, ledger), sizeof(ret->ledger));
        memcpy(&ret->meter, bytes + offsetof(struct slots_page, meter), sizeof(ret->meter));
        ret->high = min_u32(ret->high, PAGE_SLOTS);
        ret->is_page = magic == PAGE_SLOTS_MAGIC;
}

/* Whether the slot's process lives, as its lock in the kernel tells. If the probe fails, the
 * process counts as alive. */
static bool is_live(const struct pages *pages, uint32_t slot)
{
        return liveness_probe(pages->seat->slots, PAGE_LOCK_LIVE(slot)) != 0;
}

/* Continues or restarts the reading. Returns the number of slots to read in this call, from
 * walk->next on. */
static uint32_t walk_begin(struct pages_walk *walk, const struct head *head)
{
        if (walk->next >= walk->high)
                *walk = (struct pages_walk){ .high = head->high };
        return min_u32(walk->high - walk->next, PAGES_SLOTS);
}

/* Notes that `count` slots were read. Returns whether the reading is complete. */
static bool walk_end(struct pages_walk *walk, uint32_t count)
{
        walk->next += count;
        return walk->next >= walk->high;
}

/* -- Whether all processes have drained ------------------------------------------------------- */

/* Whether all processes have drained for the hold `gate`. A process that took its slot after that
 * slot was read here found the gate closed already. */
static bool have_answered(struct pages *pages, const struct head *head, uint32_t gate)
{
        struct page_slot slot[PAGES_SLOTS];
        uint32_t count;

        if (pages->gate != gate) {
                pages->gate = gate;
                pages->answers = (struct pages_walk){ 0 };
        }
        count = walk_begin(&pages->answers, head);
        read_at(pages, slot,
                offsetof(struct slots_page, slot) + pages->answers.next * sizeof(slot[0]),
                count * sizeof(slot[0]));
        for (uint32_t i = 0; i < count; i++) {
                if (slot[i].drained_gate == gate || !is_live(pages, pages->answers.next + i))
                        continue;
                pages->answers.next += i;
                return false;
        }
        return walk_end(&pages->answers, count);
}

/* -- Charges of dead processes ---------------------------------------------------------------- */

/* Returns the bytes of a row. If its process died within an operation, only recovery can tell
 * whether the operation took effect. The result is then the larger value if `is_max`, else the
 * smaller one. */
static uint64_t row_bytes(const struct page_row *row, bool is_max)
{
        uint64_t held = row->charge[row->committed & 1];
        uint64_t other = row->seq == row->committed ? held : held + row->delta;

        if (held > INT64_MAX || other > INT64_MAX)
                return 0;
        return is_max ? max_u64(held, other) : min_u64(held, other);
}

static bool is_empty(const struct page_row *row)
{
        return !row_bytes(&row[ROW_GPU], true) && !row_bytes(&row[ROW_HOST], true) &&
               !row_bytes(&row[ROW_SWAP], true);
}

/* Adds the charges of a dead slot. The larger value is subtracted from the rows of host memory and
 * of swappable memory, because their bytes count as not on the card, or as not pinned. */
static void bury_row(struct pages *pages, const struct page_row *row)
{
        for (unsigned i = 0; i < PAGES_ROWS; i++)
                pages->buried_bytes[i] =
                        sum_of(pages->buried_bytes[i], row_bytes(&row[i], i != ROW_GPU));
}

/* Reads further slots and adds up the charges of dead ones. `row` is static because it has 64 KiB;
 * only one thread uses it. */
static void walk_dead(struct pages *pages, const struct head *head, uint64_t now_ns)
{
        static struct page_row row[PAGES_SLOTS][PAGE_DEVICES];
        uint32_t count = walk_begin(&pages->buried, head);

        if (pages->buried.next == 0) {
                memset(pages->buried_bytes, 0, sizeof(pages->buried_bytes));
                for (unsigned i = 0; i < PAGES_ROWS; i++)
                        pages->reclaimed[i] = head->ledger[i].reclaimed_bytes;
        }
        read_at(pages, row, offsetof(struct slots_page, row) + pages->buried.next * sizeof(row[0]),
                count * sizeof(row[0]));
        for (uint32_t i = 0; i < count; i++) {
                if (!is_empty(row[i]) && !is_live(pages, pages->buried.next + i))
                        bury_row(pages, row[i]);
        }
        if (!walk_end(&pages->buried, count))
                return;
        memcpy(pages->dead_bytes, pages->buried_bytes, sizeof(pages->dead_bytes));
        memcpy(pages->dead_reclaimed, pages->reclaimed, sizeof(pages->dead_reclaimed));
        pages->walked_ns = now_ns;
}

/* Whether no process has recovered charges of dead processes since the last complete reading. */
static bool are_dead_still(const struct pages *pages, const struct head *head)
{
        for (unsigned i = 0; i < PAGES_ROWS; i++) {
                if (head->ledger[i].reclaimed_bytes != pages->dead_reclaimed[i])
                        return false;
        }
        return pages->walked_ns != 0;
}

/*
 * Fills in the ledgers' sums, less the charges of dead processes. `before` was read before the dead
 * slots, and the ledgers are read again after them, because a charge or a recovery may have
 * happened in between. For each row, the reading is used that makes more memory count as on the
 * card.
 */
static void count_live(const struct pages *pages, const struct head *before, struct swap_seen *ret)
{
        struct head after;
        bool is_still;

        read_head(pages, &after);
        is_still = are_dead_still(pages, &after);
        for (unsigned i = 0; i < PAGES_ROWS; i++) {
                uint64_t *to = i == ROW_GPU    ? &ret->used_bytes
                               : i == ROW_HOST ? &ret->out_bytes
                                               : &ret->swappable_bytes;
                uint64_t first = before->ledger[i].used_bytes, last = after.ledger[i].used_bytes;

                *to = difference_of(i == ROW_GPU ? max_u64(first, last) : min_u64(first, last),
                                    is_still ? pages->dead_bytes[i] : 0);
        }
}

/* -- pages_look() ----------------------------------------------------------------------------- */

/* Whether the time is less than `age_ns` ago. 0 means never. A time in the future is a false claim,
 * and counts as now. */
static bool is_young(uint64_t at_ns, uint64_t now_ns, uint64_t age_ns)
{
        return at_ns != 0 && now_ns - min_u64(at_ns, now_ns) < age_ns;
}

static void read_meter(struct pages *pages, const struct page_meter *meter, uint64_t now_ns,
                       struct swap_seen *ret)
{
        bool is_in_flight = meter->drained_turn & 1;

        ret->is_busy = (is_in_flight && is_young(meter->active_at_ns, now_ns, WANT_NS)) ||
                       is_young(meter->wanted_at_ns, now_ns, WANT_NS) ||
                       is_young(meter->stood_at_ns, now_ns, STOOD_NS);
        if (!is_young(meter->wished_at_ns, now_ns, WISH_NS))
                return;
        pages->wished_ns = meter->wished_at_ns;
        ret->wished_resident_bytes = meter->wished_resident_bytes;
        ret->wished_pinned_bytes = meter->wished_pinned_bytes;
}

static bool must_walk(const struct pages *pages, const struct head *head, uint64_t now_ns)
{
        return head->ledger[ROW_GPU].used_bytes &&
               (!pages->walked_ns || now_ns - pages->walked_ns >= WALK_EVERY_NS ||
                !are_dead_still(pages, head));
}

bool pages_look(struct pages *pages, const struct pages_about *about, struct swap_seen *ret)
{
        const uint64_t now_ns = about->now_ns, began_ns = clock_thread_ns();
        bool may_probe = now_ns >= pages->rests_ns;
        uint64_t took_ns;
        bool walks;
        struct head head;

        *ret = (struct swap_seen){ 0 };
        pages->wished_ns = CLOCK_NEVER;
        read_head(pages, &head);
        if (!head.is_page) {
                ret->is_drained = true;
                return false;
        }
        walks = may_probe && about->may_walk && must_walk(pages, &head, now_ns);
        if (walks)
                walk_dead(pages, &head, now_ns);
        count_live(pages, &head, ret);
        read_meter(pages, &head.meter, now_ns, ret);
        ret->is_drained = about->gate && may_probe && have_answered(pages, &head, about->gate);
        took_ns = clock_thread_ns() - began_ns;
        if (may_probe && clock_is_machine() && took_ns > PROBE_DEAR_NS)
                pages->rests_ns = now_ns + took_ns * PROBE_REST;
        return walks;
}

/* -- Writing `limits` ------------------------------------------------------------------------- */

static bool is_same_room(const struct swap_order *a, const struct swap_order *b)
{
        return a->resident_bytes == b->resident_bytes && a->max_bytes == b->max_bytes &&
               a->pinned_bytes == b->pinned_bytes;
}

/* Writes the order and wakes the session's threads: those at the gate wait on the word `gate`,
 * those that wait for room on the word `epoch`. */
void pages_write(struct pages *pages, const struct swap_order *order, uint64_t answered_ns)
{
        struct limits_page *limits = pages->seat->limits;
        struct page_room *room = &limits->device[ROW_GPU].lease.room;
        bool is_told = pages->wished_ns < answered_ns &&
                       pages->wished_ns >= load_relaxed(shared_word(&room->answered_at_ns));
        bool is_same = pages->has_written && is_same_room(order, &pages->written);

        if (is_same && order->gate == pages->written.gate && !is_told)
                return;
        if (!is_same) {
                store_release(shared_word(&room->resident_bytes), order->resident_bytes);
                store_release(shared_word(&room->max_bytes), order->max_bytes);
                store_release(shared_word(&room->pinned_bytes), order->pinned_bytes);
        }
        if (is_told)
                store_release(shared_word(&room->answered_at_ns), answered_ns);
        store_release(shared_half(&limits->gate), order->gate);
        add_acq_rel(shared_half(&limits->epoch), 1);
        /* A ledger that is read after this fence contains every charge that the old words admitted
         * (page_room). */
        fence_seq_cst();
        clock_wake(shared_half(&limits->epoch), PAGE_WAKE_MAX);
        clock_wake(shared_half(&limits->gate), PAGE_WAKE_MAX);
        pages->written = *order;
        pages->has_written = true;
}
