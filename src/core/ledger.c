/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the ledger. ledger.h has the contract, docs/ledger.md the reasons.
 *
 * Each field of a row except `done` has one writer: the process that holds the slot's live lock, or
 * its recover lock while the live lock is free. That process reads these fields within any step,
 * because no other process can change them meanwhile. Every other access to shared memory is a step
 * of its own: one step_*() function, which also sets the next step. All steps are in this file, so
 * that the compiler can turn an operation into one loop.
 */
#include "core/ledger.h"

#include <stddef.h>

#include "common/atomic.h"
#include "common/minmax.h"
#include "common/swap128.h"
#include "core/ledger_words.h"

/* -- RECOVER and what follows a finished operation ------------------------------------------- */

static void begin_operation(struct ledger_op *op, const struct ledger *ledger, uint64_t delta)
{
        op->delta = delta;
        op->seq = seq_after(read_own(&actor_row(op, ledger)->committed));
        op->at = AT_WRITE_DELTA;
}

static void pass_next(struct ledger_op *op)
{
        op->actor++;
        if (op->actor == op->self)
                op->actor++;
        op->at = op->actor < op->high ? AT_PASS_COMMITTED : AT_PASS_CHECK;
}

/* Begins an operation that gives back all that a dead slot still holds. The slot's earlier
 * operation must be settled. Returns false if the slot holds nothing. */
static bool begin_reclaim(struct ledger_op *op, const struct ledger *ledger)
{
        const struct page_row *row = actor_row(op, ledger);
        uint64_t held = read_own(&row->charge[read_own(&row->committed) & 1]);

        if (held == 0)
                return false;
        ledger->ports->note_reclaim(ledger->context, op->device, within(held));
        begin_operation(op, ledger, -within(held));
        return true;
}

static bool begin_recover(struct ledger_op *op, const struct ledger *ledger)
{
        const struct page_row *row = actor_row(op, ledger);

        op->seq = read_own(&row->seq);
        if (op->seq == seq_after(read_own(&row->committed))) {
                op->at = AT_RECOVER_TAG;
                return true;
        }
        return begin_reclaim(op, ledger);
}

static void attach_recover_from(struct ledger_op *op, const struct ledger *ledger, unsigned device)
{
        for (; device < PAGE_DEVICES; device++) {
                op->device = (uint8_t)device;
                if (begin_recover(op, ledger))
                        return;
        }
        op->at = AT_ATTACH_HIGH;
}

/* Goes on after a dead slot that holds nothing on this device any more. */
static void recover_done(struct ledger_op *op, const struct ledger *ledger)
{
        if (op->is_attach)
                attach_recover_from(op, ledger, op->device + 1u);
        else
                op->at = AT_PASS_END;
}

static void recover_settled(struct ledger_op *op, const struct ledger *ledger)
{
        if (!begin_reclaim(op, ledger))
                recover_done(op, ledger);
}

static void step_recover_tag(struct ledger_op *op, const struct ledger *ledger)
{
        uint64_t tag = read_word(&ledger->slots->ledger[op->device].tag);

        op->at = tag == tag_of(op->actor, op->seq) ? AT_RECOVER_CHARGE : AT_RECOVER_DONE;
}

static void step_recover_done(struct ledger_op *op, const struct ledger *ledger)
{
        if (read_word(&actor_row(op, ledger)->done) >= op->seq)
                op->at = AT_RECOVER_CHARGE;
        else
                recover_settled(op, ledger);
}

static void write_charge(const struct ledger_op *op, const struct ledger *ledger)
{
        struct page_row *row = actor_row(op, ledger);
        uint64_t before = read_own(&row->charge[~op->seq & 1]);

        store_release(shared_word(&row->charge[op->seq & 1]), before + read_own(&row->delta));
}

static void step_recover_charge(struct ledger_op *op, const struct ledger *ledger)
{
        write_charge(op, ledger);
        op->at = AT_RECOVER_COMMITTED;
}

static void step_recover_committed(struct ledger_op *op, const struct ledger *ledger)
{
        store_release(shared_word(&actor_row(op, ledger)->committed), op->seq);
        recover_settled(op, ledger);
}

/* -- OP: one operation of the actor's slot ---------------------------------------------------- */

static void step_write_delta(struct ledger_op *op, const struct ledger *ledger)
{
        store_release(shared_word(&actor_row(op, ledger)->delta), op->delta);
        op->at = AT_WRITE_SEQ;
}

static void step_write_seq(struct ledger_op *op, const struct ledger *ledger)
{
        store_release(shared_word(&actor_row(op, ledger)->seq), op->seq);
        op->at = AT_READ_TAG;
}

static void step_read_tag(struct ledger_op *op, const struct ledger *ledger)
{
        op->tag = read_word(&ledger->slots->ledger[op->device].tag);
        op->at = AT_READ_USED;
}

/* Decides whether to acknowledge before the swap. The tag in the word shows that another slot's
 * operation took effect, so that operation is acknowledged before its tag is overwritten. */
static void acknowledge_or_swap(struct ledger_op *op)
{
        op->at = tag_slot(op->tag) == op->actor ? AT_SWAP : AT_READ_DONE;
}

static void step_read_used(struct ledger_op *op, const struct ledger *ledger)
{
        op->used = read_word(&ledger->slots->ledger[op->device].used_bytes);
        if (is_growing(op->delta) && !op->is_forced)
                op->at = AT_READ_LIMIT;
        else
                acknowledge_or_swap(op);
}

/* Reads the limit, after the tag. If the charge is refused, it was over the limit at some instant
 * between this read and the last read in PASS. */
static void step_read_limit(struct ledger_op *op, const struct ledger *ledger)
{
        uint64_t limit = read_word(&ledger->limits->device[op->device].limit_bytes);

        if (op->used <= limit && op->delta <= limit - op->used) {
                acknowledge_or_swap(op);
                return;
        }
        op->at = AT_PASS_CONFIRM;
}

static void step_read_done(struct ledger_op *op, const struct ledger *ledger)
{
        op->scratch = read_word(&row_of(ledger, tag_slot(op->tag), op->device)->done);
        op->at = op->scratch < (op->tag & LEDGER_SEQ_MASK) ? AT_RAISE_DONE : AT_SWAP;
}

static void step_raise_done(struct ledger_op *op, const struct ledger *ledger)
{
        uint64_t *done = &row_of(ledger, tag_slot(op->tag), op->device)->done;
        uint64_t seq = op->tag & LEDGER_SEQ_MASK;

        if (cas_acq_rel(shared_word(done), &op->scratch, seq) || op->scratch >= seq)
                op->at = AT_SWAP;
}

static void step_swap(struct ledger_op *op, const struct ledger *ledger)
{
        const uint64_t expected[2] = { op->used, op->tag };
        const uint64_t desired[2] = { used_after(op->used, op->delta), tag_of(op->actor, op->seq) };

        if (swap128(&ledger->slots->ledger[op->device].used_bytes, expected, desired))
                op->at = AT_WRITE_CHARGE;
        else
                op->at = AT_READ_TAG;
}

static void step_write_charge(struct ledger_op *op, const struct ledger *ledger)
{
        write_charge(op, ledger);
        op->at = AT_WRITE_COMMITTED;
}

static enum ledger_status step_write_committed(struct ledger_op *op, const struct ledger *ledger)
{
        store_release(shared_word(&actor_row(op, ledger)->committed), op->seq);
        if (!op->is_attach && op->actor == op->self)
                return LEDGER_DONE;
        recover_done(op, ledger);
        return LEDGER_MORE;
}

/* -- PASS: over the limit, so look for dead slots before refusing ------------------------------ */

/* Confirms the values of the tag, the sum and the limit, which were read one after the other. If
 * the tag is still the same, there was an instant at which the charge was over the limit. A later
 * refusal relies on that. */
static void step_pass_confirm(struct ledger_op *op, const struct ledger *ledger)
{
        op->seen = op->tag;
        op->is_busy = false;
        if (read_word(&ledger->slots->ledger[op->device].tag) == op->seen)
                op->at = AT_PASS_HIGH;
        else
                op->at = AT_READ_TAG;
}

static void step_pass_high(struct ledger_op *op, const struct ledger *ledger)
{
        uint32_t high = load_acquire(shared_half(&ledger->slots->slots_high));

        op->high = (uint16_t)min_u32(high, PAGE_SLOTS);
        op->actor = UINT16_MAX; /* pass_next() adds 1, which gives 0 */
        pass_next(op);
}

static void step_pass_committed(struct ledger_op *op, const struct ledger *ledger)
{
        op->scratch = read_word(&actor_row(op, ledger)->committed);
        op->at = AT_PASS_CHARGE;
}

static void step_pass_charge(struct ledger_op *op, const struct ledger *ledger)
{
        uint64_t held = read_word(&actor_row(op, ledger)->charge[op->scratch & 1]);

        op->at = held == 0 ? AT_PASS_SEQ : AT_PASS_LIVE;
}

static void step_pass_seq(struct ledger_op *op, const struct ledger *ledger)
{
        if (read_word(&actor_row(op, ledger)->seq) == op->scratch)
                pass_next(op);
        else
                op->at = AT_PASS_LIVE;
}

static void step_pass_live(struct ledger_op *op, const struct ledger *ledger)
{
        if (ledger->ports->is_live(ledger->context, op->actor))
                pass_next(op);
        else
                op->at = AT_PASS_TRY;
}

static void step_pass_try(struct ledger_op *op, const struct ledger *ledger)
{
        if (ledger->ports->try_recover(ledger->context, op->actor)) {
                op->at = AT_PASS_LIVE_AGAIN;
                return;
        }
        op->is_busy = true;
        pass_next(op);
}

/* Checks again whether the slot is dead: a live process may have taken it before the lock was
 * obtained. */
static void step_pass_live_again(struct ledger_op *op, const struct ledger *ledger)
{
        if (ledger->ports->is_live(ledger->context, op->actor) || !begin_recover(op, ledger))
                op->at = AT_PASS_END;
}

static void step_pass_end(struct ledger_op *op, const struct ledger *ledger)
{
        ledger->ports->end_recover(ledger->context, op->actor);
        pass_next(op);
}

static enum ledger_status step_pass_check(struct ledger_op *op, const struct ledger *ledger)
{
        if (op->is_reap)
                return LEDGER_DONE;
        fence_seq_cst();
        bool is_same = read_word(&ledger->slots->ledger[op->device].tag) == op->seen;

        if (is_same && !op->is_busy)
                return LEDGER_REFUSED;
        if (!ledger->ports->may_retry(ledger->context, op->is_busy))
                return LEDGER_GAVE_UP;
        op->actor = op->self;
        op->delta = op->amount;
        op->seq = seq_after(read_own(&actor_row(op, ledger)->committed));
        op->at = AT_READ_TAG;
        return LEDGER_MORE;
}

/* -- ATTACH ------------------------------------------------------------------------------------ */

static enum ledger_status step_attach_try(struct ledger_op *op, const struct ledger *ledger)
{
        if (!ledger->ports->try_recover(ledger->context, op->self))
                return LEDGER_TAKEN;
        op->at = AT_ATTACH_LIVE;
        return LEDGER_MORE;
}

static void step_attach_live(struct ledger_op *op, const struct ledger *ledger)
{
        if (ledger->ports->is_live(ledger->context, op->self))
                op->at = AT_ATTACH_LOSE;
        else
                attach_recover_from(op, ledger, 0);
}

/* Compares the page's slot bound with this slot, before the first charge. Once the bound is above
 * the slot, every process that walks the slots visits it. */
static void step_attach_high(struct ledger_op *op, const struct ledger *ledger)
{
        op->scratch = load_acquire(shared_half(&ledger->slots->slots_high));
        op->at = op->scratch <= op->self ? AT_ATTACH_RAISE : AT_ATTACH_TAKE;
}

static void step_attach_raise(struct ledger_op *op, const struct ledger *ledger)
{
        uint32_t high = (uint32_t)op->scratch;

        if (cas_acq_rel(shared_half(&ledger->slots->slots_high), &high, op->self + 1u) ||
            high > op->self)
                op->at = AT_ATTACH_TAKE;
        op->scratch = high;
}

static void step_attach_take(struct ledger_op *op, const struct ledger *ledger)
{
        bool is_taken = ledger->ports->take_live(ledger->context, op->self);

        op->at = is_taken ? AT_ATTACH_END : AT_ATTACH_LOSE;
}

/* -- The public face --------------------------------------------------------------------------- */

static void begin_own(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t delta)
{
        *op = (struct ledger_op){ .at = AT_BEGIN,
                                  .device = (uint8_t)(device % PAGE_DEVICES),
                                  .self = (uint16_t)(slot % PAGE_SLOTS),
                                  .amount = delta };
        op->actor = op->self;
}

void ledger_charge(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes)
{
        begin_own(op, slot, device, bytes);
        if (bytes > LEDGER_MAX_BYTES)
                op->at = AT_REFUSE;
}

void ledger_force(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes)
{
        ledger_charge(op, slot, device, bytes);
        op->is_forced = true;
}

void ledger_release(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes)
{
        begin_own(op, slot, device, -within(bytes));
}

void ledger_attach(struct ledger_op *op, uint32_t slot)
{
        begin_own(op, slot, 0, 0);
        op->is_attach = true;
        op->at = AT_ATTACH_TRY;
}

void ledger_reap(struct ledger_op *op, uint32_t slot, unsigned device)
{
        begin_own(op, 0, device, 0);
        op->self = (uint16_t)min_u32(slot, PAGE_SLOTS);
        op->is_reap = true;
        op->at = AT_PASS_HIGH;
}

static void pass_step(struct ledger_op *op, const struct ledger *ledger)
{
        static void (*const steps[])(struct ledger_op *, const struct ledger *) = {
                [AT_PASS_CONFIRM] = step_pass_confirm,
                [AT_PASS_HIGH] = step_pass_high,
                [AT_PASS_COMMITTED] = step_pass_committed,
                [AT_PASS_CHARGE] = step_pass_charge,
                [AT_PASS_SEQ] = step_pass_seq,
                [AT_PASS_LIVE] = step_pass_live,
                [AT_PASS_TRY] = step_pass_try,
                [AT_PASS_LIVE_AGAIN] = step_pass_live_again,
                [AT_PASS_END] = step_pass_end,
                [AT_RECOVER_TAG] = step_recover_tag,
                [AT_RECOVER_DONE] = step_recover_done,
                [AT_RECOVER_CHARGE] = step_recover_charge,
                [AT_RECOVER_COMMITTED] = step_recover_committed,
                [AT_ATTACH_LIVE] = step_attach_live,
                [AT_ATTACH_HIGH] = step_attach_high,
                [AT_ATTACH_RAISE] = step_attach_raise,
                [AT_ATTACH_TAKE] = step_attach_take,
        };

        steps[op->at](op, ledger);
}

enum ledger_status ledger_step(struct ledger_op *op, const struct ledger *ledger)
{
        switch (op->at) {
        case AT_BEGIN:
                begin_operation(op, ledger, op->amount);
                step_write_delta(op, ledger);
                break;
        case AT_WRITE_DELTA:
                step_write_delta(op, ledger);
                break;
        case AT_WRITE_SEQ:
                step_write_seq(op, ledger);
                break;
        case AT_READ_TAG:
                step_read_tag(op, ledger);
                break;
        case AT_READ_USED:
                step_read_used(op, ledger);
                break;
        case AT_READ_LIMIT:
                step_read_limit(op, ledger);
                break;
        case AT_READ_DONE:
                step_read_done(op, ledger);
                break;
        case AT_RAISE_DONE:
                step_raise_done(op, ledger);
                break;
        case AT_SWAP:
                step_swap(op, ledger);
                break;
        case AT_WRITE_CHARGE:
                step_write_charge(op, ledger);
                break;
        case AT_WRITE_COMMITTED:
                return step_write_committed(op, ledger);
        case AT_PASS_CHECK:
                return step_pass_check(op, ledger);
        case AT_ATTACH_TRY:
                return step_attach_try(op, ledger);
        case AT_ATTACH_END:
                ledger->ports->end_recover(ledger->context, op->self);
                return LEDGER_DONE;
        case AT_ATTACH_LOSE:
                ledger->ports->end_recover(ledger->context, op->self);
                return LEDGER_TAKEN;
        case AT_REFUSE:
                return LEDGER_REFUSED;
        default:
                pass_step(op, ledger);
        }
        return LEDGER_MORE;
}

enum ledger_status ledger_run(struct ledger_op *op, const struct ledger *ledger)
{
        enum ledger_status status;

        do
                status = ledger_step(op, ledger);
        while (status == LEDGER_MORE);
        return status;
}
