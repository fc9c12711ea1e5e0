/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's time for a program under test: common/clock.h goes by it from then on. Found
 * among what is loaded, since with our library in front the driver's symbols are not the program's.
 */
#pragma once

#include <stdint.h>

#include "abi/cuda.h"

/* Once cuInit() was called. In real time nothing changes. */
void simtime_follow(void);

/* Sleeps until `ns` after the device began its first work: who starts slowly, starts first. */
void simtime_sleep_from_first_work(const CUuuid *uuid, uint64_t ns);
