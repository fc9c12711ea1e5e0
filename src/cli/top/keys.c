/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/keys.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct keys_term keys_terms[KEYS_TERMS] = {
        { 'l', "memory", "such as 4GiB, 25% or 0=4GiB,1=8GiB" },
        { 'c', "compute", "cap on GPU time, such as 30%; 100%: no cap" },
        { 'g', "guarantee", "guaranteed GPU time, such as 30%; 0%: none" },
        { 'W', "weight", "1 to 10000; the default is 100" },
        { 'P', "priority", "rt, normal or batch" },
        { 'G', "gang", "sessions of one gang run at the same time; or none" },
};

__attribute__((format(printf, 2, 3))) static int complain(struct keys *keys, const char *format,
                                                          ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(keys->message, sizeof(keys->message), format, args);
        va_end(args);
        keys->is_bad = true;
        return ORDER_NONE;
}

static void clear_line(char *line)
{
        line[0] = '\0';
}

/* Handles a key while text is being typed. True: the line may have changed. False: the key has
 * another meaning. */
static bool type(char *line, size_t bytes, int key)
{
        size_t length = strlen(line);

        if (key == KEY_OF_ERASE && length > 0)
                line[length - 1] = '\0';
        else if (key == KEY_OF_ERASE_LINE)
                clear_line(line);
        else if (key >= ' ' && key <= '~' && length + 1 < bytes)
                snprintf(line + length, bytes - length, "%c", key);
        else
                return key == KEY_OF_ERASE;
        return true;
}

static int press_filter(struct keys *keys, struct model *model, int key)
{
        if (key == KEY_OF_ENTER || key == KEY_OF_ESCAPE) {
                keys->question = ASKS_NOTHING;
                if (key == KEY_OF_ENTER)
                        return ORDER_NONE;
                clear_line(model->filter);
        } else if (!type(model->filter, sizeof(model->filter), key)) {
                return ORDER_NONE;
        }
        return model_arrange(model);
}

static int press_term(struct keys *keys, int key)
{
        if (key == KEY_OF_ESCAPE || (key == KEY_OF_ENTER && !keys->line[0])) {
                keys->question = ASKS_NOTHING;
                return complain(keys, "nothing was changed");
        }
        if (key == KEY_OF_ENTER) {
                keys->question = ASKS_NOTHING;
                return ORDER_SET;
        }
        type(keys->line, sizeof(keys->line), key);
        return ORDER_NONE;
}

static int press_signal(struct keys *keys, int key)
{
        keys->question = ASKS_NOTHING;
        if (key == 'y' || key == 'Y')
                return ORDER_SIGNAL;
        return complain(keys, "no signal was sent");
}

static const struct snapshot_session *selected_session(const struct model *model)
{
        const struct model_row *row = model_selected(model);

        return row ? &model->now->session[row->session] : NULL;
}

static int ask_term(struct keys *keys, const struct model *model, const struct keys_term *term)
{
        const struct snapshot_session *session = selected_session(model);

        if (!session)
                return complain(keys, "no session is selected");
        if (session->broken[0])
                return complain(keys, "%s: %s", session->name, session->broken);
        memcpy(keys->session, session->name, sizeof(keys->session));
        clear_line(keys->line);
        keys->term = term;
        keys->question = ASKS_TERM;
        return ORDER_NONE;
}

/* Asks whether to send a signal to the selected process, or to all processes of the selected row's
 * session. */
static int ask_signal(struct keys *keys, const struct model *model, int signal)
{
        const struct model_row *row = model_selected(model);
        const struct snapshot_session *session = selected_session(model);
        unsigned first = 0, count = 1;

        if (session && session->hidden_count)
                return complain(keys, "top cannot end the processes of %s: see aliquot ps",
                                session->name);
        if (!session || session->process_count == 0)
                return complain(keys, "no process is there to be ended");
        if (row->kind == MODEL_PROCESS)
                first = row->at;
        else
                count = session->process_count;
        free(keys->target);
        keys->target = calloc(count, sizeof(*keys->target));
        if (!keys->target)
                return -ENOMEM;
        for (unsigned i = 0; i < count; i++)
                keys->target[i] = session->process[first + i];
        keys->target_count = count;
        keys->signal = signal;
        keys->slots = session->slots;
        memcpy(keys->session, session->name, sizeof(keys->session));
        keys->question = ASKS_SIGNAL;
        return ORDER_NONE;
}

static int sort_by(struct model *model, enum sort_key sort)
{
        model->is_reversed = false;
        model_sort_by(model, sort);
        return model_arrange(model);
}

/* Moves the selection. Returns whether the key did that. */
static bool move_selection(const struct keys *keys, struct model *model, int key)
{
        long page = keys->page_rows > 1 ? keys->page_rows - 1 : 1;

        switch (key) {
        case KEY_OF_UP:
        case 'k':
                model_move(model, -1);
                return true;
        case KEY_OF_DOWN:
        case 'j':
                model_move(model, 1);
                return true;
        case KEY_OF_PAGE_UP:
                model_move(model, -page);
                return true;
        case KEY_OF_PAGE_DOWN:
                model_move(model, page);
                return true;
        case KEY_OF_HOME:
                model_move(model, -(long)model->count);
                return true;
        case KEY_OF_END:
                model_move(model, (long)model->count);
                return true;
        default:
                return false;
        }
}

static int arrange(struct keys *keys, struct model *model, int key)
{
        switch (key) {
        case 'n':
                return sort_by(model, SORT_NAME);
        case 'p':
                return sort_by(model, SORT_PROCESSES);
        case 'u':
                return sort_by(model, SORT_USED);
        case 'm':
                return sort_by(model, SORT_LIMIT);
        case 'f':
                return sort_by(model, SORT_FILL);
        case 'b':
                return sort_by(model, SORT_SHARE);
        case 'w':
                return sort_by(model, SORT_WAITING);
        case 'v':
                model->shows_time = !model->shows_time;
                return ORDER_NONE;
        case 's':
                return sort_by(model, (model->sort + 1) % SORT_KEYS);
        case 'r':
                model->is_reversed = !model->is_reversed;
                return model_arrange(model);
        case KEY_OF_ENTER:
                return model_toggle(model);
        case 'a':
                return model_toggle_all(model);
        case KEY_OF_ESCAPE:
                clear_line(model->filter);
                return model_arrange(model);
        case ' ':
                keys->is_paused = !keys->is_paused;
                return ORDER_NONE;
        default:
                return ORDER_NONE;
        }
}

static int press_list(struct keys *keys, struct model *model, int key)
{
        for (unsigned i = 0; i < KEYS_TERMS; i++) {
                if (keys_terms[i].key == key)
                        return ask_term(keys, model, &keys_terms[i]);
        }
        switch (key) {
        case 'q':
                return ORDER_QUIT;
        case '?':
        case 'h':
        case KEY_OF_HELP:
                keys->question = SHOWS_HELP;
                return ORDER_NONE;
        case 'e':
                keys->question = SHOWS_EVENTS;
                return ORDER_NONE;
        case '/':
                keys->question = ASKS_FILTER;
                return ORDER_NONE;
        case 't':
                return ask_signal(keys, model, SIGTERM);
        case 'K':
                return ask_signal(keys, model, SIGKILL);
        default:
                return move_selection(keys, model, key) ? ORDER_NONE : arrange(keys, model, key);
        }
}

int keys_press(struct keys *keys, struct model *model, int key)
{
        clear_line(keys->message);
        keys->is_bad = false;
        switch (keys->question) {
        case ASKS_FILTER:
                return press_filter(keys, model, key);
        case ASKS_TERM:
                return press_term(keys, key);
        case ASKS_SIGNAL:
                return press_signal(keys, key);
        case SHOWS_HELP:
        case SHOWS_EVENTS:
                keys->question = ASKS_NOTHING;
                return ORDER_NONE;
        default:
                return press_list(keys, model, key);
        }
}

void keys_finish(struct keys *keys)
{
        free(keys->target);
        *keys = (struct keys){ 0 };
}
