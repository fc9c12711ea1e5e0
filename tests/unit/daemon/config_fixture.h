/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config file of each story's own, with one key in it.
 */
#ifndef TESTS_UNIT_DAEMON_CONFIG_FIXTURE_H
#define TESTS_UNIT_DAEMON_CONFIG_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/config.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct config config;
static struct config_report report;
static char path[64];

static inline int fresh_file(void **state)
{
        snprintf(path, sizeof(path), "/tmp/aliquot-config-XXXXXX");
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, "[http]\nrate = 5\n", 16), 16);
        return close(fd);
}

static inline int drop_file(void **state)
{
        return unlink(path);
}

#endif
