/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of apis.h. docs/add-a-function.md says what another interposed API needs.
 */
#include "shim/apis.h"

#include "common/clock.h"
#include "common/log.h"
#include "interpose/object.h"
#include "shim/real.h"

void follow_time_of(const struct elf *elf)
{
        time_authority_find *find =
                (time_authority_find *)(uintptr_t)elf_symbol(elf, TIME_AUTHORITY_SYMBOL);

        if (find)
                clock_follow(find(TIME_AUTHORITY_VERSION));
}

void tell_no_driver(void)
{
        static _Atomic bool is_told;

        if (log_once(&is_told))
                log_tell("aliquot: there is no %s of a driver behind ours; install the driver, or "
                         "name its file in %s",
                         cuda_api.soname, cuda_api.variable);
}
