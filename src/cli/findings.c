/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/findings.h"

#include <stdio.h>
#include <string.h>

#include "cli/presence.h"

#define PATIENCE_MS 1000

bool findings_has_any(const struct client_session *session)
{
        bool has_any = false;

        for (unsigned i = 0; i < session->share_count; i++)
                has_any |= session->share[i].finding.why[0] != '\0';
        return has_any;
}

static const char *reason_of_report(const char *why)
{
        if (strcmp(why, "understated") == 0)
                return "it uses more than it says";
        return strcmp(why, "above-cap") == 0 ? "it uses more than its cap allows" : why;
}

void findings_print(const struct client_session *session)
{
        if (session->is_clamped)
                puts("clamped    no new memory: the driver shows more memory than its ledger "
                     "accounts for");
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct client_finding *finding = &session->share[i].finding;

                if (finding->why[0])
                        printf("reported   time of %s: %s; since %s\n", session->share[i].uuid,
                               reason_of_report(finding->why), finding->since);
        }
}

void findings_json(struct json_out *out, const struct client_share *share, bool is_told)
{
        const struct client_finding *finding = &share->finding;

        if (!is_told) {
                json_out_null(out, "compute_reported");
                return;
        }
        json_out_bool(out, "compute_reported", finding->why[0] != '\0');
        if (!finding->why[0])
                return;
        json_out_open(out, "compute_report", '{');
        json_out_text(out, "since", finding->since);
        json_out_text(out, "why", finding->why);
        json_out_percent(out, "shown_percent", finding->shown_ppm);
        json_out_percent(out, "claimed_percent", finding->claimed_ppm);
        json_out_close(out, '}');
}

static int add_session_name(const struct client_session *session, void *context)
{
        return names_add(context, session->name);
}

bool findings_list(const struct store *store, const char *what, struct names *ret)
{
        const struct client_listener listener = {
                .each = add_session_name, .context = ret, .patience_ms = PATIENCE_MS, .only = what
        };

        *ret = (struct names){ 0 };
        return presence_look(store) == PRESENCE_LISTENS && client_list(store, &listener, NULL) == 0;
}
