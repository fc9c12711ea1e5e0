/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states and moves of model.h, and the rules that every state must obey:
 *
 *   - `used` is the sum of what recovery would find in each slot, and each of those is what the
 *     operations that took effect (the successful swaps) add up to;
 *   - a charge takes effect only within the limit that it read, which was the limit at an instant
 *     during the operation;
 *   - a refusal has an instant during the operation at which the bytes of slots with a live owner,
 *     and the charge, were over the limit; giving up has one at which the word was;
 *   - run alone, an operation ends, unless another holds a recover lock that it needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct slots_page slots;
struct limits_page limits;

/* What a step asks of the world, and what it is told. */
struct world {
        struct model *model;
        struct model_process *process;
        bool answer_retry;
        bool has_asked_busy;
};

/* -- ports ----------------------------------------------------------------------------------------
 */

static bool is_live(void *context, uint32_t slot)
{
        struct world *world = context;

        for (unsigned i = 0; i < MAX_PROCESSES; i++)
                if (world->model->process[i].live >> slot & 1)
                        return true;
        return false;
}

static bool is_recovered(const struct model *model, uint32_t slot)
{
        for (unsigned i = 0; i < MAX_PROCESSES; i++)
                if (model->process[i].recover >> slot & 1)
                        return true;
        return false;
}

static bool try_recover(void *context, uint32_t slot)
{
        struct world *world = context;

        if (is_recovered(world->model, slot))
                return false;
        world->process->recover |= (uint8_t)(1u << slot);
        return true;
}

static void end_recover(void *context, uint32_t slot)
{
        struct world *world = context;

        world->process->recover &= (uint8_t) ~(1u << slot);
}

static bool take_live(void *context, uint32_t slot)
{
        struct world *world = context;

        if (is_live(context, slot))
                return false;
        world->process->live |= (uint8_t)(1u << slot);
        return true;
}

static void note_reclaim(void *context, unsigned device, uint64_t bytes)
{
}

static bool may_retry(void *context, bool is_busy)
{
        struct world *world = context;

        world->has_asked_busy = is_busy;
        return world->answer_retry;
}

static const struct ledger_ports ports = {
        .is_live = is_live,
        .try_recover = try_recover,
        .end_recover = end_recover,
        .take_live = take_live,
        .note_reclaim = note_reclaim,
        .may_retry = may_retry,
};

void model_start(struct model *model, const struct config *config)
{
        memset(&slots, 0, sizeof(slots));
        memset(&limits, 0, sizeof(limits));
        *model = (struct model){ 0 };
        for (unsigned i = 0; i < config->processes; i++)
                model->process[i].left = (uint8_t)config->operations;
}

/* -- rules ----------------------------------------------------------------------------------------
 */

/* What recovery would find in a slot. */
static uint64_t recoverable(unsigned slot, unsigned device)
{
        const struct page_row *row = &slots.row[slot][device];
        uint64_t settled = row->charge[row->committed & 1];
        uint64_t tag = (uint64_t)slot << LEDGER_SEQ_BITS | row->seq;

        if (row->seq == row->committed + 1 &&
            (slots.ledger[device].tag == tag || row->done >= row->seq))
                settled += row->delta;
        return settled;
}

struct truth {
        uint64_t bytes[MAX_SLOTS][MAX_DEVICES];
};

static void truth_read(struct truth *ret, const struct config *config)
{
        for (unsigned s = 0; s < config->slots; s++)
                for (unsigned d = 0; d < config->devices; d++)
                        ret->bytes[s][d] = recoverable(s, d);
}

static const char *truth_check(const struct truth *expected, const struct config *config)
{
        for (unsigned d = 0; d < config->devices; d++) {
                uint64_t sum = 0;

                for (unsigned s = 0; s < config->slots; s++) {
                        if (recoverable(s, d) != expected->bytes[s][d])
                                return "recovery would find what did not happen";
                        sum += expected->bytes[s][d];
                }
                if (slots.ledger[d].used_bytes != sum)
                        return "used is not the sum of the slots";
        }
        return NULL;
}

/* Notes, for every charge under way, whether refusing it now would be right. */
static void note_instants(struct model *model, const struct config *config)
{
        struct world world = { .model = model };

        for (unsigned i = 0; i < config->processes; i++) {
                struct model_process *process = &model->process[i];
                const struct ledger_op *op = &process->op;
                uint64_t alive = 0;

                if (process->phase != PHASE_RUNNING || op->is_attach || (int64_t)op->amount <= 0)
                        continue;
                for (unsigned s = 0; s < config->slots; s++)
                        if (is_live(&world, s))
                                alive += recoverable(s, op->device);
                if (alive + op->amount > limits.device[op->device].limit_bytes)
                        process->was_right = true;
                if (slots.ledger[op->device].used_bytes + op->amount >
                    limits.device[op->device].limit_bytes)
                        process->was_over = true;
        }
}

/* -- moves ----------------------------------------------------------------------------------------
 */

static const char *operation_ended(struct model_process *process, enum ledger_status status)
{
        bool was_right = process->was_right;
        bool was_over = process->was_over;

        process->phase = PHASE_IDLE;
        process->was_right = process->was_over = false;
        if (process->op.is_attach)
                return status == LEDGER_DONE ? NULL : "attach ended otherwise";
        process->left--;
        if (process->recover)
                return "a recover lock was kept";
        if (status == LEDGER_REFUSED && !was_right)
                return "a refusal was never right";
        if (status == LEDGER_GAVE_UP && !was_over)
                return "gave up, but there was room";
        if (status != LEDGER_DONE && (int64_t)process->op.amount <= 0)
                return "a release was refused";
        return NULL;
}

static const char *do_step(struct model *model, const struct config *config,
                           struct model_process *process, struct world *world)
{
        const struct ledger ledger = {
                .slots = &slots, .limits = &limits, .ports = &ports, .context = world
        };
        struct ledger_op *op = &process->op;
        unsigned was_at = op->at;
        struct truth truth;
        const char *broken;

        truth_read(&truth, config);
        enum ledger_status status = ledger_step(op, &ledger);

        if (was_at == AT_READ_LIMIT)
                process->limit_read = model->limit_at;
        if (was_at == AT_SWAP && op->at == AT_WRITE_CHARGE) {
                truth.bytes[op->actor][op->device] += op->delta;
                if ((int64_t)op->delta > 0 &&
                    slots.ledger[op->device].used_bytes > config->limit[process->limit_read])
                        return "a charge went over the limit";
        }
        if (was_at == AT_SWAP || op->at >= AT_PASS_CONFIRM)
                process->limit_read = 0;
        broken = truth_check(&truth, config);
        if (broken)
                return broken;
        note_instants(model, config);
        if (status == LEDGER_MORE)
                return NULL;
        if (status == LEDGER_TAKEN && op->is_attach) {
                process->phase = PHASE_NEW;
                process->slot = (uint8_t)((process->slot + 1) % config->slots);
                return process->recover ? "a recover lock was kept" : NULL;
        }
        return operation_ended(process, status);
}

static void do_free(struct model_process *process, uint8_t *locks)
{
        *locks = 0;
        if (process->live == 0 && process->recover == 0)
                *process = (struct model_process){ .phase = PHASE_GONE };
}

const char *model_do(struct model *model, const struct config *config, struct action action)
{
        struct model_process *process = &model->process[action.process];
        struct world world = { .model = model, .process = process, .answer_retry = true };

        switch ((enum move)action.move) {
        case MOVE_GIVE_UP:
                world.answer_retry = false;
                break;
        case MOVE_STEP:
                if (process->phase == PHASE_NEW)
                        ledger_attach(&process->op, process->slot);
                break;
        case MOVE_CHARGE:
                ledger_charge(&process->op, process->slot, action.device, action.amount);
                break;
        case MOVE_RELEASE:
                ledger_release(&process->op, process->slot, action.device, action.amount);
                break;
        case MOVE_KILL:
                model->killed++;
                process->phase = PHASE_DEAD;
                if (process->live == 0 && process->recover == 0)
                        process->phase = PHASE_GONE;
                return NULL;
        case MOVE_FREE_LIVE:
                do_free(process, &process->live);
                note_instants(model, config);
                return NULL;
        case MOVE_FREE_RECOVER:
                do_free(process, &process->recover);
                return NULL;
        case MOVE_LIMIT:
                model->limit_at++;
                for (unsigned d = 0; d < config->devices; d++)
                        limits.device[d].limit_bytes = config->limit[model->limit_at];
                note_instants(model, config);
                return NULL;
        default:
                return "no such move";
        }
        process->phase = PHASE_RUNNING;
        return do_step(model, config, process, &world);
}

static void add(struct action *ret, unsigned *count, struct action action)
{
        if (*count < MAX_ACTIONS)
                ret[(*count)++] = action;
}

/* What an idle process may ask for. */
static void add_operations(const struct config *config, const struct model_process *process,
                           struct action *ret, unsigned *count)
{
        uint8_t id = ret[*count].process;

        for (uint8_t d = 0; d < config->devices; d++) {
                for (uint8_t amount = 1; amount <= config->charge_max; amount++)
                        add(ret, count, (struct action){ MOVE_CHARGE, id, d, amount });
                uint64_t held = recoverable(process->slot, d);

                for (uint8_t amount = 1; amount <= config->charge_max && amount <= held; amount++)
                        add(ret, count, (struct action){ MOVE_RELEASE, id, d, amount });
        }
}

unsigned model_actions(const struct model *model, const struct config *config,
                       struct action ret[MAX_ACTIONS])
{
        unsigned count = 0;

        for (uint8_t i = 0; i < config->processes; i++) {
                const struct model_process *process = &model->process[i];

                switch (process->phase) {
                case PHASE_RUNNING:
                        add(ret, &count, (struct action){ MOVE_STEP, i, 0, 0 });
                        if (process->op.at == AT_PASS_CHECK)
                                add(ret, &count, (struct action){ MOVE_GIVE_UP, i, 0, 0 });
                        break;
                case PHASE_NEW:
                        add(ret, &count, (struct action){ MOVE_STEP, i, 0, 0 });
                        break;
                case PHASE_IDLE:
                        ret[count].process = i;
                        if (process->left > 0)
                                add_operations(config, process, ret, &count);
                        break;
                default:
                        if (process->live)
                                add(ret, &count, (struct action){ MOVE_FREE_LIVE, i, 0, 0 });
                        if (process->recover)
                                add(ret, &count, (struct action){ MOVE_FREE_RECOVER, i, 0, 0 });
                        continue;
                }
                if (model->killed < config->kills && process->phase != PHASE_NEW)
                        add(ret, &count, (struct action){ MOVE_KILL, i, 0, 0 });
        }
        if (model->limit_at + 1u < config->limits)
                add(ret, &count, (struct action){ MOVE_LIMIT, 0, 0, 0 });
        return count;
}

/* Longer than any operation by itself: three slots, two devices, each to be recovered. */
#define ALONE_STEPS 400

static const char *run_one_alone(struct model *model, const struct config *config, unsigned i)
{
        struct model_process *process = &model->process[i];
        struct world world = { .model = model, .process = process, .answer_retry = true };

        for (unsigned step = 0; step < ALONE_STEPS; step++) {
                const char *broken;

                if (process->phase != PHASE_RUNNING)
                        return NULL;
                world.has_asked_busy = false;
                broken = do_step(model, config, process, &world);
                if (broken || world.has_asked_busy)
                        return broken;
        }
        return "run alone, an operation does not end";
}

const char *model_run_alone(struct model *model, const struct config *config, const uint8_t *packed)
{
        for (unsigned i = 0; i < config->processes; i++) {
                const char *broken;

                model_unpack(model, config, packed);
                broken = run_one_alone(model, config, i);
                if (broken)
                        return broken;
        }
        return NULL;
}
