/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how much memory sessions with a lowered limit still hold. The core does not promise
 * that memory to other sessions until it is free.
 *
 * A session holds the greater of its ledger's and the driver's figure, because the tenant can write
 * the ledger. Memory of unidentified processes, and of the owner's processes outside all sessions,
 * counts as well, because such a process may have been in the session and have released `slots`.
 * Processes of root and of the daemon's own user are exempt. A poll that began before the limit was
 * written says nothing.
 *
 * The number of such sessions is the tenants' choice, so a poll handles some of them.
 */
#include <string.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "daemon/node/judge_parts.h"

static bool has_fallen(const struct sessions_one *session)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (session->share[i].ceiling_bytes > session->share[i].memory_bytes)
                        return session->state != SESSIONS_FREE;
        }
        return false;
}

static bool may_be_its(const struct node *node, const struct nvml_look *look, unsigned at,
                       const struct sessions_one *session)
{
        const struct identity *who = nvml_look_who(look, look->sample.process[at].pid);
        int place = node->judge->holding[at].place;

        if (place >= 0 || session->owner_uid == 0 || session->owner_uid == geteuid())
                return place == (int)(session - node->sessions->session);
        return !who || who->uid == session->owner_uid;
}

/* Returns the bytes that the driver reports for the session's processes; 0 for what it does not
 * report. */
static uint64_t shown_bytes(const struct node *node, const struct nvml_look *look, unsigned device,
                            const struct sessions_one *session)
{
        uint64_t sum = 0;

        if (!node->judge->has_our_pids)
                /* a pid that the driver reports may belong to another process in our PID
                 * namespace */
                return 0;
        for (unsigned i = 0; i < look->sample.process_count; i++) {
                const struct sample_process *process = &look->sample.process[i];

                if (process->device == device && process->bytes != SAMPLE_NONE &&
                    may_be_its(node, look, i, session))
                        sum = sum_of(sum, process->bytes);
        }
        return sum;
}

/* Returns the bytes that the session holds of the GPU. UINT64_MAX: the poll does not have the
 * GPU. */
static uint64_t held_bytes(const struct node *node, const struct nvml_look *look,
                           const struct sessions_one *session, unsigned share,
                           const struct page_ledger *ledger)
{
        unsigned device = 0;

        while (device < look->sample.device_count &&
               memcmp(look->sample.device[device].uuid, session->share[share].uuid, 16) != 0)
                device++;
        if (device == look->sample.device_count)
                return UINT64_MAX;
        return max_u64(shown_bytes(node, look, device, session), ledger->used_bytes);
}

static void update_held(struct node *node, const struct nvml_look *look,
                        const struct sessions_one *session)
{
        const struct seen_session *seen = judge_seen(node, session);
        struct page_ledger ledger[PAGE_DEVICES];
        struct sessions_one held;
        int rc;

        if (!seen || seen->limited_ns >= look->sample.listed_ns)
                return;
        rc = folder_read_ledger(&node->store, session, ledger, NULL);
        if (rc < 0 && (!node->judge->has_our_pids || judge_is_our_want(rc)))
                return;
        if (rc < 0)
                /* the ledger cannot be read, so only the driver's figure counts */
                memset(ledger, 0, sizeof(ledger));
        held = *session;
        for (unsigned i = 0; i < held.share_count; i++)
                held.share[i].memory_bytes = held_bytes(node, look, session, i, &ledger[i]);
        node_note_held(node, &held);
}

void held_look(struct node *node, const struct nvml_look *look)
{
        const uint64_t until_ns = clock_machine_ns() + NODE_TURN_NS;
        const struct sessions *all = node->sessions;
        const unsigned from = node->judge->held_from, entries = all->entries;

        if (look->sample.failures)
                return; /* a list of processes may be missing */
        for (unsigned i = 0; i < entries && clock_machine_ns() < until_ns; i++) {
                const struct sessions_one *session = &all->session[(from + i) % entries];

                node->judge->held_from = (unsigned)(session - all->session) + 1;
                if (has_fallen(session))
                        update_held(node, look, session);
        }
}
