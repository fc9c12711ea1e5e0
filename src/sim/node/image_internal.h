/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that read PTX text, for image.c and image_needs.c.
 */
#ifndef ALIQUOT_SIM_NODE_IMAGE_INTERNAL_H
#define ALIQUOT_SIM_NODE_IMAGE_INTERNAL_H

#include "sim/node/image.h"

/* Copies the next word or punctuation sign from `p` on to `ret_word`, "" at the end of the text.
 * Returns the position behind it. */
const char *image_next_word(const char *p, const char *end, char *ret_word, size_t room);

/* Returns the size in bytes of a PTX type such as .u64, .f32, .b8 or .pred; 0 if the word is no
 * type. */
uint32_t image_type_bytes(const char *word);

/* Adds the sizes of the variables that are declared from `p` on (behind .global or .local) to
 * `*bytes`, up to the sign that ends the statement. Returns the position behind it. */
const char *image_variable(const char *p, const char *end, uint64_t *bytes);

#endif
