/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/owner_log.h"

#include <stdbool.h>
#include <unistd.h>

#include "common/machine_clock.h"

/* Whether the owner may cause one more line; charges the owner for it. */
static bool may_write(struct owner_log *log, uint64_t payer)
{
        const struct account_terms terms = { 1, log->burst * log->every_ns };
        const uint64_t now_ns = clock_machine_ns();
        struct owner_account *account;
        char name[ACCOUNTS_NAME_BYTES];

        if (payer == 0 || payer == geteuid())
                return true;
        account = accounts_find(&log->accounts, payer, now_ns);
        if (accounts_room(account, &terms, now_ns) < log->every_ns) {
                account->left_out++;
                return false;
        }
        accounts_charge(account, &terms, now_ns, log->every_ns);
        if (account->left_out)
                log_line(LOG_WARN, "%u lines about %s were left out", account->left_out,
                         accounts_name(payer, name));
        account->left_out = 0;
        return true;
}

void owner_log(struct owner_log *log, uint64_t payer, enum log_level level, const char *format, ...)
{
        va_list args;

        if (!may_write(log, payer))
                return;
        va_start(args, format);
        log_line_of(level, format, args);
        va_end(args);
}
