/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/columns.h"

static int width_of_all(const struct columns *columns)
{
        int sum = -COLUMNS_GAP;

        for (unsigned i = 0; i < columns->count; i++)
                sum += columns->width[i] ? columns->width[i] + COLUMNS_GAP : 0;
        return sum;
}

/* Leaves out one column. False: only columns with rank 0 remain. */
static bool drop_one(struct columns *columns, const struct column *column)
{
        unsigned worst = 0, rank = 0;

        for (unsigned i = 0; i < columns->count; i++) {
                if (!columns->width[i] || column[i].rank <= rank)
                        continue;
                worst = i;
                rank = column[i].rank;
        }
        if (rank > 0)
                columns->width[worst] = 0;
        return rank > 0;
}

/* Gives the remaining cells, at most a few hundred, one by one to the column that has the least
 * width for its weight. */
static void widen_columns(struct columns *columns, const struct column *column, int left)
{
        for (; left > 0; left--) {
                int best = -1;

                for (unsigned i = 0; i < columns->count; i++) {
                        if (!columns->width[i] || columns->width[i] >= column[i].most)
                                continue;
                        if (best < 0 ||
                            (columns->width[i] - column[i].least) * column[best].weight <
                                    (columns->width[best] - column[best].least) * column[i].weight)
                                best = (int)i;
                }
                if (best < 0)
                        return;
                columns->width[best]++;
        }
}

void columns_fit(struct columns *ret, const struct column *column, unsigned count, int width)
{
        struct columns columns = { .count = count };
        int begin = 0;

        for (unsigned i = 0; i < count; i++)
                columns.width[i] = column[i].least;
        while (width_of_all(&columns) > width && drop_one(&columns, column))
                ;
        widen_columns(&columns, column, width - width_of_all(&columns));
        for (unsigned i = 0; i < count; i++) {
                columns.begin[i] = begin;
                begin += columns.width[i] ? columns.width[i] + COLUMNS_GAP : 0;
        }
        *ret = columns;
}
