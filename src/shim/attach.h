/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's place in the session: its slot, and what is private to it.
 *
 * The slot is taken by the first charge. Everything that a process owns lies in one piece of
 * memory that the kernel wipes in a child (MADV_WIPEONFORK), so a child owns nothing, however it
 * was forked: no slot, no blocks, no lock held; it attaches anew at its own first charge.
 *
 * Descriptors exist only under `descriptors`, which fork() also takes: no child inherits one (but
 * that of socket.h, on which nothing is ever locked).
 * Order of the locks: a device's, then `descriptors`.
 */
#ifndef ALIQUOT_SHIM_ATTACH_H
#define ALIQUOT_SHIM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger.h"
#include "proto/page.h"
#include "shim/blocks.h"
#include "shim/lock.h"

struct process_device {
        _Alignas(64) struct lock lock; /* one operation of our slot on this device at a time */
        uint32_t free_nodes;
        _Atomic uint64_t reaped_at_ns; /* by process_reap() in a crowd */
        _Atomic uint64_t unseen_bytes; /* of what is charged, not counted by NVML */
        _Atomic uint64_t flights;      /* charges on their way, and above 32 bits all that began */
};

struct process {
        struct lock descriptors;
        _Atomic uint32_t slot_plus_one;  /* 0: not attached; set last (release) */
        void *live_pin;                  /* holds our live lock */
        bool has_left;                   /* its session is being removed: for good */
        _Atomic uint32_t forking_thread; /* whose fork holds `descriptors` */
        struct process_device device[PAGE_DEVICES];
        struct blocks blocks;
};

/* This process, attached. NULL: every slot is taken, or the slots file cannot be locked. */
struct process *process_attached(void);

/* This process if it ever attached (so: if it may have blocks); never attaches. */
struct process *process_here(void);

/* One operation of our slot; the caller holds the device's lock. */
enum ledger_status process_charge(struct process *process, unsigned device, uint64_t bytes);
enum ledger_status process_force(struct process *process, unsigned device, uint64_t bytes);
void process_release(struct process *process, unsigned device, uint64_t bytes);

/*
 * Gives back what the session's dead hold on the device, so that a view does not count them. Takes
 * no slot. Costs a look at two words when nobody else holds anything, a probe for each process that
 * does; in a crowd that is done once in 10 ms at most.
 */
void process_reap(unsigned device);

/* The number of this process's slot, plus one, which is attached if need be; 0: it has none. */
uint32_t process_slot_plus_one(void);

#endif
