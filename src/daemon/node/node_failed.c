/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles saved actions that could not be carried out: reports each failure once, in the log and
 * the audit trail, and again if the error changes. Also decides when an ending session is removed
 * although something may be left of it.
 *
 * An event such as `changed` or `killed` reports a decision, which is saved before it is carried
 * out. If carrying it out fails, the event `failed` follows. The action is repeated each second,
 * and the session's memory stays promised. Programs that outlive SIGKILL, or that no SIGKILL
 * reaches, are such a failure too.
 *
 * A lock on `slots` alone can keep such a session alive: the lock's descriptor is in a socket's
 * queue, or in another user's process, or moves from process to process faster than the processes
 * can be found. Such a lock holds no GPU memory: memory belongs to a process that the driver shows,
 * children do not inherit it, and no process can join an ended session. So after enough SIGKILLs
 * the session is removed as soon as the driver lists on the session's GPUs no process of the
 * session, and no process of its owner that is outside all sessions.
 *
 * Conversely, a process can hold memory without a lock, if it has unmapped and closed `slots`. So a
 * session without a lock is removed at once only if the driver lists on its GPUs no living process
 * with memory that belongs to the session, or to its owner outside all sessions. Otherwise the
 * session is removed when that becomes true, or after OUTSIDE_PATIENT_NS, because that process may
 * always have been outside all sessions.
 */
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/base/json_memory.h"
#include "daemon/node/judge_parts.h"
#include "daemon/processes/victim.h"

/* number of SIGKILLs (sent within 15 s) before a failure is reported, because the driver takes time
 * to end a program */
#define KILLS_PATIENT 5u
#define OUTSIDE_PATIENT_NS (60 * NODE_SECOND_NS)

static void tell_audit(struct node *node, const struct sessions_one *session, const char *why)
{
        json_t *detail =
                json_pack("{s:s, s:I}", "error", why, "owner", (json_int_t)session->owner_uid);
        scoped_free char *text = json_memory_text(detail, JSON_COMPACT);

        json_decref(detail);
        answer_tell(node, "failed", session, text);
}

void failed_tell(struct node *node, const struct sessions_one *session, bool is_saved,
                 const struct error *err)
{
        int *told = session ? &node->told_failure[session - node->sessions->session] : NULL;
        bool is_news = !told || *told != err->code;

        node->counts.failed++;
        if (told)
                *told = err->code;
        if (!is_news)
                return;
        owner_log(&node->trouble, session ? sessions_payer(session) : 0, LOG_ERROR,
                  "session %s: %s", session ? session->name : "-", err->text);
        if (session && is_saved)
                tell_audit(node, session, err->text);
}

void failed_forget(struct node *node, const struct sessions_one *session)
{
        int *told = session ? &node->told_failure[session - node->sessions->session] : NULL;

        if (told && *told && session->state != SESSIONS_FREE)
                owner_log(&node->trouble, sessions_payer(session), LOG_INFO,
                          "session %s: what had failed is done", session->name);
        if (told)
                *told = 0;
}

void failed_kill(struct node *node, const struct sessions_one *session)
{
        unsigned *kills = &node->kills[session - node->sessions->session];

        if (++*kills != KILLS_PATIENT)
                return;
        owner_log(&node->trouble, sessions_payer(session), LOG_ERROR,
                  "session %s: some of its processes are alive after %u SIGKILLs, or hold its lock "
                  "and cannot be found; its memory stays promised while the driver may show one on "
                  "its GPUs",
                  session->name, KILLS_PATIENT);
        tell_audit(node, session, "some of its processes are alive after SIGKILL");
}

/* -- When a session is removed anyway --------------------------------------------------------- */

/* Whether the process at index `at` of the poll may hold memory that was promised to the session at
 * index `place`. A process of no session may hold it if it belongs to the session's owner, or if
 * its user is not known. */
static bool may_hold(const struct node *node, const struct nvml_look *look, unsigned at,
                     unsigned place)
{
        const struct identity *who = nvml_look_who(look, look->sample.process[at].pid);
        int held = node->judge->holding[at].place;

        return held == (int)place ||
               (held < 0 && (!who || who->uid == node->sessions->session[place].owner_uid));
}

/* Whether a process may use this GPU for the session. True also if the driver does not list the
 * GPU's processes. */
static bool is_used(const struct node *node, const struct nvml_look *look, unsigned place,
                    const uint8_t uuid[16])
{
        unsigned device = 0;

        while (device < look->sample.device_count &&
               memcmp(look->sample.device[device].uuid, uuid, 16) != 0)
                device++;
        if (device == look->sample.device_count || !look->sample.device[device].has_processes)
                return true;
        for (unsigned i = 0; i < look->sample.process_count; i++) {
                if (look->sample.process[i].device == device && may_hold(node, look, i, place))
                        return true;
        }
        return false;
}

static bool is_on_a_gpu(const struct node *node, const struct nvml_look *look, unsigned place)
{
        const struct sessions_one *session = &node->sessions->session[place];

        for (unsigned i = 0; i < session->share_count; i++) {
                if (is_used(node, look, place, session->share[i].uuid))
                        return true;
        }
        return false;
}

/* Whether the process still runs: it has not ended since the poll, and is no zombie. */
static bool is_process_running(const struct identity *who)
{
        scoped_fd int held = identity_hold(who->pid);

        return held >= 0 && identity_is_same(held, who) && identity_is_there(held);
}

static bool is_its_gpu(const struct sessions_one *session, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (memcmp(session->share[i].uuid, uuid, 16) == 0)
                        return true;
        }
        return false;
}

/* Whether the process at index `at` of the latest poll holds memory that may be the session's. */
static bool is_holding(const struct node *node, const struct nvml_look *look, unsigned at,
                       const struct sessions_one *session)
{
        const struct sample_process *process = &look->sample.process[at];
        const struct identity *who = nvml_look_who(look, process->pid);
        const struct sessions_one *of = node_holder(node, at).session;

        return process->bytes != 0 && who && who->uid == session->owner_uid &&
               (!of || of == session) &&
               is_its_gpu(session, look->sample.device[process->device].uuid) &&
               is_process_running(who);
}

/* Whether a process outside the session may hold the session's memory: a process that has released
 * `slots` no longer counts as the session's, but still has its memory on the card. Processes of
 * root and of the daemon's own user are exempt. */
static bool is_held_outside(const struct node *node, const struct sessions_one *session)
{
        const struct nvml_look *look = node_gpus(node);

        if (!look || !node->judge->has_our_pids || look->sample.failures ||
            session->owner_uid == 0 || session->owner_uid == geteuid())
                return false;
        for (unsigned i = 0; i < look->sample.process_count; i++) {
                if (is_holding(node, look, i, session))
                        return true;
        }
        return false;
}

/* Sends SIGKILL to the processes of ending sessions that the driver lists, because a search through
 * /proc may not have found them. */
static void kill_shown(struct node *node, const struct nvml_look *look)
{
        for (unsigned i = 0; i < look->sample.process_count; i++) {
                const struct identity *who = nvml_look_who(look, look->sample.process[i].pid);
                const struct sessions_one *session = node_holder(node, i).session;

                if (who && session && session->state == SESSIONS_KILLING &&
                    who->uid == session->owner_uid)
                        node->counts.signals += victim_signal_identity(who, SIGKILL);
        }
}

/* Whether the session may be removed although a process holds its lock. Clamps the session first,
 * so that no process that still has its pages mapped can charge memory there. */
static bool let_go(struct node *node, const struct sessions_one *session)
{
        if (!node->may_go[session - node->sessions->session] ||
            folder_limit(&node->store, session, true, NULL) < 0)
                return false;
        owner_log(&node->trouble, sessions_payer(session), LOG_WARN,
                  "session %s: some process holds its lock and cannot be ended; the driver shows "
                  "none on its GPUs, so the session is removed",
                  session->name);
        return true;
}

bool failed_is_over(struct node *node, const struct sessions_one *session)
{
        uint64_t *since_ns = &node->left_ns[session - node->sessions->session];
        int live = folder_is_live(&node->store, session, NULL);

        if (live != 0)
                return live > 0 && let_go(node, session);
        if (!*since_ns)
                *since_ns = clock_machine_ns();
        if (!is_held_outside(node, session))
                return true;
        if (clock_machine_ns() - *since_ns < OUTSIDE_PATIENT_NS)
                return false;
        owner_log(&node->trouble, sessions_payer(session), LOG_WARN,
                  "session %s: it goes, though its owner's programs outside sessions hold "
                  "memory on its GPUs",
                  session->name);
        return true;
}

void failed_look(struct node *node, const struct nvml_look *look)
{
        const struct sessions *all = node->sessions;

        memset(node->may_go, 0, sizeof(node->may_go));
        /* Without our pids, a pid may belong to another process. After a failure, a process may be
         * missing in a list. */
        if (!node->judge->has_our_pids || look->sample.failures)
                return;
        kill_shown(node, look);
        for (unsigned i = 0; i < all->entries; i++) {
                node->may_go[i] = all->session[i].state == SESSIONS_KILLING &&
                                  node->kills[i] >= KILLS_PATIENT && !is_on_a_gpu(node, look, i);
        }
}
