/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: charge memory that the driver reserves on its own, for memory pools and for graphs.
 *
 * The driver does not report how much a call grows a pool. So the pool's reserved size is read
 * (CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), and the meter's charge follows it. Threads allocate from
 * one pool at the same time, so growth cannot be assigned to a thread; but only the sum matters.
 * While a thread is in the driver, it has a grant of its own, which is an upper bound of the
 * growth. Afterwards it moves as much of its grant to the meter's charge as the meter lacks, and
 * releases the rest. The invariant
 *
 *      reserved  <=  kept charge + all grants of calls in flight
 *
 * holds at every instant if every grant is a true upper bound, and the charge equals the reserved
 * size when no call is in flight. A reading counts only if no thread has set the charge since the
 * reading began (meter.version). So an old reading never overwrites a newer one, and no lock is
 * held while the driver is asked.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_METER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_METER_H

#include "shim/cuda/place/front.h"

struct meter;

/* Return the meter of a pool, or of a device's graph memory, and create it if needed. NULL without
 * a session, for memory on no device of the session, or if the table is full. */
struct meter *meter_of_pool(CUmemoryPool pool, struct place place);
struct meter *meter_of_graphs(struct place place);
struct meter *meter_find(enum charge_space space, uint64_t key);

/* Reads how many bytes the driver has reserved. False: the driver does not report it. */
bool meter_read(struct meter *meter, uint64_t *ret_bytes);

/* Reads how many bytes of a pool the program uses. False: the driver does not report it. */
bool meter_read_used(struct meter *meter, uint64_t *ret_bytes);

/* Returns the meter's key (the pool's handle, or device + 1), which stays valid for driver calls
 * until meter_let_go(). 0: the pool is gone. Call meter_let_go() in either case. */
uint64_t meter_hold(struct meter *meter);
void meter_let_go(struct meter *meter);

/*
 * Reads the reserved size and sets the charge to it; an increase is taken from `grant` (may be
 * NULL), which is empty afterwards. False: more is reserved than the charge and all grants cover.
 * The charge is then raised by all of `grant`.
 */
bool meter_settle(struct meter *meter, struct charge *grant);

/* Reserves and charges what the driver has reserved beyond the charge. False: over the limit, or
 * the driver does not report the reserved size. */
bool meter_grant_rest(struct meter *meter);

/* As meter_settle(), for a caller without a grant. Missing bytes are charged even above the limit,
 * because the driver has them already; other requests are refused until they are freed. */
void meter_follow(struct meter *meter);

/*
 * Removes the meter of a pool that is about to be destroyed; the caller gets its charge. After the
 * driver call, call meter_leave() if the driver destroyed the pool (then memory that was still
 * reserved stays charged), or meter_reopen() if the driver refused.
 */
struct place meter_close(struct meter *meter, struct charge *ret_charge);
void meter_leave(struct charge *take_charge);
void meter_reopen(CUmemoryPool pool, struct place place, struct charge *take_charge);

/* Reads every meter of a row again (-1: of all rows). With `is_dirty_only`: only meters whose
 * reserved size may have shrunk. */
void meters_refresh(int row, bool is_dirty_only);

/* Tries to make room before a request is refused. Step 0 reads the meters of the row again, and
 * step 1 makes the driver release the unused memory of its pools. False: there is nothing more to
 * try. */
bool meters_relieve(struct place place, unsigned step);

#endif
