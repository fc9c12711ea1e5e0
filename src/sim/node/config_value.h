/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that a key of ALIQUOT_SIM takes, each as text, turned into a number.
 *
 * Every function stores the number in `ret` and returns true, or returns false for a text of
 * another form. The range that a key allows is the business of the table of keys (config.c).
 */
#ifndef ALIQUOT_SIM_NODE_CONFIG_VALUE_H
#define ALIQUOT_SIM_NODE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not of a key: an item of a list, `*length` bytes at `text`, without the blanks around it. */
const char *item_trim(const char *text, size_t *length);

bool number_parse(const char *text, uint64_t *ret);
bool bytes_parse(const char *text, uint64_t *ret);
bool time_parse(const char *text, uint64_t *ret);

/* The node counts engine time in buckets, so a period is a whole number of these. */
bool period_parse(const char *text, uint64_t *ret);

/* "25GB", "25GB/s", or "max" for as fast as the machine copies (0). */
bool rate_parse(const char *text, uint64_t *ret);

/* Words. All but the models: 1 for the first of the two, 0 for the other one. */
bool model_parse(const char *text, uint64_t *ret);   /* enum sim_model */
bool on_parse(const char *text, uint64_t *ret);      /* on, off */
bool noop_parse(const char *text, uint64_t *ret);    /* noop, off; of PTX and fat binaries */
bool current_parse(const char *text, uint64_t *ret); /* measured, usual */
bool ended_parse(const char *text, uint64_t *ret);   /* crash, error */
bool costs_parse(const char *text, uint64_t *ret);   /* real, none */
bool grants_parse(const char *text, uint64_t *ret);  /* real, plain */
bool clock_parse(const char *text, uint64_t *ret);   /* virtual, real */

#endif
