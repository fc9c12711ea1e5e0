/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sessions claim to have used of a GPU's time, beside what the driver shows, and what comes of
 * it; decided in core/claims.h.
 *
 * What the driver shows of each process is the rule. Where it does not tell that (instances, older
 * GPUs, no permission), how busy the whole GPU is stands in for it, as long as one session has it
 * alone; and of a few readings the least, since each is of a fraction of a second. Who shares a GPU
 * under MPS is not told apart, and not judged.
 */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "daemon/judge_parts.h"
#include "daemon/schedule/scheduler.h"
#include "proto/page.h"

_Static_assert(CLAIMS_WHOLE_PPM == PAGE_WHOLE_PPM, "no cap is the same word in both");

#define PPM_A_MILLI_PERCENT 10u

/* One GPU of the look. */
struct shown {
        bool is_known;     /* by process, or of the whole */
        bool is_whole;     /* of the whole: only who has it alone is judged */
        bool is_shared;    /* not all who are on it are of one session */
        int place;         /* whose they are, of those seen so far */
        uint64_t all_ns;   /* of everybody */
        uint64_t whole_ns; /* of the whole, at least */
};

/* -- What the driver shows -------------------------------------------------------------------- */

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

/* The least of the latest readings; negative: not all of them are known. */
static int least_percent(struct claims_gpu *gpu, int percent)
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
        int percent = least_percent(&look->node->judge->claims_gpu[at], device->busy_percent);

        *ret = (struct shown){ .is_known = device->has_shares, .place = -1 };
        if (device->has_shares)
                return;
        say_blind(look, at, device->busy_percent >= 0);
        if (percent < 0)
                return;
        ret->is_known = ret->is_whole = true;
        ret->whole_ns = elapsed_ns / 100 * (unsigned)percent;
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
        }
}

/* -- What is compared ------------------------------------------------------------------------- */

static int device_of(const struct look *look, const uint8_t uuid[16])
{
        const struct sample *sample = &look->at->sample;

        for (unsigned i = 0; i < sample->device_count; i++) {
                if (memcmp(sample->device[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return -1;
}

/* Of the session's processes, those of order[from..end), on that GPU; false: none is there. */
static bool sum_up(const struct look *look, unsigned from, unsigned end, int device,
                   uint64_t *ret_ns)
{
        bool is_there = false;

        *ret_ns = 0;
        for (unsigned i = from; i < end; i++) {
                const struct sample_process *process = &look->at->sample.process[look->order[i]];

                if (process->device != device)
                        continue;
                is_there = true;
                *ret_ns += process->busy_ns;
        }
        return is_there;
}

static uint32_t cap_of(const struct sessions_share *share)
{
        return share->compute_milli_percent ? share->compute_milli_percent * PPM_A_MILLI_PERCENT
                                            : CLAIMS_WHOLE_PPM;
}

/* `sight` has what the driver shows. */
static void see_share(const struct look *look, const struct sessions_one *session, unsigned at,
                      bool is_known, struct claims_sight *sight)
{
        struct scheduler_claim claim;

        if (!scheduler_claim(look->node->scheduler, session->id, at, &claim))
                return;
        memcpy(sight->session, session->id, sizeof(sight->session));
        sight->share = (uint8_t)at;
        sight->cap_ppm = cap_of(&session->share[at]);
        sight->is_measured = is_known && (claim.is_watched || sight->cap_ppm < CLAIMS_WHOLE_PPM);
        sight->is_in_flight = claim.is_in_flight;
        sight->busy_ns = claim.busy_ns;
        sight->held_ns = claim.held_ns;
        sight->owed_ns = claim.owed_ns;
        sight->is_free = claim.is_free;
        sight->leases = claim.leases;
        claims_see(&look->node->judge->claims, look->node->claims, sight);
}

/* Those of one session: order[from..end). */
static void see_session(const struct look *look, unsigned from, unsigned end,
                        const struct shown *all, uint64_t elapsed_ns)
{
        unsigned place = (unsigned)look->holding[look->order[from]].place;
        const struct sessions_one *session = &look->node->sessions->session[place];
        struct seen_session *seen = judge_seen(look->node, session);

        for (unsigned i = 0; seen && i < session->share_count; i++) {
                int device = device_of(look, session->share[i].uuid);
                const struct shown *shown = &all[device < 0 ? 0 : device];
                struct claims_sight sight = { .elapsed_ns = elapsed_ns };
                uint64_t own_ns;

                if (device < 0 || !sum_up(look, from, end, device, &own_ns))
                        continue;
                sight.shown_ns = shown->is_whole ? shown->whole_ns
                                                 : claims_least(own_ns, shown->all_ns, elapsed_ns);
                seen->shown_ns[i] += own_ns;
                see_share(look, session, i,
                          shown->is_known && (!shown->is_whole || !shown->is_shared), &sight);
        }
}

static void see_sessions(const struct look *look, const struct shown *shown, uint64_t elapsed_ns)
{
        unsigned from = 0;

        while (from < look->order_count) {
                int place = look->holding[look->order[from]].place;
                unsigned end = from;

                while (end < look->order_count && look->holding[look->order[end]].place == place)
                        end++;
                see_session(look, from, end, shown, elapsed_ns);
                from = end;
        }
}

/* -- What comes of it ------------------------------------------------------------------------- */

/* Of a percent. */
static unsigned tenths_of(uint64_t ns, uint64_t window_ns)
{
        uint64_t tenths = window_ns >= 1000 ? ns / (window_ns / 1000) : 0;

        return tenths < UINT32_MAX ? (unsigned)tenths : UINT32_MAX;
}

static const char *uuid_of(const struct look *look, const struct sessions_one *session,
                           unsigned share, char ret[UUID_TEXT_BYTES])
{
        const uint8_t *uuid = session->share[share].uuid;
        int device = device_of(look, uuid);

        return uuid_format(uuid, device >= 0 && look->at->sample.device[device].is_instance, ret);
}

/* What was found, and of whom. */
static json_t *describe(const struct look *look, const struct sessions_one *session,
                        const struct claims_action *action)
{
        char uuid[UUID_TEXT_BYTES];

        return json_pack(
                "{s:s, s:I, s:s, s:f, s:f}", "uuid", uuid_of(look, session, action->share, uuid),
                "owner", (json_int_t)session->owner_uid, "why", node_claims_why(action->why),
                "shown_percent", tenths_of(action->shown_ns, action->window_ns) / 10.0,
                "claimed_percent", tenths_of(action->claimed_ns, action->window_ns) / 10.0);
}

/* Takes the reference. */
static void tell(const struct look *look, const char *type, const struct sessions_one *session,
                 json_t *detail)
{
        scoped_free char *text = json_dumps(detail, JSON_COMPACT);

        json_decref(detail);
        answer_tell(look->node, type, session, text);
}

static void tell_of(const struct look *look, const struct sessions_one *session,
                    const struct claims_action *action)
{
        json_t *detail;

        if (!answer_may_tell(look)) {
                claims_untold(&look->node->judge->claims, action->session, action->share);
                return;
        }
        detail = describe(look, session, action);
        json_object_set_new(detail, "action", json_string(answer_name(action->answer)));
        look->node->counts.compute_forged++;
        tell(look, "compute-forged", session, detail);
}

static void begin_clamp(const struct look *look, const struct sessions_one *session,
                        const struct claims_action *action)
{
        struct node *node = look->node;
        struct seen_session *seen = judge_seen(node, session);
        json_t *detail = describe(look, session, action);
        struct claims_clamp clamp;

        scheduler_clamp(node->scheduler, session->id, action->share, true);
        node->counts.compute_clamps++;
        if (seen)
                seen->clamped_ns[action->share] = node_now_ns();
        if (claims_clamp(&node->judge->claims, session->id, action->share, &clamp)) {
                json_object_set_new(detail, "times", json_integer(clamp.times));
                json_object_set_new(detail, "least_seconds",
                                    json_integer((json_int_t)(clamp.left_ns / NODE_SECOND_NS)));
        }
        tell(look, "compute-clamped", session, detail);
}

static void end_clamp(const struct look *look, const struct sessions_one *session,
                      const struct claims_action *action)
{
        char uuid[UUID_TEXT_BYTES];

        scheduler_clamp(look->node->scheduler, session->id, action->share, false);
        tell(look, "compute-unclamped", session,
             json_pack("{s:s, s:I}", "uuid", uuid_of(look, session, action->share, uuid), "owner",
                       (json_int_t)session->owner_uid));
}

static void send_signal(const struct look *look, const struct sessions_one *session,
                        const struct claims_action *action)
{
        int device = device_of(look, session->share[action->share].uuid);
        struct watch_sight sight = { .charge = WATCH_SESSION, .device = (uint8_t)device };

        memcpy(sight.session, session->id, sizeof(sight.session));
        if (device >= 0)
                answer_signal(look, &sight, action->type == CLAIMS_SIGTERM ? SIGTERM : SIGKILL);
}

static void answer(const struct look *look, const struct claims_action *action)
{
        struct node *node = look->node;
        const struct sessions_one *session = answer_session(node, action->session);

        if (!session)
                return;
        if (action->type == CLAIMS_TELL)
                tell_of(look, session, action);
        else if (action->type == CLAIMS_CLAMP)
                begin_clamp(look, session, action);
        else if (action->type == CLAIMS_RELEASE)
                end_clamp(look, session, action);
        else if (action->type == CLAIMS_CHARGE)
                scheduler_charge(node->scheduler, session->id, action->share, action->ns,
                                 action->beyond_ns);
        else
                send_signal(look, session, action);
}

/* A pid that the driver names may be another process's here. */
static struct claims_policy policy_of(const struct node *node)
{
        struct claims_policy policy = *node->claims;

        policy.grace_ns = node->sessions->policy.grace_ns;
        if (!node->judge->has_our_pids && policy.answer != WATCH_IGNORE)
                policy.answer = WATCH_REPORT;
        return policy;
}

void claims_look(const struct look *look)
{
        struct judge *judge = look->node->judge;
        const struct claims_policy policy = policy_of(look->node);
        uint64_t now_ns = clock_now_ns();
        uint64_t elapsed_ns = judge->claims_ns ? now_ns - judge->claims_ns : 0;
        struct shown shown[SETTINGS_GPUS];
        struct claims_action action;

        judge->claims_ns = now_ns;
        judge->claims_wall_ns = node_now_ns();
        read_shown(look, elapsed_ns, shown);
        claims_begin(&judge->claims);
        see_sessions(look, shown, elapsed_ns);
        claims_end(&judge->claims, &policy, elapsed_ns);
        while (claims_next(&judge->claims, &policy, clock_machine_ns(), &action))
                answer(look, &action);
}

void claims_farewell(struct node *node, const struct sessions_one *session)
{
        claims_forget(&node->judge->claims, session->id);
}

/* -- What others may see ---------------------------------------------------------------------- */

void node_use_scheduler(struct node *node, struct scheduler *scheduler)
{
        node->scheduler = scheduler;
}

const char *node_claims_why(enum claims_why why)
{
        return why == CLAIMS_ABOVE_CAP ? "above-cap" : "understated";
}

/* NULL: it was not looked at yet. */
static const struct seen_session *seen_of(const struct node *node,
                                          const struct sessions_one *session)
{
        const struct seen_session *seen = node->judge->seen[session - node->sessions->session];

        return seen && memcmp(seen->id, session->id, sizeof(seen->id)) == 0 ? seen : NULL;
}

uint64_t node_shown_ns(const struct node *node, const struct sessions_one *session, unsigned share)
{
        const struct seen_session *seen = seen_of(node, session);

        return seen ? seen->shown_ns[share] : 0;
}

bool node_compute_clamp(const struct node *node, const struct sessions_one *session, unsigned share,
                        struct node_compute_clamp *ret)
{
        const struct seen_session *seen = seen_of(node, session);
        struct claims_clamp clamp;

        if (!seen || !claims_clamp(&node->judge->claims, session->id, share, &clamp))
                return false;
        *ret = (struct node_compute_clamp){
                .since_ns = seen->clamped_ns[share],
                .until_ns = node->judge->claims_wall_ns + clamp.left_ns,
                .why = clamp.why,
                .times = clamp.times,
                .shown_tenths = tenths_of(clamp.shown_ns, clamp.window_ns),
                .claimed_tenths = tenths_of(clamp.claimed_ns, clamp.window_ns),
        };
        return true;
}

unsigned node_compute_clamped(const struct node *node)
{
        const struct claims *claims = &node->judge->claims;
        unsigned count = 0;

        for (unsigned i = 0; i < claims->places; i++)
                count += claims->file[i].is_clamped;
        return count;
}
