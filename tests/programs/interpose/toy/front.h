/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front end of the toy API, as small as one can be: its constant, and one hook.
 */
#ifndef ALIQUOT_TESTS_TOY_FRONT_H
#define ALIQUOT_TESTS_TOY_FRONT_H

#include "shim/real.h"

#define TOY_NO_LIBRARY 34
#define TOY_NO_FUNCTION 500
#define TOY_VARIABLE "TOY_REAL_LIBRARY"

#endif
