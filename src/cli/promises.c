/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/promises.h"

#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/names.h"
#include "cli/presence.h"
#include "cli/starter.h"
#include "common/atomic.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "common/text.h"
#include "common/units.h"
#include "common/uuid.h"

#define NAMED 3u /* number of sessions whose names are printed */

struct promises {
        const struct store *store;
        unsigned sessions;
        char names[NAMED * PAGE_NAME_BYTES + 8];
        struct text text; /* writes into `names` */
        unsigned count;
        struct promise {
                uint8_t uuid[16];
                uint64_t bytes;
                /* memory of sessions that swap: they share the card in turns, so only the largest
                 * counts */
                uint64_t swap_bytes;
        } gpu[PAGE_DEVICES];
};

static uint64_t promised_bytes(const struct promise *promise)
{
        return sum_of(promise->bytes, promise->swap_bytes);
}

static void add_bytes(struct promises *promises, const uint8_t uuid[16], uint64_t bytes, bool swaps)
{
        unsigned at = 0;

        while (at < promises->count && memcmp(promises->gpu[at].uuid, uuid, 16) != 0)
                at++;
        if (at == PAGE_DEVICES)
                return;
        if (at == promises->count)
                memcpy(promises->gpu[promises->count++].uuid, uuid, 16);
        if (swaps)
                promises->gpu[at].swap_bytes = max_u64(promises->gpu[at].swap_bytes, bytes);
        else
                promises->gpu[at].bytes = sum_of(promises->gpu[at].bytes, bytes);
}

static void add_session(struct promises *promises, const struct limits_page *limits)
{
        if (promises->sessions < NAMED)
                text_add(&promises->text, "%s%s", promises->sessions ? ", " : "", limits->name);
        if (promises->sessions == NAMED)
                text_add(&promises->text, ", ...");
        promises->sessions++;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *device = &limits->device[i];
                uint64_t bytes = load_acquire(shared_word(&device->limit_bytes));
                uint8_t uuid[16];

                memcpy(uuid, device->uuid, sizeof(uuid));
                if (bytes > SETTINGS_NOTHING_BYTES && bytes != PAGE_UNLIMITED &&
                    !page_is_no_card(uuid))
                        add_bytes(promises, uuid, bytes, limits->flags & PAGE_SWAPS);
        }
}

/* Adds the promises of a session. Those of a session that cannot be read are unknown, and
 * skipped. */
static void add_named(struct promises *promises, const char *name)
{
        struct store_session session;

        if (store_join(promises->store, name, false, &session, NULL) < 0 &&
            store_join_owned(promises->store, name, &session, NULL) < 0)
                return;
        if (session.limits->owner == PAGE_OWNER_DAEMON)
                add_session(promises, session.limits);
        store_close(&session);
}

static void look_at_all(struct promises *promises)
{
        struct names names;

        text_begin(&promises->text, promises->names, sizeof(promises->names));
        if (!names_can_be_listed(promises->store) || names_read(promises->store, &names, NULL) < 0)
                return;
        for (size_t i = 0; i < names.count; i++)
                add_named(promises, names.at[i]);
        names_free(&names);
}

static bool is_meant(const struct cli_request *request, const struct settings_limit *limit)
{
        return !request->selection.count || request_selects(request, limit->uuid);
}

static int check_one(const struct promises *promises, const struct promise *promise,
                     const struct settings_limit *limit, struct error *err)
{
        char uuid[UUID_TEXT_BYTES], asked[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES],
                card[SIZE_TEXT_BYTES];

        if (limit->limit_bytes == PAGE_UNLIMITED || !limit->card_bytes ||
            (limit->limit_bytes <= limit->card_bytes &&
             promised_bytes(promise) <= limit->card_bytes - limit->limit_bytes))
                return 0;
        return fail(err, CLIENT_AWAY,
                    "memory: %s requested on %.*s (%s in total), but %s is promised to sessions "
                    "of a daemon that is not running (%s); start aliquotd",
                    size_format(limit->limit_bytes, asked), UUID_SHOWN,
                    uuid_format(promise->uuid, false, uuid), size_format(limit->card_bytes, card),
                    size_format(promised_bytes(promise), held), promises->names);
}

static void warn_uncounted(const struct promises *promises)
{
        char uuid[UUID_TEXT_BYTES], held[SIZE_TEXT_BYTES];

        fprintf(stderr, "aliquot: no daemon serves %s, and sessions of one hold",
                promises->store->path);
        for (unsigned i = 0; i < promises->count; i++)
                fprintf(stderr, "%s %s of %.*s", i ? "," : "",
                        size_format(promised_bytes(&promises->gpu[i]), held), UUID_SHOWN,
                        uuid_format(promises->gpu[i].uuid, false, uuid));
        fprintf(stderr, " (%s); the new session is counted by none\n", promises->names);
}

int promises_are_nobodys(const struct store *store, const char *wish, struct error *err)
{
        struct promises promises = { .store = store };

        if (!presence_has_been(store) || starter_has_begun(store))
                return 0;
        look_at_all(&promises);
        if (!promises.sessions)
                return 0;
        return fail(err, CLIENT_AWAY,
                    "%s: only a daemon can do that, and the one that serves %s is away (%s %s); "
                    "start aliquotd",
                    wish, store->path,
                    promises.sessions > 1 ? "its sessions:" : "its session:", promises.names);
}

int promises_check(const struct store *store, const struct cli_request *request, struct error *err)
{
        struct promises promises = { .store = store };
        int rc = 0;

        if (!presence_has_been(store))
                return 0;
        look_at_all(&promises);
        for (unsigned i = 0; i < promises.count && rc == 0; i++) {
                for (unsigned j = 0; j < request->limits.count && rc == 0; j++) {
                        const struct settings_limit *limit = &request->limits.device[j];

                        if (memcmp(promises.gpu[i].uuid, limit->uuid, 16) == 0 &&
                            is_meant(request, limit))
                                rc = check_one(&promises, &promises.gpu[i], limit, err);
                }
        }
        if (rc == 0 && promises.count)
                warn_uncounted(&promises);
        return rc;
}
