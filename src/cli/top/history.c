/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/history.h"

void history_add(struct history *history, unsigned permille)
{
        history->permille[history->count++ % HISTORY_SAMPLES] = (uint16_t)permille;
}

int history_cell(const struct history *history, unsigned cells, unsigned at)
{
        uint64_t span = (HISTORY_SAMPLES + cells - 1) / cells;
        uint64_t oldest = history->count > HISTORY_SAMPLES ? history->count - HISTORY_SAMPLES : 0;
        /* number of complete spans between this cell and the newest one */
        uint64_t back = (uint64_t)cells - 1 - at;
        int most = -1;
        uint64_t first, end;

        if (history->count == 0 || (history->count - 1) / span < back)
                return -1;
        first = ((history->count - 1) / span - back) * span;
        end = first + span < history->count ? first + span : history->count;
        for (uint64_t i = first < oldest ? oldest : first; i < end; i++) {
                int permille = history->permille[i % HISTORY_SAMPLES];

                most = permille > most ? permille : most;
        }
        return most;
}
