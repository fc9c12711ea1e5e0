/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /metrics, in the text format of Prometheus. Values are in base units, and the names of
 * counters end in _total. There is one series per GPU, state, reason or class of routes; there are
 * series per session only with metrics.sessions = yes.
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
#include "daemon/api/metrics_parts.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/schedule/seat.h"

typedef unsigned long long number;

void metrics_head(FILE *out, const char *name, const char *type, const char *help)
{
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes a metric that has one series without labels. */
static void put_one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
        metrics_head(out, name, type, help);
        fprintf(out, "%s %llu\n", name, (number)value);
}

/* -- The node --------------------------------------------------------------------------------- */

static void put_states(FILE *out, const struct sessions *all)
{
        static const char *const names[] = { "open", "ending", "killing" };
        unsigned counts[SESSIONS_KILLING + 1] = { 0 };

        for (unsigned i = 0; i < all->entries; i++)
                counts[all->session[i].state]++;
        metrics_head(out, "aliquot_sessions", "gauge", "Sessions, by state.");
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
                [SESSIONS_RULED] = "policy",    [SESSIONS_BAD] = "bad",
        };

        put_one(out, "aliquot_sessions_admitted_total", "counter", "Sessions that were admitted.",
                counts->admitted);
        metrics_head(out, "aliquot_sessions_refused_total", "counter",
                     "Sessions that were refused, by reason.");
        for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
                if (reasons[i])
                        fprintf(out, "aliquot_sessions_refused_total{reason=\"%s\"} %llu\n",
                                reasons[i], (number)counts->refused[i]);
        }
        metrics_head(out, "aliquot_policy_refusals_total", "counter",
                     "Wishes that the policy refused, changes and renewals too, by its key.");
        for (unsigned i = 0; i < POLICY_KEYS; i++)
                fprintf(out, "aliquot_policy_refusals_total{key=\"%s\"} %llu\n",
                        policy_key_name((enum policy_key)i), (number)counts->ruled[i]);
        put_one(out, "aliquot_sessions_ended_total", "counter",
                "Sessions of which nothing is left.", counts->ended);
        put_one(out, "aliquot_actions_failed_total", "counter",
                "Changes to the database, to folders or to processes that did not succeed at once.",
                counts->failed);
        put_one(out, "aliquot_signals_sent_total", "counter", "Signals sent to processes.",
                counts->signals);
        put_one(out, "aliquot_strangers_seen_total", "counter",
                "Processes of no session that were seen on a GPU.", counts->strangers);
        put_one(out, "aliquot_forged_seen_total", "counter",
                "Processes and sessions seen to hold more than their ledger and the tolerance "
                "explain.",
                counts->forged);
        put_one(out, "aliquot_clamps_total", "counter",
                "Times that a session was refused all new memory for that.", counts->clamps);
}

static void put_held(FILE *out, const struct node_counts *counts)
{
        put_one(out, "aliquot_slots_held", "gauge",
                "Users who hold the lock of a slots file, so that theirs are neither cut off nor "
                "deleted.",
                counts->slots_held);
}

static void put_reported(FILE *out, const struct node *node)
{
        put_one(out, "aliquot_compute_reported", "gauge",
                "Sessions that are seen to use a GPU for longer than they say, or than their cap "
                "allows, once for each GPU.",
                node_compute_reported(node));
}

/* Writes the numbers of charges, as the programs of all sessions count them. */
static void put_charges(FILE *out, const struct node_counts *counts)
{
        put_one(out, "aliquot_refused_charges_total", "counter",
                "Requests for memory that were over their session's limit.",
                counts->refused_charges);
        put_one(out, "aliquot_drained_charges_total", "counter",
                "Requests that waited for the driver to free what the dead had held.",
                counts->drained_charges);
        put_one(out, "aliquot_driver_refused_charges_total", "counter",
                "Requests within their limit for which the driver had no memory.",
                counts->driver_refused_charges);
        put_one(out, "aliquot_reclaimed_bytes_total", "counter",
                "Memory that was taken back from processes that had died.",
                counts->reclaimed_bytes);
}

static void put_nvml(FILE *out, const struct node *node)
{
        put_one(out, "aliquot_nvml_failures_total", "counter",
                "Calls of the driver's NVML that failed, or did not come back in time.",
                node_counts(node)->nvml_failures);
        put_one(out, "aliquot_nvml_up", "gauge",
                "Whether the driver has answered in the last seconds.", node_gpus(node) != NULL);
}

/* Writes the metrics of joins through sessions' sockets. */
static void put_joins(FILE *out, const struct tenants_counts *counts)
{
        static const char *const reasons[] = {
                [MESSAGE_NO_VERSION] = "version", [MESSAGE_MALFORMED] = "malformed",
                [MESSAGE_NOT_YOURS] = "user",     [MESSAGE_BAD_TOKEN] = "token",
                [MESSAGE_OTHER_SESSION] = "name", [MESSAGE_ENDED] = "ended",
                [MESSAGE_TOO_MANY] = "rate",      [MESSAGE_TROUBLE] = "trouble",
        };

        put_one(out, "aliquot_joins_total", "counter", "Joins by a session's socket.",
                counts->joined);
        metrics_head(out, "aliquot_joins_refused_total", "counter",
                     "Joins by a session's socket that were refused, by reason.");
        for (unsigned i = MESSAGE_NO_VERSION; i <= MESSAGE_TROUBLE; i++)
                fprintf(out, "aliquot_joins_refused_total{reason=\"%s\"} %llu\n", reasons[i],
                        (number)counts->refused[i]);
        put_one(out, "aliquot_joins_silent_total", "counter",
                "Connections to sessions' sockets that ended with nothing said.", counts->silent);
        put_one(out, "aliquot_joined_processes", "gauge",
                "Processes that joined by a session's socket and live.", counts->watched);
}

/* -- GPU time --------------------------------------------------------------------------------- */

static void put_seconds(FILE *out, const char *name, const char *help, uint64_t ns)
{
        metrics_head(out, name, "counter", help);
        fprintf(out, "%s %.6f\n", name, (double)ns / 1e9);
}

static void put_time(FILE *out, const struct http_api *api)
{
        uint64_t totals[SEAT_COUNTERS];

        scheduler_totals(api->options.scheduler, totals);
        put_one(out, "aliquot_gate_waits_total", "counter",
                "Launches that waited for their session's turn or cap.", totals[SEAT_WAITS]);
        put_seconds(out, "aliquot_gate_wait_seconds_total", "For how long launches waited.",
                    totals[SEAT_WAITED_NS]);
        put_seconds(out, "aliquot_gpu_busy_seconds_total",
                    "GPU time of sessions whose time is measured.", totals[SEAT_BUSY_NS]);
}

/* -- HTTP and the process --------------------------------------------------------------------- */

static void put_http(FILE *out, const struct http_api *api)
{
        static const char *const classes[] = {
                [API_META] = "meta",     [API_DEVICES] = "devices",   [API_SESSIONS] = "sessions",
                [API_EVENTS] = "events", [API_PROFILES] = "profiles", [API_METRICS] = "metrics",
                [API_NONE] = "none",
        };

        metrics_head(out, "aliquot_http_requests_total", "counter",
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
        put_one(out, "aliquot_http_connections", "gauge", "Open connections.",
                api->http ? http_connection_count(api->http) : 0);
}

static unsigned count_descriptors(void)
{
        scoped_dir DIR *folder = opendir("/proc/self/fd");
        unsigned count = 0;

        while (folder && readdir(folder))
                count++;
        /* without ".", "..", and the descriptor of the folder itself */
        return count > 3 ? count - 3 : 0;
}

/* Reads the number of the process's pages: of all, and of those in memory. 0: unknown. */
static void read_pages(number *ret_whole, number *ret_resident)
{
        FILE *statm = fopen("/proc/self/statm", "re");

        if (!statm || fscanf(statm, "%llu %llu", ret_whole, ret_resident) != 2)
                *ret_whole = *ret_resident = 0;
        if (statm)
                fclose(statm);
}

static void put_process(FILE *out, const struct http_api *api)
{
        number whole, resident, page = (number)sysconf(_SC_PAGESIZE);
        struct rlimit files = { 0 };
        struct rusage usage = { 0 };

        getrusage(RUSAGE_SELF, &usage);
        getrlimit(RLIMIT_NOFILE, &files);
        read_pages(&whole, &resident);
        metrics_head(out, "process_cpu_seconds_total", "counter", "Processor time of the daemon.");
        fprintf(out, "process_cpu_seconds_total %.6f\n",
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
        put_one(out, "process_resident_memory_bytes", "gauge", "Resident memory of the daemon.",
                resident * page);
        put_one(out, "process_virtual_memory_bytes", "gauge", "Address space of the daemon.",
                whole * page);
        put_one(out, "process_open_fds", "gauge", "Open descriptors of the daemon.",
                count_descriptors());
        put_one(out, "process_max_fds", "gauge", "The most descriptors that it may have.",
                files.rlim_cur);
        metrics_head(out, "process_start_time_seconds", "gauge",
                     "When the daemon began, since 1970.");
        fprintf(out, "process_start_time_seconds %.3f\n", (double)api->started_ns / 1e9);
}

static void put_all(FILE *out, const struct api_call *call)
{
        const struct http_api *api = call->api;

        metrics_head(out, "aliquot_build_info", "gauge", "The version that runs; always 1.");
        fprintf(out, "aliquot_build_info{version=\"%s\"} 1\n", ALIQUOT_VERSION);
        put_states(out, node_sessions(api->options.node));
        put_counts(out, node_counts(api->options.node));
        put_held(out, node_counts(api->options.node));
        put_reported(out, api->options.node);
        put_charges(out, node_counts(api->options.node));
        put_nvml(out, api->options.node);
        put_joins(out, tenants_counts(api->options.tenants));
        put_time(out, api);
        metrics_put_compute(out, api);
        metrics_put_gpus(out, api);
        if (api->options.config->has_session_metrics)
                metrics_put_sessions(out, call);
        put_http(out, api);
        put_process(out, api);
}

void api_get_metrics(struct api_call *call)
{
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);

        if (out)
                put_all(out, call);
        if (out && fclose(out) == 0)
                http_reply(call->exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text,
                           length);
        else
                api_refuse(call, 503, "unavailable", NULL, "out of memory");
        free(text);
}
