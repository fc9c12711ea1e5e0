/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the session of each process on the GPUs, and how much of the process's memory the ledgers
 * explain. core/watch.h decides what follows from that.
 *
 * A tenant can write anything into its session's slots. Still the slots decide which process has
 * which slot, because a false claim only moves bytes within the session. All slots together explain
 * at most the session's limit, or at most the previous, higher limit while memory from before the
 * change is still held (ceiling_bytes).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/minmax.h"
#include "common/sums.h"
#include "common/text.h"
#include "daemon/node/judge_parts.h"

#define NOBODY (-1)

struct judge *judge_new(bool is_simulated)
{
        struct judge *judge = calloc(1, sizeof(*judge));

        if (judge)
                judge->has_our_pids = is_simulated || identity_is_host();
        return judge;
}

void judge_free(struct judge *judge)
{
        if (!judge)
                return;
        for (unsigned i = 0; i < SESSIONS_MAX; i++)
                free(judge->seen[i]);
        free(judge->holding);
        free(judge);
}

bool judge_is_close(const struct judge *judge)
{
        return watch_is_close(&judge->watch);
}

static void add_suspects(const struct watch_file *file, struct nvml_ask *ask)
{
        for (unsigned i = 0; i < file->entries && ask->suspect_count < NVML_SUSPECTS; i++) {
                const struct watch_case *one = &file->one[i];

                if (one->sight.pid && one->score && !one->is_told)
                        ask->suspect[ask->suspect_count++] = one->sight.pid;
        }
}

/* -- The session of a process ----------------------------------------------------------------- */

static void read_slots(struct node *node)
{
        struct judge *judge = node->judge;
        const struct sessions *all = node->sessions;

        judge->slots_count = 0;
        judge->slots_as_of = node->folder_changes;
        for (unsigned i = 0; i < all->entries; i++) {
                char path[STORE_PATH_BYTES];
                struct stat st;

                if (all->session[i].state == SESSIONS_FREE ||
                    text_put(path, sizeof(path), NULL, "%s/sessions/%s/slots", node->store.path,
                             all->session[i].name) < 0 ||
                    stat(path, &st) < 0)
                        continue;
                judge->slots[judge->slots_count++] =
                        (struct slots_place){ .file = { (uint64_t)st.st_dev, (uint64_t)st.st_ino },
                                              .place = (int)i };
        }
        qsort(judge->slots, judge->slots_count, sizeof(judge->slots[0]), identity_compare);
}

/* Reads the list of `slots` files again if a folder was made or changed since. */
static void know_slots(struct node *node)
{
        if (node->judge->slots_as_of != node->folder_changes)
                read_slots(node);
}

void judge_ask(struct node *node, struct nvml_ask *ask)
{
        const struct judge *judge = node->judge;

        add_suspects(&judge->watch.processes, ask);
        add_suspects(&judge->watch.strangers, ask);
        know_slots(node);
        ask->sessions.count = judge->slots_count;
        for (unsigned i = 0; i < judge->slots_count; i++)
                ask->sessions.session[i] = (struct identity_session){
                        judge->slots[i].file,
                        node->sessions->session[judge->slots[i].place].owner_uid
                };
}

static int session_index_of(const struct node *node, const struct identity *who)
{
        const struct judge *judge = node->judge;
        const struct slots_place *found;

        if (who->rank == IDENTITY_OF_NONE)
                return NOBODY;
        found = bsearch(&who->slots, judge->slots, judge->slots_count, sizeof(*found),
                        identity_compare);
        return found && node->sessions->session[found->place].state != SESSIONS_FREE ? found->place
                                                                                     : NOBODY;
}

static uint32_t place_in(const struct node *node, const struct sessions_one *session)
{
        return (uint32_t)(session - node->sessions->session);
}

struct seen_session *judge_seen(struct node *node, const struct sessions_one *session)
{
        struct seen_session **place = &node->judge->seen[place_in(node, session)];

        if (!*place)
                *place = calloc(1, sizeof(**place));
        if (*place && memcmp((*place)->id, session->id, sizeof(session->id)) != 0) {
                **place = (struct seen_session){ 0 };
                memcpy((*place)->id, session->id, sizeof(session->id));
        }
        return *place;
}

void judge_limits(struct node *node, const struct sessions_one *session, bool is_new)
{
        struct seen_session *seen = judge_seen(node, session);

        if (!seen)
                return;
        seen->is_restored |= !is_new && !seen->is_known;
        seen->is_known = true;
        seen->limited_ns = UINT64_MAX;
}

void judge_limited(struct node *node, const struct sessions_one *session)
{
        struct seen_session *seen = judge_seen(node, session);

        if (seen)
                seen->limited_ns = sample_now_ns();
}

/* -- Explained memory ------------------------------------------------------------------------- */

/* Returns the bytes that the slots of this process count in one row. The start time is not
 * compared, because it differs in a time namespace; a false match only moves bytes within the
 * session. */
static uint64_t slot_bytes(const struct folder_use *use, const struct identity *who, int row)
{
        uint64_t sum = 0;

        for (unsigned i = 0; row >= 0 && i < use->count; i++) {
                const struct usage_process *one = &use->process[i];

                if (one->pid == who->inner_pid && one->pid_ns_inode == who->pid_ns &&
                    one->bytes[row] <= UINT64_MAX - sum)
                        sum += one->bytes[row];
        }
        return sum;
}

static int share_of(const struct sessions_one *session, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (memcmp(session->share[i].uuid, uuid, 16) == 0)
                        return (int)i;
        }
        return NOBODY;
}

/* What see_process() and see_sum() need about one session while its processes' memory is compared
 * with its ledger. */
struct seeing {
        const struct sessions_one *session;
        const struct folder_use *use;
        struct seen_session *seen;
        /* false: the slots were not read in this poll, so what each process explains is unknown */
        bool is_listed;
};

/* The sum over a session's processes on one device. */
struct sum {
        uint32_t processes;
        bool is_guilty; /* one of its processes is guilty, judged by its own slot */
        uint64_t held_bytes;
};

static void see_process(const struct look *look, const struct seeing *seeing, unsigned at,
                        struct sum *sums)
{
        const struct sessions_one *session = seeing->session;
        const struct folder_use *use = seeing->use;
        const struct sample_process *process = &look->at->sample.process[at];
        const struct identity *who = nvml_look_who(look->at, process->pid);
        const struct sample_device *device = &look->at->sample.device[process->device];
        int row = share_of(session, device->uuid);
        struct sum *sum = &sums[process->device];
        struct watch_sight sight = { .charge = WATCH_PROCESS,
                                     .pid = process->pid,
                                     .start_ticks = who->start_ticks,
                                     .payer = sessions_payer(session),
                                     .place = place_in(look->node, session),
                                     .device = process->device,
                                     .held_bytes = process->bytes,
                                     .ledger_bytes = slot_bytes(use, who, row),
                                     .ledger_mark = row < 0 ? 0 : use->ledger[row].tag };

        look->holding[at].ledger_bytes = sight.ledger_bytes;
        if (process->bytes == SAMPLE_NONE)
                return;
        memcpy(sight.session, session->id, sizeof(sight.session));
        if (seeing->is_listed)
                sum->is_guilty |= watch_see(&look->node->judge->watch, &look->policy, &sight);
        sum->processes++;
        sum->held_bytes += process->bytes;
}

static void see_sum(const struct look *look, const struct seeing *seeing, unsigned device,
                    const struct sum *sum)
{
        const struct sessions_one *session = seeing->session;
        const struct folder_use *use = seeing->use;
        struct judge *judge = look->node->judge;
        int row = share_of(session, look->at->sample.device[device].uuid);
        struct watch_sight sight = { .charge = WATCH_SESSION,
                                     .payer = sessions_payer(session),
                                     .place = place_in(look->node, session),
                                     .device = (uint8_t)device,
                                     .share = (uint8_t)row,
                                     .is_answered = sum->is_guilty,
                                     .processes = sum->processes,
                                     .held_bytes = sum->held_bytes };

        if (row < 0)
                /* on GPUs that are not the session's, its processes are judged one by one */
                return;
        sight.ledger_bytes =
                min_u64(use->ledger[row].used_bytes, session->share[row].ceiling_bytes);
        sight.ledger_mark = use->ledger[row].tag;
        memcpy(sight.session, session->id, sizeof(sight.session));
        if (look->is_whole) {
                seeing->seen->driver_bytes[row] = sum->held_bytes;
                judge->explained[device] +=
                        session->swaps
                                ? difference_of(sight.ledger_bytes, use->ledger[1].used_bytes)
                                : sight.ledger_bytes; /* row 1 counts bytes in the host */
        }
        watch_see(&judge->watch, &look->policy, &sight);
}

bool judge_is_our_want(int rc)
{
        return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

/* Judges the processes of one session: order[from] up to order[end - 1]. A session that is not
 * suspected is judged in complete polls only. The ledger is read in each poll, so the sum over the
 * session's processes is always compared. The slots are not read if the budget for listing the
 * owner's sessions is used up. */
static void see_session(const struct look *look, unsigned from, unsigned end)
{
        static struct folder_use use;
        struct node *node = look->node;
        unsigned place = (unsigned)look->holding[look->order[from]].place;
        const struct sessions_one *session = &node->sessions->session[place];
        struct seen_session *seen = judge_seen(node, session);
        struct seeing seeing = { .session = session, .use = &use, .seen = seen };
        struct sum sums[SETTINGS_GPUS] = { 0 };
        int rc;

        if (!seen || (!look->is_whole && !watch_knows(&node->judge->watch, place, session->id)))
                return;
        rc = folder_read(&node->store, session, &use, NULL);
        seeing.is_listed = rc != -EAGAIN;
        if (judge_is_our_want(rc))
                return;
        /* A page that cannot be read explains nothing. */
        if (rc < 0 && seeing.is_listed)
                memset(use.ledger, 0, sizeof(use.ledger));
        else
                told_add(node, seen, session, use.ledger);
        for (unsigned i = from; i < end; i++)
                see_process(look, &seeing, look->order[i], sums);
        if (look->is_whole) {
                memset(seen->driver_bytes, 0, sizeof(seen->driver_bytes));
                seen->whole = node->judge->whole;
        }
        for (unsigned i = 0; i < look->at->sample.device_count; i++) {
                if (sums[i].processes)
                        see_sum(look, &seeing, i, &sums[i]);
        }
        seen->is_restored &= !look->is_whole;
}

static void see_stranger(const struct look *look, const struct sample_process *process,
                         const struct identity *who)
{
        const struct watch_sight sight = {
                .charge = WATCH_STRANGER,
                .pid = process->pid,
                .start_ticks = who->start_ticks,
                .payer = who->uid,
                .device = process->device,
                /* a process whose mappings cannot be read may belong to a session */
                .is_managed = who->has_maps && identity_is_in(who, look->node->managed_cgroups),
                .held_bytes = process->bytes,
        };

        watch_see(&look->node->judge->watch, &look->policy, &sight);
}

/* -- Judging a poll --------------------------------------------------------------------------- */

/* an argument for compare_places(), because qsort() passes none */
static const struct holding *sorting;

static int compare_places(const void *a, const void *b)
{
        const unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

        if (sorting[left].place != sorting[right].place)
                return sorting[left].place < sorting[right].place ? -1 : 1;
        return left < right ? -1 : left > right;
}

/* Finds the session of each process. Reads the list of `slots` files again first, because a session
 * may have been created since. */
static void find_places(struct look *look)
{
        struct node *node = look->node;

        know_slots(node);
        for (unsigned i = 0; i < look->at->sample.process_count; i++) {
                const struct identity *who =
                        nvml_look_who(look->at, look->at->sample.process[i].pid);

                look->holding[i] =
                        (struct holding){ .place = who ? session_index_of(node, who) : NOBODY };
                if (look->holding[i].place >= 0)
                        look->order[look->order_count++] = i;
        }
        sorting = look->holding;
        if (look->order_count)
                qsort(look->order, look->order_count, sizeof(*look->order), compare_places);
}

static void see_everybody(const struct look *look)
{
        unsigned from = 0;

        for (unsigned i = 0; i < look->at->sample.process_count; i++) {
                const struct sample_process *process = &look->at->sample.process[i];
                const struct identity *who = nvml_look_who(look->at, process->pid);
                bool is_first = !i || process[-1].pid != process->pid;

                if (who && !who->is_partial && is_first && look->holding[i].place < 0)
                        see_stranger(look, process, who);
        }
        while (from < look->order_count) {
                int place = look->holding[look->order[from]].place;
                unsigned end = from;

                while (end < look->order_count && look->holding[look->order[end]].place == place)
                        end++;
                see_session(look, from, end);
                from = end;
        }
}

/* Makes the poll's processes what node_holder() returns from now on. */
static void publish_look(struct judge *judge, struct look *look)
{
        free(judge->holding);
        judge->holding = look->holding;
        judge->holding_count = look->at->sample.process_count;
        look->holding = NULL;
}

/* Limits the answers to reports, because a pid that the driver reports may belong to another
 * process in our PID namespace. */
static void only_report(struct watch_policy *policy)
{
        if (policy->strangers != WATCH_IGNORE)
                policy->strangers = WATCH_REPORT;
        if (policy->forged != WATCH_IGNORE)
                policy->forged = WATCH_REPORT;
}

/* Logs that there is no room to follow some processes, once until there is room for all again. */
static void tell_crowd(const struct look *look)
{
        struct judge *judge = look->node->judge;
        const struct watch *watch = &judge->watch;
        char name[ACCOUNTS_NAME_BYTES];

        if (watch->left_out && !judge->is_crowded)
                owner_log(&look->node->trouble, watch->left_out_payer, LOG_WARN,
                          "%s has more processes on the GPUs outside sessions, or suspected in "
                          "them, than are followed",
                          accounts_name(watch->left_out_payer, name));
        if (watch->left_out || look->is_whole)
                judge->is_crowded = watch->left_out > 0;
}

void judge_look(struct node *node, const struct nvml_look *at)
{
        unsigned count = at->sample.process_count;
        struct look look = { .node = node,
                             .at = at,
                             .is_whole = at->extent == SAMPLE_WHOLE,
                             .policy = *node->watch,
                             .holding = calloc(count + 1, sizeof(*look.holding)),
                             .order = calloc(count + 1, sizeof(*look.order)) };

        look.policy.grace_ns = node->sessions->policy.grace_ns;
        if (!node->judge->has_our_pids)
                only_report(&look.policy);
        if (look.holding && look.order) {
                if (look.is_whole) {
                        memset(node->judge->explained, 0, sizeof(node->judge->explained));
                        node->judge->whole++;
                }
                find_places(&look);
                watch_begin(&node->judge->watch);
                see_everybody(&look);
                watch_end(&node->judge->watch, look.is_whole);
                tell_crowd(&look);
                answer_all(&look);
                if (look.is_whole && node->scheduler)
                        claims_look(&look);
                answer_errors(&look);
                if (look.is_whole) {
                        publish_look(node->judge, &look);
                        held_look(node, at);
                        failed_look(node, at);
                }
        }
        free(look.holding);
        free(look.order);
}

/* -- Access for other parts ------------------------------------------------------------------- */

struct node_holder node_holder(const struct node *node, unsigned at)
{
        const struct judge *judge = node->judge;
        struct node_holder ret = { .ledger_bytes = 0 };
        int place = at < judge->holding_count ? judge->holding[at].place : NOBODY;

        if (place < 0 || !judge->seen[place] ||
            memcmp(judge->seen[place]->id, node->sessions->session[place].id, 16) != 0 ||
            node->sessions->session[place].state == SESSIONS_FREE)
                return ret;
        ret.session = &node->sessions->session[place];
        ret.ledger_bytes = judge->holding[at].ledger_bytes;
        return ret;
}

uint64_t node_driver_bytes(const struct node *node, const struct sessions_one *session,
                           const uint8_t uuid[16])
{
        const struct nvml_look *look = node_gpus(node);
        const struct seen_session *seen = node->judge->seen[session - node->sessions->session];
        int row = share_of(session, uuid);

        for (unsigned i = 0; look && row >= 0 && i < look->sample.device_count; i++) {
                if (memcmp(look->sample.device[i].uuid, uuid, 16) != 0 ||
                    !look->sample.device[i].has_processes)
                        continue;
                if (!seen || seen->whole != node->judge->whole ||
                    memcmp(seen->id, session->id, sizeof(seen->id)) != 0)
                        return 0;
                return seen->driver_bytes[row];
        }
        return SAMPLE_NONE;
}

uint64_t node_explained_bytes(const struct node *node, unsigned device)
{
        return node->judge->explained[device];
}

bool node_is_clamped(const struct node *node, const struct sessions_one *session)
{
        return node->judge &&
               watch_is_clamped(&node->judge->watch, place_in(node, session), session->id);
}
