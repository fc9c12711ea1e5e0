/* SPDX-License-Identifier: Apache-2.0 */
#include "common/minmax.h"
#include "shim/time/window.h"

/* A look at a round comes before the round's expected end: by AGAIN_NS or 1/EARLY_PARTS of its
 * length, whichever is more. Later looks are AGAIN_NS apart, or 1/LATE_PARTS of the time since
 * the beginning, whichever is more. */
#define AGAIN_NS UINT64_C(50000)
/* Minimum time between looks while another session waits for the end. */
#define SOON_NS UINT64_C(10000)
#define EARLY_PARTS 8u
#define LATE_PARTS 4u
/* A round is given out in this many parts, so that threads share it. */
#define SHARES_OF_ROUND 4u
/* Maximum factor by which a weight changes at a time: CHANGE_ALONE after a round of one
 * submission, else CHANGE_MAX. */
#define CHANGE_MAX 2u
#define CHANGE_ALONE 16u

_Atomic uint16_t window_weights[WINDOW_HINTS];

void window_clear(struct window *window)
{
        window->cleared++;
        window->first = window->count = 0;
        window->left = 0;
        window->filling = (struct window_round){ 0 };
        window->passed_ns = 0;
}

/* -- Filling a round -------------------------------------------------------------------------- */

static uint32_t weight_of(uint32_t hint)
{
        return (uint32_t)max_u64(window_weight(hint), 1);
}

static void add_sample(struct window_round *round, uint32_t hint)
{
        for (uint32_t i = 0; i < round->samples; i++) {
                if (round->sample[i].hint == hint)
                        return;
        }
        if (round->samples < WINDOW_SAMPLES)
                round->sample[round->samples++] =
                        (struct window_sample){ (uint16_t)hint, (uint16_t)weight_of(hint) };
}

static uint32_t give_units(struct window *window, const struct window_wish *wish, uint32_t units)
{
        if (!window->filling.units)
                window->filling.begin_ns = wish->now_ns;
        window->left -= (uint32_t)min_u64(units, window->left);
        window->filling.units += units;
        add_sample(&window->filling, wish->hint);
        return units;
}

/* Returns the units in flight, including the round being filled. */
static uint64_t in_flight(const struct window *window)
{
        uint64_t units = window->filling.units;

        for (uint32_t i = 0; i < window->count; i++)
                units += window->round[(window->first + i) % WINDOW_ROUNDS].units;
        return units;
}

/* Returns since when the oldest round runs. */
static uint64_t runs_since_ns(const struct window *window)
{
        return max_u64(window->passed_ns, window->round[window->first].begin_ns);
}

/* Returns how much of the oldest round is complete, by its weights. The window counts that part
 * as room, because the device needs its next submission before it finishes this one, even if one
 * submission is longer than the whole window. */
static uint64_t done(const struct window *window, uint64_t now_ns)
{
        uint64_t since_ns = runs_since_ns(window);

        if (!window->count || now_ns < since_ns)
                return 0;
        return min_u64((now_ns - since_ns) / WINDOW_UNIT_NS, window->round[window->first].units);
}

/* Returns the budget of a round in units. */
static uint32_t round_budget(const struct window_wish *wish)
{
        return (uint32_t)min_u64(max_u64(wish->target_ns / WINDOW_UNIT_NS, 1), INT32_MAX);
}

/* Returns the maximum number of rounds in flight. */
static uint32_t rounds(const struct window_wish *wish)
{
        return wish->is_shared ? WINDOW_SHARED_ROUNDS : WINDOW_ROUNDS;
}

uint64_t window_room_ns(const struct window *window, const struct window_wish *wish)
{
        uint64_t room = (uint64_t)round_budget(wish) * rounds(wish), units = in_flight(window);

        if (!window->count || units < room || units - room >= window->round[window->first].units)
                return UINT64_MAX;
        return runs_since_ns(window) + (units - room + 1) * WINDOW_UNIT_NS;
}

uint32_t window_take(struct window *window, const struct window_wish *wish)
{
        uint32_t weight = weight_of(wish->hint), budget = round_budget(wish);
        uint64_t share;

        if (in_flight(window) - done(window, wish->now_ns) >= (uint64_t)budget * rounds(wish)) {
                window->left = 0;
                return 0;
        }
        if (!window->filling.units)
                window->left = (uint32_t)max_u64(budget, weight);
        if (window->left < weight) {
                window->left = 0;
                return 0;
        }
        share = wish->is_single ? weight : max_u64(weight, budget / SHARES_OF_ROUND);
        return give_units(window, wish, (uint32_t)min_u64(window->left, share));
}

void window_give_back(struct window *window, uint32_t units)
{
        uint32_t back = (uint32_t)min_u64(units, window->filling.units);

        window->filling.units -= back;
        window->left += back;
}

uint32_t window_take_beyond(struct window *window, const struct window_wish *wish)
{
        return give_units(window, wish, weight_of(wish->hint));
}

uint32_t window_close(struct window *window)
{
        uint32_t at = (window->first + window->count) % WINDOW_ROUNDS;

        window->round[at] = window->filling;
        window->count++;
        window->left = 0;
        window->filling = (struct window_round){ 0 };
        return at;
}

/* -- The end of rounds ------------------------------------------------------------------------ */

/* The length of some rounds in units: by their weights, and as measured. */
struct weight_change {
        uint64_t units;
        uint64_t took;
};

/* Changes a weight by the measurement. Starts from the weight at the time of the submission, so
 * several rounds in flight report the same change and not its square. */
static void weigh_sample(const struct window_sample *sample, const struct weight_change *change)
{
        uint64_t weight = sample->weight * change->took / max_u64(change->units, 1);

        weight = max_u64(min_u64(weight, WINDOW_WEIGHT_MAX), 1);
        store_relaxed(&window_weights[sample->hint], (uint16_t)(weight + 1));
}

/* Whether the round consists of one submission. */
static bool is_of_one(const struct window_round *round)
{
        return round->samples == 1 && round->units == round->sample[0].weight;
}

/* Returns when the oldest rounds ended, between two looks: at the expected time if that is
 * possible. If nothing is in flight now, the device was idle, so they ended sooner: in the
 * middle between the looks. */
static uint64_t ended_ns(const struct window *window, uint32_t passed,
                         const struct window_looks *looks)
{
        uint64_t begin_ns = min_u64(runs_since_ns(window), looks->now_ns);
        uint64_t seen_ns = max_u64(min_u64(looks->seen_ns, looks->now_ns), begin_ns);

        for (uint32_t i = 0; i < passed; i++)
                begin_ns +=
                        window->round[(window->first + i) % WINDOW_ROUNDS].units * WINDOW_UNIT_NS;
        if (passed == window->count)
                begin_ns = (seen_ns + looks->now_ns) / 2;
        return max_u64(min_u64(begin_ns, looks->now_ns), seen_ns);
}

/* Takes complete rounds out of the window, and learns weights. Several rounds that were complete
 * at one look are one measurement, because the end of the first was not seen. The measurement
 * includes the time between submissions in which the device waited for the program. */
void window_pass(struct window *window, uint32_t passed, const struct window_looks *looks)
{
        const struct window_round *oldest = &window->round[window->first];
        struct weight_change change = { 0 };
        uint64_t end_ns, took_ns, bound;
        bool is_own, is_told;

        if (!passed || passed > window->count)
                return;
        is_own = oldest->begin_ns >= looks->shut_ns;
        end_ns = ended_ns(window, passed, looks);
        took_ns = end_ns - min_u64(runs_since_ns(window), end_ns);
        change.took = took_ns / WINDOW_UNIT_NS;
        bound = passed == 1 && is_of_one(oldest) ? CHANGE_ALONE : CHANGE_MAX;
        for (uint32_t i = 0; i < passed; i++)
                change.units += window->round[(window->first + i) % WINDOW_ROUNDS].units;
        /* If nothing was left in flight, the rounds ended sooner than measured or were seen
         * late. Then only a measurement that is shorter than expected is used. */
        is_told = is_own && (passed < window->count || change.took < change.units);
        change.took = max_u64(min_u64(change.took, change.units * bound), change.units / bound);
        if (is_own)
                window->took_ns = took_ns / passed;
        window->passed_ns = end_ns;
        for (uint32_t i = 0; i < passed; i++) {
                const struct window_round *round = &window->round[window->first];

                for (uint32_t at = 0; at < round->samples && is_told; at++)
                        weigh_sample(&round->sample[at], &change);
                window->first = (window->first + 1) % WINDOW_ROUNDS;
                window->count--;
        }
}

/* Whether the weights of the round's samples are known. */
static bool is_known(const struct window_round *round)
{
        for (uint32_t i = 0; i < round->samples; i++) {
                if (round->sample[i].weight == WINDOW_WEIGHT_MAX)
                        return false;
        }
        return true;
}

uint64_t window_over_ns(const struct window *window, uint64_t looked_ns)
{
        uint64_t since_ns = window->count ? runs_since_ns(window)
                                          : max_u64(window->passed_ns, window->filling.begin_ns);
        uint64_t end_ns = since_ns + in_flight(window) * WINDOW_UNIT_NS;
        uint64_t half_ns, again_ns;
        bool is_sure = is_known(&window->filling);

        for (uint32_t i = 0; i < window->count; i++)
                is_sure &= is_known(&window->round[(window->first + i) % WINDOW_ROUNDS]);
        if (!is_sure)
                return looked_ns + AGAIN_NS;
        half_ns = since_ns + (end_ns - since_ns) / 2;
        if (looked_ns < half_ns)
                return half_ns;
        again_ns =
                looked_ns < end_ns ? (end_ns - looked_ns) / 2 : (looked_ns - end_ns) / LATE_PARTS;
        return looked_ns + min_u64(max_u64(again_ns, SOON_NS), AGAIN_NS);
}

uint64_t window_due_ns(const struct window *window, uint64_t looked_ns)
{
        uint64_t begin_ns, due_ns, again_ns;

        if (!window->count)
                return looked_ns + AGAIN_NS;
        begin_ns = runs_since_ns(window);
        due_ns = begin_ns + window->took_ns * ((window->count + 1) / 2);
        due_ns -= min_u64(max_u64(AGAIN_NS, window->took_ns / EARLY_PARTS), due_ns - begin_ns);
        again_ns = looked_ns > begin_ns ? (looked_ns - begin_ns) / LATE_PARTS : 0;
        return max_u64(due_ns, looked_ns + max_u64(again_ns, AGAIN_NS));
}
