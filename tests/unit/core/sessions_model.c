/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions_model.h"

/* -- Room ------------------------------------------------------------------------------------- */

static uint64_t ceiling_on(const struct model_session *one, unsigned gpu)
{
        uint64_t sum = 0;

        for (unsigned j = 0; one->is_there && j < one->share_count; j++)
                sum += one->share[j].gpu == gpu ? one->share[j].ceiling : 0;
        return sum;
}

/* All but one session that do not swap, and the largest of those that do. */
static uint64_t promised_but(const struct model *model, const struct model_session *but,
                             unsigned gpu, uint64_t *ret_largest)
{
        uint64_t plain = 0;

        *ret_largest = 0;
        for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
                const struct model_session *one = &model->session[i];
                uint64_t ceiling = one == but ? 0 : ceiling_on(one, gpu);

                plain += one->swaps ? 0 : ceiling;
                if (one->swaps && ceiling > *ret_largest)
                        *ret_largest = ceiling;
        }
        return plain;
}

uint64_t model_promised(const struct model *model, unsigned gpu)
{
        uint64_t largest, plain = promised_but(model, NULL, gpu, &largest);

        return plain + largest;
}

uint64_t model_swapped(const struct model *model, unsigned gpu)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < MODEL_SESSIONS; i++)
                sum += model->session[i].swaps ? ceiling_on(&model->session[i], gpu) : 0;
        return sum;
}

uint64_t model_most(const struct model *model, unsigned gpu)
{
        uint64_t reserve = model->policy.reserve;

        if (!model->gpu[gpu].is_here || model->gpu[gpu].gib <= reserve)
                return 0;
        return model->gpu[gpu].gib - reserve;
}

uint64_t model_bound(const struct model *model, unsigned gpu)
{
        uint64_t most = model_most(model, gpu);

        if (model->policy.overcommit == SESSIONS_NONE)
                return most > 0 ? UINT64_MAX : 0;
        return model->policy.overcommit == SESSIONS_RATIO ? most * model->policy.percent / 100
                                                          : most;
}

/* The most that a session in the place of `but` may have. */
static uint64_t room_beside(const struct model *model, unsigned gpu,
                            const struct model_session *but, bool swaps)
{
        uint64_t largest, plain = promised_but(model, but, gpu, &largest);
        uint64_t bound = model_bound(model, gpu);
        uint64_t most = model_most(model, gpu);
        uint64_t left = bound > plain + largest ? bound - plain - largest : 0;

        if (swaps && plain + largest <= bound)
                left = bound - plain;
        return left < most ? left : most;
}

uint64_t model_room(const struct model *model, unsigned gpu)
{
        return room_beside(model, gpu, NULL, false);
}

uint64_t model_room_to_swap(const struct model *model, unsigned gpu)
{
        return room_beside(model, gpu, NULL, true);
}

uint64_t model_left(const struct model *model, unsigned gpu)
{
        return model_bound(model, gpu) - model_promised(model, gpu);
}

unsigned model_guaranteed(const struct model *model, const struct model_session *but, unsigned gpu)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
                const struct model_session *one = &model->session[i];

                for (unsigned j = 0; one->is_there && one != but && j < one->share_count; j++)
                        sum += one->share[j].gpu == gpu ? one->share[j].guarantee : 0;
        }
        return sum;
}

static enum sessions_answer named(const struct model *model, const struct model_session *said)
{
        for (unsigned i = 0; i < said->share_count; i++) {
                if (said->share[i].gib > model_most(model, said->share[i].gpu))
                        return SESSIONS_NO_GPU;
        }
        for (unsigned i = 0; i < said->share_count; i++) {
                if (said->share[i].gib > room_beside(model, said->share[i].gpu, NULL, said->swaps))
                        return SESSIONS_NO_ROOM;
                if (said->share[i].guarantee + model_guaranteed(model, NULL, said->share[i].gpu) >
                    100)
                        return SESSIONS_NO_TIME;
        }
        return SESSIONS_YES;
}

/* Is there any way to give each share from `at` on a GPU of its own, with so much room? */
static bool can_place(const struct model_ask *ask, const uint64_t *room, unsigned at,
                      unsigned taken)
{
        if (at == ask->said.share_count || at == MODEL_SHARES)
                return true;
        for (unsigned g = 0; g < MODEL_GPUS; g++) {
                if (taken & 1u << g || room[g] < ask->said.share[at].gib ||
                    room[g] < ask->free_least)
                        continue;
                if (can_place(ask, room, at + 1, taken | 1u << g))
                        return true;
        }
        return false;
}

static enum sessions_answer any(const struct model *model, const struct model_ask *ask)
{
        uint64_t room[MODEL_GPUS], most[MODEL_GPUS];
        unsigned without_time = 0;

        for (unsigned g = 0; g < MODEL_GPUS; g++) {
                room[g] = room_beside(model, g, NULL, ask->said.swaps);
                most[g] = model_most(model, g);
        }
        if (!can_place(ask, most, 0, 0))
                return SESSIONS_NO_GPU;
        if (!can_place(ask, room, 0, 0))
                return SESSIONS_NO_ROOM;
        for (unsigned g = 0; g < MODEL_GPUS; g++) {
                if (ask->said.share[0].guarantee + model_guaranteed(model, NULL, g) > 100)
                        without_time |= 1u << g;
        }
        return can_place(ask, room, 0, without_time) ? SESSIONS_YES : SESSIONS_NO_TIME;
}

/* -- Asking ----------------------------------------------------------------------------------- */

static bool may(const struct model_ask *ask, uint32_t owner)
{
        return ask->is_admin || ask->uid == 0 || ask->uid == owner;
}

static bool is_too_long(const struct model *model, uint64_t ttl)
{
        return model->policy.most != 0 && (ttl == 0 || ttl > model->policy.most);
}

static bool is_too_mild(const struct model *model, const struct model_ask *ask)
{
        return ask->has_ending && model->policy.most != 0 && !ask->is_admin && ask->uid != 0 &&
               ask->said.ending < model->policy.ending;
}

enum sessions_answer model_create(struct model *model, const struct model_ask *ask)
{
        struct model_session *one = &model->session[ask->at];
        struct model_session said = ask->said;
        enum sessions_answer answer;
        unsigned owned = 0;

        said.ttl = ask->has_ttl ? ask->ttl : model->policy.ttl;
        if (!ask->has_ttl && said.ttl == 0)
                said.ttl = model->policy.most;
        for (unsigned i = 0; i < MODEL_SESSIONS; i++)
                owned += model->session[i].is_there && model->session[i].owner == said.owner;
        if (!may(ask, said.owner))
                return SESSIONS_BAD;
        if (one->is_there)
                return SESSIONS_EXISTS;
        if (model->policy.owner_max != 0 && owned >= model->policy.owner_max && said.owner != 0 &&
            !(ask->is_admin && said.owner == ask->uid))
                return SESSIONS_FULL;
        if (is_too_long(model, said.ttl))
                return SESSIONS_TOO_LONG;
        if (is_too_mild(model, ask))
                return SESSIONS_BAD;
        answer = ask->is_chosen ? any(model, ask) : named(model, &said);
        if (answer != SESSIONS_YES)
                return answer;
        for (unsigned i = 0; i < said.share_count; i++)
                said.share[i].ceiling = said.share[i].gib;
        said.is_there = true;
        said.state = SESSIONS_OPEN;
        said.ending = ask->has_ending ? said.ending : model->policy.ending;
        said.expires = said.ttl ? model->now + said.ttl : 0;
        said.version = 1;
        *one = said;
        return SESSIONS_YES;
}

/* Of one share, the first that is said, and of the TTL. */
enum sessions_answer model_change(struct model *model, const struct model_ask *ask)
{
        struct model_session *one = &model->session[ask->at];
        unsigned gpu = ask->said.share[0].gpu, at = 0;
        uint64_t gib = ask->said.share[0].gib;

        if (!one->is_there || !may(ask, one->owner))
                return SESSIONS_UNKNOWN;
        if (one->state != SESSIONS_OPEN)
                return SESSIONS_CLOSED;
        if (ask->version != 0 && ask->version != one->version)
                return SESSIONS_STALE;
        while (at < one->share_count && one->share[at].gpu != gpu)
                at++;
        if (at == one->share_count)
                return SESSIONS_NO_GPU;
        if (ask->has_ttl && is_too_long(model, ask->ttl))
                return SESSIONS_TOO_LONG;
        if (gib > one->share[at].gib && gib > model_most(model, gpu))
                return SESSIONS_NO_GPU;
        if (gib > one->share[at].gib && gib > room_beside(model, gpu, one, one->swaps))
                return SESSIONS_NO_ROOM;
        if (ask->has_compute && ask->said.share[0].guarantee > one->share[at].guarantee &&
            ask->said.share[0].guarantee + model_guaranteed(model, one, gpu) > 100)
                return SESSIONS_NO_TIME;
        one->share[at].gib = gib;
        one->share[at].ceiling = gib > one->share[at].ceiling ? gib : one->share[at].ceiling;
        if (ask->has_compute)
                one->share[at].guarantee = ask->said.share[0].guarantee;
        if (ask->has_ttl) {
                one->ttl = ask->ttl;
                one->expires = ask->ttl ? model->now + ask->ttl : 0;
        }
        one->version++;
        return SESSIONS_YES;
}

enum sessions_answer model_renew(struct model *model, const struct model_ask *ask)
{
        struct model_session *one = &model->session[ask->at];
        uint64_t ttl = ask->ttl ? ask->ttl : one->ttl;

        if (!one->is_there || !may(ask, one->owner))
                return SESSIONS_UNKNOWN;
        if (one->state != SESSIONS_OPEN)
                return SESSIONS_CLOSED;
        if (ask->ttl != 0 && is_too_long(model, ask->ttl))
                return SESSIONS_TOO_LONG;
        if (ttl == 0)
                return SESSIONS_YES;
        one->version += ttl != one->ttl;
        one->ttl = ttl;
        if (model->policy.most != 0 && ttl > model->policy.most)
                ttl = model->policy.most;
        one->expires = model->now + ttl;
        return SESSIONS_YES;
}

void model_held(struct model *model, unsigned at, unsigned share, uint64_t gib)
{
        struct model_session *one = &model->session[at];

        if (gib < one->share[share].gib)
                gib = one->share[share].gib;
        if (gib < one->share[share].ceiling)
                one->share[share].ceiling = gib;
}

/* -- Endings ---------------------------------------------------------------------------------- */

static void end(struct model *model, struct model_session *one)
{
        one->version++;
        one->state = one->ending == SESSIONS_KILL ? SESSIONS_KILLING : SESSIONS_ENDING;
        one->kill_at = one->ending == SESSIONS_TERM ? model->now + model->policy.grace : 0;
        if (one->ending == SESSIONS_KILL || (one->ending == SESSIONS_TERM && !one->is_stubborn))
                one->running = 0;
}

enum sessions_answer model_release(struct model *model, const struct model_ask *ask)
{
        struct model_session *one = &model->session[ask->at];

        if (!one->is_there || !may(ask, one->owner))
                return SESSIONS_UNKNOWN;
        if (!ask->is_forced && one->state != SESSIONS_OPEN)
                return SESSIONS_CLOSED;
        if (!ask->is_forced && one->running > 0)
                return SESSIONS_BUSY;
        if (ask->version != 0 && ask->version != one->version)
                return SESSIONS_STALE;
        if (one->state != SESSIONS_OPEN) {
                one->is_there = false; /* who runs is killed */
                return SESSIONS_YES;
        }
        if (!ask->is_forced)
                one->ending = SESSIONS_DENY_NEW;
        end(model, one);
        one->is_there = one->running > 0;
        return SESSIONS_YES;
}

void model_tick_one(struct model *model, unsigned at)
{
        struct model_session *one = &model->session[at];

        if (!one->is_there)
                return;
        if (one->state == SESSIONS_OPEN && one->expires && one->expires <= model->now)
                end(model, one);
        if (one->state == SESSIONS_ENDING && one->kill_at && one->kill_at <= model->now)
                one->running = 0;
        one->is_there = one->state == SESSIONS_OPEN || one->running > 0;
}

void model_tick(struct model *model)
{
        for (unsigned i = 0; i < MODEL_SESSIONS; i++)
                model_tick_one(model, i);
}

void model_restart(struct model *model)
{
        for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
                struct model_session *one = &model->session[i];

                if (one->state == SESSIONS_ENDING && one->kill_at)
                        one->kill_at = model->now + model->policy.grace;
        }
        model_tick(model);
}

uint64_t model_next(const struct model *model)
{
        uint64_t next = 0;

        for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
                const struct model_session *one = &model->session[i];
                uint64_t at = one->state == SESSIONS_OPEN ? one->expires : one->kill_at;

                if (one->is_there && at != 0 && (next == 0 || at < next))
                        next = at;
        }
        return next;
}
