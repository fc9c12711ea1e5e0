/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call through us costs over the same call without Aliquot, in one process.
 *
 *      doors DRIVER < requests
 *
 * Run with us preloaded and ALIQUOT_REAL_LIBCUDA=DRIVER, whose file name must not be one that the
 * doors know: then opening it gives the driver's own functions to compare with. Each request is
 * "name version flags" for cuGetProcAddress. Prints "what direct ours added" in nanoseconds:
 * medians of ROUNDS rounds, direct and ours in turns, `added` of the differences round by round.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine_clock.h"

#define ROUNDS 101
#define CALLS 200000
#define LOOKUPS 20000
#define REQUESTS 1024

struct request {
        char name[64];
        int version;
        unsigned long flags;
};

typedef int plain(void);
typedef int finder(const char *, void **, int, unsigned long, int *);
typedef void *looker(void *, const char *);

static struct request requests[REQUESTS];
static unsigned request_count;

/* One way of calling, and what it needs. */
struct way {
        plain *function;
        finder *find;
        looker *look;
        void *handle;
        const char *name;
};

static double time_calls(const struct way *w)
{
        plain *volatile function = w->function;
        plain *f = function;
        uint64_t began_ns = clock_machine_ns();

        for (int i = 0; i < CALLS; i++)
                f();
        return (double)(clock_machine_ns() - began_ns) / CALLS;
}

static double time_finds(const struct way *w)
{
        uint64_t began_ns = clock_machine_ns();
        void *address;
        int status;

        for (unsigned i = 0, at = 0; i < LOOKUPS; i++, at = at + 1 < request_count ? at + 1 : 0)
                w->find(requests[at].name, &address, requests[at].version, requests[at].flags,
                        &status);
        return (double)(clock_machine_ns() - began_ns) / LOOKUPS;
}

static double time_looks(const struct way *w)
{
        uint64_t began_ns = clock_machine_ns();

        for (unsigned i = 0; i < LOOKUPS; i++)
                w->look(w->handle, w->name);
        return (double)(clock_machine_ns() - began_ns) / LOOKUPS;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double median(double *values)
{
        qsort(values, ROUNDS, sizeof(*values), by_value);
        return values[ROUNDS / 2];
}

static void compare(const char *what, double (*time)(const struct way *), struct way direct,
                    struct way ours)
{
        static double a[ROUNDS], b[ROUNDS], d[ROUNDS];

        time(&direct);
        time(&ours);
        for (int i = 0; i < ROUNDS; i++) {
                a[i] = time(&direct);
                b[i] = time(&ours);
                d[i] = b[i] - a[i];
        }
        printf("%s %.3f %.3f %.3f\n", what, median(a), median(b), median(d));
}

static void read_requests(void)
{
        struct request *r = requests;

        while (r < requests + REQUESTS &&
               scanf("%63s %d %lu", r->name, &r->version, &r->flags) == 3)
                r++;
        request_count = (unsigned)(r - requests);
}

static void *need(void *pointer, const char *what)
{
        if (pointer)
                return pointer;
        fprintf(stderr, "doors: no %s\n", what);
        exit(1);
}

int main(int argc, char **argv)
{
        void *driver = need(argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, "driver");
        void *us = need(dlopen("libcuda.so.1", RTLD_NOW), "library in front");
        /* The C library's own: an unversioned door is not what a version finds. */
        looker *libc_dlsym = (looker *)need(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34"), "dlsym");
        struct way direct = { .function = (plain *)need(libc_dlsym(driver, "cuCtxGetDevice"),
                                                        "function") };
        struct way ours = { .function = (plain *)need(libc_dlsym(us, "cuCtxGetDevice"), "thunk") };

        compare("call-again", time_calls, direct, direct);
        compare("call-pass", time_calls, direct, ours);
        direct.function = (plain *)need(libc_dlsym(driver, "cuMemsetD2D8_v2"), "function");
        ours.function = (plain *)need(libc_dlsym(us, "cuMemsetD2D8_v2"), "gated thunk");
        compare("call-gate", time_calls, direct, ours);

        read_requests();
        direct.find = (finder *)need(libc_dlsym(driver, "cuGetProcAddress_v2"), "lookup");
        ours.find = (finder *)need(libc_dlsym(us, "cuGetProcAddress_v2"), "our lookup");
        compare("lookup-by-version", time_finds, direct, ours);

        direct = (struct way){ .look = libc_dlsym, .handle = RTLD_DEFAULT, .name = "printf" };
        ours = direct;
        ours.look = dlsym;
        compare("dlsym-other", time_looks, direct, ours);
        direct.handle = driver;
        direct.name = "cuCtxGetDevice";
        ours = (struct way){ .look = dlsym, .handle = us, .name = direct.name };
        compare("dlsym-driver", time_looks, direct, ours);
        return 0;
}
