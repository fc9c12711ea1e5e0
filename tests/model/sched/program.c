/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program, and what the library does in it: a launch goes out if the gate is open, if what is
 * submitted does not last longer than the target, and, where the member keeps its cap itself, if
 * its bucket is above nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define LAUNCH (4 * US) /* what a launch costs the host */
#define SPIN (1 * US)   /* until a host that spins sees that a kernel is done */
#define SYNC (10 * US)  /* until one that synchronises goes on */
#define FINE INT64_C(1000000)

static unsigned pending(const struct world *world, unsigned i)
{
        return world->gpu.channel[i].count;
}

/* -- Its kernels ------------------------------------------------------------------------------ */

static int64_t lognormal(struct world *world, double mean)
{
        const double sigma = 0.7;
        double sum = -6;

        for (int n = 0; n < 12; n++)
                sum += world_chance(world);
        return (int64_t)(mean * exp(sigma * sum - sigma * sigma / 2));
}

static int64_t kernel_ns(struct world *world, const struct program_spec *spec)
{
        int64_t ns = spec->kernel_ns;

        if (spec->kernels == KERNELS_LOGNORMAL)
                ns = lognormal(world, (double)ns);
        else if (spec->kernels == KERNELS_BIMODAL)
                ns = world_chance(world) < 0.9 ? ns / 10 : ns * 91 / 10;
        return ns > US ? ns : US;
}

static int64_t arrival_gap(struct world *world, const struct program_spec *spec)
{
        return (int64_t)(-log(1 - world_chance(world)) * (double)spec->think_ns) + US;
}

static int64_t pause_ns(struct world *world, const struct program_spec *spec)
{
        if (spec->think_more_ns == 0)
                return spec->think_ns;
        return spec->think_ns + (int64_t)(world_chance(world) * (double)spec->think_more_ns);
}

/* -- What it measures ------------------------------------------------------------------------- */

static int64_t submitted(const struct world *world, unsigned i, int64_t kernel)
{
        const struct channel *channel = &world->gpu.channel[i];
        int64_t head = kernel;

        if (channel->count == 0)
                return 0;
        if (channel->is_started)
                head -= world->now - channel->start_ns;
        return (channel->count - 1) * kernel + (head > 0 ? head : 0);
}

/* Cautious: it may be one of the long ones. */
static int64_t over_target(const struct world *world, unsigned i)
{
        const struct program *program = &world->program[i];

        if (program->target_ns == 0)
                return 0;
        return submitted(world, i, program->mean_ns + program->deviation_ns) - program->target_ns;
}

static int64_t cap_ppm(const struct world *world, unsigned i)
{
        return world->sched.member[i].terms.cap_ppm;
}

static int64_t program_bucket(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];
        int64_t most = cap_ppm(world, i) * SCHED_BUCKET_SPAN_NS;

        program->bucket_fine += cap_ppm(world, i) * (world->now - program->bucket_ns);
        program->bucket_ns = world->now;
        if (program->bucket_fine > most)
                program->bucket_fine = most;
        return program->bucket_fine;
}

/* -- Its launches ----------------------------------------------------------------------------- */

static void block(struct program *program, enum host host, int64_t until)
{
        program->host = host;
        program->next_ns = until;
}

static bool is_capped(const struct world *world, unsigned i)
{
        return world->program[i].is_free && cap_ppm(world, i) < SCHED_WHOLE_PPM;
}

static bool may_launch(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];
        int64_t over = over_target(world, i), bucket;

        if (!program->is_open) {
                block(program, HOST_GATE, NEVER);
                return false;
        }
        bucket = is_capped(world, i) ? program_bucket(world, i) : 1;
        if (bucket <= 0) {
                block(program, HOST_BUCKET, world->now - bucket / cap_ppm(world, i) + 1);
                return false;
        }
        if (pending(world, i) == CHANNEL || over > 0) {
                block(program, HOST_WINDOW, world->now + (over > SPIN ? over : SPIN));
                return false;
        }
        return true;
}

static void after_launch(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        block(program, HOST_BUSY, world->now + LAUNCH);
        if (program->left == 0)
                program->left = program->spec.burst ? program->spec.burst : 1;
        if (program->spec.pattern != PATTERN_STREAM && --program->left == 0)
                block(program, HOST_SYNC, NEVER);
}

static void launch(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        if (!may_launch(world, i))
                return;
        gpu_push(&world->gpu, i, kernel_ns(world, &program->spec), world->now);
        if (program->flight_ns == NEVER)
                program->flight_ns = world->now;
        program->yield_left += !program->yield_is_closed;
        if (program->is_first)
                program->began_at = world->now + world_wake(world);
        program->is_first = false;
        after_launch(world, i);
}

/* Everybody whose work stands in the way of an rt program, from when it wants to until that work is
 * done; what rt itself runs meanwhile does not count. */
static void yield_begin(struct world *world, unsigned rt)
{
        if (world->spec.program[rt].terms.class != SCHED_CLASS_RT)
                return;
        for (unsigned i = 0; i < world->spec.count; i++) {
                struct program *program = &world->program[i];

                if (i == rt || pending(world, i) == 0 || program->yield_from != NEVER)
                        continue;
                program->yield_from = world->now - world->gpu.channel[rt].delivered_ns;
                program->yield_is_closed = false;
                program->yield_left = pending(world, i);
                program->yield_to = rt;
        }
}

static void request_begin(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        program->left = program->spec.burst;
        program->arrival_ns = world->now;
        yield_begin(world, i);
}

void program_start(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        program->mean_ns = program->spec.kernel_ns;
        program->host = program->spec.pattern == PATTERN_REQUEST ? HOST_SLEEP : HOST_BUSY;
        program->next_ns = program->spec.start_ns;
        program->flight_ns = NEVER;
        program->want_at = program->idle_at = program->began_at = program->drained_at = NEVER;
        program->yield_from = NEVER;
}

void program_act(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        if (world->now >= program->spec.stop_ns) {
                block(program, HOST_OFF, NEVER);
                return;
        }
        if (program->host == HOST_SLEEP && program->spec.pattern == PATTERN_REQUEST)
                request_begin(world, i);
        launch(world, i);
}

/* -- What comes back -------------------------------------------------------------------------- */

static void request_end(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        if (program->latencies < LATENCIES)
                program->latency[program->latencies++] = world->now - program->arrival_ns;
        block(program, HOST_SLEEP, world->now + arrival_gap(world, &program->spec));
}

/* Smoothed, but how far lengths are apart is forgotten slowly: after some short kernels the next
 * hundred in flight are not all short. */
static void learn(struct program *program, int64_t ns)
{
        int64_t apart = llabs(ns - program->mean_ns) - program->deviation_ns;

        program->deviation_ns += apart > 0 ? apart / 4 : apart / 64;
        program->mean_ns += (ns - program->mean_ns) / 16;
}

void program_settle(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];
        int64_t ns = world->now - program->flight_ns;

        if (program->flight_ns == NEVER)
                return;
        program->flight_ns = pending(world, i) > 0 ? world->now : NEVER;
        program->busy_ns += ns;
        if (!is_capped(world, i))
                return;
        program_bucket(world, i);
        program->bucket_fine -= ns * FINE;
}

/* What it launched after its gate was closed is not in the way; what it launched before is. */
static void yield_end(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];
        int64_t until = world->now - world->gpu.channel[program->yield_to].delivered_ns;

        if (program->yield_from == NEVER || --program->yield_left > 0)
                return;
        if (program->yields < LATENCIES)
                program->yield[program->yields++] = until - program->yield_from;
        program->yield_from = NEVER;
}

void program_ended(struct world *world, unsigned i, int64_t start)
{
        struct program *program = &world->program[i];

        program_settle(world, i);
        learn(program, world->now - start);
        yield_end(world, i);
        if (program->host == HOST_WINDOW)
                program->next_ns = world->now + SPIN;
        if (pending(world, i) > 0)
                return;
        if (program->host != HOST_SYNC)
                return;
        if (program->spec.pattern == PATTERN_REQUEST)
                request_end(world, i);
        else
                block(program, HOST_BUSY, world->now + SYNC + pause_ns(world, &program->spec));
}

static void gate_opens(struct world *world, unsigned i)
{
        struct program *program = &world->program[i];

        if (!program->is_open)
                program->is_first = true;
        program->is_open = true;
        if (program->host == HOST_GATE || program->host == HOST_BUCKET)
                block(program, HOST_BUSY, world->now + world_wake(world));
}

void program_told(struct world *world, unsigned i, const struct sched_action *action)
{
        struct program *program = &world->program[i];

        if (action->type == SCHED_OPEN || action->type == SCHED_FREE) {
                gate_opens(world, i);
                program->is_free = action->type == SCHED_FREE;
                program->target_ns = action->target_ns;
        }
        if (action->type == SCHED_FREE) {
                program->bucket_fine = sched_bucket_ns(&world->sched, i) * FINE;
                program->bucket_ns = world->now;
        }
        if (action->type == SCHED_CLOSE) {
                program->is_open = program->is_free = false;
                program->yield_is_closed = true;
                if (program->host == HOST_BUCKET || program->host == HOST_WINDOW)
                        block(program, HOST_GATE, NEVER);
        }
}

bool program_wants(const struct world *world, unsigned i)
{
        const struct program *program = &world->program[i];

        if (pending(world, i) > 0 || program->host == HOST_GATE || program->host == HOST_WINDOW)
                return true;
        return program->host == HOST_BUSY && program->spec.pattern != PATTERN_SYNC;
}
