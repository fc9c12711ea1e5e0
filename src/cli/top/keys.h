/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles keys: changes the model and the open question, and makes orders for act.h.
 *
 * At most one question is open, on the last line of the screen (a filter, a limit, a yes or no). An
 * order names its targets as they were when the question was asked, so it never affects processes
 * that come or go meanwhile.
 */
#ifndef ALIQUOT_CLI_TOP_KEYS_H
#define ALIQUOT_CLI_TOP_KEYS_H

#include "cli/top/model.h"

#define KEYS_LINE_BYTES 256u

/* Keys that are no printable characters. */
enum key {
        KEY_OF_UP = 0x100,
        KEY_OF_DOWN,
        KEY_OF_PAGE_UP,
        KEY_OF_PAGE_DOWN,
        KEY_OF_HOME,
        KEY_OF_END,
        KEY_OF_ENTER,
        KEY_OF_ESCAPE,
        KEY_OF_ERASE,
        KEY_OF_ERASE_LINE,
        KEY_OF_HELP,
};

enum keys_question { ASKS_NOTHING, ASKS_FILTER, ASKS_TERM, ASKS_SIGNAL, SHOWS_HELP, SHOWS_EVENTS };

/* The terms of a session that a key can change; the name of the flag of `aliquot set`. */
struct keys_term {
        int key;
        const char *flag;
        const char *asked; /* shown before the typed text, after the session's name */
};

#define KEYS_TERMS 6u
extern const struct keys_term keys_terms[KEYS_TERMS];

struct keys {
        enum keys_question question;
        const struct keys_term *term; /* of ASKS_TERM and ORDER_SET; NULL before the first */
        bool is_paused;
        int page_rows; /* how many rows of sessions the screen has; the caller sets it */
        char line[KEYS_LINE_BYTES];    /* the text being typed */
        char message[KEYS_LINE_BYTES]; /* of the last order, until the next key */
        bool is_bad;                   /* the message */
        char session[PAGE_NAME_BYTES]; /* the subject of the question */
        int signal;
        struct maps_file slots;          /* which the session's processes have mapped */
        struct snapshot_process *target; /* owned; its field `user` is invalid */
        unsigned target_count;
};

enum keys_order { ORDER_NONE, ORDER_QUIT, ORDER_SET, ORDER_SIGNAL };

/*
 * ORDER_SET: `line` as the `term` of `session`. ORDER_SIGNAL: `signal` to the targets. Both
 * are valid until the next key. Negative: -ENOMEM.
 */
int keys_press(struct keys *keys, struct model *model, int key);
void keys_finish(struct keys *keys);

#endif
