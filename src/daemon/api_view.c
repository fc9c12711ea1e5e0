/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sessions, devices and processes look in JSON. NULL: out of memory.
 */
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "common/uuid.h"
#include "daemon/api_parts.h"
#include "daemon/schedule/scheduler.h"

#define SECOND_NS UINT64_C(1000000000)

static const char *const state_names[] = { "free", "open", "ending", "killing" };
static const char *const ending_names[] = { "deny-new", "term", "kill" };
static const char *const priority_names[] = { "batch", "normal", "rt" };

const char *api_state_name(const struct sessions_one *session)
{
        return state_names[session->state];
}

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

static json_t *time_or_null(uint64_t ns)
{
        char text[API_TIME_BYTES];

        return ns ? json_string(api_time(ns, text)) : json_null();
}

static const struct card *card_of(const struct api *api, const uint8_t uuid[16])
{
        const struct cards *cards = &node_cards(api->options.node)->cards;

        for (unsigned i = 0; i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, 16) == 0)
                        return &cards->card[i];
        }
        return NULL;
}

const char *api_uuid(const struct api *api, const uint8_t uuid[16], char ret[UUID_TEXT_BYTES])
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

/* Only where it has launched since the daemon began. */
static void add_time(json_t *view, const struct api *api, const struct sessions_one *session,
                     unsigned share)
{
        struct scheduler_view seen;

        if (!scheduler_read(api->options.scheduler, session->id, share, &seen))
                return;
        json_object_set_new(
                view, "gpu_time",
                json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "held_seconds",
                          (double)seen.held_ns / 1e9, "billed_seconds",
                          (double)seen.billed_ns / 1e9, "waited_seconds",
                          (double)seen.waited_ns / 1e9, "throttled_seconds",
                          (double)seen.throttled_ns / 1e9, "debt_seconds",
                          seen.bank_ns < 0 ? (double)-seen.bank_ns / 1e9 : 0.0, "shown_seconds",
                          (double)node_shown_ns(api->options.node, session, share) / 1e9, "leases",
                          whole(seen.leases)));
}

/* Only while it is. */
static void add_clamp(json_t *view, const struct api *api, const struct sessions_one *session,
                      unsigned share)
{
        struct node_compute_clamp clamp;
        bool is_clamped = node_compute_clamp(api->options.node, session, share, &clamp);

        json_object_set_new(view, "compute_clamped", json_boolean(is_clamped));
        if (is_clamped)
                json_object_set_new(view, "compute_clamp",
                                    json_pack("{s:o, s:o, s:s, s:i, s:f, s:f}", "since",
                                              time_or_null(clamp.since_ns), "until",
                                              time_or_null(clamp.until_ns), "why",
                                              node_claims_why(clamp.why), "times", (int)clamp.times,
                                              "shown_percent", clamp.shown_percent,
                                              "claimed_percent", clamp.claimed_percent));
}

static json_t *view_share(const struct api *api, const struct sessions_one *session,
                          const struct sessions_share *share, const struct folder_use *use)
{
        uint64_t used_bytes = folder_used_bytes(use, share->uuid);
        const struct card *card = card_of(api, share->uuid);
        char uuid[UUID_TEXT_BYTES];
        json_t *view = json_pack(
                "{s:s, s:I, s:I, s:o, s:o, s:o}", "uuid", api_uuid(api, share->uuid, uuid),
                "memory_bytes", whole(share->memory_bytes), "used_bytes", whole(used_bytes),
                "card_bytes", card ? json_integer(whole(card->total_bytes)) : json_null(),
                "compute_percent",
                share->compute_milli_percent ? json_real(share->compute_milli_percent / 1000.0)
                                             : json_null(),
                "guarantee_percent",
                share->guarantee_milli_percent ? json_real(share->guarantee_milli_percent / 1000.0)
                                               : json_null());

        api_add_driver(view, node_driver_bytes(api->options.node, session, share->uuid),
                       used_bytes);
        add_clamp(view, api, session, (unsigned)(share - session->share));
        add_time(view, api, session, (unsigned)(share - session->share));
        return view;
}

static json_t *view_shares(const struct api *api, const struct sessions_one *session,
                           const struct folder_use *use)
{
        json_t *shares = json_array();

        for (unsigned i = 0; i < session->share_count; i++)
                json_array_append_new(shares, view_share(api, session, &session->share[i], use));
        return shares;
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

/* What lives in it, as far as it can be told. */
static const struct folder_use *use_of(const struct api *api, const struct sessions_one *session)
{
        static struct folder_use use;

        if (folder_read(node_store(api->options.node), session, &use, NULL) < 0)
                use.count = 0;
        return &use;
}

json_t *api_view_session(const struct api *api, const struct sessions_one *session)
{
        const struct folder_use *use = use_of(api, session);
        json_t *labels = json_loads(session->labels[0] ? session->labels : "{}", 0, NULL);
        char id[33];

        return json_pack("{s:s, s:s, s:I, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:i, s:s, s:s, s:o, "
                         "s:i, s:b, s:o}",
                         "name", session->name, "id", id_text(session->id, id), "owner",
                         (json_int_t)session->owner_uid, "state", api_state_name(session),
                         "version", whole(session->version), "created_at",
                         time_or_null(session->created_ns), "expires_at",
                         time_or_null(session->expires_ns), "ended_at",
                         time_or_null(session->ended_ns), "ttl_seconds",
                         session->ttl_ns ? json_real((double)session->ttl_ns / (double)SECOND_NS)
                                         : json_null(),
                         "on_end", ending_names[session->ending % 3], "weight",
                         (int)session->weight, "priority", priority_names[session->priority % 3],
                         "context", session->is_context_free ? "free" : "charge", "labels",
                         labels ? labels : json_object(), "processes", (int)use->count, "clamped",
                         node_is_clamped(api->options.node, session), "devices",
                         view_shares(api, session, use));
}

static json_t *view_process(const struct api *api, const struct sessions_one *session,
                            const struct folder_use *use, const struct usage_process *process)
{
        uint32_t pid = usage_local_pid(process);
        const char *recorded = tenants_cgroup(api->options.tenants, session->name, pid);
        char uuid[UUID_TEXT_BYTES], now[USAGE_CGROUP_BYTES] = "";
        const char *cgroup = recorded ? recorded : now;
        json_t *devices = json_array();

        if (!recorded && pid)
                usage_cgroup(pid, now);
        for (unsigned row = 0; row < PAGE_DEVICES; row++) {
                json_t *view;

                if (!process->bytes[row])
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

json_t *api_view_processes(const struct api *api, const struct sessions_one *session)
{
        const struct folder_use *use = use_of(api, session);
        json_t *list = json_array();

        for (unsigned i = 0; i < use->count; i++)
                json_array_append_new(list, view_process(api, session, use, &use->process[i]));
        return list;
}

static unsigned sessions_on(const struct sessions *all, const uint8_t uuid[16])
{
        unsigned count = 0;

        for (unsigned i = 0; i < all->places; i++) {
                const struct sessions_one *one = &all->session[i];

                for (unsigned j = 0; one->state != SESSIONS_FREE && j < one->share_count; j++)
                        count += memcmp(one->share[j].uuid, uuid, 16) == 0;
        }
        return count;
}

json_t *api_view_device(const struct api *api, const struct card *card)
{
        const struct sessions *all = node_sessions(api->options.node);
        char uuid[UUID_TEXT_BYTES];
        json_t *view =
                json_pack("{s:s, s:i, s:b, s:s, s:I, s:I, s:I, s:I, s:i}", "uuid",
                          uuid_format(card->uuid, card->is_instance, uuid), "index",
                          (int)card->index, "is_instance", card->is_instance, "name", card->name,
                          "memory_bytes", whole(card->total_bytes), "promised_bytes",
                          whole(sessions_promised(all, card->uuid)), "room_bytes",
                          whole(sessions_room(all, card->uuid)), "used_bytes",
                          whole(card->used_bytes), "sessions", (int)sessions_on(all, card->uuid));

        api_add_gpu(api, view, card->uuid);
        return view;
}
