/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States as bytes: the pages and the processes into as few as will do, and back.
 *
 * Two reductions, both off under --raw. Processes are interchangeable, so their records are
 * sorted. Of an operation under way, what no later step reads before it writes it is zero: the
 * table says which variables live at which step, and an error in it would lose behaviour, which
 * is what --raw is there to show.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static uint8_t tag_pack(uint64_t tag)
{
        uint64_t seq = tag & LEDGER_SEQ_MASK;

        if (seq > 63 || tag >> LEDGER_SEQ_BITS > 3)
                abort();
        return (uint8_t)(tag >> LEDGER_SEQ_BITS << 6 | seq);
}

static uint64_t tag_unpack(uint8_t packed)
{
        return (uint64_t)(packed >> 6) << LEDGER_SEQ_BITS | (packed & 63);
}

/* Which variables of an operation a later step may read before it writes them. */
enum live {
        LIVE_DELTA = 1,
        LIVE_SEQ = 2,
        LIVE_TAG = 4,
        LIVE_USED = 8,
        LIVE_SCRATCH = 16,
        LIVE_ACTOR = 32,
        LIVE_READ = LIVE_DELTA | LIVE_SEQ | LIVE_TAG | LIVE_USED | LIVE_ACTOR
};

static const uint8_t live_at[] = {
        [AT_BEGIN] = LIVE_ACTOR,
        [AT_WRITE_DELTA] = LIVE_DELTA | LIVE_SEQ | LIVE_ACTOR,
        [AT_WRITE_SEQ] = LIVE_DELTA | LIVE_SEQ | LIVE_ACTOR,
        [AT_READ_TAG] = LIVE_DELTA | LIVE_SEQ | LIVE_ACTOR,
        [AT_READ_USED] = LIVE_DELTA | LIVE_SEQ | LIVE_TAG | LIVE_ACTOR,
        [AT_READ_LIMIT] = LIVE_READ,
        [AT_READ_DONE] = LIVE_READ,
        [AT_RAISE_DONE] = LIVE_READ | LIVE_SCRATCH,
        [AT_SWAP] = LIVE_READ,
        [AT_WRITE_CHARGE] = LIVE_SEQ | LIVE_ACTOR,
        [AT_WRITE_COMMITTED] = LIVE_SEQ | LIVE_ACTOR,
        [AT_PASS_CONFIRM] = LIVE_READ,
        [AT_PASS_HIGH] = 0,
        [AT_PASS_COMMITTED] = LIVE_ACTOR,
        [AT_PASS_CHARGE] = LIVE_ACTOR | LIVE_SCRATCH,
        [AT_PASS_SEQ] = LIVE_ACTOR | LIVE_SCRATCH,
        [AT_PASS_LIVE] = LIVE_ACTOR,
        [AT_PASS_TRY] = LIVE_ACTOR,
        [AT_PASS_LIVE_AGAIN] = LIVE_ACTOR,
        [AT_PASS_END] = LIVE_ACTOR,
        [AT_PASS_CHECK] = 0,
        [AT_RECOVER_TAG] = LIVE_SEQ | LIVE_ACTOR,
        [AT_RECOVER_DONE] = LIVE_SEQ | LIVE_ACTOR,
        [AT_RECOVER_CHARGE] = LIVE_SEQ | LIVE_ACTOR,
        [AT_RECOVER_COMMITTED] = LIVE_SEQ | LIVE_ACTOR,
        [AT_ATTACH_TRY] = LIVE_ACTOR,
        [AT_ATTACH_LIVE] = LIVE_ACTOR,
        [AT_ATTACH_HIGH] = LIVE_ACTOR,
        [AT_ATTACH_RAISE] = LIVE_ACTOR | LIVE_SCRATCH,
        [AT_ATTACH_TAKE] = LIVE_ACTOR,
        [AT_ATTACH_END] = LIVE_ACTOR,
        [AT_ATTACH_LOSE] = LIVE_ACTOR,
        [AT_REFUSE] = 0,
};

/* A charge looks for the dead: what the refusal would rest on is live. */
static bool is_passing(const struct ledger_op *op)
{
        if (op->is_attach)
                return false;
        return op->actor != op->self || (op->at >= AT_PASS_HIGH && op->at <= AT_PASS_CHECK);
}

static void pack_op(const struct ledger_op *op, bool is_raw, uint8_t *ret)
{
        unsigned live = is_raw ? 63 : live_at[op->at];
        bool is_pass = is_raw || op->at == AT_PASS_CHECK || is_passing(op);

        ret[4] = op->at;
        ret[5] = (uint8_t)(op->device | op->is_attach << 1 | (is_pass && op->is_busy) << 2);
        ret[6] = (uint8_t)((live & LIVE_ACTOR ? op->actor & 15 : 0) | (is_pass ? op->high & 15 : 0)
                                                                              << 4);
        ret[7] = (uint8_t)op->amount;
        ret[8] = live & LIVE_DELTA ? (uint8_t)op->delta : 0;
        ret[9] = live & LIVE_SEQ ? (uint8_t)op->seq : 0;
        ret[10] = live & LIVE_TAG ? tag_pack(op->tag) : 0;
        ret[11] = live & LIVE_USED ? (uint8_t)op->used : 0;
        ret[12] = is_pass ? tag_pack(op->seen) : 0;
        ret[13] = live & LIVE_SCRATCH ? (uint8_t)op->scratch : 0;
}

static void unpack_op(struct ledger_op *op, uint8_t slot, const uint8_t *packed)
{
        *op = (struct ledger_op){
                .at = packed[4],
                .device = packed[5] & 1,
                .is_attach = packed[5] >> 1 & 1,
                .is_busy = packed[5] >> 2 & 1,
                .self = slot,
                .actor = packed[6] & 15,
                .high = packed[6] >> 4,
                .amount = (uint64_t)(int8_t)packed[7],
                .delta = (uint64_t)(int8_t)packed[8],
                .seq = packed[9],
                .tag = tag_unpack(packed[10]),
                .used = packed[11],
                .seen = tag_unpack(packed[12]),
                .scratch = packed[13],
        };
}

static void pack_process(const struct model_process *process, const struct config *config,
                         uint8_t *ret)
{
        memset(ret, 0, PROCESS_BYTES);
        ret[0] = (uint8_t)process->phase;
        if (process->phase == PHASE_GONE)
                return;
        ret[2] = (uint8_t)(process->live | process->recover << 4);
        if (process->phase == PHASE_DEAD)
                return;
        ret[1] = (uint8_t)(process->left | process->slot << 4);
        if (process->phase != PHASE_RUNNING)
                return;
        ret[3] = (uint8_t)(process->was_right | process->was_over << 1 | process->limit_read << 2);
        pack_op(&process->op, config->is_raw, ret);
}

static void unpack_process(struct model_process *process, const uint8_t *packed)
{
        *process = (struct model_process){
                .phase = packed[0],
                .left = packed[1] & 15,
                .slot = packed[1] >> 4,
                .live = packed[2] & 15,
                .recover = packed[2] >> 4,
                .was_right = packed[3] & 1,
                .was_over = packed[3] >> 1 & 1,
                .limit_read = packed[3] >> 2,
        };
        unpack_op(&process->op, process->slot, packed);
}

unsigned model_bytes(const struct config *config)
{
        unsigned bytes = config->processes * PROCESS_BYTES + config->devices * 2 +
                         config->slots * config->devices * 6 + 2;

        return (bytes + 7) & ~7u;
}

static void sort_processes(uint8_t *packed, unsigned count)
{
        for (unsigned i = 1; i < count; i++)
                for (unsigned j = i; j > 0; j--) {
                        uint8_t *low = packed + (j - 1) * PROCESS_BYTES;
                        uint8_t swap[PROCESS_BYTES];

                        if (memcmp(low, low + PROCESS_BYTES, PROCESS_BYTES) <= 0)
                                break;
                        memcpy(swap, low, PROCESS_BYTES);
                        memcpy(low, low + PROCESS_BYTES, PROCESS_BYTES);
                        memcpy(low + PROCESS_BYTES, swap, PROCESS_BYTES);
                }
}

static void pack_row(const struct page_row *row, uint8_t *ret)
{
        ret[0] = (uint8_t)row->seq;
        ret[1] = (uint8_t)row->delta;
        ret[2] = (uint8_t)row->charge[0];
        ret[3] = (uint8_t)row->charge[1];
        ret[4] = (uint8_t)row->committed;
        ret[5] = (uint8_t)row->done;
}

static void unpack_row(struct page_row *row, const uint8_t *packed)
{
        row->seq = packed[0];
        row->delta = (uint64_t)(int8_t)packed[1];
        row->charge[0] = (uint64_t)(int8_t)packed[2];
        row->charge[1] = (uint64_t)(int8_t)packed[3];
        row->committed = packed[4];
        row->done = packed[5];
}

void model_pack(const struct model *model, const struct config *config, uint8_t *ret)
{
        uint8_t *p = ret;

        memset(ret, 0, model_bytes(config));
        for (unsigned i = 0; i < config->processes; i++, p += PROCESS_BYTES)
                pack_process(&model->process[i], config, p);
        if (!config->is_raw)
                sort_processes(ret, config->processes);
        for (unsigned d = 0; d < config->devices; d++) {
                *p++ = (uint8_t)slots.ledger[d].used_bytes;
                *p++ = tag_pack(slots.ledger[d].tag);
                for (unsigned s = 0; s < config->slots; s++, p += 6)
                        pack_row(&slots.row[s][d], p);
        }
        *p++ = (uint8_t)(slots.slots_high | model->limit_at << 4);
        *p++ = model->killed;
}

void model_unpack(struct model *model, const struct config *config, const uint8_t *packed)
{
        const uint8_t *p = packed;

        *model = (struct model){ 0 };
        for (unsigned i = 0; i < config->processes; i++, p += PROCESS_BYTES)
                unpack_process(&model->process[i], p);
        for (unsigned d = 0; d < config->devices; d++) {
                slots.ledger[d].used_bytes = *p++;
                slots.ledger[d].tag = tag_unpack(*p++);
                for (unsigned s = 0; s < config->slots; s++, p += 6)
                        unpack_row(&slots.row[s][d], p);
        }
        slots.slots_high = *p & 15;
        model->limit_at = *p++ >> 4;
        model->killed = *p++;
        for (unsigned d = 0; d < config->devices; d++)
                limits.device[d].limit_bytes = config->limit[model->limit_at];
}
