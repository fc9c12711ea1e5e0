/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the values of the keys of ALIQUOT_SIM from text to numbers.
 *
 * Every function stores the number in `ret` and returns true, or returns false for a text of
 * another form. The table of keys (config.c) checks the range.
 */
#ifndef ALIQUOT_SIM_NODE_CONFIG_VALUE_H
#define ALIQUOT_SIM_NODE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Trims an item of a list, `*length` bytes at `text`: returns its first byte that is no blank, and
 * sets `*length` to the length without blanks at either end. */
const char *item_trim(const char *text, size_t *length);

bool number_parse(const char *text, uint64_t *ret);
bool bytes_parse(const char *text, uint64_t *ret);
bool time_parse(const char *text, uint64_t *ret);

/* A period: a time that is a multiple of NODE_BUCKET_NS, because the node counts engine time in
 * buckets of that length. */
bool period_parse(const char *text, uint64_t *ret);

/* A rate: "25GB", "25GB/s", or "max" (0), which means as fast as the machine copies. */
bool rate_parse(const char *text, uint64_t *ret);

/* Values that are words, which each comment lists. All functions but model_parse() store 1 for the
 * first word and 0 for the second. */
bool model_parse(const char *text, uint64_t *ret);   /* the enum sim_model */
bool on_parse(const char *text, uint64_t *ret);      /* on, off */
bool noop_parse(const char *text, uint64_t *ret);    /* noop, off; for PTX and fat binaries */
bool current_parse(const char *text, uint64_t *ret); /* measured, usual */
bool ended_parse(const char *text, uint64_t *ret);   /* crash, error */
bool costs_parse(const char *text, uint64_t *ret);   /* real, none */
bool grants_parse(const char *text, uint64_t *ret);  /* real, plain */
bool clock_parse(const char *text, uint64_t *ret);   /* virtual, real */

#endif
