/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges memory to the session: reserve, call the driver, settle. Bytes and devices; no CUDA type.
 *
 *      struct charge c;
 *
 *      if (!charge_begin(&c, device, bytes))   // over the limit: nothing happened
 *              return out of memory;
 *      rc = real.allocate(...);
 *      rc == good ? charge_keep(&c, space, key) : charge_drop(&c);
 *
 * For a release, take the block out first, because the driver may give the same key to another
 * thread at once; then call the driver and settle:
 *
 *      charge_take(&c, space, key);            // unknown key: an empty charge, harmless below
 *      rc = real.free(key);
 *      rc == good ? charge_drop(&c) : charge_keep(&c, space, key);
 *
 * charge_begin() also reserves an entry in the table of live blocks, so charge_keep() cannot fail.
 * charge_begin() sets `owner` to 0; a front end sets it before charge_keep(), and charge_take()
 * returns it. A `device` is a row of the session's page (session_device()), or CHARGE_NO_DEVICE,
 * for which every function succeeds and does nothing. The same holds without a session. Any thread
 * may call every function, also after fork; none allocates from the heap, logs, or calls the
 * driver.
 */
#ifndef ALIQUOT_SHIM_CHARGE_H
#define ALIQUOT_SHIM_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#define CHARGE_NO_DEVICE (-1)

/* Kinds of keys; keys of two kinds may be the same number. */
enum charge_space {
        SPACE_POINTER = 1, /* cuMemAlloc, Pitch, Managed: a device address */
        SPACE_HANDLE,      /* cuMemCreate: an allocation handle */
        SPACE_ARRAY,       /* arrays and mipmapped arrays: a handle */
        SPACE_POOL,        /* a memory pool: its handle; bytes = reserved */
        SPACE_CONTEXT,     /* a context, or a primary context: device + 1 */
        SPACE_MODULE,      /* a module or library */
        SPACE_GRAPH,       /* graph memory of a device: device + 1 */
        SPACE_IMPORT,      /* IPC and external memory */
        SPACE_FREED,       /* freed in a stream that has not reached the free yet: a number */
        SPACE_FREED_HOST,  /* the same, for host memory in place of a card's: a number */
        SPACE_REMAINDER,   /* memory that the driver took by itself: device + 1 */
        SPACE_SWAP, /* a swappable block's charge in the row of swappable memory: its address */
};

struct charge {
        uint64_t bytes;
        uint32_t
                owner; /* the block is released with this owner (a context's number); 0: no owner */
        int device;    /* row of the page, or CHARGE_NO_DEVICE */
        uint32_t node; /* its entry in the table of live blocks; 0: none */
        bool is_reserved; /* charge_begin() granted it and it is not yet settled */
        bool is_unseen;   /* NVML counts it for no process, or for another process */
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

/* Charges memory that the driver took without a grant, even above the limit; later charges are
 * refused until enough is given back. False: for charge_begin()'s other reasons only. */
bool charge_force(struct charge *c, int device, uint64_t bytes);

/*
 * Charged memory leaves the card, or comes back. Its charges stay; the row of memory that is out
 * changes, without regard to its limit. Between begin and end NVML's numbers are not used.
 */
void charge_move_begin(int device);
void charge_move_out(int device, uint64_t bytes);
void charge_move_in(int device, uint64_t bytes);
void charge_move_end(int device);

/* Lowers a reserved upper bound to what the driver took. Never raises it. */
void charge_trim(struct charge *c, uint64_t bytes);

/* NVML does not count the charge for this process, for example because another process made the
 * memory. charge_mark_seen(): now NVML counts it. */
void charge_mark_unseen(struct charge *c);
void charge_mark_seen(struct charge *c);

/* Bytes charged to this process on a device that NVML does not count for it. */
uint64_t charge_unseen_bytes(int device);

/*
 * Charges of the device between charge_begin() or charge_take() and charge_keep() or charge_drop().
 * If the value is the same before and after a reading, no charge began meanwhile.
 */
uint64_t charge_flights(int device);
static inline bool charge_is_calm(uint64_t flights)
{
        return (uint32_t)flights == 0;
}

/* Merges two charges: adds the bytes of `take_other` to `c` and empties `take_other`. Both are of
 * one device, or one of them is empty. Cannot fail, because nothing is reserved. */
void charge_join(struct charge *c, struct charge *take_other);

/* The call succeeded: stores the charge under its key. A live block with this key is replaced, and
 * its old bytes are released. */
void charge_keep(struct charge *c, enum charge_space space, uint64_t key);

/* The call failed, or the block is gone: give the bytes back now. */
void charge_drop(struct charge *c);

/* Takes the block out of the table. False when the key is not known (c is empty). */
bool charge_take(struct charge *c, enum charge_space space, uint64_t key);

/* Gives back all charges of an owner, because a context was destroyed. charge_owned_bytes(): their
 * sum. Both walk the whole table, so use them where other work takes long too. 0 does nothing. */
void charge_drop_owner(uint32_t owner);
uint64_t charge_owned_bytes(uint32_t owner);

/* Bytes held under a key; 0 if the key is unknown. For views, and for pools that are read again. */
uint64_t charge_held(enum charge_space space, uint64_t key);

/*
 * The driver reported out-of-memory although the charge was granted. True: memory of a dead process
 * may still be draining, so try the call again (this function slept a little); false: give up.
 * `attempt` counts from 0.
 */
bool charge_wait_for_drain(const struct charge *c, unsigned attempt);

/* For the session's counters: a request was finally refused because it was over the limit; or it
 * was within the limit and the driver had no memory. */
void charge_note_refused(int device);
void charge_note_driver_refused(const struct charge *c);

/* The row to which host memory in place of the card's is charged, as if it were a device;
 * CHARGE_NO_DEVICE: the session is not oversubscribed. */
int charge_host(void);

/* The device of a block; CHARGE_NO_DEVICE if its key is unknown. */
int charge_device(enum charge_space space, uint64_t key);

/* What the session uses and may use on a device now; dead processes are not counted. False without
 * a session or device. */
struct charge_view {
        uint64_t used_bytes;
        uint64_t limit_bytes; /* PAGE_UNLIMITED without a limit */
};
bool charge_read(int device, struct charge_view *ret);

/*
 * The device as the program sees it: as large as its limit, including host memory that the session
 * may hold in place of the card's. A block lies in one of the two, so the free figure is the larger
 * one, which a request of that size can get. In: the driver's answer. False: that answer stands.
 */
struct charge_card {
        uint64_t free_bytes;
        uint64_t total_bytes;
};
bool charge_view(int device, struct charge_card *card);

#endif
