/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch.h"

#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"

#define CONVICTED 20u     /* what a score has to come to */
#define LOOK_STRANGER 10u /* two looks: who is on the GPU without a session needs no ledger */
#define LOOK_STILL 5u     /* the ledger stood still between two looks */
#define LOOK_MOVED 1u     /* it moved, or this is the first */

static const uint8_t nobody[16];

static bool is_free(const struct watch_case *one)
{
        return !one->sight.pid && memcmp(one->sight.session, nobody, sizeof(nobody)) == 0;
}

static bool is_of(const struct watch_case *one, const struct watch_sight *sight)
{
        return one->sight.pid == sight->pid && one->sight.charge == sight->charge &&
               one->sight.start_ticks == sight->start_ticks &&
               memcmp(one->sight.session, sight->session, sizeof(sight->session)) == 0 &&
               (sight->charge == WATCH_STRANGER || one->sight.device == sight->device);
}

static struct watch_case *find(struct watch *watch, const struct watch_sight *sight)
{
        for (unsigned i = 0; i < watch->entries; i++) {
                if (!is_free(&watch->file[i]) && is_of(&watch->file[i], sight))
                        return &watch->file[i];
        }
        return NULL;
}

static struct watch_case *add(struct watch *watch, const struct watch_sight *sight)
{
        for (unsigned i = 0; i < WATCH_CASES; i++) {
                if (!is_free(&watch->file[i]))
                        continue;
                watch->file[i] = (struct watch_case){ .sight = *sight };
                if (i >= watch->entries)
                        watch->entries = i + 1;
                return &watch->file[i];
        }
        return NULL;
}

static bool accuses(const struct watch_policy *policy, const struct watch_sight *sight,
                    const struct watch_case *before)
{
        uint64_t explained = sight->ledger_bytes;

        if (sight->charge == WATCH_STRANGER)
                return true;
        if (before && before->sight.ledger_bytes > explained)
                explained = before->sight.ledger_bytes;
        return sight->held_bytes >
               sum_of(explained, product_of(policy->tolerance_bytes,
                                            sight->charge == WATCH_SESSION ? sight->processes : 1));
}

static enum watch_answer answer_to(const struct watch_policy *policy,
                                   const struct watch_sight *sight)
{
        if (sight->charge != WATCH_STRANGER)
                return (enum watch_answer)policy->forged;
        if (policy->strangers != WATCH_IGNORE && !sight->is_managed)
                return WATCH_REPORT;
        return (enum watch_answer)policy->strangers;
}

void watch_begin(struct watch *watch)
{
        watch->next = 0;
        for (unsigned i = 0; i < watch->entries; i++)
                watch->file[i].is_seen = false;
}

bool watch_see(struct watch *watch, const struct watch_policy *policy,
               const struct watch_sight *sight)
{
        struct watch_case *known = find(watch, sight);
        bool is_accused = answer_to(policy, sight) != WATCH_IGNORE &&
                          (sight->charge == WATCH_STRANGER || sight->held_bytes != WATCH_NONE) &&
                          accuses(policy, sight, known);
        bool is_still = known && known->sight.ledger_mark == sight->ledger_mark;

        if (!known && is_accused)
                known = add(watch, sight);
        if (!known)
                return is_accused;
        known->is_seen = true;
        known->sight = *sight;
        if (!is_accused)
                known->score = 0;
        else if (known->score < CONVICTED)
                known->score += sight->charge == WATCH_STRANGER ? LOOK_STRANGER
                                : is_still                      ? LOOK_STILL
                                                                : LOOK_MOVED;
        return is_accused;
}

void watch_end(struct watch *watch, bool is_whole)
{
        for (unsigned i = 0; is_whole && i < watch->entries; i++) {
                struct watch_case *one = &watch->file[i];

                if (!one->is_seen || (!one->score && !one->is_told))
                        *one = (struct watch_case){ 0 };
        }
        while (watch->entries && is_free(&watch->file[watch->entries - 1]))
                watch->entries--;
}

/* -- What comes of it ------------------------------------------------------------------------- */

static struct watch_clamp *find_clamp(struct watch *watch, const uint8_t session[16])
{
        for (unsigned i = 0; i < WATCH_CLAMPS; i++) {
                if (memcmp(watch->clamp[i].session, session, sizeof(nobody)) == 0)
                        return &watch->clamp[i];
        }
        return NULL;
}

static bool is_guilty(const struct watch *watch, const uint8_t session[16])
{
        for (unsigned i = 0; i < watch->entries; i++) {
                const struct watch_case *one = &watch->file[i];

                if (one->score >= CONVICTED &&
                    memcmp(one->sight.session, session, sizeof(nobody)) == 0)
                        return true;
        }
        return false;
}

static bool give(struct watch_action *ret, enum watch_action_type type, enum watch_answer answer,
                 const struct watch_case *one)
{
        *ret = (struct watch_action){ .type = type, .answer = answer, .sight = one->sight };
        return true;
}

static bool clamp(struct watch *watch, const struct watch_case *one, struct watch_action *ret)
{
        struct watch_clamp *room;

        if (find_clamp(watch, one->sight.session))
                return false;
        room = find_clamp(watch, nobody);
        if (!room)
                return false;
        memcpy(room->session, one->sight.session, sizeof(room->session));
        return give(ret, WATCH_SHUT, WATCH_CLAMP, one);
}

static bool terminate(struct watch_case *one, const struct watch_policy *policy, uint64_t now_ns,
                      struct watch_action *ret)
{
        if (!one->is_termed) {
                one->is_termed = true;
                one->termed_ns = now_ns;
                return give(ret, WATCH_SIGTERM, WATCH_TERM, one);
        }
        if (one->is_killed || now_ns - one->termed_ns < policy->grace_ns)
                return false;
        one->is_killed = true;
        return give(ret, WATCH_SIGKILL, WATCH_TERM, one);
}

/* The next thing to do about one who is guilty; false: nothing is left. */
static bool answer(struct watch *watch, struct watch_case *one, const struct watch_policy *policy,
                   uint64_t now_ns, struct watch_action *ret)
{
        enum watch_answer answer = answer_to(policy, &one->sight);

        if (!one->is_seen || one->score < CONVICTED)
                return false;
        if (!one->is_told) {
                one->is_told = true;
                return give(ret, WATCH_TELL, answer, one);
        }
        if (answer == WATCH_CLAMP)
                return clamp(watch, one, ret);
        if (answer == WATCH_TERM)
                return terminate(one, policy, now_ns, ret);
        if (answer != WATCH_KILL || one->is_killed)
                return false;
        one->is_killed = true;
        return give(ret, WATCH_SIGKILL, answer, one);
}

static bool open_next(struct watch *watch, const struct watch_policy *policy,
                      struct watch_action *ret)
{
        for (unsigned i = 0; i < WATCH_CLAMPS; i++) {
                struct watch_clamp *one = &watch->clamp[i];

                if (memcmp(one->session, nobody, sizeof(nobody)) == 0 ||
                    (policy->forged == WATCH_CLAMP && is_guilty(watch, one->session)))
                        continue;
                *ret = (struct watch_action){ .type = WATCH_OPEN, .answer = WATCH_CLAMP };
                memcpy(ret->sight.session, one->session, sizeof(one->session));
                *one = (struct watch_clamp){ 0 };
                return true;
        }
        return false;
}

bool watch_next(struct watch *watch, const struct watch_policy *policy, uint64_t now_ns,
                struct watch_action *ret)
{
        for (; watch->next < watch->entries; watch->next++) {
                if (answer(watch, &watch->file[watch->next], policy, now_ns, ret))
                        return true;
        }
        return open_next(watch, policy, ret);
}

/* -- For who asks ----------------------------------------------------------------------------- */

bool watch_is_close(const struct watch *watch)
{
        for (unsigned i = 0; i < watch->entries; i++) {
                if (watch->file[i].score > 0 && watch->file[i].score < CONVICTED)
                        return true;
        }
        return false;
}

bool watch_knows(const struct watch *watch, uint32_t pid, const uint8_t session[16])
{
        for (unsigned i = 0; i < watch->entries; i++) {
                const struct watch_sight *sight = &watch->file[i].sight;

                if (is_free(&watch->file[i]))
                        continue;
                if ((pid && sight->pid == pid) ||
                    (session && memcmp(sight->session, session, sizeof(nobody)) == 0))
                        return true;
        }
        return false;
}

bool watch_is_clamped(const struct watch *watch, const uint8_t session[16])
{
        return find_clamp((struct watch *)(uintptr_t)watch, session) &&
               memcmp(session, nobody, sizeof(nobody)) != 0;
}

void watch_untold(struct watch *watch, const struct watch_sight *sight)
{
        struct watch_case *known = find(watch, sight);

        if (known)
                known->is_told = known->is_seen = false;
}

uint64_t watch_ceiling(uint64_t before, uint64_t limit_bytes, uint64_t ledger_bytes)
{
        uint64_t left = min_u64(before, ledger_bytes);

        return max_u64(left, limit_bytes);
}
