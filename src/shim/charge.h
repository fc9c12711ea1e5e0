/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges memory to the session in three steps: reserve, call the driver, settle. This module knows
 * only bytes and devices, no CUDA type.
 *
 *      struct charge c;
 *
 *      if (!charge_begin(&c, device, bytes))   // over the limit: nothing happened
 *              return out of memory;
 *      rc = real.allocate(...);
 *      rc == good ? charge_keep(&c, space, key) : charge_drop(&c);
 *
 * For a release, take the block out of the table first, because the driver may give the same key to
 * another thread at once; then call the driver and settle:
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

/* Kinds of keys. Keys of different kinds may be the same number. */
enum charge_space {
        /* a device address, from cuMemAlloc, cuMemAllocPitch or cuMemAllocManaged */
        SPACE_POINTER = 1,
        SPACE_HANDLE, /* an allocation handle, from cuMemCreate */
        SPACE_ARRAY,  /* the handle of an array or mipmapped array */
        /* the handle of a memory pool; the bytes are those that the pool has reserved */
        SPACE_POOL,
        SPACE_CONTEXT, /* a context's number, or for a primary context: device + 1 */
        SPACE_MODULE,  /* a module's or library's handle */
        SPACE_GRAPH,   /* graph memory of a device; the key is device + 1 */
        SPACE_IMPORT,  /* memory imported through IPC or external memory */
        /* memory freed in a stream that has not reached the free yet; the key is a number */
        SPACE_FREED,
        /* host memory in place of a card's that was freed so; the key is a number */
        SPACE_FREED_HOST,
        SPACE_REMAINDER, /* memory that the driver allocated by itself; the key is device + 1 */
        /* a swappable block's charge in the row of swappable memory; the key is the block's
         * address */
        SPACE_SWAP,
};

struct charge {
        uint64_t bytes;
        /* number of the context with which the block is released (charge_drop_owner());
         * 0: none */
        uint32_t owner;
        int device;       /* row of the page, or CHARGE_NO_DEVICE */
        uint32_t node;    /* the charge's node in the table of live blocks; 0: none */
        bool is_reserved; /* charge_begin() granted the charge and it is not yet settled */
        bool is_unseen;   /* NVML does not count the charge, or counts it for another process */
};

/* Reserves a charge. Returns false if it is over the limit, or if the session is broken and
 * fails closed; `c` is then empty. */
bool charge_begin(struct charge *c, int device, uint64_t bytes);

/*
 * Reserves a charge of swappable memory, in a session that swaps (room.h). Swappable memory is
 * charged twice: to the card's row, and to the row of swappable memory. Every other charge to the
 * card counts as pinned. Returns false also if the card has no room now.
 */
struct charge_swappable {
        struct charge card;
        struct charge swap;
};
bool charge_begin_swappable(struct charge_swappable *c, int device, uint64_t bytes);
void charge_drop_swappable(struct charge_swappable *c);

/* Charges memory that the driver allocated without a grant, even above the limit; later charges
 * are refused until enough is given back. Returns false only for the other reasons of
 * charge_begin(). */
bool charge_force(struct charge *c, int device, uint64_t bytes);

/*
 * Note that charged memory leaves the card, or returns to it. The memory stays charged; the row of
 * memory that is out changes, even above its limit. Between charge_move_begin() and
 * charge_move_end() the numbers of NVML are not used.
 */
void charge_move_begin(int device);
void charge_move_out(int device, uint64_t bytes);
void charge_move_in(int device, uint64_t bytes);
void charge_move_end(int device);

/* Lowers the reserved bytes, which are an upper bound, to what the driver allocated. Never
 * raises them. */
void charge_trim(struct charge *c, uint64_t bytes);

/* charge_mark_unseen() notes that NVML does not count the charge for this process, for example
 * because another process allocated the memory. charge_mark_seen() notes that NVML counts it. */
void charge_mark_unseen(struct charge *c);
void charge_mark_seen(struct charge *c);

/* Returns the bytes charged to this process on a device that NVML does not count for this
 * process. */
uint64_t charge_unseen_bytes(int device);

/*
 * Returns a value that changes whenever a charge of the device begins or ends; a charge begins at
 * charge_begin() or charge_take() and ends at charge_keep() or charge_drop(). If the value is the
 * same before and after a reading, and charge_is_calm(), no charge was under way meanwhile.
 */
uint64_t charge_flights(int device);
static inline bool charge_is_calm(uint64_t flights)
{
        return (uint32_t)flights == 0;
}

/* Merges two charges: adds the bytes of `take_other` to `c` and empties `take_other`. Both are
 * for the same device, or one of them is empty. Cannot fail, because nothing is reserved. */
void charge_join(struct charge *c, struct charge *take_other);

/* Settles a charge for memory that the program now holds: stores it under its key. If there is a
 * live block with this key, it is replaced, and its bytes are released. */
void charge_keep(struct charge *c, enum charge_space space, uint64_t key);

/* Settles a charge for memory that the program does not hold, because the call failed or the
 * block was freed: gives the bytes back. */
void charge_drop(struct charge *c);

/* Takes the block's charge out of the table. Returns false if the key is unknown; `c` is then
 * empty. */
bool charge_take(struct charge *c, enum charge_space space, uint64_t key);

/* charge_drop_owner() gives back all charges of an owner, because a context was destroyed;
 * charge_owned_bytes() returns their sum. Both search the whole table, so call them where other
 * work takes long too. For owner 0 they do nothing. */
void charge_drop_owner(uint32_t owner);
uint64_t charge_owned_bytes(uint32_t owner);

/* Returns the bytes held under a key; 0 if the key is unknown. For views, and for pools whose
 * size is read again. */
uint64_t charge_held(enum charge_space space, uint64_t key);

/*
 * Waits a little if the driver reported out-of-memory although the charge was granted. Returns true
 * if memory of a dead process may still be draining (the driver has not freed it yet), so that the
 * call should be tried again; false: give up. `attempt` counts from 0.
 */
bool charge_wait_for_drain(const struct charge *c, unsigned attempt);

/* Count refusals in the session's page: charge_note_refused() a request that was over the limit;
 * charge_note_driver_refused() one that was within the limit but for which the driver had no
 * memory. */
void charge_note_refused(int device);
void charge_note_driver_refused(const struct charge *c);

/* Returns the row to which host memory in place of the card's is charged, as if it were a
 * device. CHARGE_NO_DEVICE: the session is not oversubscribed. */
int charge_host(void);

/* Returns the device of a block; CHARGE_NO_DEVICE if its key is unknown. */
int charge_device(enum charge_space space, uint64_t key);

/* What the session uses and may use on a device now; dead processes are not counted.
 * charge_read() returns false without a session or device. */
struct charge_view {
        uint64_t used_bytes;
        uint64_t limit_bytes; /* PAGE_UNLIMITED without a limit */
};
bool charge_read(int device, struct charge_view *ret);

/*
 * The device as the program sees it: as large as its limit, including host memory that the session
 * may hold in place of the card's. A block is either on the card or in the host, so the free bytes
 * are the larger of the two; a request of that size can succeed. charge_view() gets the driver's
 * answer in `card` and changes it. It returns false if the driver's answer stands.
 */
struct charge_card {
        uint64_t free_bytes;
        uint64_t total_bytes;
};
bool charge_view(int device, struct charge_card *card);

#endif
