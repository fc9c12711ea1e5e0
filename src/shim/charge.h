/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy verbs of memory: reserve, act, settle. Bytes and devices; no CUDA type.
 *
 *      struct charge c;
 *
 *      if (!charge_begin(&c, device, bytes))   // over the limit: nothing happened
 *              return out of memory;
 *      rc = real.allocate(...);
 *      rc == good ? charge_keep(&c, space, key) : charge_drop(&c);
 *
 * and for a release: take the block out first (so that the driver may hand the same key to
 * another thread at once), act, settle:
 *
 *      charge_take(&c, space, key);            // unknown key: an empty charge, harmless below
 *      rc = real.free(key);
 *      rc == good ? charge_drop(&c) : charge_keep(&c, space, key);
 *
 * charge_begin() also reserves room in the table of live blocks, so charge_keep() cannot fail.
 * charge_begin() sets `owner` to 0; a front end sets it before charge_keep(), charge_take() returns
 * it. A `device` is a row of the session's page (session_device()), or CHARGE_NO_DEVICE: then
 * every verb succeeds and does nothing. Without a session likewise. All verbs may be called from
 * any thread and after fork; none allocates from the heap, logs, or calls the driver.
 */
#ifndef ALIQUOT_SHIM_CHARGE_H
#define ALIQUOT_SHIM_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#define CHARGE_NO_DEVICE (-1)

/* Names of keys that may collide as numbers. */
enum charge_space {
        SPACE_POINTER = 1, /* cuMemAlloc, Pitch, Managed: a device address */
        SPACE_HANDLE,      /* cuMemCreate: an allocation handle */
        SPACE_ARRAY,       /* arrays and mipmapped arrays: a handle */
        SPACE_POOL,        /* a memory pool: its handle; bytes = reserved */
        SPACE_CONTEXT,     /* a context, or a primary context: device + 1 */
        SPACE_MODULE,      /* a module or library */
        SPACE_GRAPH,       /* graph memory of a device: device + 1 */
        SPACE_IMPORT,      /* IPC and external memory */
        SPACE_FREED,       /* freed in a stream that has not got there: a number */
        SPACE_FREED_HOST,  /* the same, of the host's memory that stands for a card's: a number */
        SPACE_REMAINDER,   /* what the driver took by itself: device + 1 */
        SPACE_SWAP, /* a swappable block's charge in the row of swappable memory: its address */
};

struct charge {
        uint64_t bytes;
        uint32_t owner;   /* whose end takes the block along (a context's number); 0 = nobody's */
        int device;       /* row of the page, or CHARGE_NO_DEVICE */
        uint32_t node;    /* its place in the table of live blocks; 0 = none */
        bool is_reserved; /* charge_begin() granted it and it is not yet settled */
        bool is_unseen;   /* NVML counts it for no process, or for another one */
};

/* False: over the limit, or the session is broken and fails closed; `c` is then empty. */
bool charge_begin(struct charge *c, int device, uint64_t bytes);

/*
 * In a session that swaps (room.h), swappable memory is charged twice: to the card's row, and to
 * the row of swappable memory. Every other charge to the card counts as pinned. False also if the
 * card has no room now.
 */
struct charge_swappable {
        struct charge card;
        struct charge swap;
};
bool charge_begin_swappable(struct charge_swappable *c, int device, uint64_t bytes);
void charge_drop_swappable(struct charge_swappable *c);

/* For what the driver took without a grant: charged even above the limit, so that everything is
 * refused until enough was given back. False: only as charge_begin() without regard to it. */
bool charge_force(struct charge *c, int device, uint64_t bytes);

/*
 * Charged memory leaves the card, or comes back. Its charges stay; the row of memory that is out
 * changes, without regard to its limit. Between begin and end NVML's numbers are not used.
 */
void charge_move_begin(int device);
void charge_move_out(int device, uint64_t bytes);
void charge_move_in(int device, uint64_t bytes);
void charge_move_end(int device);

/* Reserved an upper bound; the driver took only `bytes`. Never grows. */
void charge_trim(struct charge *c, uint64_t bytes);

/* NVML does not count it for this process, as with what another one made. And: now it does. */
void charge_mark_unseen(struct charge *c);
void charge_mark_seen(struct charge *c);

/* What this process is charged on a device and NVML does not count for it. */
uint64_t charge_unseen_bytes(int device);

/*
 * Charges of the device that are on their way between us and the driver, from charge_begin() or
 * charge_take() to charge_keep() or charge_drop(). A word that is the same before and after
 * something was read: none began meanwhile, also none that ended again.
 */
uint64_t charge_flights(int device);
static inline bool charge_is_calm(uint64_t flights)
{
        return (uint32_t)flights == 0;
}

/* Two grants become one: `take_other`'s bytes are added to `c`, and it is empty afterwards. Both
 * are of one device, or one of them is empty. Cannot fail: nothing is reserved anew. */
void charge_join(struct charge *c, struct charge *take_other);

/* The call succeeded: remember what to give back, and under which key. A live key is replaced,
 * and its old bytes released. */
void charge_keep(struct charge *c, enum charge_space space, uint64_t key);

/* The call failed, or the block is gone: give the bytes back now. */
void charge_drop(struct charge *c);

/* Takes the block out of the table. False when the key is not known (c is empty). */
bool charge_take(struct charge *c, enum charge_space space, uint64_t key);

/* Everything kept with this owner is gone (a context was destroyed): give all of it back. And: the
 * bytes of it. Both walk the whole table: where something else takes long. 0 does nothing. */
void charge_drop_owner(uint32_t owner);
uint64_t charge_owned_bytes(uint32_t owner);

/* Bytes now held under a key; 0 when not known. For views and for pools that are read again. */
uint64_t charge_held(enum charge_space space, uint64_t key);

/*
 * The driver said out-of-memory although the charge was granted. True: bytes of a dead process may
 * still be draining, try the call again (it slept a little); false: give up. `attempt` counts from
 * 0.
 */
bool charge_wait_for_drain(const struct charge *c, unsigned attempt);

/* For the session's counters: what the program asked of the device was over the limit, for good; or
 * was not, and the driver had no memory. */
void charge_note_refused(int device);
void charge_note_driver_refused(const struct charge *c);

/* The row that host memory in place of the card's is charged to, as if it was a device;
 * CHARGE_NO_DEVICE: the session is not oversubscribed. */
int charge_host(void);

/* The device of a block; CHARGE_NO_DEVICE when its key is not known. */
int charge_device(enum charge_space space, uint64_t key);

/* What the session has used and may use on a device, now; the dead are not counted. False without a
 * session or device. */
struct charge_view {
        uint64_t used_bytes;
        uint64_t limit_bytes; /* PAGE_UNLIMITED when none */
};
bool charge_read(int device, struct charge_view *ret);

/*
 * The device as the program sees it: as large as its limit, with the host's memory that the session
 * may hold in its place. A block lies in one of the two: what is free is the larger one's, so that
 * it is granted. In: what the driver says. False: that stands.
 */
struct charge_card {
        uint64_t free_bytes;
        uint64_t total_bytes;
};
bool charge_view(int device, struct charge_card *card);

#endif
