/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line a state, for traces: the words, the rows, and where each process is.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model.h"

static const char *const names[] = {
        [AT_BEGIN] = "begin",
        [AT_WRITE_DELTA] = "write delta",
        [AT_WRITE_SEQ] = "write seq",
        [AT_READ_TAG] = "read tag",
        [AT_READ_USED] = "read used",
        [AT_READ_LIMIT] = "read limit",
        [AT_READ_DONE] = "read done",
        [AT_RAISE_DONE] = "raise done",
        [AT_SWAP] = "swap",
        [AT_WRITE_CHARGE] = "write charge",
        [AT_WRITE_COMMITTED] = "write committed",
        [AT_PASS_CONFIRM] = "pass: confirm",
        [AT_PASS_HIGH] = "pass: read high",
        [AT_PASS_COMMITTED] = "pass: read committed",
        [AT_PASS_CHARGE] = "pass: read charge",
        [AT_PASS_SEQ] = "pass: read seq",
        [AT_PASS_LIVE] = "pass: probe",
        [AT_PASS_TRY] = "pass: try recover",
        [AT_PASS_LIVE_AGAIN] = "pass: probe again",
        [AT_PASS_END] = "pass: end recover",
        [AT_PASS_CHECK] = "pass: check",
        [AT_RECOVER_TAG] = "recover: read tag",
        [AT_RECOVER_DONE] = "recover: read done",
        [AT_RECOVER_CHARGE] = "recover: write charge",
        [AT_RECOVER_COMMITTED] = "recover: write committed",
        [AT_ATTACH_TRY] = "attach: try recover",
        [AT_ATTACH_LIVE] = "attach: probe",
        [AT_ATTACH_HIGH] = "attach: read high",
        [AT_ATTACH_RAISE] = "attach: raise high",
        [AT_ATTACH_TAKE] = "attach: take live",
        [AT_ATTACH_END] = "attach: end recover",
        [AT_ATTACH_LOSE] = "attach: lose",
        [AT_REFUSE] = "refuse",
};

const char *model_step_name(unsigned at)
{
        return at < sizeof(names) / sizeof(names[0]) && names[at] ? names[at] : "?";
}

static void print_process(const struct model_process *process)
{
        static const char *const phases[] = { "new", "", "idle", "dead", "gone" };
        const struct ledger_op *op = &process->op;

        fprintf(stderr, " | %s", phases[process->phase]);
        if (process->phase == PHASE_RUNNING)
                fprintf(stderr, "%+" PRId64 " as %u on %u, next: %s", (int64_t)op->amount,
                        op->actor, op->device, model_step_name(op->at));
        fprintf(stderr, " (slot %u, live %x, recover %x%s)", process->slot, process->live,
                process->recover, process->was_right ? ", right" : "");
}

void model_print(const struct model *model, const struct config *config)
{
        for (unsigned d = 0; d < config->devices; d++) {
                const struct page_ledger *word = &slots.ledger[d];

                fprintf(stderr, "[used %" PRIu64 " tag %u:%" PRIu64 "]", word->used_bytes,
                        (unsigned)(word->tag >> LEDGER_SEQ_BITS), word->tag & LEDGER_SEQ_MASK);
                for (unsigned s = 0; s < config->slots; s++) {
                        const struct page_row *row = &slots.row[s][d];

                        fprintf(stderr,
                                " %u{seq %" PRIu64 " %+" PRId64 " charge %" PRId64 ",%" PRId64
                                " committed %" PRIu64 " done %" PRIu64 "}",
                                s, row->seq, (int64_t)row->delta, (int64_t)row->charge[0],
                                (int64_t)row->charge[1], row->committed, row->done);
                }
        }
        for (unsigned i = 0; i < config->processes; i++)
                print_process(&model->process[i]);
        fprintf(stderr, " limit %u\n", config->limit[model->limit_at]);
}
