/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot gpus: lists the cards of this machine, and how much of each the sessions may use.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cards.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/request.h"
#include "cli/table.h"
#include "cli/views.h"
#include "common/atomic.h"
#include "common/json_out.h"
#include "common/text.h"
#include "common/units.h"

#define SESSIONS_SHOWN 8u /* maximum number of sessions in the line of a card */

struct gpus {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct gpus *gpus = state->input;

        if (key != ARGP_KEY_INIT)
                return ARGP_ERR_UNKNOWN;
        state->child_inputs[0] = &gpus->view;
        state->child_inputs[1] = &gpus->flags;
        return 0;
}

static const struct argp_child children[] = { { &view_list_argp, 0, NULL, 0 },
                                              { &request_sim_argp, 0, NULL, 0 },
                                              { 0 } };

const struct argp argp_gpus = {
        .parser = parse,
        .doc = "List the GPUs of this machine, and the limits that sessions have on them."
               "\vWhere a daemon serves, its GPUs are listed, unless --sim names others.\n",
        .children = children,
};

/* One session's limit on one card. */
struct card_limit {
        unsigned card;
        char name[PAGE_NAME_BYTES];
        uint64_t limit_bytes;
        uint64_t used_bytes;
        bool swaps; /* its memory is on the card only during its turns */
};

struct shares {
        const struct cards *cards;
        struct card_limit *at;
        size_t count, room;
};

static void add_share(struct shares *shares, const struct card_limit *share)
{
        if (shares->count == shares->room) {
                size_t room = shares->room ? shares->room * 2 : 64;
                struct card_limit *at = reallocarray(shares->at, room, sizeof(*at));

                if (!at)
                        return;
                shares->at = at;
                shares->room = room;
        }
        shares->at[shares->count++] = *share;
}

static void add_on_card(struct shares *shares, const uint8_t uuid[16], struct card_limit *share)
{
        for (unsigned i = 0; i < shares->cards->count; i++) {
                if (memcmp(shares->cards->card[i].uuid, uuid, 16) != 0)
                        continue;
                share->card = i;
                add_share(shares, share);
        }
}

static void add_row(struct shares *shares, const struct store_session *session, unsigned row,
                    uint64_t used_bytes)
{
        const struct limits_device *device = &session->limits->device[row];
        struct card_limit share = { .limit_bytes = views_limit_bytes(session, row),
                                    .used_bytes = used_bytes,
                                    .swaps = (session->limits->flags & PAGE_SWAPS) != 0 };
        uint8_t uuid[16];

        memcpy(share.name, session->limits->name, sizeof(share.name));
        memcpy(uuid, device->uuid, sizeof(uuid));
        add_on_card(shares, uuid, &share);
}

/* Adds a session from the daemon's response, if this user may not read its pages. */
static void add_told(struct shares *shares, const struct store *store, const char *name)
{
        static struct client_session told;

        if (remote_told(client_show(store, name, &told, NULL)) < 0)
                return;
        for (unsigned i = 0; i < told.share_count; i++) {
                struct card_limit share = { .limit_bytes = told.share[i].memory_bytes,
                                            .used_bytes = told.share[i].used_bytes,
                                            .swaps = told.swaps };
                uint8_t uuid[16];

                memcpy(share.name, told.name, sizeof(share.name));
                if (uuid_parse(told.share[i].uuid, uuid))
                        add_on_card(shares, uuid, &share);
        }
}

/* Adds a session's shares. A session that cannot be read is skipped; `ls` and `show` report it. */
static void add_shares_of(struct shares *shares, const struct store *store, const char *name)
{
        struct store_session session;
        struct usage usage;
        int rc = store_join(store, name, false, &session, NULL);

        if (remote_can_tell(store, rc))
                add_told(shares, store, name);
        if (rc < 0)
                return;
        if (usage_read(&session, &usage, NULL) == 0) {
                for (unsigned i = 0; i < PAGE_DEVICES; i++)
                        add_row(shares, &session, i, usage.used_bytes[i]);
                usage_free(&usage);
        }
        store_close(&session);
}

static void add_session(const struct card_limit *share, struct text *text)
{
        char size[SIZE_TEXT_BYTES];

        text_add(text, "%s%s %s%s", text->used ? ", " : "", share->name,
                 size_format(share->limit_bytes, size), share->swaps ? " swaps" : "");
}

/* Adds a cell with the first few sessions by name, and the number of the others. */
static void add_sessions(const struct shares *shares, unsigned card, struct table *table)
{
        char line[SESSIONS_SHOWN * (PAGE_NAME_BYTES + SIZE_TEXT_BYTES + 16)];
        size_t found = 0;
        struct text text;

        text_begin(&text, line, sizeof(line));
        for (size_t i = 0; i < shares->count; i++) {
                const struct card_limit *share = &shares->at[i];

                if (share->card != card || share->limit_bytes == PAGE_UNLIMITED)
                        continue;
                if (++found <= SESSIONS_SHOWN)
                        add_session(share, &text);
        }
        if (found > SESSIONS_SHOWN)
                table_cell(table, "%s, +%zu more", line, found - SESSIONS_SHOWN);
        else
                table_cell(table, "%s", found ? line : "-");
}

static void print_table(const struct shares *shares, struct table *table)
{
        const struct cards *cards = shares->cards;
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < cards->count; i++) {
                const struct card *card = &cards->card[i];

                table_cell(table, card->is_instance ? "%u MIG" : "%u", card->index);
                table_cell(table, "%s", cards_short_uuid(cards, i, uuid));
                table_cell(table, "%s", card->name);
                table_bytes(table, card->total_bytes);
                table_bytes(table, card->used_bytes);
                add_sessions(shares, i, table);
        }
        table_print(table);
}

static void print_shares(struct json_out *out, const struct shares *shares, unsigned card)
{
        json_out_open(out, "sessions", '[');
        for (size_t i = 0; i < shares->count; i++) {
                const struct card_limit *share = &shares->at[i];

                if (share->card != card)
                        continue;
                json_out_open(out, NULL, '{');
                json_out_text(out, "name", share->name);
                views_limit(out, "memory_bytes", share->limit_bytes);
                json_out_u64(out, "used_bytes", share->used_bytes);
                json_out_bool(out, "swaps", share->swaps);
                json_out_close(out, '}');
        }
        json_out_close(out, ']');
}

/* Returns the used memory, as the driver reports it, that is in no session's ledger: that of other
 * programs and of the driver itself. */
static uint64_t unexplained_bytes(const struct shares *shares, unsigned card)
{
        uint64_t left = shares->cards->card[card].used_bytes;

        for (size_t i = 0; i < shares->count; i++) {
                const struct card_limit *share = &shares->at[i];

                if (share->card == card)
                        left -= share->used_bytes < left ? share->used_bytes : left;
        }
        return left;
}

static int print_json(const struct shares *shares)
{
        struct json_out out = { .stream = stdout };
        char uuid[UUID_TEXT_BYTES];

        json_out_open(&out, NULL, '[');
        for (unsigned i = 0; i < shares->cards->count; i++) {
                const struct card *card = &shares->cards->card[i];

                json_out_open(&out, NULL, '{');
                json_out_u64(&out, "index", card->index);
                json_out_bool(&out, "is_instance", card->is_instance);
                json_out_text(&out, "uuid", uuid_format(card->uuid, card->is_instance, uuid));
                json_out_text(&out, "name", card->name);
                json_out_u64(&out, "total_bytes", card->total_bytes);
                json_out_u64(&out, "used_bytes", card->used_bytes);
                json_out_u64(&out, "unexplained_bytes", unexplained_bytes(shares, i));
                print_shares(&out, shares, i);
                json_out_close(&out, '}');
        }
        json_out_close(&out, ']');
        return json_out_end(&out);
}

int command_gpus(int argc, char **argv)
{
        static struct gpus gpus;
        struct shares shares = { .cards = &gpus.request.cards };
        struct store store = { 0 };
        struct names names;
        struct table table = { .titles = "GPU,UUID,NAME,#MEMORY,#USED,SESSIONS" };
        struct error err = { 0 };
        int rc = 0;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_gpus, 0, &gpus);
        if (view_choose(&gpus.view, &table, &err) < 0)
                return command_fail("gpus", STATUS_WRONG, &err);
        gpus.request.is_of_node = true;
        if (request_open_driver(&gpus.flags, &gpus.request, &err) < 0 ||
            request_cards(&gpus.request, &err) < 0)
                return command_fail("gpus", STATUS_NO, &err);
        if (options_find_store(&store, NULL) == 0 && names_read(&store, &names, NULL) == 0) {
                for (size_t i = 0; i < names.count; i++)
                        add_shares_of(&shares, &store, names.at[i]);
                names_free(&names);
        }
        if (gpus.view.is_json)
                rc = print_json(&shares);
        else
                print_table(&shares, &table);
        if (!gpus.view.is_json)
                options_tell_unlisted(&store);
        free(shares.at);
        return rc < 0 ? STATUS_NO : STATUS_YES;
}
