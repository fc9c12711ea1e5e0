/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/snapshot.h"

#include <string.h>

unsigned snapshot_permille(uint64_t part, uint64_t whole)
{
        if (whole == 0)
                return 0;
        if (part >= whole)
                return 1000;
        return (unsigned)((unsigned __int128)part * 1000 / whole);
}

uint64_t snapshot_share_whole(const struct snapshot_share *share)
{
        return share->limit_bytes == PAGE_UNLIMITED ? share->card_bytes : share->limit_bytes;
}

unsigned snapshot_fill(const struct snapshot_session *session)
{
        unsigned most = 0;

        for (unsigned i = 0; i < session->share_count; i++) {
                const struct snapshot_share *share = &session->share[i];
                unsigned permille =
                        snapshot_permille(share->used_bytes, snapshot_share_whole(share));

                most = permille > most ? permille : most;
        }
        return most;
}

unsigned snapshot_processes(const struct snapshot_session *session)
{
        return session->process_count + session->hidden_count;
}

bool snapshot_has_terms(const struct snapshot_session *session)
{
        return session->left_seconds >= 0 || session->is_ending || session->labels[0];
}

bool snapshot_limit(const struct snapshot_session *session, uint64_t *ret_bytes)
{
        uint64_t first =
                session->share_count ? session->share[0].limit_bytes : session->default_limit_bytes;

        for (unsigned i = 1; i < session->share_count; i++) {
                if (session->share[i].limit_bytes != first)
                        return false;
        }
        *ret_bytes = first;
        return true;
}

uint64_t snapshot_others(const struct snapshot_device *device)
{
        return device->used_bytes > device->sessions_bytes
                       ? device->used_bytes - device->sessions_bytes
                       : 0;
}

bool snapshot_has_cap(const struct snapshot_time *time)
{
        return time->cap_ppm && time->cap_ppm < PAGE_WHOLE_PPM;
}

bool snapshot_has_time(const struct snapshot_share *share)
{
        const struct snapshot_time *time = &share->time;

        return snapshot_has_cap(time) || time->guarantee_ppm || time->ran.at_ns;
}

bool snapshot_has_rank(const struct snapshot_session *session)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (snapshot_has_time(&session->share[i]) || session->share[i].time.finding[0])
                        return true;
        }
        return (session->weight && session->weight != SNAPSHOT_USUAL_WEIGHT) ||
               (session->priority[0] && strcmp(session->priority, "normal") != 0) ||
               session->gang[0];
}

/* For each GPU, the number of sessions on it, and how many of them are working. */
struct company {
        unsigned tenants[SETTINGS_GPUS], at_work[SETTINGS_GPUS];
};

static void count_company(const struct snapshot *snapshot, struct company *ret)
{
        for (size_t i = 0; i < snapshot->session_count; i++) {
                const struct snapshot_session *session = &snapshot->session[i];

                for (unsigned j = 0; j < session->share_count; j++) {
                        const struct snapshot_share *share = &session->share[j];

                        if (share->device < 0)
                                continue;
                        ret->tenants[share->device] += share->used_bytes > 0;
                        ret->at_work[share->device] += share->time.is_at_work;
                }
        }
}

/* Returns whether a session's cap is not kept exactly on a GPU. A daemon gives leases on a GPU from
 * the second working session on, so only working sessions count. Without a daemon, any other
 * session on the GPU counts, because work without a cap is not measured. */
static bool is_degraded(const struct snapshot_session *session, const struct snapshot_share *share,
                        const struct company *company)
{
        const struct snapshot_time *time = &share->time;

        if (share->device < 0 || time->is_leased || !snapshot_has_cap(time))
                return false;
        if (session->has_daemon)
                return time->is_at_work && company->at_work[share->device] > 1;
        return share->used_bytes > 0 && company->tenants[share->device] > 1;
}

void snapshot_judge(struct snapshot *snapshot)
{
        struct company company = { 0 };

        count_company(snapshot, &company);
        for (size_t i = 0; i < snapshot->session_count; i++) {
                struct snapshot_session *session = &snapshot->session[i];

                for (unsigned j = 0; j < session->share_count; j++)
                        session->share[j].time.is_degraded =
                                is_degraded(session, &session->share[j], &company);
        }
}
