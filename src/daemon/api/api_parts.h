/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of daemon/api. The handlers of each kind of routes have a file of their own;
 * api.c has the table of routes.
 */
#ifndef ALIQUOT_DAEMON_API_API_PARTS_H
#define ALIQUOT_DAEMON_API_API_PARTS_H

#include "daemon/api/api.h"
#include "common/json_out.h"
#include "daemon/node/node_gpus.h"

#define API_TIME_BYTES 40u
#define API_STATUSES 600u
#define API_QUERY_BYTES 256u /* an answer to a longer query is not kept */

enum api_class {
        API_META,
        API_DEVICES,
        API_SESSIONS,
        API_EVENTS,
        API_PROFILES,
        API_METRICS,
        API_NONE, /* no route matches */
        API_CLASSES,
};

struct api_subscribers;
struct api_texts;
struct api_uses;

struct http_api {
        struct api_options options;
        const struct http *http;
        uint64_t started_ns;
        struct api_subscribers *subscribers;
        struct api_texts *texts;
        struct api_uses *uses;
        uint64_t answers[API_CLASSES][API_STATUSES]; /* number of requests, by class and status */
};

/* The client that sent the request, and what it may do. */
struct api_caller {
        uint32_t uid; /* UINT32_MAX: no user, because the client uses TCP without a token */
        bool is_admin;
        bool sees_all; /* an administrator, or a client over TCP */
        bool may_change;
        char who[DATABASE_WHO_BYTES];
};

/* The argument of a handler. */
struct api_call {
        struct http_api *api;
        struct http_exchange *exchange;
        struct api_caller caller;
        /* the decoded part of the path at {} in the route's pattern: a name or UUID */
        const char *name;
};

typedef void api_handler(struct api_call *call);

api_handler api_get_root, api_get_health, api_get_ready, api_get_openapi;
api_handler api_get_metrics, api_get_devices, api_get_device, api_get_events;
api_handler api_get_sessions, api_get_session, api_get_processes, api_get_all_processes;
api_handler api_get_policy, api_post_policy_check;
api_handler api_get_profiles, api_post_profile, api_delete_profile;
api_handler api_post_session, api_patch_session, api_delete_session, api_post_renew;
api_handler api_get_swap, api_patch_swap;

/* -- api.c -- */

/* Answers with a problem. `field`: the field that caused it, or NULL. */
void api_refuse(struct api_call *call, unsigned status, const char *type, const char *field,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* State of reading the query. api_query_next() reads the next parameter; false: there is none, or
 * the request was refused (has_failed). */
struct api_query {
        char *rest;
        const char *name, *value;
        bool has_failed;
};
void api_query_begin(struct api_call *call, struct api_query *ret);
bool api_query_next(struct api_call *call, struct api_query *query);
void api_query_refuse(struct api_call *call, struct api_query *query, const char *expected);
bool api_has_no_query(struct api_call *call); /* false: there is one, and the request was refused */
bool api_whole(const char *text, uint64_t most, uint64_t *ret);

/* Returns the session in the path. NULL: answered with 404, which hides sessions that the client
 * may not see. */
const struct sessions_one *api_find(struct api_call *call);
bool api_may_see(const struct api_call *call, const struct sessions_one *session);

/* -- api_change.c, api_policy.c: refusals of the core -- */

void api_refuse_answer(struct api_call *call, const struct sessions_event *event,
                       const struct sessions_actions *actions);
/* Sends the refusal for SESSIONS_RULED. */
void api_refuse_ruled(struct api_call *call, const struct sessions_actions *actions);

/* -- api_view.c: JSON views -- */

const char *api_time(uint64_t ns, char ret[API_TIME_BYTES]);
const char *api_uuid(const struct http_api *api, const uint8_t uuid[16], char ret[UUID_TEXT_BYTES]);
void api_put_session(struct json_out *out, const struct http_api *api,
                     const struct sessions_one *session);
json_t *api_bytes(uint64_t value);
json_t *api_view_device(const struct http_api *api, const struct card *card);
/* Returns a list of the session's processes. NULL: out of memory, or the session may not be read
 * now. */
json_t *api_view_processes(const struct http_api *api, const struct sessions_one *session);

/* -- api_swap.c -- */

/* Adds the rules of swapping as fields. */
void api_put_rules(struct json_out *out, const struct swap_rules *rules);

/* -- api_use.c: processes and memory of a session -- */

struct api_use {
        uint8_t id[16]; /* the session's id */
        bool is_now;    /* false: the session may not be read now, and the values are from at_ns */
        uint64_t at_ns; /* when the values were read; 0: never */
        unsigned count; /* number of processes */
        uint64_t used_bytes[SESSIONS_GPUS]; /* bytes on the GPU of each share */
        uint64_t host_bytes;                /* bytes in host memory */
        uint64_t swap_bytes;                /* bytes that can leave the GPU, if the session swaps */
};

struct api_uses *api_uses_new(void);
void api_uses_free(struct api_uses *uses);

/* Returns the session's processes and memory; valid until the next call. `seen` gets the processes,
 * if is_now, and the ledger in any case. */
const struct api_use *api_use_of(const struct http_api *api, const struct sessions_one *session,
                                 struct folder_use *seen);

/* -- api_texts.c -- */

struct api_texts *api_texts_new(void);
void api_texts_free(struct api_texts *texts);

/* Answers with the session's present state as JSON. */
void api_reply_session(struct api_call *call, unsigned status, const struct sessions_one *session);

/* Answers with a kept list, if there is one for the same query and the same access, whose use is at
 * most 100 ms old. False: there is none. */
bool api_reply_kept(struct api_call *call, const char *query);

/* Answers with these sessions, and keeps the answer for the same query. `query` NULL: does not keep
 * it. */
void api_reply_list(struct api_call *call, const char *query,
                    const struct sessions_one *const *list, unsigned count, bool is_last);

/* -- api_gpus.c: values that the driver reports of GPUs; unknown ones are left out -- */

void api_add_gpu(const struct http_api *api, json_t *device, const uint8_t uuid[16]);

/* Adds the bytes that the driver reports, and by how much they exceed the ledger's. */
void api_add_driver(json_t *view, uint64_t driver_bytes, uint64_t ledger_bytes);

/* Returns the bytes that the driver reports for a process, if the process is in this session as the
 * kernel reports. SAMPLE_NONE: unknown. */
uint64_t api_driver_bytes(const struct http_api *api, const struct sessions_one *session,
                          uint32_t pid, const uint8_t uuid[16]);

/* -- api_body.c: request bodies -- */

/* Returns the body as an object; NULL: it was refused. If `may_lack`, an empty body counts as
 * {}. */
json_t *api_body(struct api_call *call, bool may_lack);

/* Read the body of a creation or a change into event->session, change_bits and wish. `one` is the
 * object to which event->session points; for a change it is a copy of the session at first. False:
 * the request was refused. */
bool api_read_creation(struct api_call *call, json_t *body, struct sessions_one *one,
                       struct sessions_event *event);
bool api_read_change(struct api_call *call, json_t *body, struct sessions_one *one,
                     struct sessions_event *event);
bool api_read_ttl(struct api_call *call, json_t *body, uint64_t *ret_ns, bool *ret_is_said);

/* -- api_events.c -- */

struct api_subscribers *api_subscribers_new(struct http_api *api);
void api_subscribers_free(struct api_subscribers *subscribers);

#endif
