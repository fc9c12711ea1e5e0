/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a session's two files, which all its processes map.
 *
 * The owner writes `limits`: what the session may use. Without a daemon the owner is the user
 * (`aliquot run`, `aliquot set`, or the first program); with one it is the daemon, and tenants map
 * the file read-only. The tenants write `slots`: a slot per process, a row per slot and device, and
 * the ledger word of each device. Both lie on tmpfs in the session's folder, are created whole
 * under another name and renamed, and begin with magic, version and size.
 *
 * Neither contains a pointer, a lock or an owner's pid: a process is alive while the kernel holds
 * its file lock on the slot's byte of `slots` (see store/liveness.h). Page contents are hostile
 * input: call page_check_*() before the first use, and check every index and size at each use.
 */
#ifndef ALIQUOT_PROTO_PAGE_H
#define ALIQUOT_PROTO_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The version of a session's pages covers all that a reader must understand. Pages of a session
 * that does not swap have the first version, those of one that swaps the second
 * (page_version_of()): a library from before swap refuses these, and does not take their memory for
 * pinned. */
#define PAGE_VERSION 3u
#define PAGE_VERSION_SWAP 4u
/* A daemon also keeps sessions of this version, whose programs began with an older library. Memory
 * and the hard cap are the same in all versions; turns are not (page_has_turns()). */
#define PAGE_VERSION_OLDEST 2u
#define PAGE_DEVICES 16u /* GPUs or MIG instances that a session can name */
#define PAGE_SLOTS 4096u /* processes of a session alive at once; fits the tag's 12 bits */
/* At most this many waiters of a word are woken at once: a tenant can create any number of them.
 * The others look again after their timeout. */
#define PAGE_WAKE_MAX PAGE_SLOTS
#define PAGE_NAME_BYTES 64u
#define PAGE_UNLIMITED UINT64_MAX /* a limit that was not set */
#define PAGE_WHOLE_PPM 1000000u   /* a share of compute time that is no cap */

#define PAGE_LIMITS_MAGIC UINT64_C(0x314d494c514c41) /* "ALQLIM1" */
#define PAGE_SLOTS_MAGIC UINT64_C(0x314f4c53514c41)  /* "ALQSLO1" */

/* The writer of `limits`. */
enum page_owner { PAGE_OWNER_USER = 1, PAGE_OWNER_DAEMON = 2 };

/*
 * Name of the row for host memory that the session may hold in place of card memory
 * (oversubscription). Its uuid is these 16 letters, which no card has; it has a limit and a ledger
 * like any other row. Fixed at creation: without this row the session may hold none.
 */
#define PAGE_HOST_NAME "aliquot host mem"
#define PAGE_ROW_NAME_BYTES 16u /* without the NUL */

/*
 * A session that swaps (PAGE_SWAPS) has one GPU, and two rows that stand for no card. The GPU's row
 * counts all memory of its programs, wherever it is; this row counts the part that can leave the
 * card; the host's row counts the part that is in the host now. So used(GPU) - used(host) is on the
 * card, and used(GPU) - used(swap) of that is pinned. Made at creation, without a limit.
 */
#define PAGE_SWAP_NAME "aliquot swap mem"

/* Whether a row's uuid (16 bytes) is one of these names. */
bool page_is_no_card(const void *uuid);

/* Bits of limits_page.flags; fixed at creation. */
enum page_flags {
        PAGE_CONTEXT_FREE = 1u << 0, /* contexts are not charged (context=free) */
        PAGE_SWAPS = 1u << 1,        /* its memory may be moved to the host, and back */
};

/* What a session may launch on a device now: limits_device.lease.mode. */
enum page_mode {
        PAGE_MODE_FREE = 0, /* open; the session's processes keep the hard cap (slots_page.meter) */
        PAGE_MODE_OPEN = 1, /* a lease: open until end_ns */
        PAGE_MODE_CLOSED = 2, /* other sessions have the device: wait */
};

/*
 * How much memory a session that swaps may have on a device now. The daemon writes (release), then
 * raises limits_page.epoch and wakes its waiters. A process adds to a ledger, then reads these
 * words behind a fence, and takes the bytes back if they are too many. So after the daemon has
 * lowered a word, every ledger that it reads grows at most to the new value.
 */
struct page_room {
        /* Most bytes on the card. During a hold, a drained process moves memory out until the
         * session is within this, and in as far as this allows. */
        uint64_t resident_bytes;
        uint64_t most_bytes;   /* most bytes on the card and in the host; more is refused at once */
        uint64_t pinned_bytes; /* most bytes that can never leave the card */
        /* Wishes (page_meter) written before this time are answered; CLOCK_MONOTONIC, ns. */
        uint64_t answered_at_ns;
};

/*
 * The lease of a session on a device. Only the node's scheduler (the daemon) writes the fields,
 * then raises `turn` (release) and wakes its waiters: odd while it writes, even when they are
 * valid. A reader reads `turn` before (acquire) and after them. A session whose `scheduler_at_ns`
 * is older than PAGE_SCHEDULER_SILENT_NS acts as in PAGE_MODE_FREE.
 */
struct page_lease {
        _Alignas(64) uint32_t turn; /* a futex word; shims compare it before each launch */
        uint32_t mode;              /* enum page_mode */
        /* CLOCK_MONOTONIC, ns. Open lease: no submission begins after it. Closed lease: since when
         * the scheduler has assumed that the session wants no turn; a program that wants one rings.
         * 0: the scheduler knows that it does. */
        uint64_t end_ns;
        /* GPU time that may be in flight; 0: no bound. */
        uint64_t target_ns;
        struct page_room room; /* not part of the lease: `turn` does not cover it */
        uint8_t reserved[8];
};

#define PAGE_SCHEDULER_SILENT_NS UINT64_C(500000000)

/* A process with work in flight writes page_row.flight_seen_ns at each look, so at least every two
 * long slots (2.5 ms, flight.h). The rest is for a thread that wakes late. If the word is older
 * than this, the process counts as stopped, with nothing in flight. */
#define PAGE_FLIGHT_SILENT_NS UINT64_C(20000000)

/*
 * One device of a session. A row is claimed by replacing its all-zero uuid in one 16-byte swap: by
 * the creator for every GPU it can see, and in a user's session by a tenant for a GPU that the
 * creator could not see. It is never given up.
 */
struct limits_device {
        _Alignas(16) uint64_t uuid[2]; /* the driver's 16 bytes; 0,0: free row */
        /* Owner writes, every shim reads (acquire), live. 0 only between the claim of a row and its
         * first limit, which the process that wants the row may write, both words in one 16-byte
         * swap. */
        _Alignas(16) uint64_t limit_bytes;
        /* The card's own total when the row was claimed; 0: unknown. While there is no limit: how
         * often limits were changed meanwhile, so that no claimer's swap writes an old one. */
        uint64_t card_bytes;
        /* The hard cap: GPU time per million, 1..PAGE_WHOLE_PPM; 0: the default. Owner writes,
         * live; read it by page_cap_ppm(). */
        uint32_t cap_ppm;
        /* The promise to a daemon's session, even while `limit_bytes` is lower (it is clamped, or
         * ends): the daemon writes it, and reads it back if its database has lost the session. */
        uint32_t guarantee_milli_percent;
        uint64_t promised_bytes;
        /* When promised_bytes was last raised, CLOCK_MONOTONIC, ns; 0: unknown. Likewise. For a
         * while the driver may still have to free that memory of another session's dead
         * processes. */
        uint64_t promised_at_ns;
        uint8_t reserved[8];
        struct page_lease lease;
};

struct limits_page {
        uint64_t magic;
        uint32_t version;
        uint32_t page_bytes;        /* sizeof(struct limits_page) */
        uint64_t session_id[2];     /* random, the same in `slots`: identifies the pair of files */
        uint32_t owner;             /* enum page_owner */
        uint32_t flags;             /* enum page_flags */
        char name[PAGE_NAME_BYTES]; /* NUL-terminated, as in ALIQUOT_SESSION */
        char device_name[96];       /* name of the card in this session; empty: its own name */
        char created_as[1024]; /* canonical limits at creation; joining with others is refused */
        uint64_t default_limit_bytes; /* for a device without a rule; owner writes, live */
        /* Not 0: the default is this many millionths of a percent of the card, rounded down to 2
         * MiB, and default_limit_bytes is PAGE_UNLIMITED. Owner writes, live. */
        uint64_t default_micro_percent;
        /*
         * The owner writes, shims read (acquire): 0 is open. Otherwise the session is held: calls
         * that touch a device's memory wait on this word (futex). The value is the number of the
         * hold, different each time. A process answers in page_slot.drained_gate. One that does not
         * (it is stopped, or its work waits for an event that does not come) is not drained: the
         * owner ends the hold after a time of its choice. Only in a daemon's session.
         */
        _Alignas(64) uint32_t gate;
        /* Owner writes (release) after any change above took effect; also a futex word. */
        uint32_t epoch;
        /* Owner writes it before it looks for live slots: not 0 while the session is being removed,
         * and ever after. A process that has just locked a slot reads it (acquire) and, if it is
         * set, unlocks the slot: a session that cannot be joined any more gets no charges. */
        uint32_t removed;
        uint32_t default_cap_ppm; /* for a row without its own cap; 0 is PAGE_WHOLE_PPM */
        /* The scheduler writes it ten times a second while it leases a device of this session, or
         * watches it: CLOCK_MONOTONIC, ns. 0: the session has none. */
        uint64_t scheduler_at_ns;
        /* The daemon writes it after all other fields here: the version of its session that they
         * show. 0: none yet. */
        uint64_t session_version;
        _Alignas(64) struct limits_device device[PAGE_DEVICES];
};

/* The ledger of one device: read and written only by core/ledger, in 16-byte operations. */
struct page_ledger {
        _Alignas(64) uint64_t used_bytes;
        uint64_t tag; /* slot << 52 | seq of the last operation that took effect; 0: none */
        /*
         * When bytes of a dead process were last recovered (CLOCK_MONOTONIC, ns). The recovering
         * process writes (relaxed). A hook with a granted charge, for which the driver is out of
         * memory, reads it to decide whether waiting can help (draining).
         */
        uint64_t reclaimed_at_ns;
        /*
         * Bytes that a context was seen to take on this card; 0: not measured yet, 1: not
         * measurable so far. A process that makes a measurable context writes (relaxed); an
         * estimate, checked at use.
         */
        uint64_t context_bytes;
        /* Counters for views: any process adds (relaxed). */
        uint64_t refused;         /* requests beyond the limit */
        uint64_t reclaimed_bytes; /* recovered from dead processes */
        uint64_t drained;         /* requests that waited for the driver to drain */
        uint64_t driver_refused;  /* requests within the limit for which the driver had no memory */
};

/*
 * GPU time of a session on a device, as measured by its processes. All of them write; the scheduler
 * and views read. A claim like everything in `slots`: checked at use, and against the device's own
 * values.
 */
struct page_meter {
        /*
         * The token bucket of the hard cap, both words swapped together (16 bytes): GPU time left,
         * two's complement, negative in debt; and the time (CLOCK_MONOTONIC) up to which it was
         * filled.
         */
        _Alignas(64) uint64_t bucket_ns;
        uint64_t filled_at_ns;
        uint64_t busy_ns;  /* GPU time billed, of all processes */
        uint64_t launches; /* submissions */
        /* When a thread last waited at a closed gate, and when work was last seen in flight
         * (CLOCK_MONOTONIC). Both expire by age, so a death needs no cleanup. */
        uint64_t wanted_at_ns;
        uint64_t active_at_ns;
        /* The flights of all processes are billed up to this time (CLOCK_MONOTONIC): each look
         * moves it, by an exchange. */
        uint64_t settled_until_ns;
        /* Even: the value of page_lease.turn when the session's last work in flight ended. Odd:
         * work is in flight. */
        uint32_t drained_turn;
        uint32_t reserved_half;
        /* Counters for views. Only ever raised. */
        uint64_t waits;       /* submissions that waited */
        uint64_t waited_ns;   /* their time of waiting, summed */
        uint64_t began_at_ns; /* when the first flight of a turn last began */
        /* The largest wish of a session that swaps: bytes on the card, and pinned bytes, with the
         * waiting request; the time is written last (CLOCK_MONOTONIC). The waiting process repeats
         * its wish every 10 ms, and an old wish is void. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        uint64_t wished_at_ns;
        /* When a thread last waited at the session's shut gate. */
        uint64_t stood_at_ns;
        uint64_t reserved[1];
};

/* One row per slot and device, written only by the holder of the slot (design in core/ledger.h). */
struct page_row {
        _Alignas(64) uint64_t seq;
        uint64_t delta; /* two's complement */
        uint64_t charge[2];
        uint64_t committed;
        uint64_t done; /* any process writes; only ever raised */
        /* Since when work of the process is in flight on the device (CLOCK_MONOTONIC; 0: none is),
         * and when it was last seen in flight or waiting at a gate. */
        uint64_t flight_begin_ns;
        uint64_t flight_seen_ns;
};

/* Claims of a slot's owner about itself, only for `aliquot ps` and process lists: never trusted. */
struct page_slot {
        _Alignas(64) uint64_t pid_ns_inode; /* inode of its /proc/self/ns/pid */
        uint64_t start_ticks;               /* field 22 of /proc/self/stat */
        uint32_t pid;                       /* in its own PID namespace */
        uint32_t uid;
        char command[32];
        /* limits_page.gate when no thread of the process was past the gate and no work that touches
         * a device's memory was in flight. 0: no hold was answered. */
        uint32_t drained_gate;
        /* A bit per device: NVML lists the process there, so memory that the driver takes on its
         * own is charged. Not set by older libraries. */
        uint32_t measured_devices;
};

struct slots_page {
        uint64_t magic;
        uint32_t version;
        uint32_t slot_count; /* PAGE_SLOTS */
        uint64_t page_bytes; /* sizeof(struct slots_page) */
        uint64_t session_id[2];
        /* One above the highest slot ever taken: bounds every walk. A process that takes a slot
         * raises it (acq_rel). */
        _Alignas(64) uint32_t slots_high;
        /* Futex word of the scheduler. A program raises and wakes it if it wants to launch and
         * finds the gate closed or its session unwatched, or is done before its lease ends. */
        uint32_t bell;
        _Alignas(64) struct page_ledger ledger[PAGE_DEVICES];
        _Alignas(64) struct page_meter meter[PAGE_DEVICES];
        _Alignas(64) struct page_slot slot[PAGE_SLOTS];
        _Alignas(64) struct page_row row[PAGE_SLOTS][PAGE_DEVICES];
};

/* Access the shared words of a mapped page only through these and common/atomic.h. */
static inline _Atomic uint64_t *shared_word(const uint64_t *word)
{
        return (_Atomic uint64_t *)(uintptr_t)word;
}

static inline _Atomic uint32_t *shared_half(const uint32_t *half)
{
        return (_Atomic uint32_t *)(uintptr_t)half;
}

/* Bytes of `slots` whose lock means "the slot's owner is alive" / "a process attaches or
 * recovers". */
#define PAGE_LOCK_LIVE(slot) (UINT64_C(2) * (slot))
#define PAGE_LOCK_RECOVER(slot) (UINT64_C(2) * (slot) + 1)
/* An `aliquot run` locks it while its program runs, attached or not: a session made for one run is
 * removed when no process holds a lock of it. */
#define PAGE_LOCK_KEEPER (UINT64_C(2) * PAGE_SLOTS)
/* Locked while a process makes a context on a device where the size of one is unknown. */
#define PAGE_LOCK_CONTEXT(device) (PAGE_LOCK_KEEPER + 1 + (device))

_Static_assert(sizeof(PAGE_HOST_NAME) == PAGE_ROW_NAME_BYTES + 1, "as long as a uuid");
_Static_assert(sizeof(PAGE_SWAP_NAME) == PAGE_ROW_NAME_BYTES + 1, "as long as a uuid");
_Static_assert(sizeof(struct page_lease) == 64, "layout is protocol");
_Static_assert(sizeof(struct limits_device) == 128, "layout is protocol");
_Static_assert(sizeof(struct page_meter) == 128, "layout is protocol");
_Static_assert(sizeof(struct page_ledger) == 64, "layout is protocol");
_Static_assert(sizeof(struct page_row) == 64, "layout is protocol");
_Static_assert(sizeof(struct page_slot) == 64, "layout is protocol");

/*
 * Whether a mapped file of `bytes` is a page that this build understands: magic, version (also an
 * older one) and its flags, sizes, terminated strings. 0, or -EPROTO with found and expected value.
 */
int page_check_limits(const struct limits_page *page, uint64_t bytes, struct error *err);
int page_check_slots(const struct slots_page *page, uint64_t bytes, struct error *err);

static inline uint32_t page_version_of(uint32_t flags)
{
        return flags & PAGE_SWAPS ? PAGE_VERSION_SWAP : PAGE_VERSION;
}

/* Whether the page's meter and lease are as declared here: GPU time may be shared, and a program
 * may join. */
static inline bool page_has_turns(uint32_t version)
{
        return version == PAGE_VERSION || version == PAGE_VERSION_SWAP;
}

/* The row for the host's memory; -1: the session has none. The page was checked. */
int page_host_row(const struct limits_page *page);
/* Likewise for swappable memory (PAGE_SWAP_NAME). */
int page_swap_row(const struct limits_page *page);

/* The cap of a device of the page, even without a row: 1..PAGE_WHOLE_PPM, which is no cap. */
uint32_t page_cap_ppm(const struct limits_page *page, const struct limits_device *device);

/* Bytes that a slot holds on a device, by its row: for views; bounded, never trusted. */
uint64_t page_row_bytes(const struct slots_page *page, uint32_t slot, unsigned device);

#endif
