/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes metrics of each session that the client may see, only with metrics.sessions = yes. A
 * session's files are read once for all its metrics. The counters are from the session's ledger,
 * which its programs write.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sums.h"
#include "daemon/api/metrics_parts.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/swap/swapper.h"

enum metric {
        LIMIT,
        USED,
        DRIVER,
        UNEXPLAINED,
        REFUSED,
        RECLAIMED,
        DRAINED,
        DRIVER_REFUSED,
        COMPUTE_LIMIT,
        GUARANTEE,
        HELD,
        BILLED,
        WAITED,
        THROTTLED,
        DEBT,
        LEASES,
        REPORTED,
        MOVING_RESIDENT,
        MOVING_OUT,
        MOVING_PINNED,
        MOVING_HOLDS,
        MOVING_HELD,
        MOVING_MOVED,
        MOVING_STUCK,
        PROCESSES, /* one series per session; all metrics before it have one per session and GPU */
        METRICS,
};

static const struct {
        /* help NULL: the entry belongs to the same metric as the one before */
        const char *name, *type, *help;
        const char *labels;
} metrics[METRICS] = {
        [LIMIT] = { "aliquot_session_memory_limit_bytes", "gauge",
                    "Memory limit of a session on a GPU." },
        [USED] = { "aliquot_session_memory_used_bytes", "gauge",
                   "Memory of a GPU that a session's programs hold, by its ledger." },
        [DRIVER] = { "aliquot_session_memory_driver_bytes", "gauge",
                     "Memory of a GPU that a session's programs hold, by the driver." },
        [UNEXPLAINED] = { "aliquot_session_memory_unexplained_bytes", "gauge",
                          "Memory of a GPU that a session's ledger does not explain." },
        [REFUSED] = { "aliquot_session_refused_charges_total", "counter",
                      "Requests for memory that were over the limit." },
        [RECLAIMED] = { "aliquot_session_reclaimed_bytes_total", "counter",
                        "Memory that was taken back from processes that had died." },
        [DRAINED] = { "aliquot_session_drained_charges_total", "counter",
                      "Requests that waited for the driver to free what the dead had held." },
        [DRIVER_REFUSED] = { "aliquot_session_driver_refused_charges_total", "counter",
                             "Requests within the limit for which the driver had no memory." },
        [COMPUTE_LIMIT] = { "aliquot_session_gpu_time_limit_ratio", "gauge",
                            "Cap on a session's part of a GPU's time; 1 without a cap." },
        [GUARANTEE] = { "aliquot_session_gpu_time_guarantee_ratio", "gauge",
                        "Guaranteed part of a GPU's time; 0 without a guarantee." },
        [HELD] = { "aliquot_session_gpu_time_held_seconds_total", "counter",
                   "Time in which a session with work had the GPU." },
        [BILLED] = { "aliquot_session_gpu_time_billed_seconds_total", "counter",
                     "Part of the held time that the session's programs measured as busy." },
        [WAITED] = { "aliquot_session_gpu_time_waited_seconds_total", "counter",
                     "Time in which a session wanted a GPU and did not have it." },
        [THROTTLED] = { "aliquot_session_gpu_time_throttled_seconds_total", "counter",
                        "Part of the waiting time in which the session's own cap was reached." },
        [DEBT] = { "aliquot_session_gpu_time_debt_seconds", "gauge",
                   "GPU time that a session used above its cap and has not paid back." },
        [LEASES] = { "aliquot_session_gpu_turns_total", "counter",
                     "Turns that a session had on a GPU." },
        [REPORTED] = { "aliquot_session_gpu_time_reported", "gauge",
                       "1 while a session is seen to use a GPU for longer than it says, or than "
                       "its cap allows." },
        [MOVING_RESIDENT] = { "aliquot_swap_resident_bytes", "gauge",
                              "What a session that swaps has on its GPU." },
        [MOVING_OUT] = { "aliquot_swap_out_bytes", "gauge",
                         "What of its memory has been moved to the host." },
        [MOVING_PINNED] = { "aliquot_swap_pinned_bytes", "gauge",
                            "What of its memory cannot leave its GPU." },
        [MOVING_HOLDS] = { "aliquot_swap_holds_total", "counter", "How often it was held." },
        [MOVING_HELD] = { "aliquot_swap_held_seconds_total", "counter", "For how long." },
        [MOVING_MOVED] = { "aliquot_swap_moved_bytes_total", "counter",
                           "What was moved to the host or back." },
        [MOVING_STUCK] = { "aliquot_swap_stuck_total", "counter",
                           "How often it did not drain, or did not move, in time." },
        [PROCESSES] = { "aliquot_session_processes", "gauge", "Processes that live in a session." },
};

/* Fills in the GPU time of a share, if the session has launched there. */
static void note_time(double values[PROCESSES], const struct http_api *api,
                      const struct sessions_one *session, unsigned share)
{
        const struct sessions_share *terms = &session->share[share];
        struct scheduler_view had;

        values[COMPUTE_LIMIT] =
                terms->compute_milli_percent ? terms->compute_milli_percent / 1e5 : 1;
        values[GUARANTEE] = terms->guarantee_milli_percent / 1e5;
        for (unsigned i = HELD; i <= LEASES; i++)
                values[i] = NAN;
        if (!scheduler_read(api->options.scheduler, session->id, share, &had))
                return;
        values[HELD] = (double)had.held_ns / 1e9;
        values[BILLED] = (double)had.billed_ns / 1e9;
        values[WAITED] = (double)had.waited_ns / 1e9;
        values[THROTTLED] = (double)had.throttled_ns / 1e9;
        values[DEBT] = had.bucket_ns < 0 ? (double)-had.bucket_ns / 1e9 : 0;
        values[LEASES] = (double)had.leases;
}

/* What was read from one session's files. */
struct session_metrics {
        const struct api_use *use;
        const struct page_ledger *ledger;
};

static void note_swap(double values[PROCESSES], const struct http_api *api,
                      const struct sessions_one *session, const struct api_use *use)
{
        struct swapper_view seen;

        for (unsigned i = MOVING_RESIDENT; i <= MOVING_STUCK; i++)
                values[i] = NAN;
        if (!session->swaps)
                return;
        if (use->at_ns) {
                values[MOVING_RESIDENT] =
                        (double)difference_of(use->used_bytes[0], use->host_bytes);
                values[MOVING_OUT] = (double)use->host_bytes;
                values[MOVING_PINNED] = (double)difference_of(use->used_bytes[0], use->swap_bytes);
        }
        if (!swapper_read(api->options.swapper, session->id, &seen))
                return;
        values[MOVING_HOLDS] = (double)seen.holds;
        values[MOVING_HELD] = (double)seen.held_ns / 1e9;
        values[MOVING_MOVED] = (double)seen.moved_bytes;
        values[MOVING_STUCK] = (double)seen.stuck;
}

/* Writes the series of one share. A session's name needs no escapes (settings_check_name()). */
static void put_share(FILE *const out[METRICS], const struct http_api *api,
                      const struct sessions_one *session, const struct session_metrics *seen,
                      unsigned share)
{
        const uint8_t *uuid = session->share[share].uuid;
        const struct page_ledger *ledger = &seen->ledger[share];
        const uint64_t used = seen->use->used_bytes[share];
        bool has_used = seen->use->at_ns != 0;
        uint64_t driver = node_driver_bytes(api->options.node, session, uuid);
        bool has_driver = driver != SAMPLE_NONE;
        double values[PROCESSES] = {
                [LIMIT] = (double)session->share[share].memory_bytes,
                [USED] = has_used ? (double)used : NAN,
                [DRIVER] = has_driver ? (double)driver : NAN,
                [UNEXPLAINED] = !has_driver || !has_used ? NAN
                                : driver > used          ? (double)(driver - used)
                                                         : 0,
                [REFUSED] = (double)ledger->refused,
                [RECLAIMED] = (double)ledger->reclaimed_bytes,
                [DRAINED] = (double)ledger->drained,
                [DRIVER_REFUSED] = (double)ledger->driver_refused,
        };
        struct node_compute_report report;
        char text[UUID_TEXT_BYTES];

        note_time(values, api, session, share);
        note_swap(values, api, session, seen->use);
        values[REPORTED] = node_compute_report(api->options.node, session, share, &report);
        api_uuid(api, uuid, text);
        for (unsigned i = 0; i < PROCESSES; i++) {
                if (!isnan(values[i]))
                        fprintf(out[i], "%s{session=\"%s\",gpu=\"%s\"%s} %.16g\n", metrics[i].name,
                                session->name, text, metrics[i].labels ? metrics[i].labels : "",
                                values[i]);
        }
}

static void put_session(FILE *const out[METRICS], const struct http_api *api,
                        const struct sessions_one *session)
{
        static struct folder_use use;
        const struct session_metrics seen = { api_use_of(api, session, &use), use.ledger };

        for (unsigned i = 0; i < session->share_count; i++)
                put_share(out, api, session, &seen, i);
        if (seen.use->at_ns)
                fprintf(out[PROCESSES], "%s{session=\"%s\"} %u\n", metrics[PROCESSES].name,
                        session->name, seen.use->count);
}

/* The series of one metric must be adjacent. So each metric is written to a text of its own, and
 * all texts are then written in order. */
void metrics_put_sessions(FILE *out, const struct api_call *call)
{
        const struct http_api *api = call->api;
        const struct sessions *all = node_sessions(api->options.node);
        FILE *part[METRICS] = { NULL };
        char *text[METRICS] = { NULL };
        size_t length[METRICS];
        bool is_open = true;

        for (unsigned i = 0; i < METRICS; i++) {
                part[i] = open_memstream(&text[i], &length[i]);
                is_open = is_open && part[i];
        }
        for (unsigned i = 0; is_open && i < all->entries; i++) {
                if (all->session[i].state != SESSIONS_FREE && api_may_see(call, &all->session[i]))
                        put_session(part, api, &all->session[i]);
        }
        for (unsigned i = 0; i < METRICS; i++) {
                if (metrics[i].help)
                        metrics_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
                if (part[i] && fclose(part[i]) == 0)
                        fputs(text[i], out);
                free(text[i]);
        }
}
