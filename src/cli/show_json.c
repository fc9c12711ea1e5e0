/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show_json.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/findings.h"
#include "cli/ranks.h"
#include "cli/views.h"
#include "common/atomic.h"
#include "common/text.h"
#include "common/uuid.h"
#include "store/folder.h"

/* Prints the owner of a session: the one that the daemon reports, or the owner of the file that the
 * session's processes write. */
static void put_owner(struct json_out *out, const struct seen *seen)
{
        char path[STORE_PATH_BYTES + sizeof(FOLDER_SLOTS)];
        struct stat st;

        if (seen->terms)
                json_out_u64(out, "owner", seen->terms->owner);
        else if (text_put(path, sizeof(path), NULL, "%s/%s", seen->session->path, FOLDER_SLOTS) ==
                         0 &&
                 stat(path, &st) == 0)
                json_out_u64(out, "owner", st.st_uid);
        else
                json_out_null(out, "owner");
}

/* Prints the fields that only the pages have. */
static void put_pages(struct json_out *out, const struct store_session *session)
{
        const struct limits_page *page = session ? session->limits : NULL;
        bool is_daemons = !page || page->owner == PAGE_OWNER_DAEMON;

        json_out_text(out, "made_by", is_daemons ? "daemon" : "user");
        json_out_text(out, "created_as", page ? page->created_as : NULL);
        json_out_text(out, "folder", session ? session->path : NULL);
        json_out_text(out, "device_name", page && page->device_name[0] ? page->device_name : NULL);
        views_limit(out, "default_memory_bytes",
                    session ? views_default_bytes(session) : PAGE_UNLIMITED);
        if (page)
                json_out_u64(out, "epoch", load_acquire(shared_half(&page->epoch)));
        else
                json_out_null(out, "epoch");
}

static void put_labels(struct json_out *out, const struct client_session *terms)
{
        json_out_open(out, "labels", '{');
        for (unsigned i = 0; i < terms->label_count; i++) {
                char key[sizeof(terms->label[0])];
                const char *equals = strchr(terms->label[i], '=');

                if (text_put(key, sizeof(key), NULL, "%.*s", (int)(equals - terms->label[i]),
                             terms->label[i]) == 0)
                        json_out_text(out, key, equals + 1);
        }
        json_out_close(out, '}');
}

static void put_terms(struct json_out *out, const struct client_session *terms)
{
        const struct rank rank = terms ? rank_of(terms) : (struct rank){ 0 };

        json_out_text(out, "state", terms ? terms->state : NULL);
        json_out_text(out, "expires_at", terms && terms->expires_at[0] ? terms->expires_at : NULL);
        if (terms && terms->ttl_ns)
                json_out_seconds(out, "ttl_seconds", terms->ttl_ns);
        else
                json_out_null(out, "ttl_seconds");
        json_out_text(out, "on_end", terms ? terms->on_end : NULL);
        rank_json(out, terms ? &rank : NULL);
        if (terms) {
                json_out_bool(out, "clamped", terms->is_clamped);
                put_labels(out, terms);
        } else {
                json_out_null(out, "clamped");
                json_out_null(out, "labels");
        }
}

/* Returns how the remainder on a GPU is known (views_remainder()); NULL if the pages do not show
 * it. */
static const char *remainder_of(const struct seen *seen, const char *uuid)
{
        const struct limits_device *device = seen->session ? seen->session->limits->device : NULL;
        uint8_t wanted[16];

        if (!device || !uuid_parse(uuid, wanted))
                return NULL;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (memcmp(device[i].uuid, wanted, sizeof(wanted)) == 0)
                        return views_remainder(seen->session, seen->usage, i);
        }
        return NULL;
}

static void put_device(struct json_out *out, const struct seen *seen,
                       const struct client_share *share)
{
        json_out_open(out, NULL, '{');
        views_share(out, share);
        json_out_u64(out, "used_bytes", share->used_bytes);
        if (share->card_bytes)
                json_out_u64(out, "card_bytes", share->card_bytes);
        else
                json_out_null(out, "card_bytes");
        json_out_text(out, "remainder", remainder_of(seen, share->uuid));
        findings_json(out, share, seen->terms != NULL);
        json_out_close(out, '}');
}

/* Prints the GPUs. If the daemon reports the session, only the GPUs that it lists are the
 * session's. */
static void put_devices(struct json_out *out, const struct seen *seen)
{
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; seen->terms && i < seen->terms->share_count; i++)
                put_device(out, seen, &seen->terms->share[i]);
        for (unsigned i = 0; !seen->terms && i < PAGE_DEVICES; i++) {
                struct client_share share;

                if (!usage_has_row(seen->session, i))
                        continue;
                share = views_row(seen->session, i);
                share.used_bytes = seen->usage->used_bytes[i];
                put_device(out, seen, &share);
        }
        json_out_close(out, ']');
}

/* Prints the session's host memory; null if it has none. */
static void put_host(struct json_out *out, const struct seen *seen)
{
        uint64_t limit_bytes =
                seen->terms ? seen->terms->host_bytes : views_host_bytes(seen->session);

        if (!limit_bytes) {
                json_out_null(out, "host");
                return;
        }
        json_out_open(out, "host", '{');
        json_out_u64(out, "limit_bytes", limit_bytes);
        json_out_u64(out, "used_bytes",
                     seen->terms ? seen->terms->host_used_bytes : seen->usage->host_bytes);
        json_out_close(out, '}');
}

/* Prints the state of swapping; null if the session does not swap. Without a daemon, the fields
 * about turns are null. */
static void put_swap(struct json_out *out, const struct seen *seen)
{
        struct client_swap swap;

        if (!views_swap(seen->session, seen->usage, seen->terms, &swap)) {
                json_out_null(out, "swap");
                return;
        }
        json_out_open(out, "swap", '{');
        json_out_text(out, "state", swap.state[0] ? swap.state : NULL);
        json_out_u64(out, "resident_bytes", swap.resident_bytes);
        json_out_u64(out, "out_bytes", swap.out_bytes);
        json_out_u64(out, "pinned_bytes", swap.pinned_bytes);
        if (swap.state[0]) {
                json_out_u64(out, "holds", swap.holds);
                json_out_seconds(out, "held_seconds", swap.held_ns);
                json_out_seconds(out, "hold_seconds", swap.hold_ns);
                json_out_u64(out, "moved_bytes", swap.moved_bytes);
                json_out_text(out, "mode", swap.rules.mode);
                if (swap.rules.turn_ns)
                        json_out_seconds(out, "turn_seconds", swap.rules.turn_ns);
                else
                        json_out_null(out, "turn_seconds");
        } else {
                json_out_null(out, "holds");
                json_out_null(out, "held_seconds");
                json_out_null(out, "hold_seconds");
                json_out_null(out, "moved_bytes");
        }
        json_out_close(out, '}');
}

int show_json(const struct seen *seen)
{
        const struct client_session *terms = seen->terms;
        struct json_out out = { .stream = stdout };
        bool is_free =
                terms ? terms->is_context_free : seen->session->limits->flags & PAGE_CONTEXT_FREE;

        json_out_open(&out, NULL, '{');
        json_out_text(&out, "name", terms ? terms->name : seen->session->limits->name);
        put_owner(&out, seen);
        put_pages(&out, seen->session);
        put_terms(&out, terms);
        json_out_text(&out, "context", is_free ? "free" : "charge");
        put_host(&out, seen);
        put_swap(&out, seen);
        json_out_u64(&out, "processes", terms ? terms->processes : seen->usage->count);
        put_devices(&out, seen);
        json_out_close(&out, '}');
        return json_out_end(&out);
}
