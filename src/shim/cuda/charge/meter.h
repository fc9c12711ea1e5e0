/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: charge memory that the driver reserves by itself, for pools and for graphs.
 *
 * The driver does not report how much a pool grows, so the pool's size is read, as
 * RESERVED_MEM_CURRENT, and the meter's charge follows it. Threads allocate from one pool at the
 * same time, so growth cannot be assigned to a thread; but only the sum matters. Each thread holds
 * a grant of its own (an upper bound) while the driver works. At the end it moves as much of its
 * grant to the meter as the meter lacks, and releases the rest. The invariant
 *
 *      reserved  <=  kept charge + all grants of calls in flight
 *
 * holds at every instant if every bound is one, and the charge equals the reserved size when no
 * call is in flight. A reading counts only if no thread set the charge since it began
 * (meter.version), so an old reading never overwrites a newer one, and no lock is held while the
 * driver is asked.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_METER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_METER_H

#include "shim/cuda/place/front.h"

struct meter;

/* The meter of a pool, or of a device's graph memory; made if needed. NULL without a session, or
 * for memory on none of its devices. */
struct meter *meter_of_pool(CUmemoryPool pool, struct place place);
struct meter *meter_of_graphs(struct place place);
struct meter *meter_find(enum charge_space space, uint64_t key);

/* Reads what the driver has reserved; false if it does not say. */
bool meter_read(struct meter *meter, uint64_t *ret_bytes);

/* Reads how much of a pool the program uses. */
bool meter_read_used(struct meter *meter, uint64_t *ret_bytes);

/* Its key, which the driver may be asked about until meter_let_go(), always to be called; 0: the
 * pool is gone. */
uint64_t meter_hold(struct meter *meter);
void meter_let_go(struct meter *meter);

/*
 * Reads the driver and makes the charge equal, growing it from `grant` (may be NULL), which is
 * empty afterwards. False: more is reserved than charge and grant cover; the charge is then as
 * large as could be had.
 */
bool meter_settle(struct meter *meter, struct charge *grant);

/* More is reserved than charge and grants cover: has the rest granted now; false: no room. */
bool meter_grant_rest(struct meter *meter);

/* The same for a caller without a grant: the missing bytes are charged, even above the limit,
 * because the driver has them; other requests are refused until they are freed. */
void meter_follow(struct meter *meter);

/*
 * Removes the meter of a pool that is being destroyed; its charge becomes the caller's. Then call
 * meter_leave() if the driver destroyed it (what was reserved at the end stays charged), or
 * meter_reopen() if it refused.
 */
struct place meter_close(struct meter *meter, struct charge *ret_charge);
void meter_leave(struct charge *take_charge);
void meter_reopen(CUmemoryPool pool, struct place place, struct charge *take_charge);

/* Reads again every meter of a row; with `is_dirty_only`, those that may have shrunk. */
void meters_refresh(int row, bool is_dirty_only);

/* Before a refusal: 0 reads the meters of the place again, 1 has the driver give back what its
 * pools hold unused. False: nothing more to try. */
bool meters_relieve(struct place place, unsigned step);

#endif
