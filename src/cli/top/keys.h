/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles keys: changes the model and the open question, and makes orders for act.h.
 *
 * At most one question is open, on the last line of the screen (a filter, a limit, a yes or no). An
 * order has the targets that existed when the question was asked, so it never affects processes
 * that start meanwhile.
 */
#ifndef ALIQUOT_CLI_TOP_KEYS_H
#define ALIQUOT_CLI_TOP_KEYS_H

#include "cli/top/model.h"

#define KEYS_LINE_BYTES 256u

/* Keys that produce no printable character. */
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

/* A term of a session that a key can change. `flag` is the name of the flag of `aliquot set`. */
struct keys_term {
        int key;
        const char *flag;
        /* shown in the question, between the session's name and the typed text */
        const char *asked;
};

#define KEYS_TERMS 6u
extern const struct keys_term keys_terms[KEYS_TERMS];

struct keys {
        enum keys_question question;
        /* the term of ASKS_TERM and ORDER_SET; NULL before the first of these */
        const struct keys_term *term;
        bool is_paused;
        int page_rows; /* number of rows of sessions on the screen; the caller sets it */
        char line[KEYS_LINE_BYTES];    /* the text being typed */
        char message[KEYS_LINE_BYTES]; /* result of the last order; shown until the next key */
        bool is_bad;                   /* the message is an error */
        char session[PAGE_NAME_BYTES]; /* the session that the question is about */
        int signal;
        /* identity of the file `slots` that the session's processes have mapped */
        struct maps_file slots;
        struct snapshot_process *target; /* owned; its field `user` must not be used */
        unsigned target_count;
};

enum keys_order { ORDER_NONE, ORDER_QUIT, ORDER_SET, ORDER_SIGNAL };

/*
 * Handles a key, and returns an order. ORDER_SET: set the `term` of `session` to `line`.
 * ORDER_SIGNAL: send `signal` to the targets. These fields are valid until the next key. Negative:
 * -ENOMEM.
 */
int keys_press(struct keys *keys, struct model *model, int key);
void keys_finish(struct keys *keys);

#endif
