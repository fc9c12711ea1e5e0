/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hundred thousand random events beside a plain model, with a crash now and then.
 *
 * After each: the answer and every session are the model's; no card was promised above its bound
 * by this event; what is saved, made, limited and shut in the pretend world is what the sessions
 * say; the next thing is due when the model says, and neither before nor later. A crash cuts the
 * actions of an event anywhere; what was saved is restored, and after TICK all of that holds again;
 * so it does when one of the actions failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions_asks.h"
#include "sessions_model.h"
#include "sessions_world.h"

#define EVENTS 100000u
#define SECOND ASK_SECOND
#define GIB ASK_GIB

static struct {
        struct sessions node, before;
        struct world world;
        struct model model;
        unsigned cut; /* carry out so many actions of the next event, and crash; or NO_CUT */
        unsigned event;
        unsigned answers[SESSIONS_BAD + 1], crashes, failures, chosen, ends;
} run;

#define NO_CUT (SESSIONS_ACTIONS + 1)

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
        assert_int_equal(found->swaps, one->swaps);
        for (unsigned i = 0; i < one->share_count; i++) {
                assert_int_equal(found->share[i].uuid[0], 'A' + (int)one->share[i].gpu);
                assert_int_equal(found->share[i].memory_bytes, one->share[i].gib * GIB);
                assert_int_equal(found->share[i].ceiling_bytes, one->share[i].ceiling * GIB);
                assert_int_equal(found->share[i].guarantee_milli_percent,
                                 one->share[i].guarantee * 1000);
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
        assert_int_equal(sessions_is_over(&run.node, uuid),
                         run.model.gpu[gpu].is_here &&
                                 run.model.policy.overcommit != SESSIONS_NONE &&
                                 promised > model_bound(&run.model, gpu));
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

/* Of one GPU that was chosen: with a bound, nothing else that fits would have been better. */
static void check_choice(const struct model *before, const struct model_session *one,
                         uint64_t free_least)
{
        uint64_t gib = one->share[0].gib, least = gib > free_least ? gib : free_least;
        uint64_t left = model_left(before, one->share[0].gpu);

        for (unsigned g = 0; g < MODEL_GPUS; g++) {
                if (one->swaps && model_room_to_swap(before, g) >= least &&
                    model_guaranteed(before, NULL, g) + one->share[0].guarantee <= 100)
                        assert_true(model_swapped(before, one->share[0].gpu) <=
                                    model_swapped(before, g));
                if (one->swaps || model_room(before, g) < least ||
                    before->policy.overcommit == SESSIONS_NONE ||
                    model_guaranteed(before, NULL, g) + one->share[0].guarantee > 100)
                        continue;
                if (before->policy.choice == SESSIONS_BEST_FIT)
                        assert_true(left <= model_left(before, g));
                else
                        assert_true(left >= model_left(before, g));
        }
}

/* Where the core chose: different GPUs with enough room, which the model takes over. */
static void take_over_choice(const struct model *before, const struct model_ask *ask,
                             const struct sessions_one *made)
{
        struct model_session *one = &run.model.session[ask->at];
        unsigned taken = 0;
        uint64_t room;

        for (unsigned i = 0; i < one->share_count; i++) {
                unsigned gpu = made->share[i].uuid[0] - (unsigned)'A';

                assert_true(gpu < MODEL_GPUS && !(taken & 1u << gpu));
                room = one->swaps ? model_room_to_swap(before, gpu) : model_room(before, gpu);
                assert_true(room >= one->share[i].gib);
                assert_true(room >= ask->free_least);
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

/* The action fails. Who carries out says so, and tries again when that is due. */
static void fail_action(const struct sessions_action *action)
{
        struct sessions_event event = { .type = SESSIONS_FAILED };
        struct sessions_actions more;
        char name[SESSIONS_NAME_BYTES];

        strcpy(name, action->session->name);
        event.name = name;
        event.is_unsaved = action->type == SESSIONS_SAVE;
        run.failures++;
        step(&event, &more);
        assert_int_equal(more.answer, SESSIONS_YES);
        run.model.now += SESSIONS_RETRY_NS / SECOND;
        tick_all();
}

/*
 * The first action that was not carried out fails: what could not be saved, or not be made, never
 * was; what could not be limited or shut is so a little later.
 */
static void play_failure(const struct sessions_actions *actions, const struct model *before,
                         unsigned at)
{
        struct model_session *one = &run.model.session[at];
        unsigned first = run.cut;

        run.cut = NO_CUT;
        while (first < actions->count && actions->action[first].type == SESSIONS_TELL)
                first++; /* who carries out goes on without */
        if (first >= actions->count) {
                settle(actions);
                return;
        }

        enum sessions_action_type type = actions->action[first].type;

        if (type == SESSIONS_SAVE || type == SESSIONS_MAKE)
                run.model = *before;
        fail_action(&actions->action[first]);
        if (type != SESSIONS_SAVE && one->state == SESSIONS_ENDING && one->kill_at)
                one->kill_at = run.model.now + run.model.policy.grace;
        model_tick(&run.model);
}

static void play_ask(enum sessions_event_type type)
{
        static struct model before;
        struct model_ask ask = ask_any(type);
        bool is_failure = run.cut != NO_CUT && one_in(2);
        struct sessions_actions actions;
        struct sessions_event event;
        struct sessions_one one;
        enum sessions_answer answer;

        if (is_failure && run.cut == 1)
                run.cut = 0; /* SAVE and its TELL are one transaction */
        ask_event(type, &ask, run.model.session[ask.at].running > 0, &event, &one);
        before = run.model;
        answer = ask_model(type, &ask);
        step(&event, &actions);
        assert_int_equal(actions.answer, answer);
        run.answers[answer]++;
        if (type == SESSIONS_CREATE && ask.is_chosen && answer == SESSIONS_YES)
                take_over_choice(&before, &ask, actions.action[0].session);
        if (is_failure && actions.count > 0) {
                play_failure(&actions, &before, ask.at);
        } else if (run.cut != NO_CUT) {
                if (run.cut == 0 && actions.count > 0)
                        run.model = before;
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
        run.model.policy.owner_max = one_in(2) ? 5 + any_of(3) : 0;
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
                .ttl_max_ns = run.model.policy.most * SECOND,
                .grace_ns = run.model.policy.grace * SECOND,
                .owner_max = run.model.policy.owner_max,
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

/* Somebody looked at what a session holds. */
static void play_held(void)
{
        unsigned at = any_of(MODEL_SESSIONS);
        struct model_session *one = &run.model.session[at];
        struct sessions_one said = { .share_count = 1 };
        struct sessions_event event = { .type = SESSIONS_HELD, .session = &said };
        struct sessions_actions actions;
        unsigned share = one->share_count ? any_of(one->share_count) : 0;
        uint64_t gib = any_of(8);

        if (!one->is_there)
                return;
        event.name = name_of(at);
        uuid_of(one->share[share].gpu, said.share[0].uuid);
        said.share[0].memory_bytes = gib * GIB;
        model_held(&run.model, at, share, gib);
        step(&event, &actions);
        assert_int_equal(actions.answer, SESSIONS_YES);
}

static void play_any(void)
{
        static const enum sessions_event_type asks[] = { SESSIONS_CREATE,  SESSIONS_CREATE,
                                                         SESSIONS_CHANGE,  SESSIONS_RENEW,
                                                         SESSIONS_RELEASE, SESSIONS_CREATE };
        unsigned what = any_of(100);

        if (what < 60) {
                run.cut = one_in(8) ? any_of(6) : NO_CUT;
                play_ask(asks[what / 10]);
        } else if (what < 70) {
                play_held();
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
        print_message("%u crashes, %u failures, %u chosen, %u ends to the nanosecond; answers:",
                      run.crashes, run.failures, run.chosen, run.ends);
        for (unsigned i = 0; i <= SESSIONS_BAD; i++)
                print_message(" %u", run.answers[i]);
        print_message("\n");
        /* There are no rules here: see test_sessions_policy.c. */
        for (unsigned i = 0; i <= SESSIONS_BAD; i++)
                assert_int_equal(run.answers[i] > 0, i != SESSIONS_RULED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(random_events_beside_a_plain_model),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
