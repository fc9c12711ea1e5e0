/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that wants all of a device, and what it got.
 *
 *      load kind=KIND ns=NS seconds=S [cap=PPM] [then=PPM@SECOND] [settle=MS]
 *           [from=MS] [samples=MS] [blocks=N] [slots=PATH] [lie=WHAT]
 *           [mix=KIND of=N [mix_ns=NS] [at=M]] [do=SCRIPT] [threads=N]
 *
 * KIND: one of load/kinds.h, or longer (after a second, another kernel that takes a thousand times
 * as long), mixed (a kernel, a cooperative one, a graph, in turns), event (a kernel that is waited
 * for by an event behind it), grid (`blocks` in x, and as many in y and z as a driver takes; of the
 * other kinds each launch has so many in x), script (script.h), or one of copies.h. Kernels take NS
 * of device time each. The cap is set once the session is there; without it the session's own
 * holds. With `from` it begins so long after the device began to work for somebody else.
 *
 * Prints one object: `share` of the whole time and `windows`, those of each 100 ms, both by the
 * simulator's own engine; `own` is this process's part of the first, `in_flight` the part of that
 * time in which it had work in flight (with flights=on), and `launches_a_second` are of that time,
 * too; `billed_ns` by the session's meter, `busy_ns` by the engine, `flight_ns` in flight, all
 * since the beginning; `launches`, `waits`; `slack_ns` is its thread's timer slack at the end. The
 * share counts from `settle` ms after the start (100). A window ends at a launch, so it may be
 * longer: `windows_ns` are their lengths. With `samples`: what it had of the engine by then, each
 * so many ms, as pairs of ns, and when it launched first and last (`from_ns`, `to_ns`).
 *
 * With `mix` one launch of N, drawn at random but each time alike, or with `at` the M-th of each N
 * (from 0), is of that kind instead: a
 * kernel like the others that takes `mix_ns`, or one of copies.h.
 *
 * With `slots` it has those of a session mapped, and writes into them what WHAT says (lie.h) after
 * each launch.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "copies.h"
#include "lie.h"
#include "load/kinds.h"
#include "proto/page.h"
#include "script.h"
#include "simtime.h"
#include "spin.h"
#include "watch.h"

#define MS_NS UINT64_C(1000000)
#define WINDOW_NS (100 * MS_NS)
#define WINDOWS 4096
#define SAMPLES 8192
#define ROWS_MAX 65535u /* of a grid, in y and z */

static struct {
        const char *kind;
        uint64_t ns;
        double seconds;
        uint32_t cap_ppm, then_ppm;
        double then_second;
        uint64_t settle_ms, from_ms, samples_ms;
        uint32_t blocks;
        const char *slots, *lie;
        const char *mix, *script;
        unsigned threads;
        uint64_t of, mix_ns;
        bool is_at;
        unsigned long at;
} asked = { .kind = "kernel", .ns = 200000, .seconds = 1, .settle_ms = 100, .blocks = 1 };

static CUuuid uuid;
static CUfunction other_spin;
static void *params[1] = { &asked.ns };
static struct kinds_work working = { .params = params };

/* After a second, another kernel that takes a thousand times as long. */
static CUresult launch_longer(struct kinds_work *work)
{
        static uint64_t begin_ns;
        uint64_t longer_ns = 1000 * asked.ns;
        void *longer[] = { &longer_ns };

        if (!begin_ns)
                begin_ns = watch_now_ns();
        if (watch_now_ns() - begin_ns < 1000 * MS_NS)
                return kinds_find("kernel")(work);
        return cuLaunchKernel(other_spin, 1, 1, 1, 1, 1, 1, 0, work->stream[0], longer, NULL);
}

static CUresult launch_mixed(struct kinds_work *work)
{
        static const char *const each[] = { "kernel", "cooperative", "graph" };

        return kinds_find(each[work->launches % 3])(work);
}

static CUresult launch_grid(struct kinds_work *work)
{
        uint32_t rows = asked.blocks < ROWS_MAX ? asked.blocks : ROWS_MAX;

        return cuLaunchKernel(work->function, asked.blocks, rows, rows, 1, 1, 1, 0, work->stream[0],
                              work->params, NULL);
}

/* One at a time, each waited for by an event behind it. */
static CUresult launch_event(struct kinds_work *work)
{
        static CUevent event;
        CUresult rc = event ? CUDA_SUCCESS : cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);

        if (rc == CUDA_SUCCESS)
                rc = kinds_find("kernel")(work);
        if (rc == CUDA_SUCCESS)
                rc = cuEventRecord(event, work->stream[0]);
        return rc == CUDA_SUCCESS ? cuEventSynchronize(event) : rc;
}

static kinds_launch *find_mix(void)
{
        kinds_launch *copy = copies_find(asked.mix);

        return copy ? copy : kinds_find(asked.mix);
}

static CUresult launch_mix(struct kinds_work *work)
{
        void *mix_params[] = { &asked.mix_ns };
        struct kinds_work mix = *work;

        mix.params = mix_params;
        return find_mix()(&mix);
}

/* As random as it needs to be. */
static bool is_mix_next(void)
{
        static uint64_t x = UINT64_C(88172645463325252);

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return asked.mix &&
               (asked.is_at ? working.launches % asked.of == asked.at : x % asked.of == 0);
}

static kinds_launch *find_kind(void)
{
        static const struct {
                const char *name;
                kinds_launch *launch;
        } more[] = { { "longer", launch_longer },
                     { "mixed", launch_mixed },
                     { "event", launch_event },
                     { "script", script_go_on },
                     { "grid", launch_grid } };
        kinds_launch *copy = copies_find(asked.kind);

        for (unsigned i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
                if (strcmp(asked.kind, more[i].name) == 0)
                        return more[i].launch;
        }
        return copy ? copy : kinds_find(asked.kind);
}

static void prepare(void)
{
        CUcontext context;

        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        working.function = spin_find();
        working.blocks = asked.blocks;
        other_spin = spin_find();
        OK(kinds_prepare(&working,
                         find_kind() == launch_mixed || asked.script ? "graph" : asked.kind));
        if (asked.script)
                script_prepare(asked.script);
        script_share(&working, asked.threads);
        copies_prepare(&working, asked.mix ? asked.mix : asked.kind);
        if (asked.cap_ppm)
                watch_set_cap(&uuid, asked.cap_ppm);
}

/* -- Samples, by a thread that sleeps in the simulator's time ---------------------------------- */

static struct {
        uint64_t at_ns, busy_ns;
} sample[SAMPLES];
static unsigned samples;
static _Atomic uint32_t is_sampling, is_over;
static pthread_t sampler;

static void take_sample(void)
{
        sample[samples].at_ns = clock_now_ns();
        sample[samples++].busy_ns = watch_busy(&uuid);
}

static void *take_samples(void *unused)
{
        clock_join(TIME_FOREGROUND);
        store_release(&is_sampling, 1);
        clock_wake(&is_sampling, 1);
        while (!load_acquire(&is_over) && samples < SAMPLES - 1) {
                take_sample();
                clock_sleep_ns(asked.samples_ms * MS_NS);
        }
        clock_leave();
        return unused;
}

static void start_samples(void)
{
        EXPECT(pthread_create(&sampler, NULL, take_samples, NULL), 0);
        while (!load_acquire(&is_sampling))
                clock_wait(&is_sampling, 0, CLOCK_NEVER);
}

/* To wait for the thread is to be passed over by time. */
static void print_samples(uint64_t begin_ns)
{
        uint64_t end_ns = clock_now_ns();

        store_release(&is_over, 1);
        EXPECT(pthread_join(sampler, NULL), 0);
        take_sample();
        printf(", \"from_ns\": %llu, \"to_ns\": %llu, \"samples\": [", (unsigned long long)begin_ns,
               (unsigned long long)end_ns);
        for (unsigned i = 0; i < samples; i++)
                printf("%s[%llu, %llu]", i ? ", " : "", (unsigned long long)sample[i].at_ns,
                       (unsigned long long)sample[i].busy_ns);
        printf("]");
}

/* -- What it got ------------------------------------------------------------------------------ */

struct moment {
        uint64_t at_ns, all_ns, own_ns, flight_ns, launches;
};

static struct {
        uint64_t begin_ns;      /* of its work */
        struct moment from, to; /* what counts */
        struct moment last;     /* window's end */
        unsigned windows;
        struct {
                double share;
                uint64_t ns;
        } window[WINDOWS];
} got;

static struct moment moment_now(void)
{
        return (struct moment){ .at_ns = watch_now_ns(),
                                .all_ns = watch_busy_all(&uuid),
                                .own_ns = watch_busy(&uuid),
                                .flight_ns = watch_flight(&uuid),
                                .launches = working.launches };
}

static double part(uint64_t count, uint64_t of)
{
        return (double)count / (double)of;
}

/* It ends at a launch, or later than one. */
static void take_window(void)
{
        uint64_t length_ns;

        got.to = moment_now();
        if (!got.from.at_ns)
                got.from = got.last = got.to;
        length_ns = got.to.at_ns - got.last.at_ns;
        if (length_ns < WINDOW_NS || got.windows == WINDOWS)
                return;
        got.window[got.windows].share = part(got.to.all_ns - got.last.all_ns, length_ns);
        got.window[got.windows++].ns = length_ns;
        got.last = got.to;
}

static void print_windows(void)
{
        printf("\"windows\": [");
        for (unsigned i = 0; i < got.windows; i++)
                printf("%s%.4f", i ? ", " : "", got.window[i].share);
        printf("], \"windows_ns\": [");
        for (unsigned i = 0; i < got.windows; i++)
                printf("%s%llu", i ? ", " : "", (unsigned long long)got.window[i].ns);
        printf("]");
}

static void print(void)
{
        const struct page_meter *meter = watch_meter(&uuid);
        uint64_t took_ns = got.to.at_ns - got.from.at_ns;

        printf("{\"share\": %.6f, \"own\": %.6f, \"in_flight\": %.6f, \"launches_a_second\": "
               "%.3f, ",
               part(got.to.all_ns - got.from.all_ns, took_ns),
               part(got.to.own_ns - got.from.own_ns, took_ns),
               part(got.to.flight_ns - got.from.flight_ns, took_ns),
               1e9 * part(got.to.launches - got.from.launches, took_ns));
        print_windows();
        printf(", \"busy_ns\": %llu, \"flight_ns\": %llu, \"launches\": %llu, \"slack_ns\": %d",
               (unsigned long long)watch_busy(&uuid), (unsigned long long)watch_flight(&uuid),
               working.launches, prctl(PR_GET_TIMERSLACK));
        if (meter)
                printf(", \"billed_ns\": %llu, \"billed_launches\": %llu, \"waits\": %llu",
                       (unsigned long long)load_relaxed(shared_word(&meter->busy_ns)),
                       (unsigned long long)load_relaxed(shared_word(&meter->launches)),
                       (unsigned long long)load_relaxed(shared_word(&meter->waits)));
        if (asked.samples_ms)
                print_samples(got.begin_ns);
        printf("}\n");
}

static void change_cap(void)
{
        if (asked.then_ppm && (double)(watch_now_ns() - got.begin_ns) > asked.then_second * 1e9) {
                watch_set_cap(&uuid, asked.then_ppm);
                asked.then_ppm = 0;
        }
}

static void work(kinds_launch *launch)
{
        uint64_t settled_ns, end_ns;

        got.begin_ns = watch_now_ns();
        settled_ns = got.begin_ns + asked.settle_ms * MS_NS;
        end_ns = got.begin_ns + (uint64_t)(asked.seconds * 1e9);
        do {
                OK((is_mix_next() ? launch_mix : launch)(&working));
                lie_tell();
                working.launches++;
                if (watch_now_ns() < settled_ns)
                        continue;
                change_cap();
                take_window();
        } while (watch_now_ns() < end_ns);
        if (got.from.at_ns == got.to.at_ns)
                exit(3); /* nothing was counted: longer, or less to settle */
        print();
}

static void read_argument(const char *argument)
{
        const char *value = strchr(argument, '=') + 1;

        if (strncmp(argument, "kind=", 5) == 0)
                asked.kind = value;
        else if (strncmp(argument, "ns=", 3) == 0)
                asked.ns = strtoull(value, NULL, 10);
        else if (strncmp(argument, "seconds=", 8) == 0)
                asked.seconds = strtod(value, NULL);
        else if (strncmp(argument, "cap=", 4) == 0)
                asked.cap_ppm = (uint32_t)strtoul(value, NULL, 10);
        else if (strncmp(argument, "settle=", 7) == 0)
                asked.settle_ms = strtoull(value, NULL, 10);
        else if (strncmp(argument, "from=", 5) == 0)
                asked.from_ms = strtoull(value, NULL, 10);
        else if (strncmp(argument, "samples=", 8) == 0)
                asked.samples_ms = strtoull(value, NULL, 10);
        else if (strncmp(argument, "blocks=", 7) == 0)
                asked.blocks = (uint32_t)strtoul(value, NULL, 10);
        else if (strncmp(argument, "slots=", 6) == 0)
                asked.slots = value;
        else if (strncmp(argument, "lie=", 4) == 0)
                asked.lie = value;
        else if (strncmp(argument, "mix=", 4) == 0)
                asked.mix = value;
        else if (sscanf(argument, "threads=%u", &asked.threads) == 1)
                return;
        else if (strncmp(argument, "do=", 3) == 0)
                asked.script = value;
        else if (strncmp(argument, "of=", 3) == 0)
                asked.of = strtoull(value, NULL, 10);
        else if (strncmp(argument, "mix_ns=", 7) == 0)
                asked.mix_ns = strtoull(value, NULL, 10);
        else if (sscanf(argument, "at=%lu", &asked.at) == 1)
                asked.is_at = true;
        else if (sscanf(argument, "then=%u@%lf", &asked.then_ppm, &asked.then_second) != 2)
                exit(2);
}

int main(int argc, char **argv)
{
        kinds_launch *launch;

        for (int i = 1; i < argc; i++)
                read_argument(argv[i]);
        launch = find_kind();
        if (!launch || (asked.mix && (!find_mix() || !asked.of)))
                return 2;
        prepare();
        simtime_follow();
        if (asked.slots)
                lie_begin(asked.slots, asked.lie);
        if (asked.samples_ms)
                start_samples();
        if (asked.from_ms)
                simtime_sleep_from_first_work(&uuid, asked.from_ms * MS_NS);
        work(launch);
        /* What still runs when it exits stays on the device until it is seen that it has: that
         * takes the machine's time. */
        script_end();
        OK(cuCtxSynchronize());
        return 0;
}
