/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts requests that a rule of the policy refused, and reports them in the audit trail. The
 * number of events is limited for each user and each container (TELLS_BURST at once, then one in
 * TELL_EVERY_NS), so that none fills the audit trail with repeated requests. Each event has the
 * number of events left out before it.
 */
#include <jansson.h>

#include "common/machine_clock.h"
#include "common/scoped.h"
#include "daemon/base/accounts.h"
#include "daemon/base/json_memory.h"
#include "daemon/node/node_parts.h"

#define TELLS_BURST 20u
#define TELL_EVERY_NS (5 * NODE_SECOND_NS)

/* Charges the account for one event. NULL: the event must be left out. */
static struct owner_account *may_tell(struct accounts *accounts, uint64_t payer)
{
        static const struct account_terms terms = { 1, TELLS_BURST * TELL_EVERY_NS };
        const uint64_t now_ns = clock_machine_ns();
        struct owner_account *account = accounts_find(accounts, payer, now_ns);

        if (accounts_room(account, &terms, now_ns) < TELL_EVERY_NS) {
                account->left_out++;
                return NULL;
        }
        accounts_charge(account, &terms, now_ns, TELL_EVERY_NS);
        return account;
}

/* Writes the name of the first rule that set the bound, such as "[policy user anna]". */
static void name_rule(const struct sessions *sessions, uint64_t rules, char *ret, size_t bytes)
{
        unsigned at = rules ? (unsigned)__builtin_ctzll(rules) : 0;
        const struct policy_rule *rule = &sessions->rules.rule[at];
        const char *kind = policy_kind_name(rule->kind);

        text_put(ret, bytes, NULL, "[policy%s%s%s%s]", kind[0] ? " " : "", kind, kind[0] ? " " : "",
                 rule->name);
}

static json_t *amount(uint64_t value)
{
        return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

void ruled_tell(struct node *node, const struct sessions_event *asked, const char *who,
                const struct sessions_excess *excess)
{
        const bool is_containers = asked->session && asked->session->container.profile[0];
        const uint64_t payer = is_containers ? sessions_payer(asked->session) : asked->uid;
        struct owner_account *account = may_tell(&node->ruled, payer);
        struct database_event event = { .time_ns = node_now_ns(), .payer = payer };
        char rule[POLICY_NAME_BYTES + 24];
        struct error err = { 0 };
        json_t *detail;

        node->counts.ruled[excess->key]++;
        if (!account)
                return;
        name_rule(node->sessions, excess->rules, rule, sizeof(rule));
        detail = json_pack("{s:s, s:s, s:o, s:o, s:I, s:I}", "key", policy_key_name(excess->key),
                           "rule", rule, "most", amount(excess->most), "asked",
                           amount(excess->asked), "owner", (json_int_t)asked->uid, "left_out",
                           (json_int_t)account->left_out);
        scoped_free char *text = json_memory_text(detail, JSON_COMPACT);

        json_decref(detail);
        account->left_out = 0;
        event.detail = text;
        text_put(event.type, sizeof(event.type), NULL, "refused");
        text_put(event.who, sizeof(event.who), NULL, "%s", who);
        text_put(event.session, sizeof(event.session), NULL, "%s",
                 asked->name ? asked->name : asked->session->name);
        if (database_tell(node->database, &event, &err) < 0)
                owner_log(&node->trouble, payer, LOG_ERROR, "the audit trail lacks a refusal: %s",
                          err.text);
        else
                node_announce(node, payer, &event);
}
