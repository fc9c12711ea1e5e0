/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL at every instruction of attach, charge, release and reap.
 *
 * For each scene a victim runs the real code one instruction further than the last time, and is
 * killed there; alone, and with a peer that is stopped just before its own swap. Then
 *
 *   - the word must be the sum of what the rows come to;
 *   - a fresh process must get exactly what the living leave of the limit, and not a byte more;
 *   - the peer goes on, before that or after, and gets what it asked for.
 *
 *      kill [alone] [last] [first]   no peer; a peer that goes on last, or first; all if none
 *      --expect-broken               for a program with a fault in it: 0 if something goes wrong
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "double.h"
#include "scene.h"
#include "shim/attach.h"
#include "shim/charge.h"

#define LIMIT UINT64_C(1000)
#define PEER_HOLDS UINT64_C(50)
#define PEER_ASKS UINT64_C(70)
#define DEVICE 1

static void hold(uint64_t bytes, uint64_t key)
{
        struct charge c;

        CHECK(charge_begin(&c, DEVICE, bytes));
        charge_keep(&c, SPACE_POINTER, key);
}

/* -- what victims, peers and the dead before them do --------------------------------------------
 */

static void prepare_nothing(void)
{
}

static void prepare_attached(void)
{
        process_attached();
}

static void prepare_holding(void)
{
        hold(300, 1);
        hold(100, 2);
}

static void act_attach(void)
{
        process_attached();
}

static void act_charge(void)
{
        struct charge c;

        if (charge_begin(&c, DEVICE, 200))
                charge_keep(&c, SPACE_POINTER, 3);
}

static void act_refused(void)
{
        struct charge c;

        charge_begin(&c, DEVICE, LIMIT);
}

static void act_release(void)
{
        struct charge c;

        charge_take(&c, SPACE_POINTER, 2);
        charge_drop(&c);
}

/* More than is free until the dead are reaped. */
static void act_reap(void)
{
        struct charge c;

        if (charge_begin(&c, DEVICE, 500))
                charge_keep(&c, SPACE_POINTER, 3);
}

static void prepare_peer(void)
{
        hold(PEER_HOLDS, 7);
}

static void act_peer(void)
{
        hold(PEER_ASKS, 8);
}

/* Leaves a dead slot with 700 bytes, one operation of which was never committed. */
static void leave_dead(void)
{
        struct traced dead = traced_start(prepare_holding, act_charge);
        uint64_t before = double_used(DEVICE);

        CHECK(traced_to_swap(&dead));
        CHECK(traced_step(&dead));
        traced_kill(&dead);
        CHECK(double_used(DEVICE) == before + 200);
}

static const struct scene scenes[] = {
        { "attach", prepare_nothing, act_attach, false, false },
        { "attach to a dead slot", prepare_nothing, act_attach, true, false },
        { "charge", prepare_holding, act_charge, false, false },
        { "refused charge", prepare_holding, act_refused, false, false },
        { "release", prepare_holding, act_release, false, false },
        { "reap", prepare_attached, act_reap, true, false },
};

/* -- one kill -------------------------------------------------------------------------------------
 */

static void slots_reset(void)
{
        struct slots_page *slots = double_slots();

        memset(slots->ledger, 0, sizeof(slots->ledger));
        memset(slots->row, 0, sizeof(slots->row[0]) * (slots->slots_high + 1));
        slots->slots_high = 0;
}

/* In a process of its own: takes all that the living leave, and tries one byte more. */
static bool is_exactly_free(uint64_t bytes)
{
        pid_t pid = fork();
        int status;

        CHECK(pid >= 0);
        if (pid == 0) {
                struct charge all, more;
                bool has_all = charge_begin(&all, DEVICE, bytes);
                bool has_more = charge_begin(&more, DEVICE, 1);

                charge_drop(&more);
                charge_drop(&all);
                _exit(has_all && !has_more ? 0 : 1);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whoever is stopped in the middle, the word is what the rows come to, and what is told here. */
static void expect_used(uint64_t bytes, const char *rule)
{
        expect(double_used(DEVICE) == bytes, rule);
        expect(double_rows(DEVICE) == bytes, "the rows do not come to the word");
}

/* The peer makes its swap, which overwrites the victim's tag. */
static void peer_goes_on(struct traced *peer)
{
        uint64_t before = double_used(DEVICE);

        traced_finish(peer);
        expect_used(before + PEER_ASKS, "the peer lost its swap");
}

static void check_after(struct traced *peer, enum company company)
{
        uint64_t living = company == ALONE ? 0 : PEER_HOLDS;

        expect(double_rows(DEVICE) == double_used(DEVICE), "the rows do not come to the word");
        if (company == PEER_FIRST) {
                peer_goes_on(peer);
                living += PEER_ASKS;
        }
        expect(is_exactly_free(LIMIT - living), "not exactly what the living leave is free");
        expect_used(living, "the dead still hold something");
        if (company == PEER_LAST)
                peer_goes_on(peer);
}

static void cast_start(struct cast *cast, const struct scene *scene)
{
        slots_reset();
        if (cast->company != ALONE)
                cast->peer = traced_start(prepare_peer, act_peer);
        if (scene->has_dead)
                leave_dead();
        if (cast->company != ALONE)
                CHECK(traced_to_swap(&cast->peer));
        cast->victim = traced_start(scene->prepare, scene->act);
}

static void cast_end(struct cast *cast)
{
        traced_kill(&cast->victim);
        check_after(&cast->peer, cast->company);
        if (cast->company != ALONE)
                traced_kill(&cast->peer);
}

static const struct stage stage = { .start = cast_start, .end = cast_end, .every = 1 };

int main(int argc, char **argv)
{
        bool is_broken_expected = false, is_any = true, is_wanted[COMPANIES + 1] = { false };
        unsigned points = 0;

        for (int i = 1; i < argc; i++) {
                is_broken_expected |= strcmp(argv[i], "--expect-broken") == 0;
                is_wanted[company_of(argv[i])] = true;
                is_any &= company_of(argv[i]) == COMPANIES;
        }
        double_make(LIMIT);
        for (enum company c = ALONE; c < COMPANIES; c++)
                for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && !is_any_broken(); i++)
                        if (is_any || is_wanted[c])
                                points += scene_run(&stage, &scenes[i], c);
        double_end();
        scene_report(points);
        return is_any_broken() == is_broken_expected ? 0 : 1;
}
