/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node in virtual time: one GPU, programs that launch kernels, and the scheduler of src/core
 * between them. What a GPU, a host and a wake-up take is modelled; what decides is the product's.
 *
 *      gpu.c       a channel of kernels for each program, time slices, what was delivered exactly
 *      program.c   a program and the library in it: gate, window, meter, the bucket of its cap
 *      node.c      what carries out the scheduler's actions and tells it what it sees
 *
 * Everything is an int64 of nanoseconds from 0 on; the same seed gives the same run to the last
 * one. A program is busy while something of it is in flight. Not modelled: copies, several
 * streams, kernels of two programs at the same time, clocks that change, errors of the anchors.
 */
#ifndef ALIQUOT_TEST_SCHED_WORLD_H
#define ALIQUOT_TEST_SCHED_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/minmax.h"
#include "core/sched.h"

#define US SCHED_US
#define MS SCHED_MS
#define SECOND (1000 * MS)
#define NEVER SCHED_NEVER

#define PROGRAMS 8u
#define CHANNEL 1024u /* kernels that a channel holds; then a launch blocks */
#define BIN_NS (10 * MS)
#define BINS 4096u
#define LATENCIES 65536u

enum kernels {
        KERNELS_FIXED,
        KERNELS_LOGNORMAL, /* sigma 0.7 */
        KERNELS_BIMODAL,   /* nine in ten of a tenth of the length, one of 9.1 lengths */
};

enum pattern {
        PATTERN_STREAM,  /* one launch after the other */
        PATTERN_SYNC,    /* launch some kernels, wait for them, think, again */
        PATTERN_REQUEST, /* now and then some kernels; how long until they are done is recorded */
};

struct program_spec {
        struct sched_terms terms;
        enum kernels kernels;
        enum pattern pattern;
        int64_t kernel_ns;     /* on average */
        int64_t think_ns;      /* SYNC; REQUEST: from one arrival to the next, on average */
        int64_t think_more_ns; /* SYNC: at most, by lot */
        unsigned burst;        /* REQUEST, SYNC: kernels; 0 is 1 */
        int64_t start_ns, stop_ns;
};

/* -- gpu.c ------------------------------------------------------------------------------------ */

struct channel {
        int64_t left_ns[CHANNEL]; /* of each kernel, what is to be run */
        unsigned first, count;
        bool is_started;  /* the first one has run already */
        int64_t start_ns; /* then: since when */
        int64_t delivered_ns;
        int64_t bin[BINS]; /* delivered in each */
};

struct gpu {
        struct channel channel[PROGRAMS];
        unsigned current;   /* PROGRAMS: none */
        unsigned next;      /* while it switches */
        int64_t switch_end; /* NEVER: it does not switch */
        int64_t slice_end;
};

void gpu_push(struct gpu *gpu, unsigned channel, int64_t ns, int64_t now);
/* When something happens on it by itself. */
int64_t gpu_next(const struct gpu *gpu, int64_t now);
void gpu_run(struct gpu *gpu, int64_t from, int64_t to);
/* PROGRAMS, or whose kernel has ended just now; call until PROGRAMS. */
unsigned gpu_ended(struct gpu *gpu, int64_t now, int64_t *ret_start);

/* -- program.c -------------------------------------------------------------------------------- */

enum host {
        HOST_OFF,
        HOST_BUSY,   /* acts at next_ns */
        HOST_GATE,   /* blocked in a launch, the gate is closed */
        HOST_WINDOW, /* blocked in a launch, enough is submitted */
        HOST_BUCKET, /* blocked in a launch, its cap is used up */
        HOST_SYNC,   /* waits for what it has launched */
        HOST_SLEEP,  /* until next_ns */
};

struct program {
        struct program_spec spec;
        enum host host;
        int64_t next_ns;
        unsigned left; /* of the request, or the step */
        int64_t arrival_ns;
        /* As told through its page. */
        bool is_open, is_free;
        int64_t target_ns;
        int64_t bucket_fine, bucket_ns; /* of the bucket in FREE; settled at bucket_ns */
        /* What it measures. */
        int64_t mean_ns, deviation_ns; /* of its kernels */
        int64_t flight_ns;             /* since when something is in flight; NEVER: nothing is */
        int64_t busy_ns;
        /* What was seen of it, and when it will be told. */
        int64_t told_ns;
        bool is_wanting_told, is_first, is_draining;
        int64_t want_at, idle_at, began_at, drained_at;
        /* Results. */
        int64_t latency[LATENCIES];
        unsigned latencies;
        int64_t yield_from;            /* an rt program wants since then what this one still uses */
        unsigned yield_to, yield_left; /* that program; kernels that are in its way */
        bool yield_is_closed;          /* no more of them come */
        int64_t yield[LATENCIES];
        unsigned yields;
};

struct world;

void program_start(struct world *world, unsigned i);
void program_act(struct world *world, unsigned i);
void program_ended(struct world *world, unsigned i, int64_t start_ns);
void program_told(struct world *world, unsigned i, const struct sched_action *action);
/* It has something submitted, or blocked for another reason than its own cap. */
bool program_wants(const struct world *world, unsigned i);
/* The flight of the program is accounted for until now. */
void program_settle(struct world *world, unsigned i);

/* -- node.c ----------------------------------------------------------------------------------- */

struct world_spec {
        uint64_t seed;
        int64_t wake_ns; /* until somebody who sleeps runs, on average */
        unsigned count;
        struct program_spec program[PROGRAMS];
};

struct world {
        struct world_spec spec;
        uint64_t random;
        int64_t now;
        struct gpu gpu;
        struct program program[PROGRAMS];
        struct sched sched;
        struct sched_actions actions;
        int64_t tick_for, tick_at; /* what is due then, and when the timer fires */
        uint64_t steps;
        unsigned alarms;
};

void world_start(struct world *ret, const struct world_spec *spec);
void world_run(struct world *world, int64_t until);
void world_change(struct world *world, unsigned i, const struct sched_terms *terms);

/* [0, 1); a wake-up, around the average. */
double world_chance(struct world *world);
int64_t world_wake(struct world *world);

/* The part of the GPU's time that the program was given in that time; borders of bins. */
double world_share(const struct world *world, unsigned i, int64_t from, int64_t to);

#endif
