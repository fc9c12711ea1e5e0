/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of each session, with metrics.sessions = yes only. A session's files are read once for
 * all of them; the counters are those of its ledger, which its programs write.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics_parts.h"

typedef unsigned long long number;

enum metric {
        LIMIT,
        USED,
        DRIVER,
        UNEXPLAINED,
        REFUSED,
        RECLAIMED,
        DRAINED,
        DRIVER_REFUSED,
        PROCESSES, /* of a session; the others, of a session and a GPU */
        METRICS,
};

static const struct {
        const char *name, *type, *help;
} metrics[METRICS] = {
        [LIMIT] = { "aliquot_session_memory_limit_bytes", "gauge",
                    "What a session may use of a GPU." },
        [USED] = { "aliquot_session_memory_used_bytes", "gauge",
                   "What its programs hold of a GPU, by its ledger." },
        [DRIVER] = { "aliquot_session_memory_driver_bytes", "gauge",
                     "What its programs hold of a GPU, by the driver." },
        [UNEXPLAINED] = { "aliquot_session_memory_unexplained_bytes", "gauge",
                          "What of that the ledger does not explain." },
        [REFUSED] = { "aliquot_session_refused_charges_total", "counter",
                      "Requests for memory that were over the limit." },
        [RECLAIMED] = { "aliquot_session_reclaimed_bytes_total", "counter",
                        "Memory that was taken back from processes that had died." },
        [DRAINED] = { "aliquot_session_drained_charges_total", "counter",
                      "Requests that waited for the driver to free what the dead had held." },
        [DRIVER_REFUSED] = { "aliquot_session_driver_refused_charges_total", "counter",
                             "Requests within the limit for which the driver had no memory." },
        [PROCESSES] = { "aliquot_session_processes", "gauge", "Processes that live in a session." },
};

/* A session's own name needs no escapes: settings_check_name(). */
static void put_share(FILE *const out[METRICS], const struct api *api,
                      const struct sessions_one *session, const struct folder_use *use,
                      unsigned share)
{
        const uint8_t *uuid = session->share[share].uuid;
        const struct page_ledger *ledger = &use->ledger[share];
        uint64_t used = folder_used_bytes(use, uuid);
        uint64_t driver = node_driver_bytes(api->options.node, session, uuid);
        const uint64_t values[PROCESSES] = {
                [LIMIT] = session->share[share].memory_bytes,
                [USED] = used,
                [DRIVER] = driver,
                [UNEXPLAINED] = driver > used ? driver - used : 0,
                [REFUSED] = ledger->refused,
                [RECLAIMED] = ledger->reclaimed_bytes,
                [DRAINED] = ledger->drained,
                [DRIVER_REFUSED] = ledger->driver_refused,
        };
        char text[UUID_TEXT_BYTES];

        api_uuid(api, uuid, text);
        for (unsigned i = 0; i < PROCESSES; i++) {
                if (driver == SAMPLE_NONE && (i == DRIVER || i == UNEXPLAINED))
                        continue;
                fprintf(out[i], "%s{session=\"%s\",gpu=\"%s\"} %llu\n", metrics[i].name,
                        session->name, text, (number)values[i]);
        }
}

static void put_session(FILE *const out[METRICS], const struct api *api,
                        const struct sessions_one *session)
{
        static struct folder_use use;

        if (folder_read(node_store(api->options.node), session, &use, NULL) < 0) {
                use.count = 0;
                memset(use.ledger, 0, sizeof(use.ledger));
        }
        for (unsigned i = 0; i < session->share_count; i++)
                put_share(out, api, session, &use, i);
        fprintf(out[PROCESSES], "%s{session=\"%s\"} %u\n", metrics[PROCESSES].name, session->name,
                use.count);
}

/* Series of one metric stand together, so each is written apart and then all after each other. */
void metrics_put_sessions(FILE *out, const struct api *api)
{
        const struct sessions *all = node_sessions(api->options.node);
        FILE *part[METRICS] = { NULL };
        char *text[METRICS] = { NULL };
        size_t length[METRICS];
        bool is_open = true;

        for (unsigned i = 0; i < METRICS; i++) {
                part[i] = open_memstream(&text[i], &length[i]);
                is_open = is_open && part[i];
        }
        for (unsigned i = 0; is_open && i < all->places; i++) {
                if (all->session[i].state != SESSIONS_FREE)
                        put_session(part, api, &all->session[i]);
        }
        for (unsigned i = 0; i < METRICS; i++) {
                metrics_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
                if (part[i] && fclose(part[i]) == 0)
                        fputs(text[i], out);
                free(text[i]);
        }
}
