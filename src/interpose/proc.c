/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are sorted by name, version and thread variant. So the newest row that fits is the last row
 * of its name that is not too new and not an unrequested variant.
 */
#include "interpose/proc.h"

#include "interpose/library.h"

static const char *row_name(const struct api_table *t, const struct proc_row *row)
{
        return t->strings + row->name;
}

/* Returns the first row of a name; NULL: the table has none. */
static const struct proc_row *find_name(const struct api_table *t, const char *name)
{
        for (uint32_t at = api_hash(name);; at++) {
                unsigned number = t->base[at & t->base_mask];

                if (number == 0)
                        return NULL;
                if (text_equals(row_name(t, &t->row[number - 1]), name))
                        return &t->row[number - 1];
        }
}

static bool is_fit(const struct proc_query *q, const struct proc_row *row)
{
        return row->since <= q->version && (!row->is_per_thread || q->is_per_thread);
}

const struct proc_row *proc_find(const struct proc_query *q)
{
        const struct api_table *t = q->api->table;
        const struct proc_row *first = find_name(t, q->name);
        const struct proc_row *newest = NULL;

        /* Equal names have equal offsets in the strings, so the name's rows end at another
         * offset. */
        for (const struct proc_row *row = first; row && row->name == first->name && row->since;
             row++)
                if (is_fit(q, row))
                        newest = row;
        return newest;
}

void *proc_known(const struct proc_query *q, const struct proc_row *row)
{
        const struct api_table *t = q->api->table;

        if (!row || q->version > q->trusted_version)
                return NULL;
        return load_acquire(&t->answer[row - t->row]);
}

static void *answer_of(const struct api *api, unsigned entry, void *address)
{
        return entry_class(api, entry) == ENTRY_PASS ? address : entry_thunk(api, entry);
}

/* Returns the entry whose real function is at `address`, or API_NO_ENTRY. */
static int entry_at(const struct api *api, const void *address)
{
        const struct api_table *t = api->table;

        if (address == (void *)(uintptr_t)api->no_function)
                return API_NO_ENTRY;
        for (unsigned i = 0; i < t->entry_count; i++)
                if (t->slot[i] == address)
                        return (int)i;
        return API_NO_ENTRY;
}

/* Returns the newest row that fits and whose function the driver exports; for when the driver's
 * result is not one of its exports. */
static const struct proc_row *newest_present(const struct proc_query *q, const struct proc_row *row)
{
        const struct api_table *t = q->api->table;

        for (; row >= t->row && text_equals(row_name(t, row), q->name); row--)
                if (is_fit(q, row) && library_has(q->api, row->entry))
                        return row;
        return NULL;
}

void *proc_settle(const struct proc_query *q, const struct proc_row *row, void *address)
{
        const struct api_table *t = q->api->table;
        int entry = API_NO_ENTRY;

        if (row && t->slot[row->entry] == address) {
                void *answer = answer_of(q->api, row->entry, address);

                store_release(&t->answer[row - t->row], answer);
                return answer;
        }
        entry = entry_at(q->api, address);
        if (entry != API_NO_ENTRY)
                return answer_of(q->api, (unsigned)entry, address);
        if (row && q->version > t->version && q->ask(q, t->version) != address)
                return address; /* the driver returned an ABI that is newer than our table */
        row = row ? newest_present(q, row) : NULL;
        return row ? answer_of(q->api, row->entry, address) : address;
}

void *proc_exported(const struct proc_query *q, const struct proc_row *row)
{
        row = row ? newest_present(q, row) : NULL;
        return row ? answer_of(q->api, row->entry, q->api->table->slot[row->entry]) : NULL;
}

bool proc_is_name(const struct proc_query *q)
{
        return find_name(q->api->table, q->name) != NULL;
}
