/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a session's two files, which all processes of the session map.
 *
 * The owner writes `limits`: what the session may use. Without a daemon the owner is the user
 * (`aliquot run`, `aliquot set`, or the first program). With a daemon the owner is the daemon, and
 * the session's programs, its tenants, map the file read-only. The tenants write `slots`: a slot
 * per process, a row per slot and device, and the ledger and meter of each device. Both files are
 * on tmpfs in the session's folder, and begin with magic, version and size. Each is created whole
 * under another name and then renamed.
 *
 * Neither file contains a pointer or a lock, and no pid in them says whether a process is alive: it
 * is alive while the kernel holds its file lock on the slot's byte of `slots` (store/liveness.h).
 * Page contents are hostile input: call page_check_*() before the first use, and check every index
 * and size at each use.
 */
#ifndef ALIQUOT_PROTO_PAGE_H
#define ALIQUOT_PROTO_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Versions of the pages; each covers all that a reader must understand. The pages of a session that
 * does not swap have PAGE_VERSION, those of a session that swaps PAGE_VERSION_SWAP
 * (page_version_of()). So a library from before swap refuses a session that swaps, whose memory it
 * would take for pinned. */
#define PAGE_VERSION 3u
#define PAGE_VERSION_SWAP 4u
/* The oldest version of sessions that a daemon still keeps; their programs began with an older
 * library. Memory and the hard cap are the same in all versions; turns are not
 * (page_has_turns()). */
#define PAGE_VERSION_OLDEST 2u
#define PAGE_DEVICES 16u /* GPUs or MIG instances that a session can name */
/* live processes of a session; a slot number fits the 12 bits of page_ledger.tag */
#define PAGE_SLOTS 4096u
/* How many waiters of a word are woken at once at most, since a tenant can create any number of
 * them. The others read the word again after their timeout. */
#define PAGE_WAKE_MAX PAGE_SLOTS
#define PAGE_NAME_BYTES 64u
#define PAGE_UNLIMITED UINT64_MAX /* value of a limit that was not set */
#define PAGE_WHOLE_PPM 1000000u   /* all of the GPU time in parts per million: no cap */

#define PAGE_LIMITS_MAGIC UINT64_C(0x314d494c514c41) /* "ALQLIM1" */
#define PAGE_SLOTS_MAGIC UINT64_C(0x314f4c53514c41)  /* "ALQSLO1" */

/* Who writes `limits`: limits_page.owner. */
enum page_owner { PAGE_OWNER_USER = 1, PAGE_OWNER_DAEMON = 2 };

/*
 * The uuid of the row for host memory: these 16 letters, which no card has as its uuid. The row
 * limits and counts host memory that the session may hold in place of card memory
 * (oversubscription). It is made at the session's creation; a session without the row may hold no
 * host memory.
 */
#define PAGE_HOST_NAME "aliquot host mem"
#define PAGE_ROW_NAME_BYTES 16u /* without the NUL */

/*
 * The uuid of the row for swappable memory: these 16 letters. A session that swaps (PAGE_SWAPS) has
 * one GPU and three rows, made at its creation. The GPU's row counts all memory of its programs, on
 * the card or in the host. The swap row (this one) counts the part that can leave the card. The
 * host row (PAGE_HOST_NAME) counts the part that is in the host now. So used(GPU) - used(host) is
 * on the card, and used(GPU) - used(swap) is pinned: it never leaves the card. The swap row has no
 * limit.
 */
#define PAGE_SWAP_NAME "aliquot swap mem"

/* Whether a row's uuid (16 bytes) is PAGE_HOST_NAME or PAGE_SWAP_NAME, so that the row stands for
 * no card. */
bool page_is_no_card(const void *uuid);

/* Bits of limits_page.flags; fixed at creation. */
enum page_flags {
        PAGE_CONTEXT_FREE = 1u << 0, /* contexts are not charged (context=free) */
        PAGE_SWAPS = 1u << 1,        /* the session's memory may be moved to the host and back */
        /* A container's session. Root in the container can change the owner of `slots`, so that
         * owner does not say whose session it is. */
        PAGE_OF_CONTAINER = 1u << 2,
};

/* What a session may launch on a device now: limits_device.lease.mode. */
enum page_mode {
        /* no lease: only the hard cap (page_meter.bucket_ns) bounds launches */
        PAGE_MODE_FREE = 0,
        PAGE_MODE_OPEN = 1,   /* leased: launches are allowed until page_lease.end_ns */
        PAGE_MODE_CLOSED = 2, /* other sessions have the device: launches wait */
};

/*
 * How much memory a session that swaps may have on a device now. The daemon writes these words
 * (release), then raises limits_page.epoch and wakes the waiters of that word. A process adds a
 * request to a ledger, then reads these words behind a fence, and takes the bytes back if they are
 * too many. So a ledger that the daemon reads after it has lowered a word can then grow at most to
 * the new maximum.
 */
struct page_room {
        /* Maximum bytes on the card. During a hold, a drained process moves memory to the
         * host until the session is within this maximum, and moves memory back as far as the
         * maximum allows. */
        uint64_t resident_bytes;
        /* maximum bytes on the card and in the host together; a request beyond it fails at once */
        uint64_t max_bytes;
        uint64_t pinned_bytes; /* maximum bytes that can never leave the card */
        /* CLOCK_MONOTONIC, ns. All wishes (page_meter.wished_at_ns) from before this time
         * are answered. */
        uint64_t answered_at_ns;
};

/*
 * The lease of a session on a device: when the session may submit work. Only the node's scheduler
 * (a thread of the daemon) writes the fields. `turn` is odd while it writes and even when the
 * fields are valid. After writing it raises `turn` (release) and wakes the waiters of that word. A
 * reader reads `turn` before (acquire) and after the fields. If limits_page.scheduler_at_ns is
 * older than PAGE_SCHEDULER_SILENT_NS, a process acts as in PAGE_MODE_FREE.
 */
struct page_lease {
        _Alignas(64) uint32_t turn; /* a futex word; our library compares it before each launch */
        uint32_t mode;              /* enum page_mode */
        /* CLOCK_MONOTONIC, ns. PAGE_MODE_OPEN: no submission begins after this time.
         * PAGE_MODE_CLOSED: since this time the scheduler has assumed that the session wants no
         * turn, so a program that wants one raises slots_page.bell. 0: the scheduler knows that the
         * session wants a turn. */
        uint64_t end_ns;
        /* ns of submitted GPU time that may be incomplete; 0: no bound */
        uint64_t target_ns;
        struct page_room room; /* not part of the lease: `turn` does not cover this struct */
        uint8_t reserved[8];
};

/* If limits_page.scheduler_at_ns is older than this, the scheduler counts as stopped.
 */
#define PAGE_SCHEDULER_SILENT_NS UINT64_C(500000000)

/* After this time without a write to page_row.flight_seen_ns, a process counts as stopped, with
 * nothing in flight. A process with work in flight polls the driver at least every two long slots
 * (2.5 ms, flight.h), and writes the word each time. The rest of the time is for a thread that
 * wakes late. */
#define PAGE_FLIGHT_SILENT_NS UINT64_C(20000000)

/*
 * One device of a session. A row is claimed by replacing its all-zero uuid in one 16-byte swap. The
 * creator of the session claims a row for every GPU that it can see. In a user's session a tenant
 * can claim a row for a GPU that the creator could not see. A claimed row is never released.
 */
struct limits_device {
        _Alignas(16) uint64_t uuid[2]; /* the driver's 16 bytes; all zero: the row is free */
        /* The memory limit. The owner may change it at any time; every process reads it (acquire).
         * It is 0 only between the claim of the row and its first limit. A process that needs the
         * row may write that first limit, together with card_bytes in one 16-byte swap. */
        _Alignas(16) uint64_t limit_bytes;
        /* The card's total memory when the row was claimed; 0: unknown. While limit_bytes is 0,
         * this word counts the changes of limits. Then the swap that sets the first limit fails if
         * limits were changed meanwhile, and cannot write an outdated one. */
        uint64_t card_bytes;
        /* The hard cap: GPU time in parts per million, 1..PAGE_WHOLE_PPM; 0: the session's default.
         * The owner may change it at any time; read it through page_cap_ppm(). */
        uint32_t cap_ppm;
        /* What a daemon promised the session: a minimum share of GPU time, and bytes
         * (promised_bytes). The daemon writes both. They stay when `limit_bytes` is lowered
         * because the session is clamped or ends. The daemon reads them back if its database has
         * lost the session. */
        uint32_t guarantee_milli_percent;
        uint64_t promised_bytes; /* see guarantee_milli_percent */
        /* When promised_bytes was last raised (CLOCK_MONOTONIC, ns); 0: unknown. The daemon writes
         * it. For some time after a raise, the driver may still have to free memory of another
         * session's dead processes. */
        uint64_t promised_at_ns;
        uint8_t reserved[8];
        struct page_lease lease;
};

struct limits_page {
        uint64_t magic;
        uint32_t version;
        uint32_t page_bytes; /* sizeof(struct limits_page) */
        /* random, the same in both files: shows that they belong together */
        uint64_t session_id[2];
        uint32_t owner;             /* enum page_owner */
        uint32_t flags;             /* enum page_flags */
        char name[PAGE_NAME_BYTES]; /* name of the session, NUL-terminated */
        char device_name[96];       /* name that programs see for the card; empty: the card's own */
        /* canonical limits at creation; a program with other limits may not join */
        char created_as[1024];
        /* limit of a device without a rule; the owner may change it at any time */
        uint64_t default_limit_bytes;
        /* If not 0, the default limit is this many millionths of a percent of the card, rounded
         * down to 2 MiB, and default_limit_bytes is PAGE_UNLIMITED. The owner may change it at
         * any time. */
        uint64_t default_micro_percent;
        /*
         * 0: the session is not held. Otherwise the daemon holds it: calls that touch a device's
         * memory wait on this futex word. The value is the number of the hold, different for each.
         * A process with nothing in flight copies the number to page_slot.drained_gate. A process
         * that does not (it is stopped, or its work waits for an event that does not come) is not
         * drained, and the owner ends the hold after a time of its choice. The owner writes the
         * word, processes read it (acquire). Only a daemon holds sessions.
         */
        _Alignas(64) uint32_t gate;
        /* A futex word that the owner raises (release) after a change of any field above has
         * taken effect. */
        uint32_t epoch;
        /* Not 0 from when the session is being removed, for ever. The owner writes it before it
         * searches for live slots. A process that has just locked a slot reads it (acquire),
         * and unlocks the slot if it is set. So a session that can no longer be joined gets no
         * new charges. */
        uint32_t removed;
        uint32_t default_cap_ppm; /* cap of a row that has none of its own; 0: PAGE_WHOLE_PPM */
        /* CLOCK_MONOTONIC, ns. The scheduler writes the time ten times a second while it leases a
         * device of this session, or watches the session. 0: no scheduler has done so. */
        uint64_t scheduler_at_ns;
        /* The version of the daemon's record of the session that this page shows; 0: none yet. The
         * daemon writes it after all other fields of the page. */
        uint64_t session_version;
        _Alignas(64) struct limits_device device[PAGE_DEVICES];
};

/* The ledger of one device: the sum of all charges of the session. Only core/ledger reads and
 * writes the first two words, in 16-byte operations. */
struct page_ledger {
        _Alignas(64) uint64_t used_bytes;
        /* slot << 52 | page_row.seq of the last operation that took effect; 0: none */
        uint64_t tag;
        /*
         * When bytes of a dead process were last recovered (CLOCK_MONOTONIC, ns). The recovering
         * process writes it (relaxed). If the driver is out of memory for a request within the
         * limit, a hook reads it to decide whether waiting can help, since the driver may still be
         * freeing those bytes.
         */
        uint64_t reclaimed_at_ns;
        /*
         * Estimate of the card memory that a context takes, in bytes, which users of the value
         * check. 0: not measured yet; 1: could not be measured so far. A process that makes a
         * context whose size can be measured writes it (relaxed).
         */
        uint64_t context_bytes;
        /* Counters for display; any process adds to them (relaxed). */
        uint64_t refused;         /* requests beyond the limit */
        uint64_t reclaimed_bytes; /* recovered from dead processes */
        uint64_t drained;         /* requests that waited for the driver to drain */
        uint64_t driver_refused;  /* requests within the limit for which the driver had no memory */
};

/*
 * GPU time of a session on a device, as its processes measure it. All of them write; the scheduler
 * and the commands that display it read. Like everything in `slots` it is an untrusted claim, which
 * is checked at each use, and against the device's own values.
 */
struct page_meter {
        /*
         * The token bucket of the hard cap. Both words are swapped together (16 bytes). bucket_ns
         * is the GPU time left, in two's complement, and negative in debt. filled_at_ns is the time
         * (CLOCK_MONOTONIC, ns) up to which the bucket was filled.
         */
        _Alignas(64) uint64_t bucket_ns;
        uint64_t filled_at_ns;
        uint64_t busy_ns;  /* GPU time billed to all processes together */
        uint64_t launches; /* number of submissions */
        /* wanted_at_ns: when a thread last waited for a turn. active_at_ns: when work was last seen
         * in flight. Both are CLOCK_MONOTONIC, ns. They count only while they are young, so nobody
         * has to reset them when a process dies. */
        uint64_t wanted_at_ns;
        uint64_t active_at_ns;
        /* CLOCK_MONOTONIC, ns. The time in which any process had work in flight is billed up to
         * this time. Each process that bills moves it forward in an atomic exchange, so no time is
         * billed twice. */
        uint64_t settled_until_ns;
        /* Odd: work of the session is in flight. Even: nothing is, and this was the value of
         * page_lease.turn when the last work completed. */
        uint32_t drained_turn;
        uint32_t reserved_half;
        /* Counters for display, which only rise. */
        uint64_t waits;       /* number of submissions that waited */
        uint64_t waited_ns;   /* total time that submissions waited */
        uint64_t began_at_ns; /* when a turn's first work last came in flight, CLOCK_MONOTONIC */
        /* The wish of a session that swaps: how many bytes on the card, and how many pinned bytes,
         * it would have with a request that waits. If several requests wait, it is the largest. The
         * time (CLOCK_MONOTONIC, ns) is written last. The waiting process repeats its wish every 10
         * ms, and an old wish is void. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        uint64_t wished_at_ns;
        /* When a thread last waited because the session was held (limits_page.gate);
         * CLOCK_MONOTONIC, ns. */
        uint64_t stood_at_ns;
        uint64_t reserved[1];
};

/* The charges and flights of one process on one device. Only the process that holds the slot writes
 * its row, except `done`. core/ledger.h explains the words of the ledger. */
struct page_row {
        _Alignas(64) uint64_t seq;
        uint64_t delta; /* two's complement */
        uint64_t charge[2];
        uint64_t committed;
        uint64_t done; /* any process may raise it */
        /* flight_begin_ns: since when work of the process is in flight on the device; 0: none is.
         * flight_seen_ns: when the process last saw work in flight, or waited at a gate. Both are
         * CLOCK_MONOTONIC, ns. */
        uint64_t flight_begin_ns;
        uint64_t flight_seen_ns;
};

/* What a process says about itself, for `aliquot ps` and other process lists only: never
 * trusted. */
struct page_slot {
        _Alignas(64) uint64_t pid_ns_inode; /* inode of the process's /proc/self/ns/pid */
        uint64_t start_ticks;               /* field 22 of /proc/self/stat */
        uint32_t pid;                       /* pid in the PID namespace of the process */
        uint32_t uid;
        char command[32];
        /* The answer to a hold: the value of limits_page.gate, written when no thread of the
         * process was in a call behind the gate and none of its work that touches device memory was
         * in flight. 0: it has answered no hold. */
        uint32_t drained_gate;
        /* A bit per device: NVML lists the process on that device, so memory that the driver takes
         * by itself is measured and charged. Older libraries do not set it. */
        uint32_t measured_devices;
};

struct slots_page {
        uint64_t magic;
        uint32_t version;
        uint32_t slot_count; /* PAGE_SLOTS */
        uint64_t page_bytes; /* sizeof(struct slots_page) */
        uint64_t session_id[2];
        /* One above the highest slot that was ever used, so loops over the slots end there. A
         * process that occupies a slot raises it (acq_rel). */
        _Alignas(64) uint32_t slots_high;
        /* A futex word on which the scheduler waits. A program raises and wakes it if it wants to
         * launch while the gate is closed or the scheduler does not watch its session, or if it is
         * done before its lease ends. */
        uint32_t bell;
        _Alignas(64) struct page_ledger ledger[PAGE_DEVICES];
        _Alignas(64) struct page_meter meter[PAGE_DEVICES];
        _Alignas(64) struct page_slot slot[PAGE_SLOTS];
        _Alignas(64) struct page_row row[PAGE_SLOTS][PAGE_DEVICES];
};

/* Cast a word of a mapped page for atomic access. Use the shared words only through these functions
 * and common/atomic.h. */
static inline _Atomic uint64_t *shared_word(const uint64_t *word)
{
        return (_Atomic uint64_t *)(uintptr_t)word;
}

static inline _Atomic uint32_t *shared_half(const uint32_t *half)
{
        return (_Atomic uint32_t *)(uintptr_t)half;
}

/* Offsets of the bytes of `slots` that processes lock. The lock of PAGE_LOCK_LIVE means that the
 * slot's process is alive, that of PAGE_LOCK_RECOVER that a process attaches to the slot or
 * recovers its charges. */
#define PAGE_LOCK_LIVE(slot) (UINT64_C(2) * (slot))
#define PAGE_LOCK_RECOVER(slot) (UINT64_C(2) * (slot) + 1)
/* Locked by `aliquot run` while its program runs, even if the program has not joined. A session
 * that was made for one run is removed when no process holds a lock on `slots`. */
#define PAGE_LOCK_KEEPER (UINT64_C(2) * PAGE_SLOTS)
/* Locked while a process makes a context on a device for which the size of a context is unknown. */
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
 * Check that a mapped file of `bytes` is a page that this build understands: magic, version (older
 * ones from PAGE_VERSION_OLDEST are accepted) and its flags, sizes, terminated strings. Return 0,
 * or -EPROTO with the found and the expected value in `err`.
 */
int page_check_limits(const struct limits_page *page, uint64_t bytes, struct error *err);
int page_check_slots(const struct slots_page *page, uint64_t bytes, struct error *err);

/* Returns the version for the pages of a session with these flags (enum page_flags). */
static inline uint32_t page_version_of(uint32_t flags)
{
        return flags & PAGE_SWAPS ? PAGE_VERSION_SWAP : PAGE_VERSION;
}

/* Whether pages of this version have the meter and lease that are declared here. If not, the
 * session gets no turns, and a program of this build cannot join it. */
static inline bool page_has_turns(uint32_t version)
{
        return version == PAGE_VERSION || version == PAGE_VERSION_SWAP;
}

/* Returns the index of the row for host memory (PAGE_HOST_NAME); -1: the session has none. The page
 * must have been checked. */
int page_host_row(const struct limits_page *page);
/* Returns the index of the row for swappable memory (PAGE_SWAP_NAME); -1: the session has none. The
 * page must have been checked. */
int page_swap_row(const struct limits_page *page);

/* Returns the cap of a device, which may be the session's default: 1..PAGE_WHOLE_PPM, which is
 * no cap. */
uint32_t page_cap_ppm(const struct limits_page *page, const struct limits_device *device);

/* Returns the bytes that a process holds on a device by its own row; for display, never trusted.
 * Any `slot` and `device` are safe. */
uint64_t page_row_bytes(const struct slots_page *page, uint32_t slot, unsigned device);

#endif
