/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the rate of log lines that the programs of each user and of each container cause. A log
 * has a limit (journald drops lines when there are many), and none of them must use up all of it.
 *
 *      owner_log(&log, sessions_payer(session), LOG_WARN, "session %s: ...", session->name);
 *
 * Each of them may cause `burst` lines at once, and one more each `every_ns`. When lines were left
 * out, their number is written before the next line. Only lines about root and about the daemon's
 * own user are never left out. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_OWNER_LOG_H
#define ALIQUOT_DAEMON_BASE_OWNER_LOG_H

#include "common/log.h"
#include "daemon/base/accounts.h"

/* Limits for lines about failures (TROUBLE), and for lines about requests (EVENTS), which the audit
 * trail has too. */
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

void owner_log(struct owner_log *log, uint64_t payer, enum log_level level, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#endif
