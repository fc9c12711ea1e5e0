/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/snapshot.h"

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
