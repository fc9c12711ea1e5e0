/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between image.c and image_needs.c: reading PTX text.
 */
#ifndef ALIQUOT_SIM_NODE_IMAGE_INTERNAL_H
#define ALIQUOT_SIM_NODE_IMAGE_INTERNAL_H

#include "sim/node/image.h"

/* The next word or sign from `p` on, "" at the end; where to go on. */
const char *image_next_word(const char *p, const char *end, char *ret_word, size_t room);

/* Bytes of a PTX type such as .u64, .f32, .b8 or .pred; 0 if the word is not one. */
uint32_t image_type_bytes(const char *word);

/* Adds the bytes of the variables declared from `p` (behind .global or .local) up to the sign that
 * ends the statement. */
const char *image_variable(const char *p, const char *end, uint64_t *bytes);

#endif
