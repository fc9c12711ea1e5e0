/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: counts the memory that the processes of a session hold on a device, and enforces the
 * limit exactly, even if a process is killed between any two instructions.
 *
 * Each device has one word of 16 bytes: {used, tag of the last operation that took effect}. To
 * change the sum, a process writes the operation that it plans into its own row and reads the word.
 * If the sum would exceed the limit, it refuses. Otherwise it acknowledges the operation whose tag
 * it is about to overwrite, swaps the word, and commits. The row and the word together show whether
 * an interrupted operation took effect. So another process can complete the last operation of a
 * dead process. It does so while it holds the dead process's slot: it has the slot's recover lock,
 * and the slot's live lock is free.
 *
 *      struct ledger_op op;
 *
 *      ledger_charge(&op, slot, device, bytes);   // or _release, _attach, _reap
 *      status = ledger_run(&op, &ledger);
 *
 * ledger_run() repeats ledger_step() until the operation is done. One step makes at most one access
 * that another process could see; the model checker (tests/model) interleaves these very steps.
 * Locks, time and waiting come in through struct ledger_ports. docs/ledger.md explains each memory
 * order. The pages are hostile input: every index is checked where it is used, every loop is
 * bounded, and a sum that would fall below zero stops at zero.
 */
#ifndef ALIQUOT_CORE_LEDGER_H
#define ALIQUOT_CORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

#define LEDGER_SEQ_BITS 52
#define LEDGER_SEQ_MASK ((UINT64_C(1) << LEDGER_SEQ_BITS) - 1)
/* The largest amount of one operation: more than any card has, and small enough that the sign of a
 * delta is unambiguous. */
#define LEDGER_MAX_BYTES ((uint64_t)INT64_MAX)

/*
 * The functions that the ledger calls; the caller provides them. `context` is the context of struct
 * ledger. If a lock cannot be examined, report it as held: the ledger then leaves that slot alone.
 */
struct ledger_ports {
        /* Whether the process that owns the slot is alive. */
        bool (*is_live)(void *context, uint32_t slot);
        /* Tries to get the slot's recover lock. False: another process holds it. */
        bool (*try_recover)(void *context, uint32_t slot);
        void (*end_recover)(void *context, uint32_t slot);
        /* Gets the slot's live lock and keeps it. Called only while the slot's recover lock is
         * held. */
        bool (*take_live)(void *context, uint32_t slot);
        /* Called before `bytes` that a dead slot holds on `device` are given back to the limit.
         * Called again for the same bytes if the recovering process dies meanwhile. */
        void (*note_reclaim)(void *context, unsigned device, uint64_t bytes);
        /* Whether to try a charge again that is over the limit. Called if another process is
         * recovering a slot (`is_busy`) or the word changed meanwhile. True: try again (the
         * function may have slept a little). False: refuse the charge now. */
        bool (*may_retry)(void *context, bool is_busy);
};

struct ledger {
        struct slots_page *slots;
        const struct limits_page *limits;
        const struct ledger_ports *ports;
        void *context;
};

enum ledger_status {
        LEDGER_MORE, /* returned by ledger_step() only: there is a next step */
        LEDGER_DONE,
        LEDGER_REFUSED, /* the charge is over the limit; nothing changed */
        /* the charge was over the limit when last checked, and may_retry() returned false */
        LEDGER_GAVE_UP,
        LEDGER_TAKEN, /* attach only: another process has this slot; try another slot */
};

/* The name of an operation's next step. docs/ledger.md and the model's traces use the same
 * names. */
enum ledger_at {
        /* An operation on the row of `actor`: the caller's own slot, or a dead slot whose recover
         * lock the caller holds. */
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
        /* PASS: the charge is over the limit, so look for dead slots whose memory can be given
         * back. */
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
        /* RECOVER, under a dead slot's recover lock: did the slot's last operation take effect? */
        AT_RECOVER_TAG,
        AT_RECOVER_DONE,
        AT_RECOVER_CHARGE,
        AT_RECOVER_COMMITTED,
        /* ATTACH: get a slot for this process. */
        AT_ATTACH_TRY,
        AT_ATTACH_LIVE,
        AT_ATTACH_HIGH,
        AT_ATTACH_RAISE,
        AT_ATTACH_TAKE,
        AT_ATTACH_END,
        AT_ATTACH_LOSE,
        /* The amount is more than any card has: refuse it without touching the page. */
        AT_REFUSE,
};

/* One ledger operation under way; it lives on the caller's stack. */
struct ledger_op {
        uint8_t at;      /* enum ledger_at */
        uint8_t device;  /* device of the current operation */
        bool is_attach;  /* an attach began this recovery, not a charge */
        bool is_reap;    /* run PASS alone; no charge follows */
        bool is_busy;    /* PASS: another process is recovering a slot */
        uint16_t self;   /* the caller's slot */
        uint16_t actor;  /* the slot whose operation runs: self, or a dead slot */
        uint16_t high;   /* PASS: one above the last slot to examine */
        bool is_forced;  /* charge even above the limit */
        uint64_t amount; /* the change that the caller requests, as a delta */
        uint64_t delta;  /* the change of the sum by the running operation */
        uint64_t seq;    /* the sequence number of the running operation */
        uint64_t tag;    /* the word's tag, as this operation read it */
        uint64_t used;   /* the word's sum, as this operation read it */
        uint64_t seen;   /* PASS: the tag of the word when the charge was over the limit */
        /* a value carried from one step to the next: `done`, or a row's `committed` */
        uint64_t scratch;
};

/* Each of the functions below prepares an operation in `op`, for ledger_run(). `device` must be
 * below PAGE_DEVICES and `slot` below PAGE_SLOTS. */
void ledger_charge(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
void ledger_release(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Charges bytes that the process already holds. The charge succeeds even above the limit; later
 * charges are then refused. */
void ledger_force(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);
/* Gets this slot for the process if it is free. The result is LEDGER_DONE or LEDGER_TAKEN. */
void ledger_attach(struct ledger_op *op, uint32_t slot);
/*
 * Gives back the memory that dead slots hold on the device, in one pass over the slots. The result
 * is always LEDGER_DONE. Skips a slot that another process is recovering. `slot` is the caller's
 * own, or PAGE_SLOTS if it has none.
 */
void ledger_reap(struct ledger_op *op, uint32_t slot, unsigned device);

enum ledger_status ledger_step(struct ledger_op *op, const struct ledger *ledger);
enum ledger_status ledger_run(struct ledger_op *op, const struct ledger *ledger);

#endif
