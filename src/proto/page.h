/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files of a session, as every process that shares it sees them.
 *
 * `limits` is the owner's word: what the session may use. Without a daemon the owner is the user
 * (`aliquot run`, `aliquot set`, or the first program); with one, the daemon, and tenants map it
 * read-only. `slots` is the tenants' word: one slot a process, one row a slot and device, and the
 * ledger word of each device. Both live on tmpfs in the session's folder, are created whole under
 * another name and renamed in, and begin with magic, version and size.
 *
 * There is no pointer, no lock and no pid-as-owner in either: liveness is a file lock on the
 * slot's byte of `slots` (see store/liveness.h), held by the kernel. Whatever is in a page is
 * hostile input: page_check_*() before the first use, and every index and size checked at use.
 */
#ifndef ALIQUOT_PROTO_PAGE_H
#define ALIQUOT_PROTO_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The version of a session's pages says all that a reader must understand. Pages of a session that
 * does not swap have the first version, those of one that swaps the second (page_version_of()): a
 * library from before swap refuses those, and does not take its memory for pinned. */
#define PAGE_VERSION 3u
#define PAGE_VERSION_SWAP 4u
/* A daemon also keeps sessions of this version: programs that began with the library before. What
 * has to do with memory is the same in all of them, and so is the hard cap; turns are not
 * (page_has_turns()). */
#define PAGE_VERSION_OLDEST 2u
#define PAGE_DEVICES 16u /* physical GPUs or MIG instances a session can name */
#define PAGE_SLOTS 4096u /* processes alive at once in a session; fits the tag's 12 bits */
/* Of those who wait for a word of a page so many are woken at once: a tenant can have any number of
 * them wait. The others look again when their time is over. */
#define PAGE_WAKE_MOST PAGE_SLOTS
#define PAGE_NAME_BYTES 64u
#define PAGE_UNLIMITED UINT64_MAX /* a limit nobody asked for */
#define PAGE_WHOLE_PPM 1000000u   /* a cap on compute time that is none */

#define PAGE_LIMITS_MAGIC UINT64_C(0x314d494c514c41) /* "ALQLIM1" */
#define PAGE_SLOTS_MAGIC UINT64_C(0x314f4c53514c41)  /* "ALQSLO1" */

/* Who may write `limits`. */
enum page_owner { PAGE_OWNER_USER = 1, PAGE_OWNER_DAEMON = 2 };

/*
 * A row of the page that stands for no card: so much of the host's memory the session may hold in
 * place of cards' (oversubscription). Its uuid is these 16 letters, which no card has; it has a
 * limit and a ledger like any other. Fixed at creation: without that row there is none.
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

/* Whether the uuid of a row (16 bytes) is one of these names: the row stands for no card. */
bool page_is_no_card(const void *uuid);

/* Bits of limits_page.flags; fixed at creation. */
enum page_flags {
        PAGE_CONTEXT_FREE = 1u << 0, /* contexts are not charged (context=free) */
        PAGE_SWAPS = 1u << 1,        /* its memory may be moved to the host, and back */
};

/* What a session may launch on a device now: limits_device.lease.mode. */
enum page_mode {
        PAGE_MODE_FREE = 0, /* open; the session keeps its hard cap by itself (slots_page.meter) */
        PAGE_MODE_OPEN = 1, /* a lease: open until end_ns */
        PAGE_MODE_CLOSED = 2, /* others have the device: wait */
};

/*
 * How much memory a session that swaps may have on a device now. The daemon writes (release), then
 * raises limits_page.epoch and wakes its waiters. A process adds to a ledger, then reads these
 * words behind a fence, and takes the bytes back if they are too many. So after the daemon has
 * lowered a word, every ledger that it reads grows at most to the new value.
 */
struct page_room {
        /* The most on the card. In a hold, a process that has drained moves memory out until the
         * session keeps to this, and in as far as this allows. */
        uint64_t resident_bytes;
        uint64_t most_bytes;   /* the most on the card and in the host: more is refused at once */
        uint64_t pinned_bytes; /* the most that can never leave the card */
        /* Wishes (page_meter) written before this time are answered; CLOCK_MONOTONIC, ns. */
        uint64_t answered_at_ns;
};

/*
 * The lease of a session on a device. The scheduler of the node (the daemon, no one else) writes
 * the fields, then raises `turn` (release) and wakes it: odd while it writes, even when they hold.
 * Who reads them reads `turn` before (acquire) and after. A session whose `scheduler_at_ns` is
 * older than PAGE_SCHEDULER_SILENT_NS goes by PAGE_MODE_FREE whatever this says.
 */
struct page_lease {
        _Alignas(64) uint32_t turn; /* a futex word; shims compare it before each launch */
        uint32_t mode;              /* enum page_mode */
        /* CLOCK_MONOTONIC. Of an open lease: nothing begins after it. Of a closed one, since
           when the scheduler takes it that nobody wants it: who does rings. 0: it knows. */
        uint64_t end_ns;
        /* GPU time that may be in flight; 0: as much as one likes. */
        uint64_t target_ns;
        struct page_room room; /* not part of the lease: `turn` does not cover it */
        uint8_t reserved[8];
};

#define PAGE_SCHEDULER_SILENT_NS UINT64_C(500000000)

/* Three long slots and a wake-up that is late: a process that was not heard of for so long
 * (page_row.flight_seen_ns) is stopped, and has nothing in flight. */
#define PAGE_FLIGHT_SILENT_NS UINT64_C(20000000)

/*
 * One device of a session. A row is claimed by swapping its all-zero uuid for a real one in one
 * 16-byte operation (by the creator for every GPU it can see; by a tenant of a user-owned session
 * for one the creator could not), and never given up.
 */
struct limits_device {
        _Alignas(16) uint64_t uuid[2]; /* the driver's 16 bytes; 0,0 = free row */
        /* Owner writes, every shim reads (acquire), live. 0 only between the claim of a row and its
           first limit, which whoever wants the row may write, both words in one 16-byte swap. */
        _Alignas(16) uint64_t limit_bytes;
        /* The card's own total when the row was claimed; 0 unknown. While there is no limit: how
           often limits were changed meanwhile, so that no claimer's swap brings an old one. */
        uint64_t card_bytes;
        /* The hard cap: GPU time per million, 1..PAGE_WHOLE_PPM; 0: as the default. Owner writes,
           live; page_cap_ppm() reads. */
        uint32_t cap_ppm;
        /* What a daemon's session was promised, also while `limit_bytes` is less (it is clamped, or
           ends): the daemon writes, and reads it back when its database has lost the session. */
        uint32_t guarantee_milli_percent;
        uint64_t promised_bytes;
        /* When that was last raised, CLOCK_MONOTONIC, ns; 0: not known. Likewise. For a while the
           memory may be that of another session's dead, which the driver has yet to free. */
        uint64_t promised_at_ns;
        uint8_t reserved[8];
        struct page_lease lease;
};

struct limits_page {
        uint64_t magic;
        uint32_t version;
        uint32_t page_bytes;          /* sizeof(struct limits_page) */
        uint64_t session_id[2];       /* random, equal in `slots`: the two files belong together */
        uint32_t owner;               /* enum page_owner */
        uint32_t flags;               /* enum page_flags */
        char name[PAGE_NAME_BYTES];   /* NUL-terminated, as in ALIQUOT_SESSION */
        char device_name[96];         /* what the card calls itself here; empty = its own name */
        char created_as[1024];        /* the limits it was made with, in canonical words: joining
                                         with other limits is refused */
        uint64_t default_limit_bytes; /* for a device that no rule names; owner writes, live */
        /* Not 0: the default is this many millionths of a percent of the card, rounded down to
           2 MiB, and default_limit_bytes is PAGE_UNLIMITED. Owner writes, live. */
        uint64_t default_micro_percent;
        /*
         * The owner writes, shims read (acquire): 0 is open. Else the session is held: no call that
         * touches a device's memory begins, and it waits on this word (futex). The value is the
         * hold's number, another one each time. A process answers in page_slot.drained_gate. One
         * that does not (it is stopped, or its work waits for what does not come) is not drained:
         * the owner takes the hold back after a time of its choice. Of a daemon's session only.
         */
        _Alignas(64) uint32_t gate;
        /* Owner writes (release) after any change above took effect; a futex word too. */
        uint32_t epoch;
        /* Owner writes (before it looks for live slots): not 0 while the session is being removed
           and ever after. Whoever has just locked a slot reads it (acquire) and, if it is set,
           lets go again: nothing is charged to a session that can no longer be joined. */
        uint32_t removed;
        uint32_t default_cap_ppm; /* for a row without a cap of its own; 0 is PAGE_WHOLE_PPM */
        /* The scheduler writes, ten times a second while it leases a device of this session or
           watches it: CLOCK_MONOTONIC, ns. 0: the session has none. */
        uint64_t scheduler_at_ns;
        /* The daemon writes, after all that it says of this session here: which version of its
           session that is. 0: it has not said. */
        uint64_t session_version;
        _Alignas(64) struct limits_device device[PAGE_DEVICES];
};

/* The ledger of one device: read and written only by core/ledger, 16 bytes at a time. */
struct page_ledger {
        _Alignas(64) uint64_t used_bytes;
        uint64_t tag; /* slot << 52 | seq of the last operation that took effect; 0 = none */
        /*
         * When bytes of a dead process were last given back (CLOCK_MONOTONIC, ns). Whoever
         * recovers writes (relaxed); a hook whose charge was granted but whose driver said
         * out-of-memory reads it to decide whether waiting can help (draining).
         */
        uint64_t reclaimed_at_ns;
        /*
         * What a context was seen to take of this card; 0 = nobody asked yet, 1 = nobody could
         * tell so far. Whoever makes a context that can be measured writes (relaxed); an estimate,
         * checked for sense at use.
         */
        uint64_t context_bytes;
        /* Counters, for views: any process adds (relaxed). */
        uint64_t refused;         /* requests that were over the limit */
        uint64_t reclaimed_bytes; /* taken back from the dead */
        uint64_t drained;         /* requests that waited for the driver to drain */
        uint64_t driver_refused;  /* requests within the limit for which the driver had no memory */
};

/*
 * GPU time of a session on a device, as its processes measure it. All of them write; the scheduler
 * and views read. A claim like everything in `slots`: checked for sense at use, and against what
 * the device itself tells.
 */
struct page_meter {
        /*
         * The bucket of the hard cap, both words swapped together (16 bytes): what may still be
         * used, two's complement, negative while in debt; and up to when (CLOCK_MONOTONIC) it was
         * filled.
         */
        _Alignas(64) uint64_t bucket_ns;
        uint64_t filled_at_ns;
        uint64_t busy_ns;  /* GPU time billed, all together */
        uint64_t launches; /* submissions */
        /* When somebody last stood before a closed gate, and when work was last seen in flight
           (CLOCK_MONOTONIC). They end by growing old, so nobody has to clear up after the dead. */
        uint64_t wanted_at_ns;
        uint64_t active_at_ns;
        /* The flights of all processes are billed up to then (CLOCK_MONOTONIC): whoever looks moves
           it, by an exchange. */
        uint64_t settled_until_ns;
        /* Even: page_lease.turn as it was when nothing of the session was in flight any more. Odd:
           something is. */
        uint32_t drained_turn;
        uint32_t reserved_half;
        /* Counters, for views. Only ever raised. */
        uint64_t waits;       /* submissions that had to wait */
        uint64_t waited_ns;   /* for how long, all together */
        uint64_t began_at_ns; /* when the first flight of a turn last began */
        /* The largest wish of a session that swaps: bytes on the card and pinned bytes with the
           request that waits; the time is written last (CLOCK_MONOTONIC). The waiting process
           writes its wish again every 10 ms, and an old wish is void. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        uint64_t wished_at_ns;
        /* When a thread last waited at the session's shut gate. */
        uint64_t stood_at_ns;
        uint64_t reserved[1];
};

/* One row a (slot, device): single writer, the holder of the slot (design in core/ledger.h). */
struct page_row {
        _Alignas(64) uint64_t seq;
        uint64_t delta; /* two's complement */
        uint64_t charge[2];
        uint64_t committed;
        uint64_t done; /* anyone, only ever raised */
        /* Since when work of the process is in flight on the device (CLOCK_MONOTONIC; 0: none is),
           and when it was last seen to be, or to stand before a gate. */
        uint64_t flight_begin_ns;
        uint64_t flight_seen_ns;
};

/* What a slot's owner says of itself, for `aliquot ps` and process lists only: never trusted. */
struct page_slot {
        _Alignas(64) uint64_t pid_ns_inode; /* inode of its /proc/self/ns/pid */
        uint64_t start_ticks;               /* field 22 of /proc/self/stat */
        uint32_t pid;                       /* in its own PID namespace */
        uint32_t uid;
        char command[32];
        /* limits_page.gate as it was when none of the process's threads was past it and nothing
           that touches a device's memory was in flight. 0: no hold was answered. */
        uint32_t drained_gate;
        /* A bit for each device: NVML lists the process there, so that what the driver takes
           besides what it was asked for is charged. Not set by a library from before. */
        uint32_t measured_devices;
};

struct slots_page {
        uint64_t magic;
        uint32_t version;
        uint32_t slot_count; /* PAGE_SLOTS */
        uint64_t page_bytes; /* sizeof(struct slots_page) */
        uint64_t session_id[2];
        /* One above the highest slot ever taken: bounds every walk. Attachers raise it (acq_rel).
         */
        _Alignas(64) uint32_t slots_high;
        /* Futex word of the scheduler: raised and woken by who wants to launch and finds the gate
           closed, or its session unwatched, or is done before its lease is over. */
        uint32_t bell;
        _Alignas(64) struct page_ledger ledger[PAGE_DEVICES];
        _Alignas(64) struct page_meter meter[PAGE_DEVICES];
        _Alignas(64) struct page_slot slot[PAGE_SLOTS];
        _Alignas(64) struct page_row row[PAGE_SLOTS][PAGE_DEVICES];
};

/* The words of a mapped page are shared: read and write them through this and common/atomic.h. */
static inline _Atomic uint64_t *shared_word(const uint64_t *word)
{
        return (_Atomic uint64_t *)(uintptr_t)word;
}

static inline _Atomic uint32_t *shared_half(const uint32_t *half)
{
        return (_Atomic uint32_t *)(uintptr_t)half;
}

/* Byte of `slots` whose lock says "the owner of this slot lives" / "somebody attaches or recovers".
 */
#define PAGE_LOCK_LIVE(slot) (UINT64_C(2) * (slot))
#define PAGE_LOCK_RECOVER(slot) (UINT64_C(2) * (slot) + 1)
/* Held by an `aliquot run` for as long as its program runs, attached or not: a session made for one
 * run alone is swept away when nobody holds anything of it. */
#define PAGE_LOCK_KEEPER (UINT64_C(2) * PAGE_SLOTS)
/* Held while somebody makes a context on a device and nobody knows yet what one takes there. */
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
 * older one) and flags that belong to it, sizes, terminated strings. 0, or -EPROTO with a sentence
 * that says what was found and expected.
 */
int page_check_limits(const struct limits_page *page, uint64_t bytes, struct error *err);
int page_check_slots(const struct slots_page *page, uint64_t bytes, struct error *err);

/* The version of the pages of a session with these flags (enum page_flags). */
static inline uint32_t page_version_of(uint32_t flags)
{
        return flags & PAGE_SWAPS ? PAGE_VERSION_SWAP : PAGE_VERSION;
}

/* The page's meter and lease are as declared here: what shares GPU time may be read and written,
 * and a program may join. */
static inline bool page_has_turns(uint32_t version)
{
        return version == PAGE_VERSION || version == PAGE_VERSION_SWAP;
}

/* The row that stands for the host's memory; -1: the session has none. Of a page that was checked.
 */
int page_host_row(const struct limits_page *page);
/* The row of swappable memory (PAGE_SWAP_NAME), likewise. */
int page_swap_row(const struct limits_page *page);

/* The cap that holds on a device of the page, one without a row too: 1..PAGE_WHOLE_PPM, which is
 * none. */
uint32_t page_cap_ppm(const struct limits_page *page, const struct limits_device *device);

/* Bytes a slot holds on a device, as its row says: for views, bounded, never trusted. */
uint64_t page_row_bytes(const struct slots_page *page, uint32_t slot, unsigned device);

#endif
