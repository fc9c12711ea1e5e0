/* SPDX-License-Identifier: Apache-2.0 */
#include "common/minmax.h"
#include "shim/time/stuck.h"

/* The first patience, and its bounds. */
#define PATIENCE_FIRST_NS UINT64_C(50000000)
#define PATIENCE_MIN_NS UINT64_C(20000000)
#define PATIENCE_MAX_NS UINT64_C(60000000000)
/* Work that ends this soon after a submission passed probably waited for that submission. */
#define HELPED_NS UINT64_C(3000000)
/* Maximum of a batch; a stream has no space for more. */
#define BATCH_MAX 512u

static uint64_t patience_of(const struct stuck *stuck)
{
        return stuck->patience_ns ? stuck->patience_ns : PATIENCE_FIRST_NS;
}

/* Returns the patience times a random factor from one to two. */
static uint64_t drawn_ns(const struct stuck *stuck)
{
        uint64_t patience_ns = patience_of(stuck);
        uint64_t x = (stuck->draws + stuck->ended_ns) * UINT64_C(0x9e3779b97f4a7c15);

        return patience_ns + (x ^ x >> 32) * UINT64_C(0xd1b54a32d192ed03) % patience_ns;
}

/* Called when work in flight has ended right after submissions passed, because it was waiting for
 * them. Undoes the last doubling of the patience, and halves it once more if the same happened the
 * time before. */
static void note_helped(struct stuck *stuck)
{
        stuck->patience_ns =
                max_u64(patience_of(stuck) / (stuck->has_helped ? 4 : 2), PATIENCE_MIN_NS);
        stuck->has_helped = true;
}

void stuck_not(struct stuck *stuck, uint64_t now_ns)
{
        if (stuck->let_out_ns && now_ns - stuck->let_out_ns < HELPED_NS) {
                note_helped(stuck);
        } else if (stuck->let_out_ns && !stuck->has_run) {
                stuck->batch = 0;
                stuck->has_helped = false;
        }
        stuck->let_out_ns = 0;
        stuck->more = 0;
        stuck->ended_ns = now_ns;
}

/* Submissions that take long are not followed by more. The work in flight is billed anyway, so
 * it may go on for as long again as a thread waited. */
void stuck_ran(struct stuck *stuck, uint64_t now_ns)
{
        if (now_ns - stuck->let_out_ns >= patience_of(stuck) / 2)
                return;
        stuck->patience_ns = max_u64(patience_of(stuck) / 2, PATIENCE_MIN_NS);
        stuck->has_run = true;
}

/* Begins a batch. It has twice as many submissions as the last one if those have run, and one if
 * they have not. */
static void begin_batch(struct stuck *stuck, uint64_t now_ns)
{
        uint64_t patience_ns = patience_of(stuck) * 2;
        bool is_first = !stuck->let_out_ns;

        if (is_first && stuck->batch)
                stuck->more = stuck->batch;
        else if (stuck->has_run)
                stuck->more = stuck->batch < BATCH_MAX ? stuck->batch * 2 : BATCH_MAX;
        else
                stuck->more = 1;
        stuck->batch = stuck->more;
        stuck->patience_ns = patience_ns < PATIENCE_MAX_NS ? patience_ns : PATIENCE_MAX_NS;
        stuck->let_out_ns = now_ns;
        stuck->has_run = false;
        stuck->draws++;
}

bool stuck_for_long(struct stuck *stuck, uint64_t began_ns, uint64_t now_ns)
{
        if (!stuck->more) {
                uint64_t since_ns = max_u64(max_u64(began_ns, stuck->ended_ns), stuck->let_out_ns);

                if (now_ns < since_ns || now_ns - since_ns < drawn_ns(stuck))
                        return false;
                begin_batch(stuck, now_ns);
        }
        stuck->more--;
        return true;
}
