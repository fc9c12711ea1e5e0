/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the GPU time that sessions claim with the driver's figures. A session that uses more
 * than it claims is reported if core/claims.h decides so; it is neither slowed down nor ended.
 *
 * Usually the driver reports each process. If it does not (MIG instances, older GPUs, no
 * permission), the utilisation of the whole GPU is used while only one session has processes on it.
 * The lowest of the last CLAIMS_READINGS readings counts, because each reading covers only a
 * fraction of a second. Processes that share a GPU under MPS cannot be told apart and are not
 * judged.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "daemon/base/json_memory.h"
#include "daemon/node/judge_parts.h"
#include "daemon/schedule/scheduler.h"
#include "proto/page.h"

_Static_assert(CLAIMS_WHOLE_PPM == PAGE_WHOLE_PPM, "no cap is the same word in both");

#define PPM_A_MILLI_PERCENT 10u

/* What the driver reported of one GPU in this poll. */
struct shown {
        bool is_known; /* the figures below are known, by process or for the whole GPU */
        /* only whole_ns is known: only a session that has the GPU alone is judged */
        bool is_whole;
        bool is_shared;    /* processes of several sessions, or of none, are on it */
        int place;         /* index of the last session seen; -1: none */
        uint64_t all_ns;   /* GPU time of all processes */
        uint64_t whole_ns; /* minimum time for which the GPU as a whole was in use */
};

/* -- The driver's figures --------------------------------------------------------------------- */

static void say_blind(const struct look *look, unsigned at, bool has_whole)
{
        const struct sample_device *device = &look->at->sample.device[at];
        struct claims_gpu *gpu = &look->node->judge->claims_gpu[at];
        char uuid[UUID_TEXT_BYTES];

        if (gpu->is_said || !device->has_processes)
                return;
        gpu->is_said = true;
        log_line(LOG_WARN,
                 "%s: the driver does not tell who keeps it busy; what sessions claim of its time "
                 "is %s",
                 uuid_format(device->uuid, device->is_instance, uuid),
                 has_whole ? "checked only while one has it alone" : "not checked");
}

/* Adds a reading and returns the lowest of the last CLAIMS_READINGS; negative: some of them are
 * unknown. */
static int min_percent(struct claims_gpu *gpu, int percent)
{
        int least = percent;

        memmove(gpu->percent + 1, gpu->percent, sizeof(gpu->percent) - sizeof(gpu->percent[0]));
        gpu->percent[0] = (int16_t)percent;
        gpu->readings += gpu->readings < CLAIMS_READINGS;
        for (unsigned i = 1; i < gpu->readings; i++) {
                if (gpu->percent[i] < least)
                        least = gpu->percent[i];
        }
        return gpu->readings < CLAIMS_READINGS ? -1 : least;
}

static void read_device(const struct look *look, unsigned at, uint64_t elapsed_ns,
                        struct shown *ret)
{
        const struct sample_device *device = &look->at->sample.device[at];
        int percent = min_percent(&look->node->judge->claims_gpu[at], device->busy_percent);

        *ret = (struct shown){ .is_known = device->has_shares, .place = -1 };
        if (device->has_shares)
                return;
        say_blind(look, at, device->busy_percent >= 0);
        if (percent < 0)
                return;
        ret->is_known = ret->is_whole = true;
        ret->whole_ns = elapsed_ns / 100 * (unsigned)percent;
}

/* Adds the GPU time of the process at index `at` of the sample to its session. */
static void add_to_session(const struct look *look, unsigned at)
{
        const struct sample_process *process = &look->at->sample.process[at];
        const struct sessions_one *session =
                &look->node->sessions->session[look->holding[at].place];
        const uint8_t *uuid = look->at->sample.device[process->device].uuid;
        struct seen_session *seen = judge_seen(look->node, session);

        for (unsigned i = 0; seen && i < session->share_count; i++) {
                if (memcmp(session->share[i].uuid, uuid, 16) != 0)
                        continue;
                seen->time[i].is_there = true;
                seen->time[i].look_ns += process->busy_ns;
        }
}

static void read_shown(const struct look *look, uint64_t elapsed_ns, struct shown *ret)
{
        const struct sample *sample = &look->at->sample;

        for (unsigned i = 0; i < sample->device_count; i++)
                read_device(look, i, elapsed_ns, &ret[i]);
        for (unsigned i = 0; i < sample->process_count; i++) {
                struct shown *shown = &ret[sample->process[i].device];
                int place = look->holding[i].place;

                shown->is_shared |= place < 0 || (shown->place >= 0 && shown->place != place);
                shown->place = place;
                shown->all_ns += sample->process[i].busy_ns;
                if (sample->process[i].kinds & SAMPLE_MPS)
                        shown->is_known = false;
                if (place >= 0)
                        add_to_session(look, i);
        }
}

/* -- The comparison --------------------------------------------------------------------------- */

/* Returns the index of a GPU in the sample; -ENOENT: the sample does not have it. */
static int device_of(const struct look *look, const uint8_t uuid[16])
{
        const struct sample *sample = &look->at->sample;

        for (unsigned i = 0; i < sample->device_count; i++) {
                if (memcmp(sample->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -ENOENT;
}

/* Returns `ns` as a part of the window, in tenths of a percent. */
static unsigned tenths_of(uint64_t ns, uint64_t window_ns)
{
        uint64_t tenths = window_ns >= 1000 ? ns / (window_ns / 1000) : 0;

        return tenths < UINT32_MAX ? (unsigned)tenths : UINT32_MAX;
}

/* One share of a session, with the GPU to which it belongs. */
struct judged {
        const struct sessions_one *session;
        unsigned at;
        struct seen_time *time;
        int device; /* index in the sample; negative: the GPU is gone */
};

/* Fills in the figures to compare. False: the scheduler has none. */
static bool compare(const struct look *look, const struct judged *one, const struct shown *shown,
                    struct claims_sight *ret)
{
        uint32_t milli_percent = one->session->share[one->at].compute_milli_percent;
        struct claims_sight sight = *ret;
        struct scheduler_claim claim;

        if (!scheduler_claim(look->node->scheduler, one->session->id, one->at, &claim))
                return false;
        if (milli_percent)
                sight.cap_ppm = milli_percent * PPM_A_MILLI_PERCENT;
        sight.is_measured = shown->is_known && (!shown->is_whole || !shown->is_shared) &&
                            (claim.is_watched || sight.cap_ppm < CLAIMS_WHOLE_PPM);
        sight.is_free = claim.is_free;
        sight.shown_ns = shown->is_whole
                                 ? shown->whole_ns
                                 : claims_min(one->time->look_ns, shown->all_ns, sight.elapsed_ns);
        sight.busy_ns = claim.busy_ns;
        sight.owed_ns = claim.owed_ns;
        sight.leases = claim.leases;
        *ret = sight;
        return true;
}

static void report_claim(const struct look *look, const struct judged *one)
{
        const struct claim *claim = &one->time->claim;
        const struct sample_device *device = &look->at->sample.device[one->device];
        char uuid[UUID_TEXT_BYTES];
        json_t *detail = json_pack(
                "{s:s, s:I, s:s, s:f, s:f}", "uuid",
                uuid_format(device->uuid, device->is_instance, uuid), "owner",
                (json_int_t)one->session->owner_uid, "why", node_claims_why(claim->why),
                "shown_percent", tenths_of(claim->told_shown_ns, claim->told_window_ns) / 10.0,
                "claimed_percent", tenths_of(claim->told_claimed_ns, claim->told_window_ns) / 10.0);
        scoped_free char *text = json_memory_text(detail, JSON_COMPACT);

        json_decref(detail);
        answer_tell(look->node, "compute-reported", one->session, text);
}

static void see(const struct look *look, const struct judged *one, const struct shown *all,
                uint64_t elapsed_ns)
{
        struct seen_time *time = one->time;
        /* The defaults apply to a session without a process on the GPU, which used nothing. */
        struct claims_sight sight = { .is_measured = true,
                                      .is_free = true,
                                      .cap_ppm = CLAIMS_WHOLE_PPM,
                                      .elapsed_ns = elapsed_ns,
                                      .busy_ns = time->claim.busy_ns,
                                      .leases = time->claim.leases };
        bool is_there = time->is_there && one->device >= 0;

        if (is_there ? compare(look, one, &all[one->device], &sight) : time->claim.is_known) {
                if (claims_see(&time->claim, look->node->claims, &sight))
                        time->reported_ns = node_now_ns();
                time->is_told &= time->claim.is_reported;
        }
        if (is_there && time->claim.is_reported && !time->is_told && answer_may_tell(look)) {
                time->is_told = true;
                report_claim(look, one);
        }
        time->shown_ns += time->look_ns;
        time->look_ns = 0;
        time->is_there = false;
}

/* Returns what is kept about the session. NULL: it was not judged yet. */
static struct seen_session *seen_of(const struct node *node, const struct sessions_one *session)
{
        struct seen_session *seen = node->judge->seen[session - node->sessions->session];

        return seen && session->state != SESSIONS_FREE &&
                               memcmp(seen->id, session->id, sizeof(seen->id)) == 0
                       ? seen
                       : NULL;
}

void claims_look(const struct look *look)
{
        const struct sessions *sessions = look->node->sessions;
        struct judge *judge = look->node->judge;
        uint64_t now_ns = clock_now_ns();
        uint64_t elapsed_ns = judge->claims_ns ? now_ns - judge->claims_ns : 0;
        struct shown shown[SETTINGS_GPUS];

        judge->claims_ns = now_ns;
        read_shown(look, elapsed_ns, shown);
        for (unsigned i = 0; i < sessions->entries; i++) {
                const struct sessions_one *session = &sessions->session[i];
                struct seen_session *seen = seen_of(look->node, session);

                for (unsigned j = 0; seen && j < session->share_count; j++) {
                        const struct judged one = { session, j, &seen->time[j],
                                                    device_of(look, session->share[j].uuid) };

                        see(look, &one, shown, elapsed_ns);
                }
        }
}

/* -- Access for other parts ------------------------------------------------------------------- */

void node_use_scheduler(struct node *node, struct scheduler *scheduler)
{
        node->scheduler = scheduler;
}

const char *node_claims_why(enum claims_why why)
{
        return why == CLAIMS_ABOVE_CAP ? "above-cap" : "understated";
}

uint64_t node_shown_ns(const struct node *node, const struct sessions_one *session, unsigned share)
{
        const struct seen_session *seen = seen_of(node, session);

        return seen ? seen->time[share].shown_ns : 0;
}

bool node_compute_report(const struct node *node, const struct sessions_one *session,
                         unsigned share, struct node_compute_report *ret)
{
        const struct seen_session *seen = seen_of(node, session);
        const struct claim *claim = seen ? &seen->time[share].claim : NULL;

        if (!claim || !claim->is_reported)
                return false;
        *ret = (struct node_compute_report){
                .since_ns = seen->time[share].reported_ns,
                .why = claim->why,
                .shown_tenths = tenths_of(claim->told_shown_ns, claim->told_window_ns),
                .claimed_tenths = tenths_of(claim->told_claimed_ns, claim->told_window_ns),
        };
        return true;
}

unsigned node_compute_reported(const struct node *node)
{
        const struct sessions *sessions = node->sessions;
        struct node_compute_report report;
        unsigned count = 0;

        for (unsigned i = 0; i < sessions->entries; i++) {
                for (unsigned j = 0; j < sessions->session[i].share_count; j++)
                        count += node_compute_report(node, &sessions->session[i], j, &report);
        }
        return count;
}
