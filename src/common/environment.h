/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the environment inside other people's programs; no other code that runs in them does.
 *
 * A program with more rights than the user who started it (setuid, setgid, file capabilities:
 * AT_SECURE) still gets that user's environment. If it opened, created or loaded a file that a
 * variable names, it would do so with the program's rights. So in such a privileged program
 *
 *      environment_get()               finds no variable
 *      environment_get_restriction()   finds a variable that can only restrict and names no file:
 *                                      CUDA_VISIBLE_DEVICES
 *      environment_all()               is for settings_check_privileged() alone: it reads names,
 *                                      and refuses the GPU if one asks for a limit
 *
 * tests/attack/test_attack_setuid.py finds every other use of getenv() and environ in the folders
 * that are linked into such programs. Any thread may call these functions, as getenv().
 */
#ifndef ALIQUOT_COMMON_ENVIRONMENT_H
#define ALIQUOT_COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static inline bool environment_is_privileged(void)
{
        return getauxval(AT_SECURE) != 0;
}

static inline const char *environment_get(const char *name)
{
        return environment_is_privileged() ? NULL : getenv(name);
}

static inline const char *environment_get_restriction(const char *name)
{
        return getenv(name);
}

static inline char *const *environment_all(void)
{
        return environ;
}

#endif
