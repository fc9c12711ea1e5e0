/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches this process to the session: takes its slot, and keeps what is private to the process.
 *
 * The first charge takes the slot. Everything that a process owns lies in one piece of memory that
 * the kernel wipes in a child (MADV_WIPEONFORK). So a child of any kind of fork owns nothing: no
 * slot, no blocks, no lock held; it attaches at its own first charge.
 *
 * Descriptors exist only under `descriptors`, which fork() also takes, so no child inherits one
 * (except that of socket.h, which is never locked). Order of the locks: a device's, then
 * `descriptors`.
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
        _Atomic uint64_t
                reaped_at_ns; /* set by process_reap() when the session has many processes */
        _Atomic uint64_t unseen_bytes; /* charged bytes that NVML does not count */
        /* charges between begin and settle; above 32 bits: number of all that began */
        _Atomic uint64_t flights;
};

struct process {
        struct lock descriptors;
        _Atomic uint32_t slot_plus_one;  /* 0: not attached; set last (release) */
        void *live_pin;                  /* holds our live lock */
        bool has_left;                   /* the session is being removed; never attach again */
        _Atomic uint32_t forking_thread; /* the thread whose fork holds `descriptors` */
        struct process_device device[PAGE_DEVICES];
        struct blocks blocks;
};

/* This process, attached. NULL: every slot is taken, or the slots file cannot be locked. */
struct process *process_attached(void);

/* This process if it ever attached, so that it may have blocks; never attaches. */
struct process *process_here(void);

/* One operation of our slot; the caller holds the device's lock. */
enum ledger_status process_charge(struct process *process, unsigned device, uint64_t bytes);
enum ledger_status process_force(struct process *process, unsigned device, uint64_t bytes);
void process_release(struct process *process, unsigned device, uint64_t bytes);

/*
 * Gives back what dead processes of the session hold on the device, so that a view does not count
 * them. Takes no slot. Costs a look at two words if no other process holds anything, else a probe
 * for each process that does; with many processes it runs once in 10 ms at most.
 */
void process_reap(unsigned device);

/* The number of this process's slot plus one; attaches if needed. 0: it has none. */
uint32_t process_slot_plus_one(void);

#endif
