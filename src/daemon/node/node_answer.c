/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out what the watch (core/watch.h) decides about processes and sessions that hold GPU
 * memory that no ledger explains: reports them, clamps sessions, or sends signals. Also reports
 * errors of the GPUs.
 *
 * A signal goes to the process that the driver listed: it is sent through a pidfd, after the
 * process's start time was compared (identity.h, victim.h).
 */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/json_memory.h"
#include "daemon/node/judge_parts.h"
#include "daemon/processes/victim.h"

#define TELLS_MAX 16u /* maximum number of events in one poll: each event waits for the disk */

static const char *const answer_names[] = { "ignore", "report", "term", "kill", "clamp" };

static const struct sessions_one *session_of(const struct node *node, const uint8_t id[16])
{
        const struct sessions *all = node->sessions;

        for (unsigned i = 0; i < all->entries; i++) {
                if (all->session[i].state != SESSIONS_FREE &&
                    memcmp(all->session[i].id, id, sizeof(all->session[i].id)) == 0)
                        return &all->session[i];
        }
        return NULL;
}

/* Returns the finding as JSON, to be freed by the caller. NULL: out of memory. The owner is
 * included because a session's owner may read the event. Text from the kernel may contain anything
 * that a user chose. */
static char *describe_finding(const struct look *look, const struct watch_action *action,
                              const struct sessions_one *session)
{
        const struct watch_sight *sight = &action->sight;
        const struct sample_device *device = &look->at->sample.device[sight->device];
        const struct identity *who = nvml_look_who(look->at, sight->pid);
        char uuid[UUID_TEXT_BYTES], cgroup[IDENTITY_CGROUP_SHOWN_BYTES];
        json_t *detail = json_pack("{s:s, s:s}", "uuid",
                                   uuid_format(device->uuid, device->is_instance, uuid), "action",
                                   answer_names[action->answer]);
        char *text;

        if (session)
                json_object_set_new(detail, "owner", json_integer(session->owner_uid));
        if (sight->held_bytes != WATCH_NONE)
                json_object_set_new(detail, "driver_bytes",
                                    json_integer((json_int_t)sight->held_bytes));
        if (sight->charge != WATCH_STRANGER)
                json_object_set_new(detail, "ledger_bytes",
                                    json_integer((json_int_t)sight->ledger_bytes));
        if (who) {
                json_object_set_new(detail, "pid", json_integer(who->pid));
                json_object_set_new(detail, "uid", json_integer(who->uid));
                json_object_set_new(detail, "command", json_string(who->command));
                json_object_set_new(detail, "cgroup",
                                    json_string(text_quote(who->cgroup, cgroup, sizeof(cgroup))));
        }
        text = json_memory_text(detail, JSON_COMPACT);
        json_decref(detail);
        return text;
}

/* Saves and announces an event of the watch. `payer`: who caused it (sessions_payer()). */
static void tell_by(struct node *node, uint64_t payer, const char *type,
                    const struct sessions_one *session, const char *detail)
{
        struct database_event event = { .time_ns = node_now_ns(),
                                        .payer = payer,
                                        .detail = detail };
        struct error err = { 0 };

        text_put(event.type, sizeof(event.type), NULL, "%s", type);
        text_put(event.who, sizeof(event.who), NULL, "daemon");
        if (session) {
                memcpy(event.session, session->name, sizeof(event.session));
                memcpy(event.session_id, session->id, sizeof(event.session_id));
        }
        if (database_tell(node->database, &event, &err) < 0) {
                owner_log(&node->trouble, payer, LOG_ERROR, "the audit trail lacks %s %s: %s", type,
                          detail ? detail : "", err.text);
                return;
        }
        node_announce(node, payer, &event);
}

void answer_tell(struct node *node, const char *type, const struct sessions_one *session,
                 const char *detail)
{
        tell_by(node, session ? sessions_payer(session) : 0, type, session, detail);
}

bool answer_may_tell(const struct look *look)
{
        return look->node->judge->tells++ < TELLS_MAX;
}

static void tell_of(const struct look *look, const struct watch_action *action)
{
        struct node *node = look->node;
        const struct sessions_one *session = session_of(node, action->sight.session);
        const struct identity *who = nvml_look_who(look->at, action->sight.pid);
        bool is_stranger = action->sight.charge == WATCH_STRANGER;
        scoped_free char *detail = NULL;

        if (!answer_may_tell(look)) {
                watch_untold(&node->judge->watch, &action->sight);
                return;
        }
        detail = describe_finding(look, action, session);
        if (is_stranger)
                tell_by(node, who ? who->uid : 0, "stranger", session, detail);
        else
                answer_tell(node, "forged", session, detail);
        if (is_stranger)
                node->counts.strangers++;
        else
                node->counts.forged++;
}

/* Whether the sight includes the process at index `at` of the sample. A sight of a whole session
 * includes all processes of the session on that GPU. */
static bool is_meant(const struct look *look, const struct watch_sight *sight, unsigned at)
{
        const struct sample_process *process = &look->at->sample.process[at];
        int place = look->holding[at].place;

        if (sight->charge != WATCH_SESSION)
                return process->pid == sight->pid && (!at || process[-1].pid != process->pid);
        return process->device == sight->device && place >= 0 &&
               memcmp(look->node->sessions->session[place].id, sight->session,
                      sizeof(sight->session)) == 0;
}

/* Sends the signal to the process of the sight, or to all processes of the session on that GPU
 * (watch.h). */
static void send_signal(const struct look *look, const struct watch_sight *sight, int number)
{
        const struct sessions_one *session = session_of(look->node, sight->session);

        for (unsigned i = 0; i < look->at->sample.process_count; i++) {
                const struct identity *who =
                        nvml_look_who(look->at, look->at->sample.process[i].pid);
                bool was_sent;

                if (!who || !is_meant(look, sight, i) ||
                    (sight->pid && who->start_ticks != sight->start_ticks))
                        continue;
                was_sent = victim_signal_identity(who, number);
                look->node->counts.signals += was_sent;
                owner_log(&look->node->trouble, session ? sessions_payer(session) : who->uid,
                          LOG_WARN, "pid %u (%s): signal %d%s", who->pid, text_shown(who->command),
                          number, was_sent ? "" : " could not be sent");
        }
}

static void set_clamp(const struct look *look, const struct watch_action *action)
{
        struct node *node = look->node;
        const struct sessions_one *session = session_of(node, action->sight.session);
        struct error err = { 0 };
        char detail[32];

        if (!session)
                return;
        snprintf(detail, sizeof(detail), "{\"owner\":%u}", session->owner_uid);
        if (node_limit(node, session, &err) < 0)
                owner_log(&node->trouble, sessions_payer(session), LOG_ERROR, "session %s: %s",
                          session->name, err.text);
        node->counts.clamps += action->type == WATCH_SHUT;
        answer_tell(node, action->type == WATCH_SHUT ? "clamped" : "unclamped", session, detail);
}

void answer_all(const struct look *look)
{
        struct node *node = look->node;
        struct watch_action action;

        node->judge->tells = 0;
        while (watch_next(&node->judge->watch, &look->policy, clock_machine_ns(), &action)) {
                if (action.type == WATCH_TELL)
                        tell_of(look, &action);
                else if (action.type == WATCH_SIGTERM)
                        send_signal(look, &action.sight, SIGTERM);
                else if (action.type == WATCH_SIGKILL)
                        send_signal(look, &action.sight, SIGKILL);
                else
                        set_clamp(look, &action);
        }
}

void answer_errors(const struct look *look)
{
        struct judge *judge = look->node->judge;

        for (unsigned i = 0; i < look->at->sample.device_count; i++) {
                const struct sample_device *device = &look->at->sample.device[i];
                char uuid[UUID_TEXT_BYTES], detail[128];

                if (device->xids > judge->xids[i]) {
                        snprintf(detail, sizeof(detail), "{\"uuid\":\"%s\",\"xid\":%u}",
                                 uuid_format(device->uuid, device->is_instance, uuid),
                                 device->xid_last);
                        answer_tell(look->node, "gpu-error", NULL, detail);
                }
                judge->xids[i] = device->xids;
        }
}
