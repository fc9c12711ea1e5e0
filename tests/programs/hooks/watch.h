/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides of an accounting test, read from outside the library under test.
 *
 * charged: the ledger's word for a device, from the session's files under ALIQUOT_RUNTIME_DIR (one
 * session there). granted: what the simulated node gave this process, from its state folder. Both
 * are of the physical device that has this UUID.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* The session's charge, all processes together; 0 before there is a session. With WATCH_VIEWS in
 * the environment the program views its memory first: where it runs slowly, what the driver took by
 * itself is otherwise charged some questions later. */
uint64_t watch_charged(const CUuuid *uuid);

/* Bytes granted to this process; to every process of its session tag; the most there ever was. */
uint64_t watch_granted(const CUuuid *uuid);
uint64_t watch_granted_tag(const CUuuid *uuid);
uint64_t watch_high(const CUuuid *uuid);

/* The simulated node's state, for reading; NULL before anybody made it. */
struct sim_node;
const struct sim_node *watch_node(void);

/* The simulator's clock. */
uint64_t watch_now_ns(void);

/* Prints a line: family, moment, bytes charged and granted. With WATCH_WAITS in the environment,
 * waits for a line on stdin then, so that somebody else can look too. */
void watch_look(const CUuuid *uuid, const char *family, const char *moment);

/* GPU time that the simulator's engine spent on this process, on everybody; ns. */
uint64_t watch_busy(const CUuuid *uuid);
uint64_t watch_busy_all(const CUuuid *uuid);
/* And its links on everybody's copies. */
uint64_t watch_copied_all(const CUuuid *uuid);

/* How long the processes of this one's session had work in flight (with flights=on); ns. */
uint64_t watch_flight(const CUuuid *uuid);

/* The meter of the session, and its hard cap (as `aliquot set` changes it). */
struct page_meter;
const struct page_meter *watch_meter(const CUuuid *uuid);
void watch_set_cap(const CUuuid *uuid, uint32_t cap_ppm);

/* The physical device `index`, without asking the driver; false: there is none. */
bool watch_device(unsigned index, CUuuid *ret);

/* Says on stderr what was called and what it answered, and ends the test, unless it is `wanted`. */
void watch_expect(CUresult got, CUresult wanted, const char *call, int line);
#define EXPECT(call, wanted) watch_expect(call, wanted, #call, __LINE__)
#define OK(call) watch_expect(call, CUDA_SUCCESS, #call, __LINE__)
