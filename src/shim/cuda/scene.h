/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a passage (launch.h) finds of its lane, for how many launches it asks, and how it waits:
 *
 *      if (scene_find(&scene, &way))
 *              answer = scene_pass(&scene, &way);
 *
 * For launch.c alone. The thread's own, for one passage.
 */
#ifndef ALIQUOT_SHIM_CUDA_SCENE_H
#define ALIQUOT_SHIM_CUDA_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/admit.h"
#include "shim/cuda/lane.h"
#include "shim/cuda/launch.h"

/* What the passage found of its lane. */
struct scene {
        CUcontext context;
        struct lane *lane;
        struct work *work;
        struct expected expected;
        bool is_held, is_pending, is_busy;
        bool is_broken;           /* a copy, or a wait, was put in between */
        bool is_drawing;          /* how many are let through ahead is a random number */
        struct credit was;        /* the thread's, as the passage began */
        bool is_mixed;            /* other lanes work, too, and it matters */
        bool is_loose;            /* what is in flight is bounded, and it need not be exact */
        bool is_leased;           /* the scheduler keeps the cap */
        bool is_blocked;          /* nothing of the lane can even begin */
        bool is_escaping;         /* let through because nothing moves */
        struct standing standing; /* in blocked lanes, this one among them */
        uint64_t began_ns;        /* to wait; 0: has not */
        uint64_t quiet_ns;        /* since when nothing moved */
        uint32_t settled;         /* then */
        uint32_t escapes;         /* since something moved */
};

/* False: there are too many; the lane that it had, if any, is still named. */
bool scene_find(struct scene *scene, const struct way *way);

/* It launches there now. */
void scene_note_lane(struct scene *scene, uint64_t now_ns);

/* Waits at the gate. What was granted, or let through because nothing moved; the lane may be held
 * then. */
struct admit_answer scene_pass(struct scene *scene, const struct way *way);

/* Of what is in flight with it, expected to be still to do. */
uint64_t scene_left_ns(const struct scene *scene, uint64_t now_ns);

/* What may be in flight takes what it usually does. */
bool scene_is_known(const struct scene *scene);

/* A marker would measure what was launched since the last one. If that was passed, no other lane's
 * work may be in between: what covers it may be forgotten (spans.h). */
bool scene_can_end(const struct scene *scene);

#endif
