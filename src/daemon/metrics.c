/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics, in the text format of Prometheus. Base units, counters end in _total, one series a GPU,
 * state, reason, class of routes; one a session only with metrics.sessions = yes.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"
#include "daemon/api_parts.h"

typedef unsigned long long number;

static void head(FILE *out, const char *name, const char *type, const char *help)
{
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
        head(out, name, type, help);
        fprintf(out, "%s %llu\n", name, (number)value);
}

/* -- Sessions --------------------------------------------------------------------------------- */

static void put_states(FILE *out, const struct sessions *all)
{
        static const char *const names[] = { "open", "ending", "killing" };
        unsigned counts[SESSIONS_KILLING + 1] = { 0 };

        for (unsigned i = 0; i < all->places; i++)
                counts[all->session[i].state]++;
        head(out, "aliquot_sessions", "gauge", "Sessions, by state.");
        for (unsigned i = 0; i < 3; i++)
                fprintf(out, "aliquot_sessions{state=\"%s\"} %u\n", names[i],
                        counts[SESSIONS_OPEN + i]);
}

static void put_counts(FILE *out, const struct node_counts *counts)
{
        static const char *const reasons[] = {
                [SESSIONS_NO_ROOM] = "no-room", [SESSIONS_NO_TIME] = "no-time",
                [SESSIONS_NO_GPU] = "no-gpu",   [SESSIONS_EXISTS] = "exists",
                [SESSIONS_FULL] = "full",       [SESSIONS_TOO_LONG] = "ttl",
                [SESSIONS_BAD] = "bad",
        };

        one(out, "aliquot_sessions_admitted_total", "counter", "Sessions that were admitted.",
            counts->admitted);
        head(out, "aliquot_sessions_refused_total", "counter",
             "Sessions that were refused, by reason.");
        for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
                if (reasons[i])
                        fprintf(out, "aliquot_sessions_refused_total{reason=\"%s\"} %llu\n",
                                reasons[i], (number)counts->refused[i]);
        }
        one(out, "aliquot_sessions_ended_total", "counter", "Sessions of which nothing is left.",
            counts->ended);
        one(out, "aliquot_actions_failed_total", "counter",
            "Changes to the database, to folders or to processes that did not succeed at once.",
            counts->failed);
        one(out, "aliquot_signals_sent_total", "counter",
            "Signals sent to processes of sessions that ended.", counts->signals);
}

/* A session's own name needs no escapes: settings_check_name(). */
static void put_session(FILE *out, const struct api *api, const struct sessions_one *session,
                        const char *name)
{
        static struct folder_use use;
        char uuid[UUID_TEXT_BYTES];

        if (strcmp(name, "aliquot_session_memory_limit_bytes") != 0 &&
            folder_read(node_store(api->options.node), session, &use, NULL) < 0)
                return;
        if (strcmp(name, "aliquot_session_processes") == 0) {
                fprintf(out, "%s{session=\"%s\"} %u\n", name, session->name, use.count);
                return;
        }
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct sessions_share *share = &session->share[i];
                bool is_limit = strcmp(name, "aliquot_session_memory_limit_bytes") == 0;

                fprintf(out, "%s{session=\"%s\",gpu=\"%s\"} %llu\n", name, session->name,
                        api_uuid(api, share->uuid, uuid),
                        (number)(is_limit ? share->memory_bytes
                                          : folder_used_bytes(&use, share->uuid)));
        }
}

static void put_each_session(FILE *out, const struct api *api)
{
        static const char *const names[][2] = {
                { "aliquot_session_memory_limit_bytes", "What a session may use of a GPU." },
                { "aliquot_session_memory_used_bytes", "What its programs hold of a GPU." },
                { "aliquot_session_processes", "Processes that live in a session." },
        };
        const struct sessions *all = node_sessions(api->options.node);

        for (unsigned i = 0; i < 3; i++) {
                head(out, names[i][0], "gauge", names[i][1]);
                for (unsigned j = 0; j < all->places; j++) {
                        if (all->session[j].state != SESSIONS_FREE)
                                put_session(out, api, &all->session[j], names[i][0]);
                }
        }
}

/* -- GPUs ------------------------------------------------------------------------------------- */

static uint64_t card_total(const struct sessions *all, const struct card *card)
{
        return card->total_bytes;
}

static uint64_t card_used(const struct sessions *all, const struct card *card)
{
        return card->used_bytes;
}

static uint64_t card_promised(const struct sessions *all, const struct card *card)
{
        return sessions_promised(all, card->uuid);
}

static uint64_t card_room(const struct sessions *all, const struct card *card)
{
        return sessions_room(all, card->uuid);
}

static void put_gpus(FILE *out, const struct api *api)
{
        static const struct {
                const char *name, *help;
                uint64_t (*value)(const struct sessions *all, const struct card *card);
        } gauges[] = {
                { "aliquot_gpu_memory_bytes", "Memory of a GPU.", card_total },
                { "aliquot_gpu_memory_used_bytes", "Memory in use on a GPU, by its driver.",
                  card_used },
                { "aliquot_gpu_promised_bytes", "Memory of a GPU that sessions were given.",
                  card_promised },
                { "aliquot_gpu_room_bytes", "The most that one more session would get of a GPU.",
                  card_room },
        };
        const struct cards *cards = &node_cards(api->options.node)->cards;
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
                head(out, gauges[i].name, "gauge", gauges[i].help);
                for (unsigned j = 0; j < cards->count; j++) {
                        const struct card *card = &cards->card[j];

                        fprintf(out, "%s{gpu=\"%s\"} %llu\n", gauges[i].name,
                                uuid_format(card->uuid, card->is_instance, uuid),
                                (number)gauges[i].value(node_sessions(api->options.node), card));
                }
        }
}

/* -- HTTP and the process --------------------------------------------------------------------- */

static void put_http(FILE *out, const struct api *api)
{
        static const char *const classes[] = {
                [API_META] = "meta",     [API_DEVICES] = "devices", [API_SESSIONS] = "sessions",
                [API_EVENTS] = "events", [API_METRICS] = "metrics", [API_NONE] = "none",
        };

        head(out, "aliquot_http_requests_total", "counter",
             "Requests that were answered, by class of route and status.");
        for (unsigned i = 0; i < API_CLASSES; i++) {
                for (unsigned status = 0; status < API_STATUSES; status++) {
                        if (api->answers[i][status])
                                fprintf(out,
                                        "aliquot_http_requests_total{class=\"%s\",code=\"%u\"} "
                                        "%llu\n",
                                        classes[i], status, (number)api->answers[i][status]);
                }
        }
        one(out, "aliquot_http_connections", "gauge", "Open connections.",
            api->http ? http_connection_count(api->http) : 0);
}

static unsigned count_descriptors(void)
{
        scoped_dir DIR *folder = opendir("/proc/self/fd");
        unsigned count = 0;

        while (folder && readdir(folder))
                count++;
        return count > 3 ? count - 3 : 0; /* ".", "..", and the folder's own */
}

/* Pages: all, and those that are in memory. 0 where it cannot be told. */
static void read_pages(number *ret_whole, number *ret_resident)
{
        FILE *statm = fopen("/proc/self/statm", "re");

        if (!statm || fscanf(statm, "%llu %llu", ret_whole, ret_resident) != 2)
                *ret_whole = *ret_resident = 0;
        if (statm)
                fclose(statm);
}

static void put_process(FILE *out, const struct api *api)
{
        number whole, resident, page = (number)sysconf(_SC_PAGESIZE);
        struct rlimit files = { 0 };
        struct rusage usage = { 0 };

        getrusage(RUSAGE_SELF, &usage);
        getrlimit(RLIMIT_NOFILE, &files);
        read_pages(&whole, &resident);
        head(out, "process_cpu_seconds_total", "counter", "Processor time of the daemon.");
        fprintf(out, "process_cpu_seconds_total %.6f\n",
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
        one(out, "process_resident_memory_bytes", "gauge", "Resident memory of the daemon.",
            resident * page);
        one(out, "process_virtual_memory_bytes", "gauge", "Address space of the daemon.",
            whole * page);
        one(out, "process_open_fds", "gauge", "Open descriptors of the daemon.",
            count_descriptors());
        one(out, "process_max_fds", "gauge", "The most descriptors that it may have.",
            files.rlim_cur);
        head(out, "process_start_time_seconds", "gauge", "When the daemon began, since 1970.");
        fprintf(out, "process_start_time_seconds %.3f\n", (double)api->started_ns / 1e9);
}

static void put_all(FILE *out, const struct api *api)
{
        head(out, "aliquot_build_info", "gauge", "The version that runs; always 1.");
        fprintf(out, "aliquot_build_info{version=\"%s\"} 1\n", ALIQUOT_VERSION);
        put_states(out, node_sessions(api->options.node));
        put_counts(out, node_counts(api->options.node));
        put_gpus(out, api);
        if (api->options.config->has_session_metrics)
                put_each_session(out, api);
        put_http(out, api);
        put_process(out, api);
}

void api_get_metrics(struct api_call *call)
{
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);

        if (out)
                put_all(out, call->api);
        if (out && fclose(out) == 0)
                http_reply(call->exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text,
                           length);
        else
                api_refuse(call, 503, "unavailable", NULL, "out of memory");
        free(text);
}
