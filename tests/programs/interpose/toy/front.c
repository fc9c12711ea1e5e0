/* SPDX-License-Identifier: Apache-2.0 */
#include "front.h"

#include "shim/hooks.h"
#include "shim/real.h"

static int answer_no_library(void)
{
        return TOY_NO_LIBRARY;
}

static int answer_no_function(void)
{
        return TOY_NO_FUNCTION;
}

int hook_toyHooked(int a)
{
        return real.toyHooked(a) + 1000;
}

static const struct library *_Atomic library;

const struct api toy_api = {
        .name = "toy",
        .soname = "libtoy.so.1",
        .stem = "libtoy.so",
        .prefix = "toy",
        .variable = TOY_VARIABLE,
        .no_library = (void (*)(void))answer_no_library,
        .no_function = (void (*)(void))answer_no_function,
        .table = &toy_table,
        .library = &library,
};
