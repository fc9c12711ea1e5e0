/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explicit-state model checker of the ledger.
 *
 * The processes of the model run the product's own ledger_step(), over real pages, one step at a
 * time, in every order; any of them may be killed between any two steps, and the kernel frees a
 * dead process's two locks later, in either order. What ledger_step() needs of the world (locks,
 * waiting) is played here. Every state that can be reached is visited once and checked.
 *
 * States are packed into a few dozen bytes. Processes are interchangeable, so their records are
 * sorted before a state is compared: orders that differ only in names are one state. Variables of
 * an operation that no later step reads are zeroed likewise; --raw turns both off, for comparison.
 */
#ifndef ALIQUOT_TESTS_MODEL_H
#define ALIQUOT_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger.h"

#define MAX_PROCESSES 4
#define MAX_SLOTS 3
#define MAX_DEVICES 2
#define MAX_LIMITS 4
#define PROCESS_BYTES 16

struct config {
        const char *name;
        unsigned processes, slots, devices;
        unsigned operations; /* of each process, after it attached */
        unsigned kills;      /* at most so many processes are killed */
        unsigned charge_max; /* operations charge 1 .. charge_max */
        unsigned limits;     /* how many values the limit takes, one after the other */
        uint8_t limit[MAX_LIMITS];
        unsigned solo_of; /* run every solo_of-th state alone to its end; 0 none */
        bool is_raw;      /* no reduction */
};

enum phase {
        PHASE_NEW, /* looks for a slot; `slot` is the next to try */
        PHASE_RUNNING,
        PHASE_IDLE,
        PHASE_DEAD, /* some locks not yet freed by the kernel */
        PHASE_GONE,
};

struct model_process {
        enum phase phase;
        uint8_t left; /* operations to come */
        uint8_t slot;
        uint8_t live, recover; /* locks held, a bit a slot */
        bool was_right;        /* there was an instant at which refusing would have been right */
        bool was_over;         /* and one at which the word was over, the dead included */
        uint8_t limit_read;    /* which limit the operation has seen */
        struct ledger_op op;
};

/* A state in the open. The pages are the product's own, only partly used. */
struct model {
        struct model_process process[MAX_PROCESSES];
        uint8_t limit_at;
        uint8_t killed;
};

/* What one may do in a state; `process` is unused for a limit change. */
enum move {
        MOVE_STEP,
        MOVE_GIVE_UP,
        MOVE_CHARGE,
        MOVE_RELEASE,
        MOVE_KILL,
        MOVE_FREE_LIVE,
        MOVE_FREE_RECOVER,
        MOVE_LIMIT,
        MOVES
};

struct action {
        uint8_t move;
        uint8_t process;
        uint8_t device;
        uint8_t amount;
};

/* Bytes of a packed state, a multiple of 8. */
unsigned model_bytes(const struct config *config);
void model_start(struct model *model, const struct config *config);
void model_pack(const struct model *model, const struct config *config, uint8_t *ret);
void model_unpack(struct model *model, const struct config *config, const uint8_t *packed);

#define MAX_ACTIONS 64
unsigned model_actions(const struct model *model, const struct config *config,
                       struct action ret[MAX_ACTIONS]);

/* Does it, in place. NULL, or the rule that it broke. */
const char *model_do(struct model *model, const struct config *config, struct action action);

/* Runs each process alone to the end of its operation; the model is spoiled. */
const char *model_run_alone(struct model *model, const struct config *config,
                            const uint8_t *packed);

/* The pages, as the state in the open has them. */
extern struct slots_page slots;
extern struct limits_page limits;

/* For a trace. */
void model_print(const struct model *model, const struct config *config);
const char *model_step_name(unsigned at);

struct outcome {
        uint64_t states, transitions;
        const char *broken; /* NULL: every state is good */
};

/* Visits everything. A trace to the first bad state goes to stderr if `is_loud`. */
struct outcome search(const struct config *config, uint64_t max_states, bool is_loud);

#endif
