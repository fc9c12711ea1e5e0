/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hundred thousand random events beside a plain model, with a crash now and then.
 *
 * After each: the answer and every session are the model's; no card was promised above its bound
 * by this event; what is saved, made, limited and shut in the pretend world is what the sessions
 * say; the next thing is due when the model says, and neither before nor later. A crash cuts the
 * actions of an event anywhere; what was saved is restored, and after TICK all of that holds again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions_model.h"
#include "sessions_world.h"

#define EVENTS 100000u
#define SECOND UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static struct {
        struct sessions node, before;
        struct world world;
        struct model model;
        unsigned cut; /* carry out so many actions of the next event, and crash; or NO_CUT */
        uint64_t random;
        unsigned event;
        unsigned answers[SESSIONS_BAD + 1], crashes, chosen, ends;
} run;

#define NO_CUT (SESSIONS_ACTIONS + 1)

/* xorshift64: the same sequence everywhere. */
static unsigned any_of(unsigned count)
{
        run.random ^= run.random << 13;
        run.random ^= run.random >> 7;
        run.random ^= run.random << 17;
        return (unsigned)(run.random >> 33) % count;
}

static bool one_in(unsigned count)
{
        return any_of(count) == 0;
}

static const char *name_of(unsigned at)
{
        static char name[8];

        snprintf(name, sizeof(name), "s%u", at);
        return name;
}

static void uuid_of(unsigned gpu, uint8_t ret[16])
{
        memset(ret, 'A' + (int)gpu, 16);
}

/* -- The core, as whoever carries out sees it -------------------------------------------------- */

static void settle(const struct sessions_actions *actions);

static void step(const struct sessions_event *event, struct sessions_actions *actions)
{
        sessions_step(&run.node, event, run.model.now * SECOND, actions);
        assert_true(actions->count <= SESSIONS_ACTIONS);
        for (unsigned i = 0; i < actions->count && i < run.cut; i++)
                world_carry_out(&run.world, &actions->action[i]);
        if (run.cut == NO_CUT)
                settle(actions);
}

/* Nobody is left in what was closed: that is told. */
static void settle(const struct sessions_actions *actions)
{
        const struct sessions_one *one = actions->count ? actions->action[0].session : NULL;
        struct world_session *found = one ? world_find(&run.world, one->name) : NULL;
        struct sessions_event event = { .type = SESSIONS_EMPTY };
        struct sessions_actions more;

        if (!found || one->state == SESSIONS_OPEN || found->running > 0)
                return;
        event.name = found->row.name;
        step(&event, &more);
        assert_int_equal(more.count, 3);
}

static void tick_all(void)
{
        const struct sessions_event event = { .type = SESSIONS_TICK };
        struct sessions_actions actions;

        do {
                step(&event, &actions);
        } while (actions.is_more);
}

static void crash(void)
{
        run.cut = NO_CUT;
        run.crashes++;
        run.before = run.node;
        world_restart(&run.world, &run.before, &run.node);
        tick_all();
}

/* -- What must hold after every event ---------------------------------------------------------- */

static void check_session(unsigned at)
{
        const struct model_session *one = &run.model.session[at];
        const struct sessions_one *found = sessions_find(&run.node, name_of(at));

        assert_int_equal(found != NULL, one->is_there);
        if (!found)
                return;
        assert_int_equal(found->state, one->state);
        assert_int_equal(found->owner_uid, one->owner);
        assert_int_equal(found->ending, one->ending);
        assert_int_equal(found->ttl_ns, one->ttl * SECOND);
        assert_int_equal(found->expires_ns, one->expires * SECOND);
        assert_int_equal(found->version, one->version);
        assert_int_equal(found->share_count, one->share_count);
        for (unsigned i = 0; i < one->share_count; i++) {
                assert_int_equal(found->share[i].uuid[0], 'A' + (int)one->share[i].gpu);
                assert_int_equal(found->share[i].memory_bytes, one->share[i].gib * GIB);
        }
}

static void check_world(unsigned at)
{
        const struct sessions_one *one = sessions_find(&run.node, name_of(at));
        const struct world_session *found = world_find(&run.world, name_of(at));
        char decided[WORLD_TEXT_BYTES], seen[WORLD_TEXT_BYTES];

        assert_int_equal(found != NULL, one != NULL);
        if (!one)
                return;
        assert_true(found->is_saved && found->is_made);
        assert_string_equal(world_describe(one, decided), world_describe(&found->row, seen));
        assert_int_equal(found->is_shut, one->state != SESSIONS_OPEN);
        assert_int_equal(found->running, run.model.session[at].running);
        for (unsigned i = 0; i < one->share_count; i++)
                assert_int_equal(found->folder.share[i].memory_bytes, one->share[i].memory_bytes);
}

static void check_room(unsigned gpu, uint64_t promised_before)
{
        uint64_t promised = model_promised(&run.model, gpu);
        uint8_t uuid[16];

        uuid_of(gpu, uuid);
        assert_int_equal(sessions_promised(&run.node, uuid), promised * GIB);
        assert_int_equal(sessions_room(&run.node, uuid), model_room(&run.model, gpu) * GIB);
        if (promised > promised_before)
                assert_true(promised <= model_bound(&run.model, gpu));
}

static void check_all(const uint64_t *promised_before)
{
        unsigned count = 0;

        for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
                check_session(i);
                check_world(i);
                count += run.model.session[i].is_there;
        }
        assert_int_equal(run.node.count, count);
        for (unsigned g = 0; g < MODEL_GPUS; g++)
                check_room(g, promised_before[g]);
        assert_int_equal(sessions_next_ns(&run.node), model_next(&run.model) * SECOND);
}

/* -- Asking ------------------------------------------------------------------------------------ */

static struct model_ask make_ask(void)
{
        static const uint64_t ttls[] = { 0, 1, 10, 60, 100, 3600 };
        struct model_ask ask = { .at = any_of(MODEL_SESSIONS), .uid = 1000 + any_of(3) };

        ask.is_admin = one_in(8);
        ask.is_forced = one_in(2);
        ask.has_ttl = one_in(2);
        ask.ttl = ttls[any_of(6)];
        ask.has_ending = one_in(2);
        ask.is_chosen = one_in(2);
        ask.free_least = one_in(4) ? any_of(20) : 0;
        ask.version = one_in(4) ? 1 + any_of(3) : 0;
        ask.said.owner = one_in(8) ? 1000 + any_of(3) : ask.uid;
        ask.said.ending = any_of(3);
        ask.said.share_count = one_in(3) ? 1 + any_of(MODEL_SHARES) : 1;
        for (unsigned i = 0, gpu = any_of(MODEL_GPUS); i < ask.said.share_count; i++, gpu++) {
                ask.said.share[i].gpu = gpu % MODEL_GPUS;
                ask.said.share[i].gib = 1 + any_of(one_in(8) ? 25 : 8);
        }
        return ask;
}

static void event_of(const struct model_ask *ask, struct sessions_event *event,
                     struct sessions_one *one)
{
        *one = (struct sessions_one){ .id = { 1 }, .weight = 100, .priority = 1 };
        strcpy(one->name, name_of(ask->at));
        one->owner_uid = ask->said.owner;
        one->ttl_ns = ask->ttl * SECOND;
        one->ending = (uint8_t)ask->said.ending;
        one->share_count = (uint8_t)ask->said.share_count;
        for (unsigned i = 0; i < one->share_count; i++) {
                if (!ask->is_chosen)
                        uuid_of(ask->said.share[i].gpu, one->share[i].uuid);
                one->share[i].memory_bytes = ask->said.share[i].gib * GIB;
        }
        *event = (struct sessions_event){ .name = one->name, .session = one };
        event->uid = ask->uid;
        event->is_admin = ask->is_admin;
        event->is_forced = ask->is_forced;
        event->is_busy = run.model.session[ask->at].running > 0;
        event->version = ask->version;
        event->ttl_ns = ask->ttl * SECOND;
        event->change_bits = (ask->has_ttl ? SESSIONS_HAS_TTL : 0u) |
                             (ask->has_ending ? SESSIONS_HAS_ENDING : 0u);
        event->wish.is_chosen_here = ask->is_chosen;
        event->wish.free_least_bytes = ask->free_least * GIB;
}

/* Of one GPU that was chosen: with a bound, nothing else that fits would have been better. */
static void check_choice(const struct model *before, const struct model_session *one,
                         uint64_t free_least)
{
        uint64_t room = model_room(before, one->share[0].gpu);
        uint64_t gib = one->share[0].gib, least = gib > free_least ? gib : free_least;

        for (unsigned g = 0; g < MODEL_GPUS; g++) {
                uint64_t other = model_bound(before, g) - model_promised(before, g);

                if (model_room(before, g) < least || before->policy.overcommit == SESSIONS_NONE)
                        continue;
                room = model_bound(before, one->share[0].gpu) -
                       model_promised(before, one->share[0].gpu);
                if (before->policy.choice == SESSIONS_BEST_FIT)
                        assert_true(room <= other);
                else
                        assert_true(room >= other);
        }
}

/* Where the core chose: different GPUs with enough room, which the model takes over. */
static void take_over_choice(const struct model *before, const struct model_ask *ask,
                             const struct sessions_one *made)
{
        struct model_session *one = &run.model.session[ask->at];
        unsigned taken = 0;

        for (unsigned i = 0; i < one->share_count; i++) {
                unsigned gpu = made->share[i].uuid[0] - (unsigned)'A';

                assert_true(gpu < MODEL_GPUS && !(taken & 1u << gpu));
                assert_true(model_room(before, gpu) >= one->share[i].gib);
                assert_true(model_room(before, gpu) >= ask->free_least);
                taken |= 1u << gpu;
                one->share[i].gpu = gpu;
        }
        if (one->share_count == 1)
                check_choice(before, one, ask->free_least);
        run.chosen++;
}

static enum sessions_answer ask_model(enum sessions_event_type type, const struct model_ask *ask)
{
        switch (type) {
        case SESSIONS_CREATE:
                return model_create(&run.model, ask);
        case SESSIONS_CHANGE:
                return model_change(&run.model, ask);
        case SESSIONS_RENEW:
                return model_renew(&run.model, ask);
        default:
                return model_release(&run.model, ask);
        }
}

static void play_ask(enum sessions_event_type type)
{
        static struct model before;
        struct model_ask ask = make_ask();
        struct sessions_actions actions;
        struct sessions_event event;
        struct sessions_one one;
        enum sessions_answer answer;
        bool is_saved;

        if (type == SESSIONS_CHANGE) {
                ask.said.share_count = 1;
                ask.is_chosen = false;
                ask.has_ending = false;
        }
        event_of(&ask, &event, &one);
        event.type = type;
        if (type == SESSIONS_CHANGE)
                event.change_bits |= SESSIONS_HAS_MEMORY;
        before = run.model;
        answer = ask_model(type, &ask);
        step(&event, &actions);
        assert_int_equal(actions.answer, answer);
        run.answers[answer]++;
        if (type == SESSIONS_CREATE && ask.is_chosen && answer == SESSIONS_YES)
                take_over_choice(&before, &ask, actions.action[0].session);
        is_saved = run.cut > 0 || actions.count == 0;
        if (!is_saved)
                run.model = before;
        if (run.cut != NO_CUT) {
                crash();
                model_restart(&run.model);
        }
}

/* -- What nobody asks for ---------------------------------------------------------------------- */

static void play_gpu(void)
{
        static const uint64_t sizes[] = { 16, 8, 24, 4 };
        struct sessions_event event = { 0 };
        struct sessions_actions actions;
        unsigned gpu = any_of(MODEL_GPUS);

        uuid_of(gpu, event.gpu.uuid);
        run.model.gpu[gpu].is_here = !one_in(4);
        run.model.gpu[gpu].gib = sizes[any_of(4)];
        event.type = run.model.gpu[gpu].is_here ? SESSIONS_GPU_HERE : SESSIONS_GPU_GONE;
        event.gpu.card_bytes = run.model.gpu[gpu].gib * GIB;
        step(&event, &actions);
}

static void play_policy(void)
{
        struct sessions_event event = { .type = SESSIONS_POLICY };
        struct sessions_actions actions;

        run.model.policy.overcommit = any_of(4) % 3; /* strict twice as often */
        run.model.policy.percent = 100 + 50 * any_of(3);
        run.model.policy.reserve = any_of(2) * 2;
        run.model.policy.ending = any_of(3);
        run.model.policy.choice = any_of(2);
        run.model.policy.owner_most = one_in(2) ? 5 + any_of(3) : 0;
        run.model.policy.ttl = one_in(2) ? 60 : 0;
        run.model.policy.most = one_in(2) ? 100 : 0;
        run.model.policy.grace = 1 + any_of(20);
        event.policy = (struct sessions_policy){
                .overcommit = run.model.policy.overcommit,
                .ratio_percent = run.model.policy.percent,
                .reserve_bytes = run.model.policy.reserve * GIB,
                .ending = run.model.policy.ending,
                .choice = run.model.policy.choice,
                .ttl_ns = run.model.policy.ttl * SECOND,
                .ttl_most_ns = run.model.policy.most * SECOND,
                .grace_ns = run.model.policy.grace * SECOND,
                .owner_most = run.model.policy.owner_most,
        };
        step(&event, &actions);
        assert_int_equal(actions.answer, SESSIONS_YES);
}

/* Time passes: to any moment, or to just before and then exactly to when something is due. */
static void play_time(void)
{
        const struct sessions_event event = { .type = SESSIONS_TICK };
        uint64_t next_ns = sessions_next_ns(&run.node);
        struct sessions_actions actions;

        if (next_ns > run.model.now * SECOND && one_in(2)) {
                sessions_step(&run.node, &event, next_ns - 1, &actions);
                assert_int_equal(actions.count, 0);
                run.model.now = next_ns / SECOND;
                step(&event, &actions);
                assert_true(actions.count > 0);
                run.ends++;
        } else {
                run.model.now += any_of(30);
        }
        tick_all();
        model_tick(&run.model);
}

static void play_crash_in_time(void)
{
        const struct sessions_event event = { .type = SESSIONS_TICK };
        uint64_t next = model_next(&run.model);
        struct sessions_actions actions;

        if (next == 0)
                return;
        run.model.now = next > run.model.now ? next : run.model.now;
        run.cut = any_of(6);
        step(&event, &actions);
        if (run.cut > 0)
                model_tick_one(&run.model, (unsigned)atoi(actions.session->name + 1));
        crash();
        model_restart(&run.model);
}

/* A program starts, or the last one of a session leaves. */
static void play_program(void)
{
        unsigned at = any_of(MODEL_SESSIONS);
        struct model_session *one = &run.model.session[at];
        struct world_session *found = world_find(&run.world, name_of(at));
        struct sessions_event event = { .type = SESSIONS_EMPTY };
        struct sessions_actions actions;

        if (!one->is_there)
                return;
        if (one->state == SESSIONS_OPEN && one_in(2)) {
                one->running = found->running = 1;
                one->is_stubborn = found->is_stubborn = one_in(2);
                return;
        }
        one->running = found->running = 0;
        one->is_there = one->state == SESSIONS_OPEN;
        event.name = found->row.name;
        run.cut = one_in(8) ? any_of(4) : NO_CUT;
        step(&event, &actions);
        if (run.cut == NO_CUT)
                return;
        crash();
        model_restart(&run.model);
}

static void play_any(void)
{
        static const enum sessions_event_type asks[] = { SESSIONS_CREATE,  SESSIONS_CREATE,
                                                         SESSIONS_CHANGE,  SESSIONS_RENEW,
                                                         SESSIONS_RELEASE, SESSIONS_CREATE };
        unsigned what = any_of(100);

        if (what < 60) {
                run.cut = one_in(40) ? any_of(6) : NO_CUT;
                play_ask(asks[what / 10]);
        } else if (what < 78) {
                play_program();
        } else if (what < 94) {
                play_time();
        } else if (what < 95) {
                play_crash_in_time();
        } else if (what < 99) {
                play_gpu();
        } else {
                play_policy();
        }
        run.cut = NO_CUT;
}

static void random_events_beside_a_plain_model(void **state)
{
        static const struct sessions_policy none;

        memset(&run, 0, sizeof(run));
        run.random = 88172645463325252u;
        run.cut = NO_CUT;
        run.model.now = 1000;
        sessions_init(&run.node, &none);
        play_policy();
        for (run.event = 0; run.event < EVENTS; run.event++) {
                uint64_t promised[MODEL_GPUS];

                for (unsigned g = 0; g < MODEL_GPUS; g++)
                        promised[g] = model_promised(&run.model, g);
                play_any();
                check_all(promised);
        }
        print_message("%u crashes, %u chosen, %u ends to the nanosecond; answers:", run.crashes,
                      run.chosen, run.ends);
        for (unsigned i = 0; i <= SESSIONS_BAD; i++)
                print_message(" %u", run.answers[i]);
        print_message("\n");
        for (unsigned i = 0; i <= SESSIONS_BAD; i++)
                assert_true(run.answers[i] > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(random_events_beside_a_plain_model),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
