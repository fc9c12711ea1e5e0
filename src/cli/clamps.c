/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/clamps.h"

#include <stdio.h>
#include <string.h>

#include "cli/presence.h"

#define PATIENCE_MS 1000

bool clamps_has_any(const struct client_session *session)
{
        bool has_any = session->is_clamped;

        for (unsigned i = 0; i < session->share_count; i++)
                has_any |= session->share[i].clamp.why[0] != '\0';
        return has_any;
}

static const char *reason(const char *why)
{
        if (strcmp(why, "understated") == 0)
                return "it used more than it says";
        return strcmp(why, "above-cap") == 0 ? "it used more than its cap allows" : why;
}

void clamps_print(const struct client_session *session)
{
        if (session->is_clamped)
                puts("clamped    no new memory: it was seen to hold some that it does not say");
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct client_clamp *clamp = &session->share[i].clamp;

                if (!clamp->why[0])
                        continue;
                printf("clamped    time of %s: %s; since %s", session->share[i].uuid,
                       reason(clamp->why), clamp->since);
                if (clamp->until[0])
                        printf(", until %s at the earliest", clamp->until);
                putchar('\n');
        }
}

void clamps_json(struct json_out *out, const struct client_share *share, bool is_told)
{
        const struct client_clamp *clamp = &share->clamp;

        if (!is_told) {
                json_out_null(out, "compute_clamped");
                return;
        }
        json_out_bool(out, "compute_clamped", clamp->why[0] != '\0');
        if (!clamp->why[0])
                return;
        json_out_open(out, "compute_clamp", '{');
        json_out_text(out, "since", clamp->since);
        json_out_text(out, "until", clamp->until[0] ? clamp->until : NULL);
        json_out_text(out, "why", clamp->why);
        json_out_u64(out, "times", clamp->times);
        json_out_percent(out, "shown_percent", clamp->shown_ppm);
        json_out_percent(out, "claimed_percent", clamp->claimed_ppm);
        json_out_close(out, '}');
}

static int add(const struct client_session *session, void *context)
{
        return clamps_has_any(session) ? names_add(context, session->name) : 0;
}

bool clamps_list(const struct store *store, struct names *ret)
{
        const struct client_listener listener = { add, ret, PATIENCE_MS, true };

        *ret = (struct names){ 0 };
        return presence_look(store) == PRESENCE_LISTENS && client_list(store, &listener, NULL) == 0;
}
