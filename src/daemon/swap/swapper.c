/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/swap/swapper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/random.h"
#include "common/sums.h"
#include "daemon/base/thread.h"
#include "daemon/swap/swapper_parts.h"

/* The thread uses at most 1/WORK_PART of a processor, however many sessions there are and however
 * long reading their pages takes. */
#define WORK_PART 4u
/* Maximum number of sessions in one pass for which dead slots are read; the next pass continues
 * with the session after the last one. */
#define WALKS_MAX 8u
/* A session may have 1/PINNED_PARTS of the card as pinned memory, which cannot be moved to the
 * host. */
#define PINNED_PARTS 4u
#define PINNED_STAYS_NS UINT64_C(100000000)

void swapper_ring(struct swapper *self)
{
        add_acq_rel(&self->bell, 1);
        clock_wake(&self->bell, 1);
}

/* -- The thread ------------------------------------------------------------------------------- */

static void add_session(struct swapper *self, unsigned at)
{
        struct swapper_entry *entry = &self->entry[at];

        swap_add(&self->swap, at, entry->card, entry->class, pages_gate(entry->pages));
        self->holder[at] = (struct holder){ .pages = entry->pages };
}

/* Frees the entry and returns its pages. The caller closes them after it has released the lock,
 * because closing them may wait. */
static struct pages *remove_entry(struct swapper *self, unsigned at)
{
        struct swapper_entry *entry = &self->entry[at];
        struct pages *pages = entry->pages;

        if (self->holder[at].pages)
                swap_remove(&self->swap, at);
        self->holder[at] = (struct holder){ 0 };
        self->card[entry->card].entries--;
        *entry = (struct swapper_entry){ 0 };
        return pages;
}

/* Carries out what the event loop has requested since the last pass. */
static void take_wishes(struct swapper *self)
{
        pthread_mutex_lock(&self->lock);
        self->swap.rules = self->rules;
        for (unsigned i = 0; i < SWAP_CARDS; i++)
                self->swap.card[i].capacity_bytes = self->card[i].capacity_bytes;
        for (unsigned i = 0; i < self->entries; i++) {
                struct swapper_entry *entry = &self->entry[i];
                struct pages *closed = NULL;

                if (entry->wish == WISH_DROP)
                        closed = remove_entry(self, i);
                else if (entry->wish == WISH_ADD)
                        add_session(self, i);
                else if (self->holder[i].pages)
                        swap_rank(&self->swap, i, entry->class);
                self->holder[i].ceiling_bytes = entry->ceiling_bytes;
                entry->wish = WISH_NOTHING;
                if (!closed)
                        continue;
                pthread_mutex_unlock(&self->lock);
                pages_close(closed);
                pthread_mutex_lock(&self->lock);
        }
        pthread_mutex_unlock(&self->lock);
}

/* Whether the slots of dead processes of this session may be read in this pass. A pass reads those
 * of at most WALKS_MAX sessions. If it reached that maximum, the next pass continues with the
 * session after the last one. */
static bool may_walk(const struct swapper *self, unsigned at)
{
        return self->walks < WALKS_MAX && at >= self->walk_from;
}

/* Returns the pinned bytes that count for a session. Pinned bytes keep other sessions off the
 * card, and an honest library pins no more than was granted. For a moment more may be seen,
 * because charging or releasing a swappable block updates two rows. So a higher value counts
 * only when it has lasted for PINNED_STAYS_NS; until then the previous value counts. Then it is
 * memory that the driver allocated by itself, or a false claim, and it counts up to the
 * session's part of the card. */
static uint64_t pinned_bytes(struct holder *holder, const struct swap_session *session,
                             uint64_t part_bytes, uint64_t seen_bytes, uint64_t now_ns)
{
        uint64_t granted_bytes = session->order.pinned_bytes;

        if (seen_bytes <= granted_bytes)
                holder->over_ns = 0;
        else if (!holder->over_ns)
                holder->over_ns = now_ns;
        if (!session->is_told || !holder->over_ns || now_ns - holder->over_ns >= PINNED_STAYS_NS)
                holder->pinned_bytes = min_u64(seen_bytes, max_u64(granted_bytes, part_bytes));
        return min_u64(holder->pinned_bytes, seen_bytes);
}

/* Limits what the session claims: the ledger counts only up to the ceiling with which the session
 * was admitted, and pinned bytes only as pinned_bytes() says. */
static void bound(struct holder *holder, const struct swap *swap,
                  const struct swap_session *session, uint64_t now_ns, struct swap_seen *seen)
{
        uint64_t part_bytes = swap->card[session->card].capacity_bytes / PINNED_PARTS;
        uint64_t pinned;

        seen->used_bytes = min_u64(seen->used_bytes, holder->ceiling_bytes);
        pinned = difference_of(seen->used_bytes, seen->swappable_bytes);
        seen->swappable_bytes =
                seen->used_bytes - pinned_bytes(holder, session, part_bytes, pinned, now_ns);
        seen->wished_pinned_bytes = min_u64(seen->wished_pinned_bytes, part_bytes);
}

static void look_at_session(struct swapper *self, unsigned at, uint64_t now_ns)
{
        const struct swap_session *session = &self->swap.session[at];
        const struct pages_about about = {
                .gate = session->state == SWAP_DRAINS ? session->order.gate : 0,
                .may_walk = may_walk(self, at),
                .now_ns = now_ns,
        };
        struct swap_seen seen;

        if (pages_look(self->holder[at].pages, &about, &seen)) {
                self->walks++;
                self->walk_from = at + 1;
        }
        bound(&self->holder[at], &self->swap, session, now_ns, &seen);
        swap_see(&self->swap, at, &seen);
}

static void look_at_all(struct swapper *self, uint64_t now_ns)
{
        self->walks = 0;
        for (unsigned i = 0; i < self->swap.entries; i++) {
                if (self->holder[i].pages)
                        look_at_session(self, i, now_ns);
        }
        if (self->walks < WALKS_MAX)
                self->walk_from = 0;
}

static void write_all(struct swapper *self, uint64_t began_ns)
{
        for (unsigned i = 0; i < self->swap.entries; i++) {
                const struct swap_session *session = &self->swap.session[i];

                if (self->holder[i].pages)
                        pages_write(self->holder[i].pages, &session->order,
                                    session->is_asked ? 0 : began_ns);
        }
}

/* Copies the session's state for swapper_read(). Returns whether it got stuck, or became overdue,
 * since the last pass. */
static bool publish_view(struct swapper_entry *entry, const struct swap_session *session,
                         struct holder *holder)
{
        bool is_stuck = session->stuck_ns != 0, is_news = is_stuck && !holder->was_stuck;

        bool is_late = session->is_overdue && !holder->was_overdue;

        holder->was_stuck = is_stuck;
        if (session->state == SWAP_RUNS)
                holder->hold_from_ns = session->held_ns;
        holder->was_overdue = session->is_overdue;
        entry->is_overdue = session->is_overdue && (entry->is_overdue || is_late);
        entry->view = (struct swapper_view){ .state = session->state,
                                             .is_stuck = is_stuck,
                                             .holds = session->holds,
                                             .held_ns = session->held_ns,
                                             .hold_ns = session->held_ns - holder->hold_from_ns,
                                             .moved_bytes = session->moved_bytes,
                                             .stuck = entry->view.stuck + is_news };
        entry->is_seen = true;
        return is_news || is_late;
}

static void show_all(struct swapper *self)
{
        const uint64_t one = 1;
        bool is_news = false;

        pthread_mutex_lock(&self->lock);
        for (unsigned i = 0; i < self->swap.entries; i++) {
                struct holder *holder = &self->holder[i];

                if (holder->pages)
                        is_news |= publish_view(&self->entry[i], &self->swap.session[i], holder);
        }
        pthread_mutex_unlock(&self->lock);
        if (is_news && write(self->told, &one, sizeof(one)) < 0)
                return; /* the counter has its maximum, so the descriptor is readable already */
}

/* Runs one pass; returns when the next is due. */
static uint64_t run_pass(struct swapper *self)
{
        uint64_t began_ns = clock_now_ns(), now_ns, due_ns;

        take_wishes(self);
        look_at_all(self, began_ns);
        now_ns = clock_now_ns();
        swap_step(&self->swap, now_ns);
        write_all(self, began_ns);
        show_all(self);
        due_ns = swap_next_ns(&self->swap);
        now_ns = clock_now_ns();
        if (clock_is_machine())
                due_ns = max_u64(due_ns, now_ns + (now_ns - began_ns) * (WORK_PART - 1));
        return due_ns;
}

static bool is_ending(struct swapper *self)
{
        bool is_ending;

        pthread_mutex_lock(&self->lock);
        is_ending = self->is_ending;
        pthread_mutex_unlock(&self->lock);
        return is_ending;
}

static void *run_swapper(void *argument)
{
        struct swapper *self = argument;

        clock_join(TIME_BACKGROUND);
        /* so that sessions added from now on have not waited yet */
        self->swap.now_ns = clock_now_ns();
        while (!is_ending(self)) {
                uint32_t bell = load_acquire(&self->bell);
                uint64_t due_ns = run_pass(self);

                clock_wait(&self->bell, bell, due_ns);
        }
        clock_leave();
        return NULL;
}

/* -- Start and stop --------------------------------------------------------------------------- */

int swapper_run(struct swapper *self, struct error *err)
{
        int rc;

        if (self->has_thread)
                return 0;
        rc = thread_start(&self->thread, "aliquot-swap", run_swapper, self);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "the thread that deals turns of memory: %m");
        }
        self->has_thread = true;
        return 0;
}

int swapper_start(struct swapper **ret, const struct store *store, struct error *err)
{
        struct swapper *self = calloc(1, sizeof(*self));
        int rc;

        if (!self)
                return fail(err, -ENOMEM, "out of memory");
        rc = random_fill(&self->swap.gates, sizeof(self->swap.gates), err);
        if (rc < 0) {
                free(self);
                return rc;
        }
        /* Begins at a random number, because a session's page may have the number of a hold by an
         * earlier daemon. */
        self->swap.gates >>= 1;
        self->store = store;
        self->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (self->told < 0) {
                rc = fail(err, -errno, "eventfd: %m");
                free(self);
                return rc;
        }
        pthread_mutex_init(&self->lock, NULL);
        *ret = self;
        return 0;
}

void swapper_stop(struct swapper *self)
{
        if (!self)
                return;
        pthread_mutex_lock(&self->lock);
        self->is_ending = true;
        pthread_mutex_unlock(&self->lock);
        swapper_ring(self);
        if (self->has_thread)
                pthread_join(self->thread, NULL);
        for (unsigned i = 0; i < self->entries; i++) {
                if (self->entry[i].pages)
                        pages_close(self->entry[i].pages);
        }
        pthread_mutex_destroy(&self->lock);
        close(self->told);
        free(self);
}
