/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was decided and saved, and could not be carried out: told once, in the log and the audit
 * trail, and told again when it is something else.
 *
 * An event such as `changed` or `killed` is of the decision, which is saved first. Where carrying
 * it out fails, the event `failed` follows it; each second it is tried again, and what it promised
 * stays so. Programs that outlive SIGKILL, or whom no SIGKILL reaches, are such a failure too.
 */
#include <jansson.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/judge_parts.h"

#define KILLS_PATIENT 10u /* a second each: a driver takes its time to take a program down */

static void tell_audit(struct node *node, const struct sessions_one *session, const char *why)
{
        json_t *detail =
                json_pack("{s:s, s:I}", "error", why, "owner", (json_int_t)session->owner_uid);
        scoped_free char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;

        json_decref(detail);
        answer_tell(node, "failed", session, text);
}

void failed_tell(struct node *node, const struct sessions_one *session, const struct error *err,
                 bool is_saved)
{
        int *told = session ? &node->told_failure[session - node->sessions->session] : NULL;
        bool is_news = !told || *told != err->code;

        node->counts.failed++;
        if (told)
                *told = err->code;
        if (!is_news)
                return;
        log_line(LOG_ERROR, "session %s: %s", session ? session->name : "-", err->text);
        if (session && is_saved)
                tell_audit(node, session, err->text);
}

void failed_forget(struct node *node, const struct sessions_one *session)
{
        int *told = session ? &node->told_failure[session - node->sessions->session] : NULL;

        if (told && *told && session->state != SESSIONS_FREE)
                log_line(LOG_INFO, "session %s: what had failed is done", session->name);
        if (told)
                *told = 0;
}

void failed_kill(struct node *node, const struct sessions_one *session)
{
        unsigned *kills = &node->kills[session - node->sessions->session];

        if (++*kills != KILLS_PATIENT)
                return;
        log_line(LOG_ERROR,
                 "session %s: some of its processes are alive after %u SIGKILLs, or hold its lock "
                 "and cannot be found; its memory stays promised",
                 session->name, KILLS_PATIENT);
        tell_audit(node, session, "some of its processes are alive after SIGKILL");
}
