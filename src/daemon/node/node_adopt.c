/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the database with the folders of the sessions before the daemon promises anything.
 *
 *      node_adopt(node, &adoption, &err)       restores every row, and every folder without a row
 *      node_adopt_room(node, &adoption)        ends sessions that no longer fit, once the GPUs are
 * known
 *
 * SQLite leaves out the end of a WAL whose checksum is wrong, and a deleted database starts empty:
 * in both cases the database opens without an error and has fewer sessions. The daemon also stores
 * each session's limits in the session's folder (daemon/node/promise.h), so no existing session is
 * forgotten: a folder without a row is adopted, and if a folder is newer than its row, the folder's
 * limits apply. When a session is removed, its row is deleted after its folder. So a folder without
 * a row belongs to a session that was not being removed, unless the folder is closed to new
 * processes; then the folder is removed when no process lives in it.
 *
 * A folder without a row that cannot be read, and in which a process lives, stops the start.
 */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "daemon/node/node_adopt.h"
#include "daemon/node/promise.h"

static int restore_session(struct node_adoption *adoption, const struct sessions_one *session,
                           bool has_row, unsigned *ret_place)
{
        struct node *node = adoption->node;
        const struct sessions_event event = { .type = SESSIONS_RESTORE, .session = session };
        struct sessions_actions actions;

        sessions_step(node->sessions, &event, node_now_ns(), &actions);
        if (actions.answer == SESSIONS_YES) {
                *ret_place = (unsigned)(actions.session - node->sessions->session);
                return 0;
        }
        if (has_row)
                return fail(adoption->err, -EPROTO,
                            "the saved session %s makes no sense (%s); --reset-database puts the "
                            "database aside and begins a new one",
                            text_shown(session->name),
                            actions.field ? actions.field : "there are too many");
        return fail(adoption->err, -EPROTO,
                    "%s/sessions/%s is a session that the database does not know, and it makes no "
                    "sense (%s); end its programs and move that folder away",
                    node->store.path, text_shown(session->name),
                    actions.field ? actions.field : "there are too many");
}

/* -- Rows ------------------------------------------------------------------------------------- */

/* Whether the folder's page has limits that the row lost. A row is saved before its page is
 * written. So the page is never newer than its row, and has the same limits if it has the same
 * version, unless the database lost something. */
static bool is_page_newer(const struct sessions_one *row, const struct sessions_one *page)
{
        return page->version > row->version ||
               (page->version == row->version && !promise_is_same(row, page));
}

/* Whether the database lost the end of the session: the folder is closed to new processes although
 * the row is open. An end is saved before the folder is closed, except when the TTL has passed:
 * then the core ends the session again by itself. */
static bool is_end_lost(const struct sessions_one *row, const struct promise *page)
{
        return page->is_shut && row->state == SESSIONS_OPEN &&
               (!row->expires_ns || row->expires_ns > node_now_ns());
}

/* Returns a version that no client has seen with other content. */
static uint64_t version_after(uint64_t version)
{
        return version < INT64_MAX ? version + 1 : version;
}

static void end_gently(struct sessions_one *session)
{
        session->state = SESSIONS_ENDING;
        session->ending = SESSIONS_DENY_NEW;
        session->ended_ns = node_now_ns();
}

/* Copies the page's limits to the row. The ceiling keeps the row's higher limit, because the
 * session may still hold memory from before the change that the row lost. */
static void take_shares(struct sessions_one *row, const struct sessions_one *said)
{
        for (unsigned i = 0; i < said->share_count; i++) {
                bool is_same = i < row->share_count &&
                               memcmp(row->share[i].uuid, said->share[i].uuid, 16) == 0;
                uint64_t ceiling_bytes =
                        !is_same ? 0
                                 : max_u64(row->share[i].ceiling_bytes, row->share[i].memory_bytes);

                row->share[i] = said->share[i];
                row->share[i].ceiling_bytes = ceiling_bytes;
        }
        row->share_count = said->share_count;
}

/* Makes the row equal to the page; returns whether it differed. */
static bool follow_page(struct sessions_one *row, const struct promise *page)
{
        const struct sessions_one *said = &page->session;
        bool is_newer = is_page_newer(row, said), is_over = is_end_lost(row, page);

        if (is_newer) {
                take_shares(row, said);
                row->is_context_free = said->is_context_free;
                row->host_bytes = said->host_bytes;
                row->swaps = said->swaps;
                row->version = version_after(said->version);
        }
        if (is_over)
                end_gently(row);
        return is_newer || is_over;
}

static void note_adopted(struct node_adoption *adoption, unsigned place, bool has_folder,
                         bool is_news)
{
        adoption->has_folder[place] = has_folder;
        adoption->is_news[place] = is_news;
        adoption->has_lost |= is_news;
}

static int restore_row(const struct sessions_one *row, void *context)
{
        struct node_adoption *adoption = context;
        struct sessions_one session = *row;
        struct promise page = { 0 };
        unsigned place = 0; /* for clang-tidy: restore_session() sets the value */
        bool is_news;
        int found = promise_read(&adoption->node->store, row->name, &page, NULL);
        int rc;

        if (found > 0 && memcmp(page.session.id, row->id, sizeof(row->id)) != 0) {
                if (!page.is_shut || page.is_live)
                        /* adopt_folder() adopts the folder's session instead of the row's */
                        return 0;
                found = 0;
        }
        is_news = found > 0 && follow_page(&session, &page);
        rc = restore_session(adoption, &session, true, &place);
        if (rc < 0)
                return rc;
        note_adopted(adoption, place, found != 0,
                     is_news); /* if the folder cannot be read, the session still has one */
        if (is_news)
                log_line(LOG_WARN,
                         "session %s is older in the database than in its folder: it is as its "
                         "folder says",
                         session.name);
        return 0;
}

/* -- Folders ---------------------------------------------------------------------------------- */

/* Skips a folder that cannot be read. Fails if processes live in it, because their memory would be
 * counted nowhere. */
static int leave_alone(struct node_adoption *adoption, const char *name, const struct promise *page,
                       const struct error *why)
{
        if (page->is_live)
                return fail(adoption->err, -EPROTO,
                            "programs run in a session that the database does not know and whose "
                            "folder cannot be read (%s); end them, or move the folder away",
                            why->text);
        log_line(LOG_WARN, "left alone: the folder %s is no session's that the database knows: %s",
                 name, why->text);
        return 0;
}

/* Sets the fields that the page does not have, so that the session does not end too early. */
static void fill_unknown(const struct node *node, struct promise *page)
{
        struct sessions_one *session = &page->session;

        session->created_ns = node_now_ns();
        session->version = version_after(session->version);
        session->ttl_ns = node->sessions->policy.ttl_max_ns;
        if (session->ttl_ns)
                session->expires_ns = session->created_ns + session->ttl_ns;
        if (page->is_shut)
                end_gently(session);
}

static int adopt_folder(const char *name, void *context)
{
        struct node_adoption *adoption = context;
        struct error why = { 0 };
        struct promise page = { 0 };
        unsigned place = 0; /* for clang-tidy: restore_session() sets the value */
        int rc;

        if (sessions_find(adoption->node->sessions, name))
                return 0;
        rc = promise_read(&adoption->node->store, name, &page, &why);
        if (rc < 0)
                return leave_alone(adoption, name, &page, &why);
        if (rc == 0 || (page.is_shut && !page.is_live))
                return 0;
        if (adoption->node->is_temporary)
                return fail(adoption->err, -EBUSY,
                            "session %s is another daemon's, which is away: start that one; one "
                            "that ends with its last session does not take it over",
                            name);
        fill_unknown(adoption->node, &page);
        rc = restore_session(adoption, &page.session, false, &place);
        if (rc < 0)
                return rc;
        note_adopted(adoption, place, true, true);
        log_line(LOG_WARN,
                 "session %s is not in the database: adopted from its folder, without labels, gang "
                 "and TTL of its own",
                 name);
        return 0;
}

/* -- Saving ----------------------------------------------------------------------------------- */

/* Saves the session with the event `adopted`. After an error the next start adopts the session
 * again. */
static void save_adopted(struct node *node, const struct sessions_one *session)
{
        char room[DATABASE_DETAIL_BYTES];
        struct database_event event = {
                .time_ns = node_now_ns(), .type = "adopted", .who = "daemon", .detail = room
        };
        struct error err = { 0 };
        struct text detail;

        text_begin(&detail, room, sizeof(room));
        node_describe(session, &detail);
        memcpy(event.session, session->name, sizeof(event.session));
        memcpy(event.session_id, session->id, sizeof(event.session_id));
        if (database_adopt(node->database, session, &event, &err) < 0)
                log_line(LOG_ERROR, "session %s could not be saved: %s", session->name, err.text);
}

int node_adopt(struct node *node, struct node_adoption *adoption, struct error *err)
{
        int rc;

        memset(adoption, 0, sizeof(*adoption));
        adoption->node = node;
        adoption->err = err;
        rc = database_each(node->database, restore_row, adoption, err);
        if (rc == 0)
                rc = store_list(&node->store, adopt_folder, adoption, err);
        for (unsigned i = 0; rc == 0 && i < node->sessions->entries; i++) {
                if (adoption->is_news[i])
                        save_adopted(node, &node->sessions->session[i]);
        }
        return rc;
}

/* -- Sessions without room -------------------------------------------------------------------- */

static bool is_in_the_way(const struct node *node, const struct sessions_one *session)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (sessions_is_over(node->sessions, session->share[i].uuid))
                        return true;
        }
        return false;
}

void node_adopt_room(struct node *node, const struct node_adoption *adoption)
{
        for (unsigned i = node->sessions->entries; adoption->has_lost && i-- > 0;) {
                const struct sessions_one *session = &node->sessions->session[i];
                char name[SESSIONS_NAME_BYTES];
                const struct sessions_event end = { .type = SESSIONS_RELEASE,
                                                    .name = name,
                                                    .is_admin = true };
                struct sessions_actions actions;
                struct error err = { 0 };

                if (session->state != SESSIONS_OPEN || adoption->has_folder[i] ||
                    !is_in_the_way(node, session))
                        continue;
                memcpy(name, session->name, sizeof(name));
                log_line(
                        LOG_WARN,
                        "session %s has no folder, and no room beside those that have one: that it "
                        "was removed is among what the database lost",
                        name);
                node_step(node, &end, "daemon", &actions, &err);
        }
}
