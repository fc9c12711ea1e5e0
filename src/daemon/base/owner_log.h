/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes log lines that a user's programs cause, at a bounded rate for each user: a log has a limit
 * (journald drops lines when many come), and one user must not use up all of it.
 *
 *      owner_log(&log, session->owner_uid, LOG_WARN, "session %s: ...", session->name);
 *
 * Each user has `burst` lines, and one more each `every_ns`. The next line says how many were
 * dropped. Lines about root and the daemon's own user are all written. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_OWNER_LOG_H
#define ALIQUOT_DAEMON_BASE_OWNER_LOG_H

#include "common/log.h"
#include "daemon/base/accounts.h"

/* Rates for failures; and for requests, which the audit trail has too. */
#define OWNER_LOG_TROUBLE                                     \
        {                                                     \
                .burst = 20, .every_ns = UINT64_C(5000000000) \
        }
#define OWNER_LOG_EVENTS                                      \
        {                                                     \
                .burst = 1000, .every_ns = UINT64_C(20000000) \
        }

struct owner_log {
        unsigned burst;
        uint64_t every_ns;
        struct accounts accounts;
};

void owner_log(struct owner_log *log, uint32_t uid, enum log_level level, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#endif
