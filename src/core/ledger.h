/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: counts the memory that the processes of a session hold on a device, and enforces the
 * limit exactly, at whatever instruction a process is killed.
 *
 * Each device has one word of 16 bytes: {used, tag of the last operation that took effect}. A
 * process writes its planned operation into its own row, reads the word, refuses if the sum exceeds
 * the limit, acknowledges the operation whose tag it is about to overwrite, swaps the word, and
 * commits. Row and word together show whether an interrupted operation took effect. A process that
 * holds a dead slot (its recover lock, while its live lock is free) completes the dead process's
 * operation.
 *
 *      struct ledger_op op;
 *
 *      ledger_charge(&op, slot, device, bytes);   // or _release, _attach, _reap
 *      status = ledger_run(&op, &ledger);
 *
 * ledger_run() only repeats ledger_step(). One step makes at most one access that another process
 * could see; the model checker (tests/model) interleaves these very steps. Locks, time and waiting
 * come in through struct ledger_ports. docs/ledger.md explains each memory order. Pages are hostile
 * input: every index is checked where it is used, every loop is bounded, and a sum that would fall
 * below zero stops at zero.
 */
#ifndef ALIQUOT_CORE_LEDGER_H
#define ALIQUOT_CORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

#define LEDGER_SEQ_BITS 52
#define LEDGER_SEQ_MASK ((UINT64_C(1) << LEDGER_SEQ_BITS) - 1)
/* More than any card has; keeps the sign of a delta unambiguous. */
#define LEDGER_MAX_BYTES ((uint64_t)INT64_MAX)

/*
 * What the ledger calls outside. `context` is that of struct ledger. A lock that cannot be examined
 * counts as held, and then nothing of that slot is touched.
 */
struct ledger_ports {
        /* Whether the process that owns the slot is alive. */
        bool (*is_live)(void *context, uint32_t slot);
        /* Takes the slot's recover lock; false: another process holds it. */
        bool (*try_recover)(void *context, uint32_t slot);
        void (*end_recover)(void *context, uint32_t slot);
        /* Takes the slot's live lock and keeps it. Called only under the slot's recover lock. */
        bool (*take_live)(void *context, uint32_t slot);
        /* Called before `bytes` of a dead slot on `device` are given back to the limit. Called
         * again for the same bytes if the recovering process dies meanwhile. */
        void (*note_reclaim)(void *context, unsigned device, uint64_t bytes);
        /* Asked when a charge is over the limit, but another process recovers a slot (`is_busy`) or
         * the word changed meanwhile. True: try again (the function may have slept a little);
         * false: refuse now. */
        bool (*may_retry)(void *context, bool is_busy);
};

struct ledger {
        struct slots_page *slots;
        const struct limits_page *limits;
        const struct ledger_ports *ports;
        void *context;
};

enum ledger_status {
        LEDGER_MORE, /* from ledger_step() only: there is a next step */
        LEDGER_DONE,
        LEDGER_REFUSED, /* over the limit; nothing changed */
        LEDGER_GAVE_UP, /* over the limit when last seen, and may_retry() said no */
        LEDGER_TAKEN,   /* attach: another process has this slot; try another one */
};

/* The next step. docs/ledger.md and the model's traces use the same names. */
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
        /* Over the limit: look for dead slots, whose memory can be given back. */
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
        /* More than any card has: refuse and touch nothing. */
        AT_REFUSE,
};

/* One ledger operation under way; it lives on its caller's stack. */
struct ledger_op {
        uint8_t at;       /* enum ledger_at */
        uint8_t device;   /* the device of the current operation */
        bool is_attach;   /* attach began the recovery, not a charge */
        bool is_reap;     /* PASS alone; no charge follows */
        bool is_busy;     /* PASS: another process is recovering a slot */
        uint16_t self;    /* the caller's slot */
        uint16_t actor;   /* the slot whose operation runs: self, or a dead slot */
        uint16_t high;    /* PASS: one above the last slot to look at */
        bool is_forced;   /* ignore the limit */
        uint64_t amount;  /* the caller's request, as a delta */
        uint64_t delta;   /* of the running operation */
        uint64_t seq;     /* of the running operation */
        uint64_t tag;     /* as read by this operation */
        uint64_t used;    /* as read by this operation */
        uint64_t seen;    /* PASS: the tag for which the charge was over the limit */
        uint64_t scratch; /* carried from one step to the next: `done`, or a row's `committed` */
};

/* `device` < PAGE_DEVICES and `slot` < PAGE_SLOTS in all of these. */
void ledger_charge(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
void ledger_release(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Charges bytes that the process already holds, even above the limit, so that later charges are
 * refused. */
void ledger_force(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Takes this one slot if it is free: LEDGER_DONE or LEDGER_TAKEN. */
void ledger_attach(struct ledger_op *op, uint32_t slot);
/*
 * Gives back what dead slots hold on the device, in one walk; always LEDGER_DONE. Skips a slot that
 * another process is recovering. `slot` is the caller's own, or PAGE_SLOTS if it has none.
 */
void ledger_reap(struct ledger_op *op, uint32_t slot, unsigned device);

enum ledger_status ledger_step(struct ledger_op *op, const struct ledger *ledger);
enum ledger_status ledger_run(struct ledger_op *op, const struct ledger *ledger);

#endif
