/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots page as hostile input, written to by somebody else while we work on it.
 *
 * The input fills the words and the rows of a few slots, then drives operations; between any two
 * steps it may overwrite a word of the page or free a lock's owner. Whatever it does: every
 * operation ends, no recover lock is kept, and a slot counts as taken only with its live lock.
 */
#include <string.h>

#include "core/ledger.h"
#include "input.h"

#define SLOTS 4u
#define DEVICES 2u
#define STEPS 100000u /* more than any operation over so few slots takes */

static struct slots_page slots;
static struct limits_page limits;

static struct {
        bool live[PAGE_SLOTS], recover[PAGE_SLOTS];
        unsigned looks;
} world;

/* Interesting numbers more often than others. */
static uint64_t next_word(void)
{
        static const uint64_t known[] = { 0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, 100 };
        uint8_t which = next_byte();

        if (which < 64)
                return known[which % (sizeof(known) / sizeof(known[0]))];
        return next_number();
}

static bool is_live(void *context, uint32_t slot)
{
        check(slot < PAGE_SLOTS);
        return world.live[slot];
}

static bool try_recover(void *context, uint32_t slot)
{
        check(slot < PAGE_SLOTS);
        if (world.recover[slot] || next_byte() % 8 == 1)
                return false;
        world.recover[slot] = true;
        return true;
}

static void end_recover(void *context, uint32_t slot)
{
        check(world.recover[slot]);
        world.recover[slot] = false;
}

static bool take_live(void *context, uint32_t slot)
{
        check(world.recover[slot] && !world.live[slot]);
        world.live[slot] = next_byte() % 8 != 1;
        return world.live[slot];
}

static void note_reclaim(void *context, unsigned device, uint64_t bytes)
{
        check(device < PAGE_DEVICES);
}

static bool may_retry(void *context, bool is_busy)
{
        return ++world.looks < 8;
}

static const struct ledger_ports ports = { is_live,   try_recover,  end_recover,
                                           take_live, note_reclaim, may_retry };
static const struct ledger ledger = { &slots, &limits, &ports, NULL };

static void row_fill(struct page_row *row)
{
        row->seq = next_word();
        row->delta = next_word();
        row->charge[0] = next_word();
        row->charge[1] = next_word();
        row->committed = next_word();
        row->done = next_word();
}

static void page_fill(void)
{
        for (unsigned d = 0; d < DEVICES; d++) {
                slots.ledger[d].used_bytes = next_word();
                slots.ledger[d].tag = next_word();
                limits.device[d].limit_bytes = next_word();
                for (unsigned s = 0; s < SLOTS; s++)
                        row_fill(&slots.row[s][d]);
        }
        slots.slots_high = next_byte() % 4 == 0 ? (uint32_t)next_word() : SLOTS;
}

static void scribble(void)
{
        uint8_t where = next_byte();
        struct page_row *row = &slots.row[where % SLOTS][where / SLOTS % DEVICES];

        switch (next_byte() % 8) {
        case 1:
                row_fill(row);
                break;
        case 2:
                slots.ledger[where % DEVICES].used_bytes = next_word();
                break;
        case 3:
                slots.ledger[where % DEVICES].tag = next_word();
                break;
        case 4:
                slots.slots_high = (uint32_t)next_word();
                break;
        case 5:
                world.live[where % SLOTS] = false;
                break;
        default:
                break;
        }
}

static enum ledger_status run(struct ledger_op *op)
{
        enum ledger_status status = LEDGER_MORE;

        world.looks = 0;
        for (unsigned step = 0; status == LEDGER_MORE; step++) {
                check(step < STEPS);
                status = ledger_step(op, &ledger);
                if (input.left > 0)
                        scribble();
        }
        for (unsigned s = 0; s < PAGE_SLOTS; s++)
                check(!world.recover[s]);
        return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct ledger_op op;

        memset(&slots.row, 0, sizeof(slots.row[0]) * SLOTS);
        memset(&world, 0, sizeof(world));
        input_begin(data, size);
        page_fill();
        ledger_attach(&op, next_byte());
        if (run(&op) != LEDGER_DONE)
                return 0;

        uint32_t self = op.self;

        while (input.left > 0) {
                unsigned device = next_byte() % DEVICES;

                world.live[self] = true;
                if (next_byte() % 2)
                        ledger_charge(&op, self, device, next_word());
                else
                        ledger_release(&op, self, device, next_word());
                run(&op);
                page_row_bytes(&slots, self, device);
        }
        return 0;
}
