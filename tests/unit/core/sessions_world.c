/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions_world.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

struct world_session *world_find(struct world *world, const char *name)
{
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                if (strcmp(world->session[i].name, name) == 0)
                        return &world->session[i];
        }
        return NULL;
}

static struct world_session *find_or_add(struct world *world, const char *name)
{
        struct world_session *found = world_find(world, name);

        if (found)
                return found;
        found = world_find(world, "");
        assert_non_null(found);
        memset(found, 0, sizeof(*found));
        strcpy(found->name, name);
        return found;
}

/* What the row says is what the folder's programs see. */
static void limit(struct world_session *found, const struct sessions_one *one)
{
        assert_true(found->is_made);
        found->folder = *one;
}

static void make(struct world_session *found, const struct sessions_one *one)
{
        assert_true(found->is_saved && found->row.state == SESSIONS_OPEN);
        if (found->is_made)
                return;
        found->is_made = true;
        found->is_shut = false;
        limit(found, one);
}

/* Saved as closed, or as something whose time is over when somebody starts anew. */
static bool may_be_shut(const struct world_session *found)
{
        return found->is_saved && (found->row.state != SESSIONS_OPEN || found->row.expires_ns != 0);
}

static void signal_all(struct world_session *found, bool is_kill)
{
        assert_true(may_be_shut(found));
        assert_true(found->is_shut || !found->is_made);
        if (is_kill || !found->is_stubborn)
                found->running = 0;
}

static void leave_out_if_nothing(struct world_session *found)
{
        if (!found->is_saved && !found->is_made)
                found->name[0] = '\0';
}

void world_carry_out(struct world *world, const struct sessions_action *action)
{
        const struct sessions_one *one = action->session;
        struct world_session *found = one ? find_or_add(world, one->name) : NULL;

        switch (action->type) {
        case SESSIONS_SAVE:
                found->is_saved = true;
                found->row = *one;
                break;
        case SESSIONS_MAKE:
                make(found, one);
                break;
        case SESSIONS_LIMIT:
                limit(found, one);
                break;
        case SESSIONS_SHUT:
                assert_true(may_be_shut(found));
                found->is_shut = found->is_made;
                break;
        case SESSIONS_SIGTERM:
        case SESSIONS_SIGKILL:
                signal_all(found, action->type == SESSIONS_SIGKILL);
                break;
        case SESSIONS_FORGET:
                assert_false(found->is_made);
                found->is_saved = false;
                break;
        case SESSIONS_REMOVE:
                assert_true(found->is_saved);
                assert_int_equal(found->running, 0);
                found->is_made = false;
                break;
        case SESSIONS_TELL:
                break;
        }
        if (found)
                leave_out_if_nothing(found);
}

void world_restart(const struct world *world, const struct sessions *before, struct sessions *ret)
{
        struct sessions_actions actions;
        struct sessions_event event = { .type = SESSIONS_RESTORE };

        sessions_init(ret, &before->policy);
        ret->rules = before->rules;
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                if (world->session[i].name[0] == '\0' || !world->session[i].is_saved)
                        continue;
                event.session = &world->session[i].row;
                sessions_step(ret, &event, 0, &actions);
                assert_int_equal(actions.answer, SESSIONS_YES);
                assert_int_equal(actions.count, 0);
        }
        event.type = SESSIONS_GPU_HERE;
        for (unsigned i = 0; i < before->gpu_count; i++) {
                event.gpu = before->gpu[i];
                if (before->gpu[i].is_here)
                        sessions_step(ret, &event, 0, &actions);
        }
}

/* -- Text ------------------------------------------------------------------------------------- */

static void add(char *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *ret, const char *format, ...)
{
        size_t used = strlen(ret);
        va_list args;

        va_start(args, format);
        vsnprintf(ret + used, WORLD_TEXT_BYTES - used, format, args);
        va_end(args);
}

static void add_time(char *ret, const char *what, uint64_t ns)
{
        if (ns == UINT64_MAX)
                add(ret, " %s never", what);
        else if (ns % 1000000000 != 0)
                add(ret, " %s %" PRIu64 "ns", what, ns);
        else if (ns != 0)
                add(ret, " %s %" PRIu64, what, ns / 1000000000);
}

const char *world_describe(const struct sessions_one *one, char ret[WORLD_TEXT_BYTES])
{
        static const char *const states[] = { "free", "open", "ending", "killing" };
        static const char *const endings[] = { "deny-new", "term", "kill" };

        ret[0] = '\0';
        add(ret, "%s uid %u v%" PRIu64, states[one->state], one->owner_uid, one->version);
        for (unsigned i = 0; i < one->share_count; i++) {
                const struct sessions_share *share = &one->share[i];

                if (share->memory_bytes % (1u << 30) == 0)
                        add(ret, " %c=%" PRIu64 "G", share->uuid[0], share->memory_bytes >> 30);
                else
                        add(ret, " %c=%" PRIu64, share->uuid[0], share->memory_bytes);
                if (share->compute_milli_percent || share->guarantee_milli_percent)
                        add(ret, "/%u/%u", share->compute_milli_percent,
                            share->guarantee_milli_percent);
        }
        add(ret, " weight %u priority %u on-end %s", one->weight, one->priority,
            endings[one->ending]);
        if (one->gang[0])
                add(ret, " gang %s", one->gang);
        if (one->labels[0])
                add(ret, " labels %s", one->labels);
        add_time(ret, "ttl", one->ttl_ns);
        add_time(ret, "until", one->expires_ns);
        add_time(ret, "ended", one->ended_ns);
        return ret;
}
