/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds to other answers what the driver reports of GPUs and their processes, and answers
 * /v1/processes. A value that the driver does not report is left out; it is never shown as 0.
 */
#include <string.h>

#include "common/text.h"
#include "common/uuid.h"
#include "daemon/api/api_parts.h"

/* -- GPUs ------------------------------------------------------------------------------------- */

static const struct sample_device *device_of(const struct http_api *api, const uint8_t uuid[16])
{
        const struct nvml_look *look = node_gpus(api->options.node);

        for (unsigned i = 0; look && i < look->sample.device_count; i++) {
                if (memcmp(look->sample.device[i].uuid, uuid, 16) == 0)
                        return &look->sample.device[i];
        }
        return NULL;
}

static void add_whole(json_t *view, const char *name, int64_t value)
{
        if (value >= 0)
                json_object_set_new(view, name, json_integer(value));
}

static void add_bytes(json_t *view, const char *name, uint64_t value)
{
        if (value != SAMPLE_NONE)
                json_object_set_new(view, name, api_bytes(value));
}

static void add_watts(json_t *view, const char *name, int64_t milliwatts)
{
        if (milliwatts >= 0)
                json_object_set_new(view, name, json_real((double)milliwatts / 1000));
}

/* Adds three numbers of processes on the GPU: of all, of those without a session, and of those
 * whose session is not known yet. */
static void add_processes(const struct http_api *api, const struct nvml_look *look, unsigned device,
                          json_t *view)
{
        const struct node *node = api->options.node;
        unsigned count = 0, strangers = 0, unidentified = 0;

        for (unsigned i = 0; i < look->sample.process_count; i++) {
                if (look->sample.process[i].device != device)
                        continue;
                count++;
                strangers += !node_holder(node, i).session;
                unidentified += !nvml_look_who(look, look->sample.process[i].pid);
        }
        add_whole(view, "processes", count);
        add_whole(view, "strangers", strangers);
        add_whole(view, "unidentified", unidentified);
}

void api_add_driver(json_t *view, uint64_t driver_bytes, uint64_t ledger_bytes)
{
        if (driver_bytes == SAMPLE_NONE)
                return;
        add_bytes(view, "driver_bytes", driver_bytes);
        add_bytes(view, "unexplained_bytes",
                  driver_bytes > ledger_bytes ? driver_bytes - ledger_bytes : 0);
}

void api_add_gpu(const struct http_api *api, json_t *view, const uint8_t uuid[16])
{
        const struct nvml_look *look = node_gpus(api->options.node);
        const struct sample_device *device = device_of(api, uuid);
        unsigned at;

        if (!device)
                return;
        at = (unsigned)(device - look->sample.device);
        add_bytes(view, "free_bytes", device->free_bytes);
        add_whole(view, "busy_percent", device->busy_percent);
        add_whole(view, "memory_busy_percent", device->memory_percent);
        add_whole(view, "celsius", device->celsius);
        add_watts(view, "power_watts", device->power_mw);
        add_watts(view, "power_limit_watts", device->power_limit_mw);
        add_whole(view, "sm_mhz", device->sm_mhz);
        add_whole(view, "memory_mhz", device->memory_mhz);
        add_bytes(view, "ecc_corrected", device->ecc_corrected);
        add_bytes(view, "ecc_uncorrected", device->ecc_uncorrected);
        add_bytes(view, "critical_errors", device->xids);
        if (device->xids)
                add_whole(view, "last_xid", device->xid_last);
        if (!device->has_processes)
                return;
        add_processes(api, look, at, view);
        api_add_driver(view, device->used_bytes, node_explained_bytes(api->options.node, at));
}

uint64_t api_driver_bytes(const struct http_api *api, const struct sessions_one *session,
                          uint32_t pid, const uint8_t uuid[16])
{
        const struct nvml_look *look = node_gpus(api->options.node);
        const struct sample_device *device = device_of(api, uuid);
        const struct sample_process *found;

        if (!device || !pid)
                return SAMPLE_NONE;
        found = sample_find(&look->sample, pid, (unsigned)(device - look->sample.device));
        if (!found ||
            node_holder(api->options.node, (unsigned)(found - look->sample.process)).session !=
                    session)
                return SAMPLE_NONE;
        return found->bytes;
}

/* -- Processes -------------------------------------------------------------------------------- */

static json_t *view_kinds(uint8_t kinds)
{
        static const char *const names[] = { "compute", "graphics", "mps" };
        json_t *list = json_array();

        for (unsigned i = 0; i < SAMPLE_LISTS; i++) {
                if (kinds & (1u << i))
                        json_array_append_new(list, json_string(names[i]));
        }
        return list;
}

static json_t *view_holding(const struct http_api *api, const struct nvml_look *look, unsigned at)
{
        const struct sample_process *process = &look->sample.process[at];
        const struct sample_device *device = &look->sample.device[process->device];
        struct node_holder holder = node_holder(api->options.node, at);
        char uuid[UUID_TEXT_BYTES];
        json_t *view = json_pack("{s:s, s:o}", "uuid",
                                 uuid_format(device->uuid, device->is_instance, uuid), "kinds",
                                 view_kinds(process->kinds));

        api_add_driver(view, process->bytes, holder.ledger_bytes);
        if (holder.session)
                add_bytes(view, "ledger_bytes", holder.ledger_bytes);
        add_whole(view, "busy_percent", process->busy_percent);
        add_whole(view, "memory_busy_percent", process->memory_percent);
        return view;
}

static json_t *view_process(const struct http_api *api, const struct nvml_look *look, unsigned from,
                            unsigned end)
{
        const struct identity *who = nvml_look_who(look, look->sample.process[from].pid);
        const struct sessions_one *session = node_holder(api->options.node, from).session;
        json_t *view = json_pack(
                "{s:I, s:o, s:o}", "pid", (json_int_t)look->sample.process[from].pid, "session",
                session ? json_string(session->name) : json_null(), "devices", json_array());
        char cgroup[IDENTITY_CGROUP_SHOWN_BYTES];

        if (who) {
                json_object_set_new(view, "command", json_string(who->command));
                json_object_set_new(view, "uid", json_integer(who->uid));
                if (who->cgroup[0])
                        json_object_set_new(
                                view, "cgroup",
                                json_string(text_quote(who->cgroup, cgroup, sizeof(cgroup))));
        }
        for (unsigned i = from; i < end; i++)
                json_array_append_new(json_object_get(view, "devices"), view_holding(api, look, i));
        return view;
}

/* Whether the client may see the process: it is in a session that the client may see, or belongs to
 * the client's user. */
static bool may_see(const struct api_call *call, const struct nvml_look *look, unsigned at)
{
        const struct sessions_one *session = node_holder(call->api->options.node, at).session;
        const struct identity *who = nvml_look_who(look, look->sample.process[at].pid);

        return call->caller.sees_all || (session && api_may_see(call, session)) ||
               (who && who->uid == call->caller.uid);
}

void api_get_all_processes(struct api_call *call)
{
        const struct nvml_look *look = node_gpus(call->api->options.node);
        unsigned from = 0, end;
        json_t *list;

        if (!api_has_no_query(call))
                return;
        list = json_array();
        for (; look && from < look->sample.process_count; from = end) {
                end = from;
                while (end < look->sample.process_count &&
                       look->sample.process[end].pid == look->sample.process[from].pid)
                        end++;
                if (may_see(call, look, from))
                        json_array_append_new(list, view_process(call->api, look, from, end));
        }
        http_reply_json(call->exchange, 200,
                        json_pack("{s:o, s:b}", "processes", list, "known", look != NULL));
}
