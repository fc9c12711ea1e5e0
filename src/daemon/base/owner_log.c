/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/owner_log.h"

#include <stdbool.h>
#include <unistd.h>

#include "common/machine_clock.h"

/* Whether the user may cause one more line; charges the user for it. */
static bool may_write(struct owner_log *log, uint32_t uid)
{
        const struct account_terms terms = { 1, log->burst * log->every_ns };
        const uint64_t now_ns = clock_machine_ns();
        struct owner_account *account;

        if (uid == 0 || uid == geteuid())
                return true;
        account = accounts_find(&log->accounts, uid, now_ns);
        if (accounts_room(account, &terms, now_ns) < log->every_ns) {
                account->left_out++;
                return false;
        }
        accounts_charge(account, &terms, now_ns, log->every_ns);
        if (account->left_out)
                log_line(LOG_WARN, "%u lines about user %u were left out", account->left_out, uid);
        account->left_out = 0;
        return true;
}

void owner_log(struct owner_log *log, uint32_t uid, enum log_level level, const char *format, ...)
{
        va_list args;

        if (!may_write(log, uid))
                return;
        va_start(args, format);
        log_line_of(level, format, args);
        va_end(args);
}
