/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the fake driver that do something: versions, and lookup by name, as many of its
 * two ABIs as FORMS says. Refusals are those of the drivers 535 and 580.
 */
#include "fake.h"

#include <stddef.h>
#include <string.h>

#define PER_THREAD 2u
#define INVALID_VALUE 1
#define NOT_FOUND 500

int cuDriverGetVersion(int *ret);
int cuGetProcAddress(const char *name, void **ret, int version, unsigned long flags);
int cuGetProcAddress_v2(const char *name, void **ret, int version, unsigned long flags,
                        int *ret_status);
const char *nvmlErrorString(int code);

int cuDriverGetVersion(int *ret)
{
        *ret = fake_version;
        return 0;
}

#if FORMS >= 1
/* The status that the newer ABI tells. */
static int look_up(const char *name, void **ret, int version, unsigned long flags)
{
        int status = 1;

        *ret = NULL;
        for (const struct fake_proc *p = fake_procs; p->name; p++) {
                if (strcmp(p->name, name) != 0)
                        continue;
                if (status == 1)
                        status = 2;
                if (p->version > version || (p->is_per_thread && !(flags & PER_THREAD)))
                        continue;
                *ret = p->function;
                status = 0;
        }
        return status;
}

int cuGetProcAddress(const char *name, void **ret, int version, unsigned long flags)
{
        if (fake_is_strict && version > fake_version)
                return INVALID_VALUE;
        return look_up(name, ret, version, flags) == 0 ? 0 : NOT_FOUND;
}
#endif

#if FORMS >= 2
int cuGetProcAddress_v2(const char *name, void **ret, int version, unsigned long flags,
                        int *ret_status)
{
        int status;

        if (fake_is_strict && version > fake_version)
                return INVALID_VALUE;
        status = look_up(name, ret, version, flags);
        if (ret_status)
                *ret_status = status;
        return 0;
}
#endif

const char *nvmlErrorString(int code)
{
        return code == 0 ? "fake success" : "fake failure";
}
