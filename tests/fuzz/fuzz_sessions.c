/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events in any order, with fields that nobody checked, actions that fail, and a clock that
 * jumps: the core's sessions stay what they promise to be.
 *
 * After each step: a refusal has changed no session and gives no action; the actions are in the one
 * order that survives a crash; nobody was promised more of a card than the policy allows; TICK
 * comes to an end; what is next is due then.
 */
#include <string.h>

#include "core/sessions.h"
#include "input.h"

#define NAMES 12u /* so many places are used at most */
#define GPUS 4u

static struct sessions node;
static struct sessions_actions actions;
static uint64_t now_ns;

/* Small numbers and the ends of the range more often than others. */
static uint64_t next_word(void)
{
        static const uint64_t known[] = { UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63,
                                          SESSIONS_RETRY_NS };
        uint8_t which = next_byte();

        if (which < 128)
                return which;
        if (which < 192)
                return known[which % (sizeof(known) / sizeof(known[0]))];
        return next_number();
}

/* -- What must hold ---------------------------------------------------------------------------- */

static uint64_t promised(const uint8_t uuid[16])
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < SESSIONS_MAX && i < NAMES; i++) {
                const struct sessions_one *one = &node.session[i];

                for (unsigned j = 0; one->state != SESSIONS_FREE && j < one->share_count; j++) {
                        uint64_t bytes = one->share[j].memory_bytes;

                        if (memcmp(one->share[j].uuid, uuid, 16) == 0)
                                sum = sum + bytes < sum ? UINT64_MAX : sum + bytes;
                }
        }
        return sum;
}

static uint64_t sessions_sum(void)
{
        uint64_t sum = node.count;

        for (unsigned i = 0; i < NAMES; i++) {
                const struct sessions_one *one = &node.session[i];
                const uint8_t *bytes = (const uint8_t *)one;

                for (size_t at = 0; one->state != SESSIONS_FREE && at < sizeof(*one); at++)
                        sum = (sum ^ bytes[at]) * UINT64_C(0x100000001b3);
        }
        return sum;
}

/* What was promised before a step, to see what it added. */
struct before {
        uint64_t sum;
        uint64_t promised[GPUS];
};

static void uuid_of(uint8_t letter, uint8_t ret[16])
{
        memset(ret, letter % (GPUS + 1), 16); /* 0: no GPU at all */
}

static void look_before(struct before *ret)
{
        ret->sum = sessions_sum();
        for (unsigned g = 0; g < GPUS; g++) {
                uint8_t uuid[16];

                uuid_of((uint8_t)(g + 1), uuid);
                ret->promised[g] = promised(uuid);
        }
}

/* Admission: only CREATE and CHANGE can add, and by STRICT no more than the card less the reserve.
 */
static void check_promises(const struct before *before)
{
        for (unsigned i = 0; i < node.gpu_count; i++) {
                const struct sessions_gpu *gpu = &node.gpu[i];
                uint64_t now = promised(gpu->uuid), reserve = node.policy.reserve_bytes;

                check(now == sessions_promised(&node, gpu->uuid));
                if (now <= before->promised[gpu->uuid[0] - 1])
                        continue;
                check(gpu->is_here);
                if (node.policy.overcommit == SESSIONS_STRICT)
                        check(reserve < gpu->card_bytes && now <= gpu->card_bytes - reserve);
        }
}

/* SAVE before what others see, which is before FORGET; each points to a session of the node. */
static void check_order(void)
{
        bool is_seen = false;

        check(actions.count <= SESSIONS_ACTIONS);
        for (unsigned i = 0; i < actions.count; i++) {
                const struct sessions_action *action = &actions.action[i];

                if (action->session)
                        check(action->session >= node.session &&
                              action->session < node.session + NAMES);
                else
                        check(action->type == SESSIONS_TELL);
                check(action->type != SESSIONS_SAVE || !is_seen);
                is_seen |= action->type != SESSIONS_SAVE && action->type != SESSIONS_TELL;
                if (action->type == SESSIONS_FORGET)
                        check(i > 0 && action[-1].type == SESSIONS_REMOVE);
                if (action->type == SESSIONS_SIGTERM || action->type == SESSIONS_SIGKILL)
                        check(i > 0 && action[-1].type == SESSIONS_SHUT);
        }
}

static void check_sessions(void)
{
        unsigned count = 0;

        for (unsigned i = 0; i < NAMES; i++) {
                const struct sessions_one *one = &node.session[i];

                if (one->state == SESSIONS_FREE)
                        continue;
                count++;
                check(one->state <= SESSIONS_KILLING && one->version != 0);
                check(one->share_count > 0 && one->share_count <= SESSIONS_GPUS);
                check(sessions_find(&node, one->name) == one);
        }
        check(count == node.count && node.entries <= NAMES);
}

/* -- Events ------------------------------------------------------------------------------------ */

static void fill_session(struct sessions_one *one)
{
        memset(one, 0, sizeof(*one));
        one->name[0] = (char)('a' + next_byte() % NAMES);
        one->owner_uid = 1000u + next_byte() % 2;
        one->share_count = next_byte() % 18;
        for (unsigned i = 0; i < one->share_count && i < SESSIONS_GPUS; i++) {
                uuid_of(next_byte(), one->share[i].uuid);
                one->share[i].memory_bytes = next_word();
        }
        one->state = next_byte() % 5;
        one->ending = next_byte() % 4;
        one->ttl_ns = next_word();
        one->expires_ns = next_word();
        one->weight = 1;
        one->version = next_byte() % 4;
        if (next_byte() % 32 == 1)
                memset(one->name, 'x', sizeof(one->name));
        if (next_byte() % 32 == 1)
                memset(one->labels, 'x', sizeof(one->labels));
}

static void fill_policy(struct sessions_policy *policy)
{
        policy->overcommit = next_byte() % 4;
        policy->ratio_percent = (uint32_t)next_word();
        policy->reserve_bytes = next_word();
        policy->ending = next_byte() % 4;
        policy->choice = next_byte() % 3;
        policy->ttl_ns = next_word();
        policy->ttl_max_ns = next_word();
        policy->grace_ns = next_word();
        policy->owner_max = next_byte() % 8;
}

static void fill_event(struct sessions_event *event, struct sessions_one *one)
{
        uint8_t bits = next_byte();

        event->type = next_byte() % (SESSIONS_FAILED + 1);
        event->name = one->name;
        event->session = one;
        event->uid = 1000u + bits % 2;
        event->is_admin = bits & 2;
        event->is_forced = bits & 4;
        event->is_busy = bits & 8;
        event->is_unsaved = bits & 16;
        event->wish.is_chosen_here = bits & 32;
        event->wish.has_choice = bits & 64;
        event->wish.choice = next_byte() % 3;
        event->wish.free_min_bytes = bits & 128 ? next_word() : 0;
        event->change_bits = next_byte();
        event->version = next_byte() % 4;
        event->ttl_ns = next_word();
        if (event->type == SESSIONS_POLICY)
                fill_policy(&event->policy);
        uuid_of(next_byte(), event->gpu.uuid);
        event->gpu.card_bytes = next_word();
        fill_session(one);
        one->name[SESSIONS_NAME_BYTES - 1] *= event->type == SESSIONS_CREATE;
}

static void step(const struct sessions_event *event)
{
        struct before before;

        look_before(&before);
        sessions_step(&node, event, now_ns, &actions);
        check(actions.answer <= SESSIONS_BAD);
        if (actions.answer != SESSIONS_YES)
                check(actions.count == 0 && sessions_sum() == before.sum);
        check(actions.answer != SESSIONS_BAD || actions.field);
        check_order();
        check_sessions();
        if (event->type == SESSIONS_CREATE || event->type == SESSIONS_CHANGE)
                check_promises(&before);
}

/* An action fails, and so may those of its being undone; that ends. */
static void fail_some(void)
{
        static struct sessions_one one;
        struct sessions_event event = { .type = SESSIONS_FAILED, .name = one.name };

        for (unsigned i = 0; actions.count > 0 && actions.action[0].session; i++) {
                unsigned at = next_byte() % actions.count;

                check(i < 4);
                if (next_byte() % 4 != 1)
                        return;
                one = *actions.action[0].session;
                event.is_unsaved = actions.action[at].type == SESSIONS_SAVE ||
                                   actions.action[at].type == SESSIONS_FORGET;
                step(&event);
        }
}

static void tick_all(void)
{
        const struct sessions_event event = { .type = SESSIONS_TICK };
        uint64_t next_ns = sessions_next_ns(&node);
        bool is_due = next_ns != 0 && next_ns <= now_ns;

        for (unsigned i = 0; i <= 3 * NAMES; i++) {
                step(&event);
                check(i > 0 || !is_due || actions.count > 0);
                if (!actions.is_more)
                        return;
                check(actions.count > 0);
        }
        abort();
}

static void reset(void)
{
        static const struct sessions_policy policy;
        static bool is_clean;

        if (!is_clean)
                sessions_init(&node, &policy);
        is_clean = true;
        memset(node.session, 0, NAMES * sizeof(node.session[0]));
        memset(node.due, 0, NAMES * sizeof(node.due[0]));
        memset(node.name_sum, 0, NAMES * sizeof(node.name_sum[0]));
        memset(node.gpu, 0, sizeof(node.gpu));
        node.policy = policy;
        node.gpu_count = node.count = node.entries = node.tick_from = 0;
        node.last = SESSIONS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct sessions_one one;

        reset();
        now_ns = 0;
        input_begin(data, size);
        while (input.left > 0) {
                struct sessions_event event = { 0 };
                uint8_t what = next_byte();

                if (what % 4 == 3) {
                        now_ns = what & 4 ? next_word() : now_ns + next_word();
                        tick_all();
                        continue;
                }
                fill_event(&event, &one);
                step(&event);
                fail_some();
        }
        return 0;
}
