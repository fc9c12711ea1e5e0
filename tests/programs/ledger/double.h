/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session made by hand: what charge.c needs of shim/session.h, over two files in a folder.
 *
 * double_make() writes them, double_join() maps them and makes the state SESSION_ACTIVE. Device i
 * of the test is row i. Any failure ends the test program with a line: there is nothing to test.
 */
#ifndef ALIQUOT_TESTS_LEDGER_DOUBLE_H
#define ALIQUOT_TESTS_LEDGER_DOUBLE_H

#include <stdint.h>

#include "proto/page.h"

/* Makes a private folder on tmpfs with a session of PAGE_DEVICES rows, all with this limit, and
 * joins it. double_end() removes the folder. */
void double_make(uint64_t limit_bytes);
void double_end(void);

/* Joins the session of another process by its folder. */
const char *double_folder(void);
void double_join(const char *folder);

/* Live change, as `aliquot set` does it. */
void double_limit(unsigned device, uint64_t limit_bytes);

struct slots_page *double_slots(void);
struct limits_page *double_limits(void);

/* Bytes that all rows claim together, settled as recovery would settle them. */
uint64_t double_rows(unsigned device);
uint64_t double_used(unsigned device);

/* Prints what went wrong and ends the process with 1. */
void check_failed(const char *file, int line, const char *text) __attribute__((noreturn));
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
