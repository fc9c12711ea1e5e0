/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process on one table of blocks, with everything that the verbs can do at once.
 *
 *      threads [operations=20000]
 *
 * Keys are shared by all: a thread may keep what another has just kept (its bytes go back), take
 * what another holds, drop everything of an owner, and look. In the end nothing may be left.
 * Built a second time with the thread sanitizer.
 */
#include <pthread.h>
#include <stdlib.h>

#include "common/atomic.h"
#include "double.h"
#include "shim/charge.h"

#define THREADS 8u
#define KEYS 64u
#define OWNERS 4u
#define DEVICES 2
#define LIMIT UINT64_C(10000)

static unsigned operations = 20000;

static uint64_t random_next(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 33;
}

static void alloc(uint64_t *random)
{
        struct charge c, more;
        int device = (int)(random_next(random) % DEVICES);

        if (!charge_begin(&c, device, random_next(random) % 100))
                return;
        if (random_next(random) % 4 == 0) {
                if (charge_begin(&more, device, 10))
                        charge_join(&c, &more);
                charge_trim(&c, c.bytes / 2);
        }
        c.owner = (uint32_t)(random_next(random) % OWNERS);
        if (random_next(random) % 8 == 0)
                charge_drop(&c);
        else
                charge_keep(&c, SPACE_POINTER, random_next(random) % KEYS);
}

static void release(uint64_t *random)
{
        uint64_t key = random_next(random) % KEYS;
        struct charge c;

        if (!charge_take(&c, SPACE_POINTER, key))
                return;
        if (random_next(random) % 8 == 0)
                charge_keep(&c, SPACE_POINTER, key); /* the driver said no */
        else
                charge_drop(&c);
}

static void *run(void *argument)
{
        uint64_t random = (uintptr_t)argument;
        struct charge_view view;

        for (unsigned i = 0; i < operations; i++) {
                switch (random_next(&random) % 32) {
                case 0:
                        charge_drop_owner((uint32_t)(random_next(&random) % OWNERS));
                        break;
                case 1:
                        CHECK(charge_read(0, &view) && view.used_bytes <= view.limit_bytes);
                        CHECK(charge_held(SPACE_POINTER, 1) <= LIMIT);
                        break;
                case 2:
                case 3:
                case 4:
                case 5:
                case 6:
                case 7:
                case 8:
                case 9:
                case 10:
                case 11:
                        release(&random);
                        break;
                default:
                        alloc(&random);
                }
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t threads[THREADS];
        struct charge c;

        if (argc > 1)
                operations = (unsigned)atoi(argv[1]);
        double_make(LIMIT);
        for (uintptr_t i = 0; i < THREADS; i++)
                CHECK(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
        for (unsigned i = 0; i < THREADS; i++)
                CHECK(pthread_join(threads[i], NULL) == 0);

        uint64_t held = 0;

        for (uint64_t key = 0; key < KEYS; key++)
                held += charge_held(SPACE_POINTER, key);
        CHECK(held == double_used(0) + double_used(1));
        for (uint64_t key = 0; key < KEYS; key++)
                if (charge_take(&c, SPACE_POINTER, key))
                        charge_drop(&c);
        for (unsigned device = 0; device < DEVICES; device++)
                CHECK(double_used(device) == 0 && double_rows(device) == 0);
        double_end();
        return 0;
}
