/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node daemon will be: it sees what programs do a wake-up later than they do it, tells the
 * scheduler, carries out what that says, and sleeps until something is due.
 */
#include "world.h"

#include <string.h>

#define LOOK (1 * MS) /* work in flight is looked at so often */

/* -- Chance ----------------------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t random_word(struct world *world)
{
        uint64_t z = world->random += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

double world_chance(struct world *world)
{
        return (double)(random_word(world) >> 11) / 9007199254740992.0;
}

int64_t world_wake(struct world *world)
{
        return (int64_t)((double)world->spec.wake_ns * (0.5 + world_chance(world)));
}

/* -- What is told ----------------------------------------------------------------------------- */

static void carry_out(struct world *world)
{
        for (unsigned n = 0; n < world->actions.count; n++) {
                const struct sched_action *action = &world->actions.action[n];
                struct program *program = &world->program[action->member];

                world->alarms += action->type == SCHED_ALARM;
                program_told(world, action->member, action);
                if (action->type == SCHED_CLOSE) {
                        program->is_draining = true;
                } else if (action->type != SCHED_ALARM) {
                        program->is_draining = false;
                        program->drained_at = NEVER;
                }
        }
}

static void step(struct world *world, const struct sched_event *event)
{
        sched_step(&world->sched, event, world->now, &world->actions);
        world->steps++;
        carry_out(world);
}

static void tell(struct world *world, enum sched_event_type type, unsigned i, int64_t ns)
{
        const struct sched_event event = { .type = type, .member = i, .ns = ns };

        step(world, &event);
}

static void tell_drained(struct world *world, unsigned i)
{
        world->program[i].is_draining = false;
        world->program[i].drained_at = NEVER;
        tell(world, SCHED_DRAINED, i, 0);
}

/* Who had nothing in flight when it was closed; what comes of that may close others. */
static void answer(struct world *world)
{
        for (unsigned i = 0; i < world->spec.count; i++) {
                if (!world->program[i].is_draining || world->gpu.channel[i].count > 0)
                        continue;
                tell_drained(world, i);
                i = UINT32_MAX; /* from the first again */
        }
}

static void tell_used(struct world *world)
{
        for (unsigned i = 0; i < world->spec.count; i++) {
                struct program *program = &world->program[i];
                int64_t ns;

                program_settle(world, i);
                ns = program->busy_ns - program->told_ns;
                program->told_ns = program->busy_ns;
                if (ns > 0)
                        tell(world, SCHED_USED, i, ns);
        }
}

static void tell_all(struct world *world, enum sched_event_type type, unsigned i)
{
        tell_used(world);
        tell(world, type, i, 0);
        answer(world);
}

/* -- What is seen ----------------------------------------------------------------------------- */

static void look(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];
        bool wants = program_wants(world, i);

        if (wants && !program->is_wanting_told && program->want_at == NEVER)
                program->want_at = world->now + world_wake(world);
        if (wants)
                program->idle_at = NEVER;
        else if (program->is_wanting_told && program->idle_at == NEVER)
                program->idle_at = world->now + sched_grace_ns(&world->sched, i);
        if (program->is_draining && world->gpu.channel[i].count == 0 &&
            program->drained_at == NEVER)
                program->drained_at = world->now + world_wake(world);
}

static void notice(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        if (program->flight_ns != NEVER && program->flight_ns + LOOK <= world->now)
                tell_all(world, SCHED_TICK, i);
        if (program->began_at <= world->now) {
                program->began_at = NEVER;
                tell_all(world, SCHED_BEGAN, i);
        }
        if (program->drained_at <= world->now) {
                tell_used(world);
                tell_drained(world, i);
                answer(world);
        }
        if (program->want_at <= world->now) {
                program->want_at = NEVER;
                program->is_wanting_told = true;
                tell_all(world, SCHED_WANT, i);
        }
        if (program->idle_at <= world->now) {
                program->idle_at = NEVER;
                program->is_wanting_told = false;
                tell_all(world, SCHED_RESTS, i);
        }
}

static void timer_set(struct world *world)
{
        int64_t next = sched_next_ns(&world->sched);

        if (next == world->tick_for)
                return;
        world->tick_for = next;
        world->tick_at = next == NEVER ? NEVER : next + world_wake(world);
}

/* -- Time ------------------------------------------------------------------------------------- */

static int64_t next_of(const struct world *world)
{
        int64_t next = min_i64(gpu_next(&world->gpu, world->now), world->tick_at);

        for (unsigned i = 0; i < world->spec.count; i++) {
                const struct program *program = &world->program[i];

                next = min_i64(next, min_i64(program->next_ns, program->began_at));
                next = min_i64(next, min_i64(program->want_at, program->idle_at));
                next = min_i64(next, program->drained_at);
                if (program->flight_ns != NEVER)
                        next = min_i64(next, program->flight_ns + LOOK);
        }
        return next;
}

static void happen(struct world *world)
{
        int64_t start;

        for (;;) {
                unsigned i = gpu_ended(&world->gpu, world->now, &start);

                if (i == PROGRAMS)
                        break;
                program_ended(world, i, start);
        }
        for (unsigned i = 0; i < world->spec.count; i++) {
                if (world->program[i].next_ns <= world->now)
                        program_act(world, i);
                look(world, i);
        }
        for (unsigned i = 0; i < world->spec.count; i++)
                notice(world, i);
        if (world->tick_at <= world->now) {
                world->tick_for = NEVER;
                world->tick_at = NEVER;
                tell_all(world, SCHED_TICK, 0);
        }
        timer_set(world);
}

void world_start(struct world *ret, const struct world_spec *spec)
{
        memset(ret, 0, sizeof(*ret));
        ret->spec = *spec;
        ret->random = spec->seed;
        ret->gpu.current = PROGRAMS;
        ret->gpu.switch_end = ret->tick_for = ret->tick_at = NEVER;
        sched_init(&ret->sched);
        for (unsigned i = 0; i < spec->count; i++) {
                const struct sched_event event = { .type = SCHED_ADD,
                                                   .member = i,
                                                   .terms = spec->program[i].terms };

                ret->program[i].spec = spec->program[i];
                program_start(ret, i);
                step(ret, &event);
        }
        answer(ret);
        timer_set(ret);
}

void world_run(struct world *world, int64_t until)
{
        while (world->now < until) {
                int64_t next = min_i64(next_of(world), until);

                gpu_run(&world->gpu, world->now, next);
                world->now = next;
                happen(world);
        }
}

void world_change(struct world *world, unsigned i, const struct sched_terms *terms)
{
        const struct sched_event event = { .type = SCHED_CHANGE, .member = i, .terms = *terms };

        tell_used(world);
        step(world, &event);
        answer(world);
        timer_set(world);
}

double world_share(const struct world *world, unsigned i, int64_t from, int64_t to)
{
        int64_t sum = 0;

        for (int64_t bin = from / BIN_NS; bin < to / BIN_NS; bin++)
                sum += world->gpu.channel[i].bin[bin];
        return (double)sum / (double)(to - from);
}
