/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes sessions, devices and processes as JSON. A session is written directly as text, because it
 * is requested often; other objects are built with jansson first (NULL: out of memory).
 */
#include <string.h>
#include <time.h>

#include "common/sums.h"
#include "common/text.h"
#include "common/uuid.h"
#include "daemon/api/api_parts.h"
#include "daemon/base/json_memory.h"
#include "daemon/processes/names.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/swap/swapper.h"

#define SECOND_NS UINT64_C(1000000000)
/* maximum number of processes in one answer, because the session's owner decides how many there
 * are */
#define PROCESSES_MAX NAMES_MAX

static const char *const state_names[] = { "free", "open", "ending", "killing" };
static const char *const ending_names[] = { "deny-new", "term", "kill" };
static const char *const priority_names[] = { "batch", "normal", "rt" };

const char *api_time(uint64_t ns, char ret[API_TIME_BYTES])
{
        time_t seconds = (time_t)(ns / SECOND_NS);
        char text[32] = "";
        struct tm tm;

        if (gmtime_r(&seconds, &tm))
                strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(ret, API_TIME_BYTES, "%.19s.%03uZ", text, (unsigned)(ns % SECOND_NS / 1000000));
        return ret;
}

static const struct card *card_of(const struct http_api *api, const uint8_t uuid[16])
{
        const struct cards *cards = &node_cards(api->options.node)->cards;

        for (unsigned i = 0; i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, 16) == 0)
                        return &cards->card[i];
        }
        return NULL;
}

const char *api_uuid(const struct http_api *api, const uint8_t uuid[16], char ret[UUID_TEXT_BYTES])
{
        const struct card *card = card_of(api, uuid);

        return uuid_format(uuid, card && card->is_instance, ret);
}

static json_int_t whole(uint64_t value)
{
        return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

json_t *api_bytes(uint64_t value)
{
        return json_integer(whole(value));
}

static void put_time(struct json_out *out, const char *key, uint64_t ns)
{
        char text[API_TIME_BYTES];

        json_out_text(out, key, ns ? api_time(ns, text) : NULL);
}

static void put_seconds(struct json_out *out, const char *key, uint64_t ns)
{
        json_out_decimal(out, key, ns, 9);
}

/* Adds the GPU time of a share; adds nothing if the session has not launched since the daemon's
 * start. */
static void put_gpu_time(struct json_out *out, const struct http_api *api,
                         const struct sessions_one *session, unsigned share)
{
        struct scheduler_view seen;

        if (!scheduler_read(api->options.scheduler, session->id, share, &seen))
                return;
        json_out_open(out, "gpu_time", '{');
        put_seconds(out, "held_seconds", seen.held_ns);
        put_seconds(out, "billed_seconds", seen.billed_ns);
        put_seconds(out, "waited_seconds", seen.waited_ns);
        put_seconds(out, "throttled_seconds", seen.throttled_ns);
        put_seconds(out, "debt_seconds", seen.bucket_ns < 0 ? 0 - (uint64_t)seen.bucket_ns : 0);
        put_seconds(out, "shown_seconds", node_shown_ns(api->options.node, session, share));
        json_out_whole(out, "leases", seen.leases);
        json_out_close(out, '}');
}

/* Adds whether the share's GPU time is reported, and the report. */
static void put_report(struct json_out *out, const struct http_api *api,
                       const struct sessions_one *session, unsigned share)
{
        struct node_compute_report report;
        bool is_reported = node_compute_report(api->options.node, session, share, &report);

        json_out_bool(out, "compute_reported", is_reported);
        if (!is_reported)
                return;
        json_out_open(out, "compute_report", '{');
        put_time(out, "since", report.since_ns);
        json_out_text(out, "why", node_claims_why(report.why));
        json_out_decimal(out, "shown_percent", report.shown_tenths, 1);
        json_out_decimal(out, "claimed_percent", report.claimed_tenths, 1);
        json_out_close(out, '}');
}

static void put_percent(struct json_out *out, const char *key, uint32_t milli_percent)
{
        if (milli_percent)
                json_out_decimal(out, key, milli_percent, 3);
        else
                json_out_null(out, key);
}

/* Adds the same fields as api_add_driver(). */
static void put_driver(struct json_out *out, uint64_t driver_bytes, uint64_t ledger_bytes)
{
        if (driver_bytes == SAMPLE_NONE)
                return;
        json_out_whole(out, "driver_bytes", driver_bytes);
        json_out_whole(out, "unexplained_bytes",
                       driver_bytes > ledger_bytes ? driver_bytes - ledger_bytes : 0);
}

static void put_share(struct json_out *out, const struct http_api *api,
                      const struct sessions_one *session, const struct api_use *use, unsigned at)
{
        const struct sessions_share *share = &session->share[at];
        const uint64_t used_bytes = use->used_bytes[at];
        const struct card *card = card_of(api, share->uuid);
        char uuid[UUID_TEXT_BYTES];

        json_out_open(out, NULL, '{');
        json_out_text(out, "uuid", uuid_format(share->uuid, card && card->is_instance, uuid));
        json_out_whole(out, "memory_bytes", share->memory_bytes);
        json_out_whole(out, "used_bytes", used_bytes);
        if (card)
                json_out_whole(out, "card_bytes", card->promisable_bytes);
        else
                json_out_null(out, "card_bytes");
        put_percent(out, "compute_percent",
                    share->compute_milli_percent < SESSIONS_WHOLE_MILLI_PERCENT
                            ? share->compute_milli_percent
                            : 0);
        put_percent(out, "guarantee_percent", share->guarantee_milli_percent);
        put_driver(out, node_driver_bytes(api->options.node, session, share->uuid),
                   session->swaps ? difference_of(used_bytes, use->host_bytes) : used_bytes);
        put_report(out, api, session, at);
        put_gpu_time(out, api, session, at);
        json_out_close(out, '}');
}

static const char *id_text(const uint8_t id[16], char ret[33])
{
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < 16; i++) {
                ret[2 * i] = digits[id[i] >> 4];
                ret[2 * i + 1] = digits[id[i] & 15];
        }
        ret[32] = '\0';
        return ret;
}

/* Adds the saved labels. api_body.c checked them, but the database may have been edited since. */
static void put_labels(struct json_out *out, const struct sessions_one *session)
{
        bool has_some = session->labels[0] && strcmp(session->labels, "{}") != 0;
        json_t *labels = has_some ? json_loads(session->labels, 0, NULL) : NULL;
        const char *text = labels ? session->labels : "{}";

        json_out_raw(out, "labels", text, strlen(text));
        out->has_failed |= has_some && !labels && json_memory_was_short();
        json_decref(labels);
}

static void put_host(struct json_out *out, const struct sessions_one *session,
                     const struct api_use *use)
{
        /* all memory of a session that swaps may be in the host */
        const uint64_t limit_bytes =
                session->swaps ? session->share[0].memory_bytes : session->host_bytes;

        if (!limit_bytes) {
                json_out_null(out, "host");
                return;
        }
        json_out_open(out, "host", '{');
        json_out_whole(out, "limit_bytes", limit_bytes);
        json_out_whole(out, "used_bytes", use->host_bytes);
        json_out_close(out, '}');
}

static void put_turns(struct json_out *out, const struct http_api *api,
                      const struct sessions_one *session)
{
        struct swapper_view seen;

        if (!swapper_read(api->options.swapper, session->id, &seen)) {
                json_out_null(out, "state");
                json_out_null(out, "holds");
                json_out_null(out, "held_seconds");
                json_out_null(out, "hold_seconds");
                json_out_null(out, "moved_bytes");
                return;
        }
        json_out_text(out, "state",
                      seen.is_stuck               ? "stuck"
                      : seen.state == SWAP_RUNS   ? "runs"
                      : seen.state == SWAP_DRAINS ? "drains"
                                                  : "held");
        json_out_whole(out, "holds", seen.holds);
        put_seconds(out, "held_seconds", seen.held_ns);
        put_seconds(out, "hold_seconds", seen.hold_ns);
        json_out_whole(out, "moved_bytes", seen.moved_bytes);
}

/* Adds where the memory of a session that swaps is, as its ledgers count it. */
static void put_swap(struct json_out *out, const struct http_api *api,
                     const struct sessions_one *session, const struct api_use *use)
{
        const uint64_t used_bytes = use->used_bytes[0];
        struct swap_rules rules;

        if (!session->swaps) {
                json_out_null(out, "swap");
                return;
        }
        json_out_open(out, "swap", '{');
        json_out_whole(out, "resident_bytes", difference_of(used_bytes, use->host_bytes));
        json_out_whole(out, "out_bytes", use->host_bytes);
        json_out_whole(out, "pinned_bytes", difference_of(used_bytes, use->swap_bytes));
        put_turns(out, api, session);
        rules = swapper_rules(api->options.swapper);
        api_put_rules(out, &rules);
        json_out_close(out, '}');
}

void api_put_session(struct json_out *out, const struct http_api *api,
                     const struct sessions_one *session)
{
        static struct folder_use seen;
        const struct api_use *use = api_use_of(api, session, &seen);
        char id[33];

        json_out_open(out, NULL, '{');
        json_out_text(out, "name", session->name);
        json_out_text(out, "id", id_text(session->id, id));
        json_out_whole(out, "owner", session->owner_uid);
        json_out_text(out, "state", state_names[session->state]);
        json_out_whole(out, "version", session->version);
        put_time(out, "created_at", session->created_ns);
        put_time(out, "expires_at", session->expires_ns);
        put_time(out, "ended_at", session->ended_ns);
        if (session->ttl_ns)
                put_seconds(out, "ttl_seconds", session->ttl_ns);
        else
                json_out_null(out, "ttl_seconds");
        json_out_text(out, "on_end", ending_names[session->ending % 3]);
        json_out_whole(out, "weight", session->weight);
        json_out_text(out, "priority", priority_names[session->priority % 3]);
        if (session->gang[0])
                json_out_text(out, "gang", session->gang);
        else
                json_out_null(out, "gang");
        json_out_text(out, "context", session->is_context_free ? "free" : "charge");
        put_host(out, session, use);
        put_swap(out, api, session, use);
        put_labels(out, session);
        json_out_whole(out, "processes", use->count);
        if (!use->is_now)
                put_time(out, "looked_at", use->at_ns);
        json_out_bool(out, "clamped", node_is_clamped(api->options.node, session));
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; i < session->share_count; i++)
                put_share(out, api, session, use, i);
        json_out_close(out, ']');
        json_out_close(out, '}');
}

static json_t *view_process(const struct http_api *api, const struct sessions_one *session,
                            const struct folder_use *use, const struct usage_process *process)
{
        uint32_t pid = process->local_pid;
        const char *recorded = tenants_cgroup(api->options.tenants, session->name, pid);
        char uuid[UUID_TEXT_BYTES], now[USAGE_CGROUP_BYTES] = "";
        const char *cgroup = recorded ? recorded : now;
        json_t *devices = json_array();

        if (!recorded && pid)
                usage_cgroup(pid, now);
        for (unsigned row = 0; row < PAGE_DEVICES; row++) {
                json_t *view;

                if (!process->bytes[row] || page_is_no_card(use->uuid[row]))
                        continue;
                view = json_pack("{s:s, s:I}", "uuid", api_uuid(api, use->uuid[row], uuid), "bytes",
                                 whole(process->bytes[row]));
                api_add_driver(view, api_driver_bytes(api, session, pid, use->uuid[row]),
                               process->bytes[row]);
                json_array_append_new(devices, view);
        }
        return json_pack("{s:o, s:s, s:I, s:o, s:s, s:o}", "pid",
                         pid ? json_integer((json_int_t)pid) : json_null(), "command",
                         process->command, "uid", (json_int_t)process->uid, "cgroup",
                         cgroup[0] ? json_string(cgroup) : json_null(), "joined_by",
                         recorded ? "socket" : "path", "devices", devices);
}

json_t *api_view_processes(const struct http_api *api, const struct sessions_one *session)
{
        static struct folder_use seen;
        const struct api_use *use = api_use_of(api, session, &seen);
        unsigned count = seen.count < PROCESSES_MAX ? seen.count : PROCESSES_MAX;
        json_t *list;

        if (!use->is_now)
                return NULL;
        list = json_array();
        folder_name(session, &seen, count);
        for (unsigned i = 0; i < count; i++)
                json_array_append_new(list, view_process(api, session, &seen, &seen.process[i]));
        return list;
}

static unsigned sessions_on(const struct sessions *all, const uint8_t uuid[16])
{
        unsigned count = 0;

        for (unsigned i = 0; i < all->entries; i++) {
                const struct sessions_one *one = &all->session[i];

                for (unsigned j = 0; one->state != SESSIONS_FREE && j < one->share_count; j++)
                        count += memcmp(one->share[j].uuid, uuid, 16) == 0;
        }
        return count;
}

json_t *api_view_device(const struct http_api *api, const struct card *card)
{
        const struct sessions *all = node_sessions(api->options.node);
        char uuid[UUID_TEXT_BYTES];
        json_t *view = json_pack(
                "{s:s, s:i, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:i}", "uuid",
                uuid_format(card->uuid, card->is_instance, uuid), "index", (int)card->index,
                "is_instance", card->is_instance, "name", card->name, "memory_bytes",
                whole(card->total_bytes), "card_bytes", whole(card->promisable_bytes),
                "promised_bytes", whole(sessions_promised(all, card->uuid)), "room_bytes",
                whole(sessions_room(all, card->uuid)), "used_bytes", whole(card->used_bytes),
                "sessions", (int)sessions_on(all, card->uuid));

        api_add_gpu(api, view, card->uuid);
        return view;
}
