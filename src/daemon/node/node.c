/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/node.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/machine_clock.h"
#include "common/text.h"
#include "daemon/node/node_parts.h"
#include "daemon/node/trim.h"
#include "settings/resolve.h"

/* how often to try to make a folder, if tenants keep using up the space that is released */
#define MAKES_MAX 3u
/* maximum number of sessions handled in one node_tick(), however quick each is */
#define TURN_STEPS 64u

uint64_t node_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)now.tv_sec * NODE_SECOND_NS + (uint64_t)now.tv_nsec;
}

static const char *note_name(enum sessions_note note)
{
        static const char *const names[] = {
                [SESSIONS_NOTE_CREATED] = "created",   [SESSIONS_NOTE_CHANGED] = "changed",
                [SESSIONS_NOTE_RENEWED] = "renewed",   [SESSIONS_NOTE_EXPIRED] = "expired",
                [SESSIONS_NOTE_RELEASED] = "released", [SESSIONS_NOTE_TERMINATED] = "terminated",
                [SESSIONS_NOTE_KILLED] = "killed",     [SESSIONS_NOTE_GONE] = "gone",
                [SESSIONS_NOTE_GPU_HERE] = "gpu-here", [SESSIONS_NOTE_GPU_GONE] = "gpu-gone",
        };

        return names[note];
}

/* -- Actions ---------------------------------------------------------------------------------- */

/* State kept while one step is carried out. */
struct work {
        const struct sessions_actions *actions;
        const char *who;
        /* the step creates the session, so a folder of its name is not the session's */
        bool is_creation;
        bool is_unsaved; /* the action that failed was the write to the database */
        bool must_look;  /* whether to check now if the session is empty */
};

/* Appends the scheduling settings that differ from the defaults. A session has one cap and one
 * guarantee for all its GPUs. */
static void describe_time(const struct sessions_one *session, struct text *text)
{
        static const char *const priorities[] = { "batch", "normal", "rt" };
        const struct sessions_share *share = &session->share[0];

        if (share->compute_milli_percent)
                text_add(text, ",\"compute\":%g", share->compute_milli_percent / 1000.0);
        if (share->guarantee_milli_percent)
                text_add(text, ",\"guarantee\":%g", share->guarantee_milli_percent / 1000.0);
        if (session->weight != 100)
                text_add(text, ",\"weight\":%u", session->weight);
        if (session->priority != 1)
                text_add(text, ",\"priority\":\"%s\"", priorities[session->priority % 3]);
        if (session->gang[0])
                text_add(text, ",\"gang\":\"%s\"", session->gang);
}

void node_describe(const struct sessions_one *session, struct text *text)
{
        char uuid[UUID_TEXT_BYTES];

        text_add(text, "{\"memory\":{");
        for (unsigned i = 0; i < session->share_count; i++)
                text_add(text, "%s\"%s\":%llu", i ? "," : "",
                         uuid_format(session->share[i].uuid, false, uuid),
                         (unsigned long long)session->share[i].memory_bytes);
        text_add(text, "}");
        describe_time(session, text);
        text_add(text, ",\"owner\":%u,\"version\":%llu,\"expires_ns\":%llu}", session->owner_uid,
                 (unsigned long long)session->version, (unsigned long long)session->expires_ns);
}

/* Fills in the event; `detail` holds the text to which ret->detail points. */
static void event_of(const struct work *work, const struct sessions_action *action,
                     struct database_event *ret, struct text *detail)
{
        char uuid[UUID_TEXT_BYTES];

        *ret = (struct database_event){ .time_ns = node_now_ns(), .detail = detail->at };
        text_put(ret->type, sizeof(ret->type), NULL, "%s", note_name(action->note));
        text_put(ret->who, sizeof(ret->who), NULL, "%s", work->who);
        if (!action->session) {
                text_add(detail, "{\"uuid\":\"%s\"}", uuid_format(work->actions->gpu, false, uuid));
                return;
        }
        memcpy(ret->session, action->session->name, sizeof(ret->session));
        memcpy(ret->session_id, action->session->id, sizeof(ret->session_id));
        ret->payer = sessions_payer(action->session);
        node_describe(action->session, detail);
}

void node_announce(struct node *node, uint64_t payer, const struct database_event *event)
{
        owner_log(&node->events, payer, LOG_INFO, "%s %s by %s %s",
                  event->session[0] ? event->session : "node", event->type, event->who,
                  event->detail);
        if (node->listener)
                node->listener(event, node->listener_context);
}

static uint64_t payer_of(const struct sessions_action *action)
{
        return action->session ? sessions_payer(action->session) : 0;
}

/* Carries out the SAVE or FORGET at index `at`, and a TELL that follows it, in one transaction.
 * Returns the number of actions carried out. */
static int save_session(struct node *node, struct work *work, unsigned at, struct error *err)
{
        const struct sessions_action *action = &work->actions->action[at];
        bool has_note = at + 1 < work->actions->count && action[1].type == SESSIONS_TELL;
        char room[DATABASE_DETAIL_BYTES];
        struct database_event event;
        struct text detail;
        int rc;

        text_begin(&detail, room, sizeof(room));
        if (has_note)
                event_of(work, &action[1], &event, &detail);
        if (action->type == SESSIONS_SAVE)
                rc = database_save(node->database, action->session, has_note ? &event : NULL, err);
        else
                rc = database_forget(node->database, action->session->id, has_note ? &event : NULL,
                                     err);
        if (rc < 0) {
                work->is_unsaved = true;
                return rc;
        }
        if (action->type == SESSIONS_FORGET)
                node->counts.ended++;
        if (has_note)
                node_announce(node, payer_of(&action[1]), &event);
        return has_note ? 2 : 1;
}

static void record_event(struct node *node, const struct work *work,
                         const struct sessions_action *action)
{
        char room[DATABASE_DETAIL_BYTES];
        struct database_event event;
        struct error err = { 0 };
        struct text detail;

        text_begin(&detail, room, sizeof(room));
        event_of(work, action, &event, &detail);
        if (database_tell(node->database, &event, &err) < 0)
                owner_log(&node->trouble, payer_of(action), LOG_ERROR,
                          "the audit trail lacks %s of %s: %s", event.type, event.session,
                          err.text);
        else
                node_announce(node, payer_of(action), &event);
}

int node_limit(struct node *node, const struct sessions_one *session, struct error *err)
{
        return folder_limit(&node->store, session, node_is_clamped(node, session), err);
}

static int limit_or_make(struct node *node, const struct sessions_one *session, struct error *err)
{
        int rc = node_limit(node, session, err);

        if (rc != -ENOENT)
                return rc;
        rc = folder_make(&node->store, session, &node->cards.cards, err);
        return rc == 0 && node_is_clamped(node, session) ? node_limit(node, session, err) : rc;
}

/* Makes the session's folder, or writes its limits. A folder of the same name whose owner is
 * unknown is moved away. If a user has a session of that name, the error remains until that session
 * ends. */
static int make_folder(struct node *node, const struct work *work,
                       const struct sessions_one *session, struct error *err)
{
        char kept[PAGE_NAME_BYTES];
        int rc;

        judge_limits(node, session, work->is_creation);
        node->folder_changes++;
        rc = limit_or_make(node, session, err);
        for (unsigned i = 0; rc == -ENOSPC && i < MAKES_MAX && trim_now(node); i++)
                rc = limit_or_make(node, session, err);
        if (rc != FOLDER_NOBODYS || work->is_creation)
                return rc;
        rc = store_set_aside(&node->store, session->name, kept, err);
        if (rc < 0)
                return rc;
        log_line(LOG_WARN, "a folder named %s was not its session's; it is kept as %s/sessions/%s",
                 session->name, node->store.path, kept);
        return limit_or_make(node, session, err);
}

static void show_folder(const struct node *node, const struct sessions_one *session, bool is_there)
{
        for (unsigned i = 0; i < NODE_WATCHERS; i++) {
                if (node->folders[i].watcher)
                        node->folders[i].watcher(session, is_there, node->folders[i].context);
        }
}

static int make_and_show(struct node *node, const struct work *work,
                         const struct sessions_one *session, struct error *err)
{
        int rc = make_folder(node, work, session, err);

        if (rc < 0)
                return rc;
        judge_limited(node, session);
        show_folder(node, session, true);
        return rc;
}

static int signal_all(struct node *node, struct work *work, const struct sessions_one *session,
                      int number, struct error *err)
{
        unsigned kills = number == SIGKILL ? node->kills[session - node->sessions->session] : 0;
        int rc = folder_can_signal(&node->store, session, err);

        work->must_look = true;
        if (rc < 0)
                return rc;
        node_hunt(node, session,
                  &(struct folder_signal){ .number = number, .is_repeated = kills > 0 });
        if (number == SIGKILL)
                failed_kill(node, session);
        return 0;
}

static int carry_out_one(struct node *node, struct work *work, const struct sessions_action *action,
                         struct error *err)
{
        switch (action->type) {
        case SESSIONS_MAKE:
        case SESSIONS_LIMIT:
                return make_and_show(node, work, action->session, err);
        case SESSIONS_SHUT:
                work->must_look = true;
                return folder_shut(&node->store, action->session, err);
        case SESSIONS_SIGTERM:
                return signal_all(node, work, action->session, SIGTERM, err);
        case SESSIONS_SIGKILL:
                return signal_all(node, work, action->session, SIGKILL, err);
        case SESSIONS_REMOVE:
                node->kills[action->session - node->sessions->session] = 0;
                node->oversized[action->session - node->sessions->session] = 0;
                node->may_go[action->session - node->sessions->session] = false;
                node->left_ns[action->session - node->sessions->session] = 0;
                show_folder(node, action->session, false);
                told_farewell(node, action->session);
                if (action->session->owner_uid != geteuid())
                        remains_add(node->remains, &node->store, action->session);
                return folder_remove(&node->store, action->session, err);
        default:
                record_event(node, work, action);
                return 0;
        }
}

static int carry_out_actions(struct node *node, struct work *work, struct error *err)
{
        unsigned at = 0;
        bool has_acted = false;

        while (at < work->actions->count) {
                const struct sessions_action *action = &work->actions->action[at];
                bool is_kept = action->type == SESSIONS_SAVE || action->type == SESSIONS_FORGET;
                int rc = is_kept ? save_session(node, work, at, err)
                                 : carry_out_one(node, work, action, err);

                if (rc < 0) {
                        failed_tell(node, action->session, !work->is_unsaved, err);
                        return rc;
                }
                at += is_kept ? (unsigned)rc : 1;
                has_acted |= !is_kept && action->type != SESSIONS_TELL;
        }
        if (has_acted)
                failed_forget(node, work->actions->action[0].session);
        return 0;
}

/* -- Steps ------------------------------------------------------------------------------------ */

/* During node_tick() the time stands still, so an action that is postponed is not due again in the
 * same tick. */
static uint64_t step_ns(const struct node *node)
{
        return node->turn_ns ? node->turn_ns : node_now_ns();
}

/* Tells the core about the failure until the core has no action left that fails. Failed actions are
 * repeated later. */
static void give_up(struct node *node, const char *name, bool is_unsaved, const char *who)
{
        struct sessions_actions actions;
        struct error err = { 0 };
        struct work work = { .actions = &actions, .who = who, .is_unsaved = is_unsaved };

        do {
                const struct sessions_event event = { .type = SESSIONS_FAILED,
                                                      .name = name,
                                                      .is_admin = true,
                                                      .is_unsaved = work.is_unsaved };

                work.is_unsaved = false;
                sessions_step(node->sessions, &event, step_ns(node), &actions);
        } while (carry_out_actions(node, &work, &err) < 0);
}

static void step_quietly(struct node *node, const struct sessions_event *event)
{
        struct sessions_actions actions;
        struct error err = { 0 };

        node_step(node, event, "daemon", &actions, &err);
}

void node_note_empty(struct node *node, const char *name)
{
        const struct sessions_event event = { .type = SESSIONS_EMPTY,
                                              .name = name,
                                              .is_admin = true };

        step_quietly(node, &event);
}

void node_note_held(struct node *node, const struct sessions_one *held)
{
        const struct sessions_event event = { .type = SESSIONS_HELD,
                                              .name = held->name,
                                              .session = held };

        step_quietly(node, &event);
}

void node_look_after(struct node *node, const struct sessions_one *session)
{
        char name[SESSIONS_NAME_BYTES];

        memcpy(name, session->name, sizeof(name));
        if (failed_is_over(node, session))
                node_note_empty(node, name);
}

static void count_answer(struct node *node, const struct sessions_event *event,
                         const struct sessions_actions *actions)
{
        if (event->type != SESSIONS_CREATE)
                return;
        if (actions->answer == SESSIONS_YES)
                node->counts.admitted++;
        else
                node->counts.refused[actions->answer]++;
}

/* Calls sessions_step(); a creation also gets the number of the owner's removed sessions that still
 * take room. */
static void step_core(struct node *node, const struct sessions_event *event,
                      struct sessions_actions *ret)
{
        struct sessions_event counted;

        if (event->type == SESSIONS_CREATE) {
                counted = *event;
                counted.remains = remains_of(node->remains, event->session->owner_uid);
                event = &counted;
        }
        sessions_step(node->sessions, event, step_ns(node), ret);
}

void node_try(struct node *node, const struct sessions_event *event, struct sessions_actions *ret)
{
        struct sessions_event counted = *event;

        counted.remains = remains_of(node->remains, event->session->owner_uid);
        sessions_try(node->sessions, &counted, ret);
}

/* Whether the event creates a session whose name a folder has that is not the daemon's
 * session's. */
static bool is_taken(struct node *node, const struct sessions_event *event)
{
        return event->type == SESSIONS_CREATE &&
               !sessions_find(node->sessions, event->session->name) &&
               folder_find(&node->store, event->session->name, event->session->id, NULL) != 0;
}

int node_step(struct node *node, const struct sessions_event *event, const char *who,
              struct sessions_actions *ret, struct error *err)
{
        struct work work = { .actions = ret,
                             .who = who,
                             .is_creation = event->type == SESSIONS_CREATE };
        const struct sessions_one *session = NULL;
        int rc;

        if (is_taken(node, event)) {
                *ret = (struct sessions_actions){ .answer = SESSIONS_EXISTS, .field = "name" };
                node->counts.refused[SESSIONS_EXISTS]++;
                return 0;
        }
        node->steps++;
        step_core(node, event, ret);
        if (ret->answer == SESSIONS_RULED)
                ruled_tell(node, event, who, &ret->excess);
        rc = carry_out_actions(node, &work, err);
        if (ret->count)
                session = ret->action[0].session;
        if (rc < 0 && session && !work.is_unsaved && !work.is_creation)
                wrap(err, "it is saved, and tried again each second");
        if (rc < 0 && session)
                give_up(node, session->name, work.is_unsaved, who);
        else
                count_answer(node, event, ret);
        swap_note_promises(node);
        if (rc == 0 && work.must_look && session)
                node_look_after(node, session);
        node_arm(node);
        return rc;
}

/* Handles one due session; returns whether more are due. */
static bool tick_once(struct node *node)
{
        const struct sessions_event event = { .type = SESSIONS_TICK };
        struct sessions_actions actions;
        struct error err = { 0 };

        node_step(node, &event, "daemon", &actions, &err);
        return actions.is_more;
}

void node_tick_all(struct node *node)
{
        node->turn_ns = node_now_ns();
        while (tick_once(node))
                ;
        node->turn_ns = 0;
}

/* Bounds the number of sessions handled at once, because tenants decide how many are due at once.
 * The time for each session is bounded elsewhere. Sessions that remain are due already, so the
 * timer runs again as soon as all other ready events were served. */
void node_tick(struct node *node)
{
        const uint64_t until_ns = clock_machine_ns() + NODE_TURN_NS;
        unsigned steps = 0;
        bool is_more = true;

        node->turn_ns = node_now_ns();
        while (is_more && steps < TURN_STEPS && (!steps || clock_machine_ns() < until_ns)) {
                is_more = tick_once(node);
                steps++;
        }
        node->turn_ns = 0;
}

/* -- Access for other parts ------------------------------------------------------------------- */

const struct sessions *node_sessions(const struct node *node)
{
        return node->sessions;
}

const struct node_cards *node_cards(const struct node *node)
{
        return &node->cards;
}

const struct store *node_store(const struct node *node)
{
        return &node->store;
}

struct database *node_database(struct node *node)
{
        return node->database;
}

const struct node_counts *node_counts(const struct node *node)
{
        return &node->counts;
}

uint64_t node_steps(const struct node *node)
{
        return node->steps;
}

void node_watch_folders(struct node *node, node_folder_watcher *watcher, void *context)
{
        unsigned at = 0;

        while (node->folders[at].watcher)
                at++;
        node->folders[at].watcher = watcher;
        node->folders[at].context = context;
}

void node_leave_folders(struct node *node, void *context)
{
        for (unsigned i = 0; i < NODE_WATCHERS; i++) {
                if (node->folders[i].context == context)
                        node->folders[i].watcher = NULL;
        }
}

void node_listen(struct node *node, node_listener *listener, void *context)
{
        node->listener = listener;
        node->listener_context = context;
}
