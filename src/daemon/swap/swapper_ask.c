/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the daemon's event loop calls: they add and remove entries, and copy states.
 * Each takes the lock, and none waits for the thread, which carries out requests in its next pass.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/minmax.h"
#include "daemon/swap/swapper_parts.h"

int swapper_fd(const struct swapper *self)
{
        return self->told;
}

static bool is_given(const struct swapper *self, unsigned at)
{
        static const uint8_t nobody[16];

        return memcmp(self->card[at].gpu, nobody, sizeof(nobody)) != 0;
}

/* Returns the index of a GPU. A new GPU gets an index that no GPU had before, so that the
 * settings of a known GPU remain until its first session is added; if there is none, it gets the
 * index of a GPU without sessions. SWAP_CARDS: there is none, because GPUs that are gone still
 * have sessions. */
static unsigned card_of(struct swapper *self, const uint8_t gpu[16])
{
        unsigned spare = SWAP_CARDS;

        for (unsigned i = 0; i < SWAP_CARDS; i++) {
                if (memcmp(self->card[i].gpu, gpu, sizeof(self->card[i].gpu)) == 0)
                        return i;
                if (self->card[i].entries)
                        continue;
                if (spare == SWAP_CARDS || (is_given(self, spare) && !is_given(self, i)))
                        spare = i;
        }
        if (spare < SWAP_CARDS) {
                self->card[spare] = (struct swapper_card){ .entries = 0 };
                memcpy(self->card[spare].gpu, gpu, sizeof(self->card[spare].gpu));
        }
        return spare;
}

void swapper_give(struct swapper *self, const uint8_t gpu[16], uint64_t capacity_bytes)
{
        bool is_news = false;
        unsigned at;

        pthread_mutex_lock(&self->lock);
        at = card_of(self, gpu);
        if (at < SWAP_CARDS) {
                is_news = self->card[at].entries && self->card[at].capacity_bytes != capacity_bytes;
                self->card[at].capacity_bytes = capacity_bytes;
        }
        pthread_mutex_unlock(&self->lock);
        if (is_news)
                swapper_ring(self);
}

void swapper_rule(struct swapper *self, const struct swap_rules *rules)
{
        pthread_mutex_lock(&self->lock);
        self->rules = *rules;
        pthread_mutex_unlock(&self->lock);
        swapper_ring(self);
}

struct swap_rules swapper_rules(struct swapper *self)
{
        struct swap_rules rules;

        pthread_mutex_lock(&self->lock);
        rules = self->rules;
        pthread_mutex_unlock(&self->lock);
        return rules;
}

static struct swapper_entry *find_entry(struct swapper *self, const uint8_t id[16])
{
        for (unsigned i = 0; i < self->entries; i++) {
                struct swapper_entry *entry = &self->entry[i];

                if (entry->is_taken && entry->wish != WISH_DROP &&
                    memcmp(entry->id, id, sizeof(entry->id)) == 0)
                        return entry;
        }
        return NULL;
}

/* Updates the session's entry. False: it has none, or its files were replaced. */
static bool change_entry(struct swapper *self, const struct sessions_one *session)
{
        struct swapper_entry *entry;

        pthread_mutex_lock(&self->lock);
        entry = find_entry(self, session->id);
        if (entry && !pages_are_current(entry->pages, self->store, session)) {
                entry->wish = WISH_DROP;
                self->count--;
                entry = NULL;
        }
        if (entry) {
                entry->class = session->priority;
                entry->ceiling_bytes = session->share[0].ceiling_bytes;
        }
        pthread_mutex_unlock(&self->lock);
        return entry != NULL;
}

static int seat(struct swapper *self, const struct sessions_one *session, struct pages *pages,
                struct error *err)
{
        unsigned at = 0, card;
        struct swapper_entry *entry;

        pthread_mutex_lock(&self->lock);
        card = card_of(self, session->share[0].uuid);
        while (at < SWAP_SESSIONS && self->entry[at].is_taken)
                at++;
        if (card == SWAP_CARDS || at == SWAP_SESSIONS) {
                pthread_mutex_unlock(&self->lock);
                return fail(err, -ENOSPC, "no place is free for it until others have ended");
        }
        entry = &self->entry[at];
        *entry = (struct swapper_entry){ .is_taken = true,
                                         .wish = WISH_ADD,
                                         .card = (uint8_t)card,
                                         .class = session->priority,
                                         .ceiling_bytes = session->share[0].ceiling_bytes,
                                         .pages = pages };
        memcpy(entry->id, session->id, sizeof(entry->id));
        self->entries = max_u32(self->entries, at + 1);
        self->card[card].entries++;
        self->count++;
        pthread_mutex_unlock(&self->lock);
        return 0;
}

int swapper_put(struct swapper *self, const struct sessions_one *session, unsigned most,
                struct error *err)
{
        struct pages *pages;
        int rc = swapper_run(self, err);

        if (rc == 0 && !change_entry(self, session)) {
                if (self->count >= most)
                        return fail(err, -EMFILE, "%u sessions that swap are open (RLIMIT_NOFILE)",
                                    self->count);
                rc = pages_open(&pages, self->store, session, err);
                if (rc < 0)
                        return rc;
                rc = seat(self, session, pages, err);
                if (rc < 0)
                        pages_close(pages);
        }
        if (rc == 0)
                swapper_ring(self);
        return rc;
}

void swapper_drop(struct swapper *self, const uint8_t id[16])
{
        struct swapper_entry *entry;

        pthread_mutex_lock(&self->lock);
        entry = find_entry(self, id);
        if (entry) {
                entry->wish = WISH_DROP;
                self->count--;
        }
        pthread_mutex_unlock(&self->lock);
        if (entry)
                swapper_ring(self);
}

bool swapper_read(struct swapper *self, const uint8_t id[16], struct swapper_view *ret)
{
        const struct swapper_entry *entry;
        bool is_seen;

        if (!self)
                return false;
        pthread_mutex_lock(&self->lock);
        entry = find_entry(self, id);
        is_seen = entry && entry->is_seen;
        if (is_seen)
                *ret = entry->view;
        pthread_mutex_unlock(&self->lock);
        return is_seen;
}

/* Returns one report about the entry, if there is one. */
static bool take_news(struct swapper_entry *entry, struct swapper_stuck *ret)
{
        bool is_stuck = entry->view.stuck != entry->told_stuck;

        if (!entry->is_taken || (!is_stuck && !entry->is_overdue))
                return false;
        *ret = (struct swapper_stuck){ .is_overdue = !is_stuck };
        memcpy(ret->id, entry->id, sizeof(ret->id));
        if (is_stuck)
                entry->told_stuck++;
        else
                entry->is_overdue = false;
        return true;
}

bool swapper_next_stuck(struct swapper *self, struct swapper_stuck *ret)
{
        uint64_t count;
        bool is_found = false;

        if (read(self->told, &count, sizeof(count)) < 0 && errno != EAGAIN)
                return false;
        pthread_mutex_lock(&self->lock);
        for (unsigned i = 0; i < self->entries && !is_found; i++)
                is_found = take_news(&self->entry[i], ret);
        pthread_mutex_unlock(&self->lock);
        return is_found;
}
