/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the node: compares the saved sessions with the existing folders and restores them, tells
 * the core which cards there are, and carries out all due actions that a former daemon left undone.
 * Then it closes the folders that belong to no session, and removes those that no running process
 * has joined.
 *
 * If a saved session is invalid, the daemon does not start: otherwise the session's memory would be
 * promised to other sessions too, and its folder would seem to belong to no session. Programs run
 * on meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "daemon/node/node_adopt.h"

/* Closes a folder that belongs to no session, and removes it if no running process has joined.
 * Running processes keep their memory, as in an ended session. */
static int sweep_one(const char *name, void *context)
{
        struct node *node = context;
        struct sessions_one gone = { 0 };
        struct store_session found;
        struct error err = { 0 };

        if (sessions_find(node->sessions, name) ||
            store_join_owned(&node->store, name, &found, NULL) < 0)
                return 0;
        text_put(gone.name, sizeof(gone.name), NULL, "%s", name);
        memcpy(gone.id, found.limits->session_id, sizeof(gone.id));
        store_shut(&found);
        store_close(&found);
        if (folder_is_live(&node->store, &gone, NULL) != 0) {
                node->has_leftovers = true;
                return 0;
        }
        if (folder_remove(&node->store, &gone, &err) < 0)
                log_line(LOG_WARN, "%s, which no session has any more: %s", name, err.text);
        else
                log_line(LOG_INFO, "removed the folder of %s, which no session has any more", name);
        return 0;
}

void node_sweep(struct node *node)
{
        struct error err = { 0 };

        node->has_leftovers = false;
        if (store_list(&node->store, sweep_one, node, &err) < 0)
                log_line(LOG_WARN, "%s", err.text);
}

static int start_opened(struct node *node, const struct node_options *options, struct error *err)
{
        struct node_adoption adoption;
        int rc = folder_prepare(&node->store, err);

        if (rc == 0)
                rc = node_adopt(node, &adoption, err);
        if (rc == 0)
                rc = node_watch_start(node, err);
        if (rc == 0)
                rc = node_cards_start(node, options, err);
        if (rc < 0)
                return rc;
        node_adopt_room(node, &adoption);
        node_tick_all(node);
        node_sweep(node);
        node_arm(node);
        return 0;
}

/* Gives the policy's rules to the core, before requests are served. The config was checked, so the
 * core accepts them. */
static void set_rules(struct node *node, const struct node_options *options)
{
        const struct sessions_event event = { .type = SESSIONS_POLICY,
                                              .policy = *options->policy,
                                              .rules = options->rules };
        struct sessions_actions actions;

        sessions_step(node->sessions, &event, node_now_ns(), &actions);
}

int node_open(struct node **ret, const struct node_options *options, struct error *err)
{
        struct node *node = calloc(1, sizeof(*node));
        int rc;

        if (!node)
                return fail(err, -ENOMEM, "out of memory");
        node->sessions = malloc(sizeof(*node->sessions));
        node->remains = remains_new();
        if (!node->sessions || !node->remains) {
                remains_free(node->remains);
                free(node->sessions);
                free(node);
                return fail(err, -ENOMEM, "out of memory");
        }
        node->clock = -1;
        node->base = options->base;
        node->events = (struct owner_log)OWNER_LOG_EVENTS;
        node->trouble = (struct owner_log)OWNER_LOG_TROUBLE;
        node->store = *options->store;
        node->database = options->database;
        node->is_temporary = options->is_temporary;
        sessions_init(node->sessions, options->policy);
        set_rules(node, options);
        rc = start_opened(node, options, err);
        if (rc < 0) {
                node_close(node);
                return rc;
        }
        *ret = node;
        return 0;
}

void node_close(struct node *node)
{
        if (!node)
                return;
        node_cards_stop(node);
        node_watch_stop(node);
        remains_free(node->remains);
        free(node->sessions);
        free(node);
}
