/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the driver reserves by itself: pools, and the memory of graphs.
 *
 * Nobody is told how much such a thing grows: it is read from the driver, as
 * RESERVED_MEM_CURRENT. The charge of a meter follows it. Threads allocate from one pool at the
 * same time, so what grew cannot be told apart; but bytes are alike. Each thread holds a grant of
 * its own (an upper bound) while the driver works, and at the end moves from its grant to the meter
 * what the meter lacks, and gives the rest back. The invariant:
 *
 *      reserved  <=  kept charge + all grants of calls in flight
 *
 * holds at every instant if every bound is one, and the charge equals what is reserved when no
 * call is in flight. A reading counts only if nobody set the charge since it was begun
 * (meter.version), so an old reading never overwrites a newer one, and no lock is held while the
 * driver is asked.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_METER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_METER_H

#include "shim/cuda/place/front.h"

struct meter;

/* The meter of a pool, or of a device's graph memory, made if need be. NULL without a session, or
 * for memory that is on no device of it. */
struct meter *meter_of_pool(CUmemoryPool pool, struct place place);
struct meter *meter_of_graphs(struct place place);
struct meter *meter_find(enum charge_space space, uint64_t key);

/* What the driver has reserved now; false when it does not say. */
bool meter_read(struct meter *meter, uint64_t *ret_bytes);

/* What of a pool the program uses. */
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

/* The same for who has no grant: what is missing is charged, above the limit if it has no room:
 * the driver has it, so everything else is refused until it is given back. */
void meter_follow(struct meter *meter);

/*
 * A pool is being destroyed: its meter is gone, its charge the caller's. Afterwards meter_leave()
 * if the driver did it (what was reserved to the end stays charged), meter_reopen() if it refused.
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
