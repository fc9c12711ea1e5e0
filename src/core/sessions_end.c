/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endings: closes a session, signals its programs, and removes the session when no program is left.
 *
 * The end is saved first; then the session is closed; then the signals are sent. So after a restart
 * the saved state leads to the same closing and signals (end_repeat()), and no program can join
 * meanwhile. The row in storage is deleted last, so no folder exists without a row.
 */
#include "core/sessions_parts.h"

void raise_version(struct sessions_one *one)
{
        one->version = one->version < UINT64_MAX ? one->version + 1 : 1;
}

void end_shut(const struct sessions_step *step, unsigned index)
{
        const struct sessions_one *one = &step->node->session[index];

        add_action(step->ret, SESSIONS_SHUT, one);
        if (one->state == SESSIONS_KILLING)
                add_action(step->ret, SESSIONS_SIGKILL, one);
        else if (one->ending == SESSIONS_TERM)
                add_action(step->ret, SESSIONS_SIGTERM, one);
}

void end_begin(const struct sessions_step *step, unsigned index, enum sessions_note why)
{
        struct sessions_one *one = &step->node->session[index];

        one->state = one->ending == SESSIONS_KILL ? SESSIONS_KILLING : SESSIONS_ENDING;
        one->ended_ns = step->now_ns;
        raise_version(one);
        add_action(step->ret, SESSIONS_SAVE, one);
        add_note(step->ret, why, one);
        if (one->ending == SESSIONS_TERM)
                add_note(step->ret, SESSIONS_NOTE_TERMINATED, one);
        if (one->ending == SESSIONS_KILL)
                add_note(step->ret, SESSIONS_NOTE_KILLED, one);
        end_shut(step, index);
        entry_plan(step->node, index, step->now_ns);
}

void end_kill(const struct sessions_step *step, unsigned index)
{
        struct sessions_one *one = &step->node->session[index];

        one->state = SESSIONS_KILLING;
        raise_version(one);
        add_action(step->ret, SESSIONS_SAVE, one);
        add_note(step->ret, SESSIONS_NOTE_KILLED, one);
        end_shut(step, index); /* closes it again: the daemon may have died before it was closed */
        entry_plan(step->node, index, step->now_ns);
}

void end_bury(const struct sessions_step *step, unsigned index)
{
        const struct sessions_one *one = &step->node->session[index];

        add_action(step->ret, SESSIONS_REMOVE, one);
        add_action(step->ret, SESSIONS_FORGET, one);
        add_note(step->ret, SESSIONS_NOTE_GONE, one);
        entry_empty(step->node, index);
}

void end_repeat(const struct sessions_step *step, unsigned index)
{
        const struct sessions_one *one = &step->node->session[index];

        if (one->state == SESSIONS_OPEN) {
                add_action(step->ret, SESSIONS_MAKE, one);
                add_action(step->ret, SESSIONS_LIMIT, one);
        } else {
                end_shut(step, index);
        }
        if (one->state == SESSIONS_KILLING)
                entry_owe_later(step->node, index, step->now_ns);
        else
                entry_plan(step->node, index, step->now_ns);
}
