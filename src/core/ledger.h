/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: who may charge how much, exactly, whatever instruction anybody dies at.
 *
 * Per device one word of 16 bytes, {used, tag of the last operation that took effect}. A process
 * writes what it is about to do into its own row, reads the word, refuses if over, acknowledges
 * the operation whose tag it is about to overwrite, swaps, commits. The row and the word together
 * tell anybody whether an interrupted operation took effect; whoever holds a dead slot (its
 * recover lock, while its live lock is free) continues as that slot.
 *
 *      struct ledger_op op;
 *
 *      ledger_charge(&op, slot, device, bytes);   // or _release, _attach, _reap
 *      status = ledger_run(&op, &ledger);
 *
 * ledger_run() only repeats ledger_step(), and one step makes at most one access that another
 * process could see: the model checker (tests/model) interleaves these very steps. Locks, time
 * and waiting come in through struct ledger_ports. What each order is for: docs/ledger.md.
 * Pages are hostile input: every index is checked where it is used, every loop is bounded, and a
 * sum that would fall below zero stops at zero.
 */
#ifndef ALIQUOT_CORE_LEDGER_H
#define ALIQUOT_CORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

#define LEDGER_SEQ_BITS 52
#define LEDGER_SEQ_MASK ((UINT64_C(1) << LEDGER_SEQ_BITS) - 1)
/* More than any card; leaves the sign of a delta unambiguous. */
#define LEDGER_MAX_BYTES ((uint64_t)INT64_MAX)

/*
 * What the protocol needs of the world. `context` is struct ledger's. A lock that cannot be
 * examined counts as held: then nothing of that slot is touched.
 */
struct ledger_ports {
        /* Does the owner of the slot live? */
        bool (*is_live)(void *context, uint32_t slot);
        /* Takes the slot's recover lock; false: somebody has it. */
        bool (*try_recover)(void *context, uint32_t slot);
        void (*end_recover)(void *context, uint32_t slot);
        /* Takes the slot's live lock, for good. Only called under its recover lock. */
        bool (*take_live)(void *context, uint32_t slot);
        /* Called before `bytes` of a dead slot on `device` are given back to the limit. Called
         * again for the same bytes if the recovering process dies meanwhile. */
        void (*note_reclaim)(void *context, unsigned device, uint64_t bytes);
        /* A charge is over the limit, but a slot was busy being recovered (`is_busy`) or the word
         * changed meanwhile. True: look again (it may have slept a little); false: refuse now. */
        bool (*may_retry)(void *context, bool is_busy);
};

struct ledger {
        struct slots_page *slots;
        const struct limits_page *limits;
        const struct ledger_ports *ports;
        void *context;
};

enum ledger_status {
        LEDGER_MORE, /* of ledger_step() only: there is a next step */
        LEDGER_DONE,
        LEDGER_REFUSED, /* over the limit; nothing changed */
        LEDGER_GAVE_UP, /* over the limit as far as could be seen before may_retry() said no */
        LEDGER_TAKEN,   /* attach: somebody has this slot, try another */
};

/* The next step. The names are those of docs/ledger.md and of the model's traces. */
enum ledger_at {
        /* An operation of `actor`: the own slot, or a dead one under its recover lock. */
        AT_BEGIN,
        AT_WRITE_DELTA,
        AT_WRITE_SEQ,
        AT_READ_TAG,
        AT_READ_USED,
        AT_READ_LIMIT,
        AT_READ_DONE,
        AT_RAISE_DONE,
        AT_SWAP,
        AT_WRITE_CHARGE,
        AT_WRITE_COMMITTED,
        /* Over the limit: look for the dead. */
        AT_PASS_CONFIRM,
        AT_PASS_HIGH,
        AT_PASS_COMMITTED,
        AT_PASS_CHARGE,
        AT_PASS_SEQ,
        AT_PASS_LIVE,
        AT_PASS_TRY,
        AT_PASS_LIVE_AGAIN,
        AT_PASS_END,
        AT_PASS_CHECK,
        /* Under a dead slot's recover lock: did its last operation take effect? */
        AT_RECOVER_TAG,
        AT_RECOVER_DONE,
        AT_RECOVER_CHARGE,
        AT_RECOVER_COMMITTED,
        /* Take a slot for this process. */
        AT_ATTACH_TRY,
        AT_ATTACH_LIVE,
        AT_ATTACH_HIGH,
        AT_ATTACH_RAISE,
        AT_ATTACH_TAKE,
        AT_ATTACH_END,
        AT_ATTACH_LOSE,
        /* No card has that much: nothing is touched. */
        AT_REFUSE,
};

/* One ledger operation under way; it lives on its caller's stack. */
struct ledger_op {
        uint8_t at;       /* enum ledger_at */
        uint8_t device;   /* the row that the current operation is on */
        bool is_attach;   /* recovery was begun by attach, not by a charge */
        bool is_reap;     /* PASS for its own sake: nothing is charged after it */
        bool is_busy;     /* PASS: a slot could not be looked at */
        uint16_t self;    /* the slot that this is for */
        uint16_t actor;   /* the slot whose operation runs: self, or a dead one */
        uint16_t high;    /* PASS: one above the last slot to look at */
        bool is_forced;   /* the limit is not asked */
        uint64_t amount;  /* what the caller asked, as a delta */
        uint64_t delta;   /* of the operation that runs */
        uint64_t seq;     /* of the operation that runs */
        uint64_t tag;     /* as read by this operation */
        uint64_t used;    /* as read by this operation */
        uint64_t seen;    /* PASS: the tag that a refusal rests on */
        uint64_t scratch; /* between two steps: done, a row's committed */
};

/* `device` < PAGE_DEVICES and `slot` < PAGE_SLOTS in all of these. */
void ledger_charge(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
void ledger_release(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Bytes that are taken already: charged whatever the limit, so that others are refused. */
void ledger_force(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Takes this one slot if nobody has it: LEDGER_DONE or LEDGER_TAKEN. */
void ledger_attach(struct ledger_op *op, uint32_t slot);
/*
 * Gives back what dead slots hold on the device: one walk, always LEDGER_DONE. A slot that somebody
 * else recovers just then is left to them. `slot` is the caller's own, or PAGE_SLOTS if it has
 * none.
 */
void ledger_reap(struct ledger_op *op, uint32_t slot, unsigned device);

enum ledger_status ledger_step(struct ledger_op *op, const struct ledger *ledger);
enum ledger_status ledger_run(struct ledger_op *op, const struct ledger *ledger);

#endif
