/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/client_parts.h"
#include "cli/presence.h"
#include "common/machine_clock.h"
#include "common/text.h"
#include "settings/settings.h"

#define START_PAUSE_NS 20000000
#define STARTS_MS 5000L /* how long a starting daemon is waited for */
#define SILENT_MS 1000u /* a longer wait is reported to the user */
#define MS_A_SECOND 1000
#define NS_A_MS UINT64_C(1000000)
#define SECOND_NS 1e9
#define SECONDS_MAX 1e10 /* this many seconds in nanoseconds still fit 64 bits */
#define LABEL_KEY_BYTES 64u

const bool client_is_built = true;

static void tell_what_is_awaited(const struct store *store, enum presence presence)
{
        if (presence == PRESENCE_STARTS)
                client_tell_waiting(store, STARTS_MS);
        else
                fprintf(stderr,
                        "aliquot: nobody listens in %s, and whether a daemon starts there is not "
                        "known, as this machine has too many file locks to look through; waiting "
                        "for one, %ld s at most\n",
                        store->path, STARTS_MS / MS_A_SECOND);
}

/* Waits while a daemon may be starting, at most STARTS_MS: until one listens, or none will. A
 * command that has waited in vain once does not wait again. */
static enum presence wait_for_start(const struct store *store)
{
        static bool has_waited;
        const uint64_t began_ns = clock_machine_ns();
        enum presence presence = presence_look(store);
        bool is_told = false;

        while (presence == PRESENCE_STARTS || (presence == PRESENCE_UNKNOWN && !has_waited)) {
                uint64_t waited_ms = (clock_machine_ns() - began_ns) / NS_A_MS;

                if (waited_ms >= STARTS_MS)
                        break;
                if (!is_told && waited_ms >= SILENT_MS)
                        tell_what_is_awaited(store, presence);
                is_told |= waited_ms >= SILENT_MS;
                nanosleep(&(struct timespec){ .tv_nsec = START_PAUSE_NS }, NULL);
                presence = presence_look(store);
        }
        has_waited |= presence == PRESENCE_UNKNOWN;
        return presence;
}

/* Makes the error for a folder that is closed to this user, while no process holds the daemon's
 * locks. */
static int fail_closed(const struct store *store, struct error *err)
{
        struct stat st;

        if (stat(store->path, &st) < 0)
                return fail(err, CLIENT_AWAY, "%s: %m", store->path);
        return fail(err, CLIENT_AWAY,
                    "%s belongs to user %u, and no daemon serves it; start aliquotd as that user, "
                    "or name a folder of your own with ALIQUOT_RUNTIME_DIR",
                    store->path, st.st_uid);
}

int client_find(const struct store *store, struct error *err)
{
        switch (wait_for_start(store)) {
        case PRESENCE_LISTENS:
                return 1;
        case PRESENCE_BARRED:
                if (!presence_is_barred(store))
                        return fail_closed(store, err);
                return fail(err, CLIENT_AWAY,
                            "the daemon of %s does not let this user in; its socket.mode and "
                            "socket.group say who may",
                            store->path);
        case PRESENCE_STARTS:
                return client_away(store, "it runs and does not listen", err);
        default: /* no daemon listened at any time */
                return 0;
        }
}

int client_protection(const struct store *store, struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "GET" };
        int rc = client_start_call(&call, err, "/v1");

        if (rc == 0)
                rc = client_perform(&call, err);
        return rc < 0 ? rc : strcmp(client_text(call.answer, "limits_protection"), "mount") == 0;
}

static json_t *memory_of(const struct client_wish *wish)
{
        json_t *memory;

        if (wish->memory)
                return json_string(wish->memory);
        memory = json_object();
        for (unsigned i = 0; i < wish->share_count; i++)
                json_object_set_new(memory, wish->share[i].uuid,
                                    json_integer((json_int_t)wish->share[i].memory_bytes));
        return memory;
}

/* Puts a label, "key=value", into an object. */
static void put_label(json_t *labels, const char *label)
{
        const char *equals = strchr(label, '=');
        char key[LABEL_KEY_BYTES];

        /* the daemon reports a key that is too long */
        if (text_put(key, sizeof(key), NULL, "%.*s", (int)(equals - label), label) < 0)
                json_object_set_new(labels, label, json_string(""));
        else
                json_object_set_new(labels, key, json_string(equals + 1));
}

/* Sets one label in a JSON object ("key=value"), or removes it from the object ("key="). */
static void change_label(json_t *labels, const char *label)
{
        const char *equals = strchr(label, '=');
        char key[LABEL_KEY_BYTES];

        if (!equals[1] &&
            text_put(key, sizeof(key), NULL, "%.*s", (int)(equals - label), label) == 0)
                json_object_del(labels, key);
        else
                put_label(labels, label);
}

/* Makes an object of the labels that the session has (`seen`, or NULL) and those that are
 * requested. */
static json_t *labels_of(const struct client_session *seen, const struct client_wish *wish)
{
        json_t *labels = json_object();

        for (unsigned i = 0; seen && i < seen->label_count; i++)
                put_label(labels, seen->label[i]);
        for (unsigned i = 0; i < wish->label_count; i++)
                change_label(labels, wish->label[i]);
        return labels;
}

static void put_text(json_t *body, const char *key, const char *text)
{
        if (text)
                json_object_set_new(body, key, json_string(text));
}

static json_t *ttl_of(const struct client_wish *wish)
{
        return wish->ttl_ns ? json_real((double)wish->ttl_ns / SECOND_NS) : json_null();
}

json_t *client_wish_body(const struct client_session *seen, const struct client_wish *wish)
{
        json_t *body = client_object();

        put_text(body, "name", wish->name);
        if (wish->memory || wish->share_count)
                json_object_set_new(body, "memory", memory_of(wish));
        if (wish->gpu)
                json_object_set_new(body, "gpus", json_pack("[s]", wish->gpu));
        if (wish->any_gpus)
                json_object_set_new(body, "gpus", json_pack("{s:i}", "count", (int)wish->any_gpus));
        if (wish->has_ttl)
                json_object_set_new(body, "ttl", ttl_of(wish));
        put_text(body, "compute", wish->compute);
        put_text(body, "guarantee", wish->guarantee);
        put_text(body, "priority", wish->priority);
        put_text(body, "gang", wish->gang);
        if (wish->weight)
                json_object_set_new(body, "weight", json_integer(wish->weight));
        put_text(body, "on_end", wish->on_end);
        put_text(body, "context", wish->is_context_free ? "free" : NULL);
        if (wish->host_bytes)
                json_object_set_new(body, "oversubscribe",
                                    wish->host_bytes == SETTINGS_HOST_SPARE
                                            ? json_true()
                                            : json_integer((json_int_t)wish->host_bytes));
        if (wish->says_swap)
                json_object_set_new(body, "swap", json_boolean(wish->swaps));
        put_text(body, "device_name", wish->device_name);
        if (wish->label_count)
                json_object_set_new(body, "labels", labels_of(seen, wish));
        return body;
}

/* Returns a percentage in millionths; 0 if it is null. */
static uint32_t ppm_of(const json_t *device, const char *key)
{
        double percent = json_number_value(json_object_get(device, key));

        return percent > 0 && percent <= 100 ? (uint32_t)(percent * PAGE_WHOLE_PPM / 100 + 0.5) : 0;
}

static uint64_t ns_of(const json_t *time, const char *key)
{
        double seconds = json_number_value(json_object_get(time, key));

        return seconds > 0 && seconds < SECONDS_MAX ? (uint64_t)(seconds * SECOND_NS + 0.5) : 0;
}

static void read_time(const json_t *time, struct client_share *ret)
{
        ret->has_time = json_is_object(time);
        ret->busy_ns = ns_of(time, "billed_seconds");
        ret->queued_ns = ns_of(time, "waited_seconds");
        ret->throttled_ns = ns_of(time, "throttled_seconds");
        ret->debt_ns = ns_of(time, "debt_seconds");
}

/* Reads a report on GPU time. A report whose reason is missing gets an unknown reason. */
static void read_finding(const json_t *device, struct client_finding *ret)
{
        const json_t *answer = json_object_get(device, "compute_report");
        const char *why = client_text(answer, "why");

        if (!json_is_true(json_object_get(device, "compute_reported")))
                return;
        text_quote(why[0] ? why : "for no known reason", ret->why, sizeof(ret->why));
        text_quote(client_text(answer, "since"), ret->since, sizeof(ret->since));
        ret->shown_ppm = ppm_of(answer, "shown_percent");
        ret->claimed_ppm = ppm_of(answer, "claimed_percent");
}

/* Reads the shares and returns their number. `used` is the name of the daemon's field for the bytes
 * in use. */
static unsigned read_shares(const json_t *devices, const char *used,
                            struct client_share ret[PAGE_DEVICES])
{
        unsigned count = 0;
        json_t *device;
        size_t at;

        json_array_foreach(devices, at, device)
        {
                struct client_share *share = &ret[count];

                if (count == PAGE_DEVICES)
                        break;
                text_put(share->uuid, sizeof(share->uuid), NULL, "%s", client_text(device, "uuid"));
                share->memory_bytes = client_whole(device, "memory_bytes");
                share->cap_ppm = ppm_of(device, "compute_percent");
                if (!share->cap_ppm)
                        share->cap_ppm = PAGE_WHOLE_PPM;
                share->guarantee_ppm = ppm_of(device, "guarantee_percent");
                read_time(json_object_get(device, "gpu_time"), share);
                share->finding = (struct client_finding){ 0 };
                read_finding(device, &share->finding);
                share->used_bytes = client_whole(device, used);
                share->card_bytes = client_whole(device, "card_bytes");
                count++;
        }
        return count;
}

static void read_rules(const json_t *rules, struct client_rules *ret)
{
        text_quote(client_text(rules, "mode"), ret->mode, sizeof(ret->mode));
        ret->turn_ns = ns_of(rules, "turn_seconds");
}

static void read_swap(const json_t *swap, struct client_swap *ret)
{
        read_rules(swap, &ret->rules);
        ret->resident_bytes = client_whole(swap, "resident_bytes");
        ret->out_bytes = client_whole(swap, "out_bytes");
        ret->pinned_bytes = client_whole(swap, "pinned_bytes");
        ret->holds = client_whole(swap, "holds");
        ret->held_ns = ns_of(swap, "held_seconds");
        ret->hold_ns = ns_of(swap, "hold_seconds");
        ret->moved_bytes = client_whole(swap, "moved_bytes");
        text_quote(client_text(swap, "state"), ret->state, sizeof(ret->state));
}

static void read_session(json_t *json, struct client_session *ret)
{
        const char *key;
        json_t *value;

        *ret = (struct client_session){ .owner = (uint32_t)client_whole(json, "owner"),
                                        .version = client_whole(json, "version"),
                                        .weight = (uint32_t)client_whole(json, "weight"),
                                        .processes = (unsigned)client_whole(json, "processes") };
        ret->ttl_ns = ns_of(json, "ttl_seconds");
        ret->is_clamped = json_is_true(json_object_get(json, "clamped"));
        ret->is_context_free = strcmp(client_text(json, "context"), "free") == 0;
        ret->host_bytes = client_whole(json_object_get(json, "host"), "limit_bytes");
        ret->host_used_bytes = client_whole(json_object_get(json, "host"), "used_bytes");
        ret->swaps = json_is_object(json_object_get(json, "swap"));
        read_swap(json_object_get(json, "swap"), &ret->swap);
        text_quote(client_text(json, "name"), ret->name, sizeof(ret->name));
        text_quote(client_text(json, "state"), ret->state, sizeof(ret->state));
        text_quote(client_text(json, "on_end"), ret->on_end, sizeof(ret->on_end));
        text_quote(client_text(json, "priority"), ret->priority, sizeof(ret->priority));
        text_quote(client_text(json, "gang"), ret->gang, sizeof(ret->gang));
        text_quote(client_text(json, "expires_at"), ret->expires_at, sizeof(ret->expires_at));
        json_object_foreach(json_object_get(json, "labels"), key, value)
        {
                char *label = ret->label[ret->label_count];

                if (ret->label_count < CLIENT_LABELS &&
                    text_put(label, sizeof(ret->label[0]), NULL, "%s=%s", key,
                             json_is_string(value) ? json_string_value(value) : "") == 0)
                        ret->label_count++;
        }
        ret->share_count = read_shares(json_object_get(json, "devices"), "used_bytes", ret->share);
}

int client_create(const struct store *store, const struct client_wish *wish, struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "POST",
                                         .body = client_wish_body(NULL, wish) };

        client_start_call(&call, NULL, "/v1/sessions");
        return client_perform(&call, err);
}

int client_show(const struct store *store, const char *name, struct client_session *ret,
                struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "GET" };
        int rc = client_start_call(&call, err, "/v1/sessions/%s", name);

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc == 0)
                read_session(call.answer, ret);
        return rc;
}

/* Requests one page of the list. *after is the name after which the next page begins, "" at the
 * end. */
static int list_page(const struct store *store, const struct client_listener *listener,
                     char after[PAGE_NAME_BYTES], struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "GET",
                                         .patience_ms = listener->patience_ms };
        static struct client_session session;
        json_t *one;
        size_t at;
        int rc = client_start_call(&call, err, "/v1/sessions?limit=1000%s%s%s%s%s",
                                   listener->only ? "&" : "", listener->only ? listener->only : "",
                                   listener->only ? "=true" : "", after[0] ? "&after=" : "", after);

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        json_array_foreach(json_object_get(call.answer, "sessions"), at, one)
        {
                read_session(one, &session);
                rc = listener->each(&session, listener->context);
                if (rc < 0)
                        return fail(err, rc, "sessions: %s", strerror(-rc));
        }
        return text_put(after, PAGE_NAME_BYTES, err, "%s", client_text(call.answer, "next"));
}

int client_list(const struct store *store, const struct client_listener *listener,
                struct error *err)
{
        char after[PAGE_NAME_BYTES] = "";
        int rc;

        do {
                rc = list_page(store, listener, after, err);
        } while (rc == 0 && after[0]);
        return rc;
}

int client_processes(const struct store *store, const char *name,
                     void (*each)(const struct client_process *process, void *context),
                     void *context, struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "GET" };
        json_t *one;
        size_t at;
        int rc = client_start_call(&call, err, "/v1/sessions/%s/processes", name);

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        json_array_foreach(call.answer, at, one)
        {
                struct client_process process = { .pid = (uint32_t)client_whole(one, "pid"),
                                                  .uid = (uint32_t)client_whole(one, "uid") };

                text_quote(client_text(one, "command"), process.command, sizeof(process.command));
                text_quote(client_text(one, "cgroup"), process.cgroup, sizeof(process.cgroup));
                process.share_count =
                        read_shares(json_object_get(one, "devices"), "bytes", process.share);
                each(&process, context);
        }
        return 0;
}

/* Performs a request about the session `name`, whose errors get advice to the user. */
static int perform_on(struct call *call, const char *name, struct error *err)
{
        int rc = client_perform(call, err);

        if (rc == -ESHUTDOWN)
                return fail(err, rc,
                            "session %s is ending; aliquot rm --force %s kills its programs", name,
                            name);
        return rc;
}

int client_change(const struct store *store, const struct client_session *seen,
                  const struct client_wish *wish, struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "PATCH",
                                         .body = client_wish_body(seen, wish),
                                         .version = seen->version };
        int rc = client_start_call(&call, err, "/v1/sessions/%s", seen->name);

        return rc < 0 ? rc : perform_on(&call, seen->name, err);
}

int client_rule(const struct store *store, const char *mode, const char *turn,
                struct client_rules *ret, struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "PATCH",
                                         .body = client_object() };
        int rc;

        put_text(call.body, "mode", mode);
        if (turn)
                json_object_set_new(call.body, "turn",
                                    strcmp(turn, "none") == 0 ? json_null() : json_string(turn));
        client_start_call(&call, NULL, "/v1/swap");
        rc = client_perform(&call, err);
        if (rc == 0)
                read_rules(call.answer, ret);
        return rc;
}

int client_renew(const struct store *store, const char *name, const struct client_wish *wish,
                 struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "POST",
                                         .body = client_object() };
        int rc = client_start_call(&call, err, "/v1/sessions/%s/renew", name);

        if (wish->has_ttl)
                json_object_set_new(call.body, "ttl", ttl_of(wish));
        return rc < 0 ? rc : perform_on(&call, name, err);
}

int client_remove(const struct store *store, const char *name, bool is_forced, struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "DELETE" };
        int rc = client_start_call(&call, err, "/v1/sessions/%s%s", name,
                                   is_forced ? "?force=true" : "");

        if (rc == 0)
                rc = perform_on(&call, name, err);
        if (rc < 0 || call.status != 202)
                return rc < 0 ? rc : 0;
        return strcmp(client_text(call.answer, "state"), "killing") != 0;
}
