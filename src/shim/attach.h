/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches this process to its session: gets a slot of the session, and keeps what is private to
 * the process.
 *
 * The first charge gets the slot. Everything that a process owns is in one piece of memory that the
 * kernel wipes in a child (MADV_WIPEONFORK). So a child of any kind of fork owns nothing: no slot,
 * no blocks, no lock held; it attaches at its own first charge.
 *
 * Descriptors exist only while the lock `descriptors` is held. fork() takes that lock too, so no
 * child inherits a descriptor (except the one of socket.h, which holds no file lock). Order of the
 * locks: first a device's, then `descriptors`.
 */
#ifndef ALIQUOT_SHIM_ATTACH_H
#define ALIQUOT_SHIM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger.h"
#include "proto/page.h"
#include "shim/blocks.h"
#include "shim/lock.h"

/* What this process keeps about a device of the session. */
struct process_device {
        _Alignas(64) struct lock lock; /* held during each operation of our slot on this device */
        /* list of this device's free nodes in struct blocks */
        uint32_t free_nodes;
        /* set by process_reap() when the session has many processes */
        _Atomic uint64_t reaped_at_ns;
        _Atomic uint64_t unseen_bytes; /* charged bytes that NVML does not count for this process */
        /* The low 32 bits count the charges between begin and settle; the high 32 bits count all
         * charges that began. */
        _Atomic uint64_t flights;
};

struct process {
        struct lock descriptors;
        /* number of the slot plus 1; 0: not attached; set last (release) */
        _Atomic uint32_t slot_plus_one;
        void *live_pin; /* keeps our live lock, see liveness_unlock() */
        bool has_left;  /* the session is being removed, so this process never attaches again */
        _Atomic uint32_t forking_thread; /* the thread whose fork holds `descriptors` */
        struct process_device device[PAGE_DEVICES];
        struct blocks blocks;
};

/* Returns this process, attached to the session. Returns NULL if every slot is in use, or the
 * slots file cannot be locked. */
struct process *process_attached(void);

/* Returns this process if it ever tried to attach, so that it may have blocks; else NULL. Never
 * attaches. */
struct process *process_here(void);

/* Each of these runs one ledger operation of our slot: charges within the limit, charges even
 * above it, or releases. The caller holds the device's lock. */
enum ledger_status process_charge(struct process *process, unsigned device, uint64_t bytes);
enum ledger_status process_force(struct process *process, unsigned device, uint64_t bytes);
void process_release(struct process *process, unsigned device, uint64_t bytes);

/*
 * Gives back the memory that dead processes of the session hold on the device, so that a view does
 * not count it. Gets no slot. If no other process holds anything, it only compares two words;
 * otherwise it probes each process that holds something. With many processes it runs at most once
 * in 10 ms.
 */
void process_reap(unsigned device);

/* Returns the number of this process's slot plus one, and attaches if needed. 0: the process has
 * no slot. */
uint32_t process_slot_plus_one(void);

#endif
