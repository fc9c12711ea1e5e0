/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A victim is killed before each of its instructions, or before one of so many, and what is left of
 * it is looked at.
 *
 *      points += scene_run(&stage, &scene, company);
 *      return scene_report(points);
 *
 * What the product is called by, and what must hold after a kill, is the stage's: kill.c has the
 * ledger's own calls, kill_gpu.c programs of the driver's interface. The first broken rule ends it.
 */
#ifndef ALIQUOT_TESTS_KILL_SCENE_H
#define ALIQUOT_TESTS_KILL_SCENE_H

#include <stdbool.h>

#include "tracer.h"

/* Who else is there when the victim dies: a peer stopped in its swap, that goes on after the fresh
 * process has come, or before. */
enum company { ALONE, PEER_LAST, PEER_FIRST, COMPANIES };

/* By the words of the command line: alone, last, first; COMPANIES for any other. */
enum company company_of(const char *word);

struct scene {
        const char *name;
        void (*prepare)(void);
        void (*act)(void);
        bool has_dead; /* an earlier process died in the middle */
        bool is_long;  /* for who runs it alone only */
};

struct cast {
        struct traced peer, victim;
        enum company company;
};

struct stage {
        /* All from the beginning, the victim stopped before its first instruction. */
        void (*start)(struct cast *cast, const struct scene *scene);
        /* Kills it, and says with expect() what must hold. */
        void (*end)(struct cast *cast);
        unsigned every; /* of so many instructions one is a kill point; 1: each */
};

/* The rule is broken unless `is_so`; the first one counts. */
void expect(bool is_so, const char *rule);
bool is_any_broken(void);

/* How many kills. Stops where a rule is broken. */
unsigned scene_run(const struct stage *stage, const struct scene *scene, enum company company);

void scene_report(unsigned points);

#endif
