/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What core/sessions has to answer and to become, said again in the plainest way: lists and loops,
 * every assignment of GPUs tried, no actions, no crash. Times in whole seconds, sizes in GiB.
 */
#ifndef ALIQUOT_TEST_SESSIONS_MODEL_H
#define ALIQUOT_TEST_SESSIONS_MODEL_H

#include "core/sessions.h"

#define MODEL_SESSIONS 24u
#define MODEL_GPUS 4u
#define MODEL_SHARES 3u

struct model_session {
        bool is_there;
        unsigned state; /* enum sessions_state */
        uint32_t owner;
        unsigned ending;
        uint64_t ttl, expires, kill_at; /* kill_at: SESSIONS_ENDING by SESSIONS_TERM */
        uint64_t version;
        bool swaps; /* then it has one share */
        unsigned share_count;
        struct {
                unsigned gpu;
                uint64_t gib;
                uint64_t ceiling;   /* what it counts for */
                unsigned guarantee; /* percent; of a session the same on all GPUs */
        } share[MODEL_SHARES];
        /* The world's, not the core's. */
        unsigned running;
        bool is_stubborn;
};

struct model {
        struct {
                uint64_t gib;
                bool is_here;
        } gpu[MODEL_GPUS];
        struct {
                unsigned overcommit, percent, ending, choice, owner_max;
                uint64_t reserve, ttl, most, grace;
        } policy;
        struct model_session session[MODEL_SESSIONS];
        uint64_t now;
};

/* Somebody asks, about session `at`. */
struct model_ask {
        unsigned at;
        uint32_t uid;
        bool is_admin, is_forced, is_chosen, has_ttl, has_ending, has_compute;
        uint64_t version, ttl, free_least;
        struct model_session said; /* owner, ending, shares */
};

uint64_t model_promised(const struct model *model, unsigned gpu);
/* The most that one session may have, and that all may have together. */
uint64_t model_most(const struct model *model, unsigned gpu);
uint64_t model_bound(const struct model *model, unsigned gpu);
uint64_t model_room(const struct model *model, unsigned gpu);
/* For one that swaps. */
uint64_t model_room_to_swap(const struct model *model, unsigned gpu);
/* Of all that swap together. */
uint64_t model_swapped(const struct model *model, unsigned gpu);
/* Percent of a GPU's time that are guaranteed to others than `but` (NULL: to all). */
unsigned model_guaranteed(const struct model *model, const struct model_session *but, unsigned gpu);
/* Not promised yet; of a GPU that has room, with a bound. */
uint64_t model_left(const struct model *model, unsigned gpu);

/*
 * What is answered, and the state after it. Where the core chooses GPUs, the model only tells
 * whether it can: the shares' GPUs are taken over from `chosen` afterwards, by who checks them.
 */
enum sessions_answer model_create(struct model *model, const struct model_ask *ask);
enum sessions_answer model_change(struct model *model, const struct model_ask *ask);
enum sessions_answer model_renew(struct model *model, const struct model_ask *ask);
enum sessions_answer model_release(struct model *model, const struct model_ask *ask);

/* So much of a share is held since it was changed. */
void model_held(struct model *model, unsigned at, unsigned share, uint64_t gib);

/* What time brings one session until .now: who was told to go has gone, what is empty is no more.
 */
void model_tick_one(struct model *model, unsigned at);
void model_tick(struct model *model);
/* What starting anew does: it asks again, so the grace periods begin now; and time goes on. */
void model_restart(struct model *model);
/* When the next thing happens by itself; 0: never. */
uint64_t model_next(const struct model *model);

#endif
