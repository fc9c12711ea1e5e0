/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/hunt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/atomic.h"
#include "daemon/base/owner_log.h"
#include "daemon/processes/victim.h"

enum order_state { ORDER_NONE, ORDER_WAITS, ORDER_BEGUN };

struct hunt_order {
        enum order_state state;
        /* id of the session, because the table entry may belong to another session by now */
        uint8_t id[16];
        uint64_t payer; /* sessions_payer() */
        struct folder_signal signal;
};

/* What a child reports while it works. */
struct progress {
        struct victim_walk walk;
        _Atomic uint8_t is_done[SESSIONS_MAX]; /* by session index: the order was carried out */
};

/* The child that searches for the processes of one owner's sessions. The entry remains the owner's
 * until another owner needs it, so that the next child knows where the last one got stuck. */
struct hunt {
        uint64_t payer; /* sessions_payer() */
        struct aside aside;
        unsigned cuts;             /* children in a row that were killed because they got stuck */
        struct progress *progress; /* memory that is shared with the child */
};

struct hunts {
        const struct sessions *sessions;
        const struct store *store;
        unsigned waiting, running, used;
        unsigned from; /* session index at which the next search for a waiting order begins */
        struct hunt hunt[HUNTS_MAX];
        struct owner_log log;
        struct progress *progress;
        struct hunt_order order[SESSIONS_MAX];
};

struct hunts *hunts_new(const struct sessions *sessions, const struct store *store)
{
        struct hunts *hunts = calloc(1, sizeof(*hunts));

        if (!hunts)
                return NULL;
        hunts->log = (struct owner_log)OWNER_LOG_TROUBLE;
        hunts->sessions = sessions;
        hunts->store = store;
        hunts->progress = mmap(NULL, HUNTS_MAX * sizeof(struct progress), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (hunts->progress == MAP_FAILED) {
                free(hunts);
                return NULL;
        }
        for (unsigned i = 0; i < HUNTS_MAX; i++)
                hunts->hunt[i].progress = &hunts->progress[i];
        return hunts;
}

void hunts_free(struct hunts *hunts)
{
        if (!hunts)
                return;
        for (unsigned i = 0; i < hunts->used; i++)
                aside_end(&hunts->hunt[i].aside);
        munmap(hunts->progress, HUNTS_MAX * sizeof(struct progress));
        free(hunts);
}

bool hunts_are_on(const struct hunts *hunts)
{
        return hunts->waiting || hunts->running;
}

/* -- Orders ----------------------------------------------------------------------------------- */

static const struct sessions_one *session_of(const struct hunts *hunts,
                                             const struct hunt_order *order)
{
        const struct sessions_one *session = &hunts->sessions->session[order - hunts->order];

        return session->state != SESSIONS_FREE &&
                               memcmp(session->id, order->id, sizeof(order->id)) == 0
                       ? session
                       : NULL;
}

void hunts_order(struct hunts *hunts, const struct sessions_one *session,
                 const struct folder_signal *signal)
{
        struct hunt_order *order = &hunts->order[session - hunts->sessions->session];
        int number = signal->number;

        /* A later order does not replace SIGKILL with a milder signal. */
        if (session_of(hunts, order) && order->state != ORDER_NONE &&
            order->signal.number == SIGKILL)
                number = SIGKILL;
        hunts->waiting += order->state != ORDER_WAITS;
        *order = (struct hunt_order){ .state = ORDER_WAITS,
                                      .payer = sessions_payer(session),
                                      .signal = { number, signal->is_repeated } };
        memcpy(order->id, session->id, sizeof(order->id));
}

/* -- The child -------------------------------------------------------------------------------- */

static void carry_out_orders(const struct hunts *hunts, const struct hunt *hunt)
{
        struct progress *progress = hunt->progress;

        for (unsigned i = 0; i < hunts->sessions->entries; i++) {
                const struct hunt_order *order = &hunts->order[i];
                const struct sessions_one *session = session_of(hunts, order);

                if (order->state != ORDER_BEGUN || order->payer != hunt->payer)
                        continue;
                if (session)
                        folder_signal(hunts->store, session, &order->signal, &progress->walk);
                store_release(&progress->is_done[i], 1);
        }
}

static void take_orders(struct hunts *hunts, const struct hunt *hunt)
{
        for (unsigned i = 0; i < SESSIONS_MAX; i++) {
                struct hunt_order *order = &hunts->order[i];

                if (order->state != ORDER_WAITS || order->payer != hunt->payer)
                        continue;
                order->state = ORDER_BEGUN;
                store_relaxed(&hunt->progress->is_done[i], 0);
                hunts->waiting--;
        }
}

/* Ends the orders of a child that has ended. If `is_again`, those that were not carried out wait
 * for the next child. */
static void drop_orders(struct hunts *hunts, const struct hunt *hunt, bool is_again)
{
        for (unsigned i = 0; i < SESSIONS_MAX; i++) {
                struct hunt_order *order = &hunts->order[i];

                if (order->state != ORDER_BEGUN || order->payer != hunt->payer)
                        continue;
                order->state = is_again && !load_acquire(&hunt->progress->is_done[i]) ? ORDER_WAITS
                                                                                      : ORDER_NONE;
                hunts->waiting += order->state == ORDER_WAITS;
                /* the child may have got stuck at a process that a slot named */
                order->signal.is_repeated = true;
        }
}

static void begin_hunt(struct hunts *hunts, struct hunt *hunt, uint64_t now_ns)
{
        char name[ACCOUNTS_NAME_BYTES];

        take_orders(hunts, hunt);
        store_relaxed(&hunt->progress->walk.sent, 0);
        store_relaxed(&hunt->progress->walk.false_slots, 0);
        switch (aside_fork(&hunt->aside, "aliquot-hunt", now_ns)) {
        case 0:
                carry_out_orders(hunts, hunt);
                _exit(0);
        case -1:
                owner_log(&hunts->log, hunt->payer, LOG_ERROR,
                          "cannot fork to signal the sessions of %s: %m",
                          accounts_name(hunt->payer, name));
                drop_orders(hunts, hunt, false);
                break;
        default:
                hunts->running++;
        }
}

/* -- Starting and ending children ------------------------------------------------------------- */

/* Handles the end of a child. If it was killed because it got stuck, its orders wait for another
 * child, which skips the process at which it got stuck, until this has happened VICTIM_PASSED
 * times. */
static void end_hunt(struct hunts *hunts, struct hunt *hunt, bool is_cut)
{
        struct victim_walk *walk = &hunt->progress->walk;
        const uint32_t false_slots = load_relaxed(&walk->false_slots);
        bool is_again = is_cut && hunt->cuts < VICTIM_PASSED;
        char name[ACCOUNTS_NAME_BYTES];

        if (false_slots)
                owner_log(&hunts->log, hunt->payer, LOG_WARN,
                          "%u slots of sessions of %s name a process that is not what they "
                          "say: no signal",
                          false_slots, accounts_name(hunt->payer, name));
        if (is_again) {
                walk->passed[hunt->cuts++] = load_relaxed(&walk->at);
        } else {
                memset(walk->passed, 0, sizeof(walk->passed));
                hunt->cuts = 0;
        }
        drop_orders(hunts, hunt, is_again);
        hunts->running--;
}

/* Checks on the child. Returns how many processes it has signalled if it has ended, else 0. */
static unsigned tend_hunt(struct hunts *hunts, struct hunt *hunt, uint64_t now_ns)
{
        const struct victim_walk *walk = &hunt->progress->walk;
        const enum aside_state state =
                aside_tend(&hunt->aside, load_relaxed(&walk->steps), HUNT_STILL_NS, now_ns);
        char name[ACCOUNTS_NAME_BYTES];

        if (state == ASIDE_STANDS)
                owner_log(&hunts->log, hunt->payer, LOG_WARN,
                          "pid %u holds up the search for the processes of a session of %s: it "
                          "is passed over",
                          load_relaxed(&walk->at), accounts_name(hunt->payer, name));
        if (state == ASIDE_RUNS || state == ASIDE_STANDS)
                return 0;
        end_hunt(hunts, hunt, state == ASIDE_CUT);
        return load_relaxed(&walk->sent);
}

/* Returns the owner's entry, or else an unused one. NULL: all are in use. Containers together use
 * at most half of the entries, however many hold up their searches. */
static struct hunt *find_hunt(struct hunts *hunts, uint64_t payer)
{
        struct hunt *idle = NULL;
        unsigned of_containers = 0;

        for (unsigned i = 0; i < hunts->used; i++) {
                if (hunts->hunt[i].payer == payer)
                        return &hunts->hunt[i];
                if (!hunts->hunt[i].aside.child)
                        idle = &hunts->hunt[i];
                else
                        of_containers += accounts_is_container(hunts->hunt[i].payer);
        }
        if (accounts_is_container(payer) && of_containers >= HUNTS_MAX / 2)
                return NULL;
        if (hunts->used < HUNTS_MAX)
                idle = &hunts->hunt[hunts->used++];
        if (idle) {
                *idle = (struct hunt){ .payer = payer, .progress = idle->progress };
                idle->progress->walk = (struct victim_walk){ .spared = (uint32_t)getpid() };
        }
        return idle;
}

unsigned hunts_tend(struct hunts *hunts, uint64_t now_ns)
{
        unsigned sent = 0, busy = 0;

        for (unsigned i = 0; i < hunts->used; i++) {
                struct hunt *hunt = &hunts->hunt[i];

                if (hunt->aside.child)
                        sent += tend_hunt(hunts, hunt, now_ns);
                busy += hunt->aside.child && aside_gets_on(&hunt->aside, now_ns);
        }
        for (unsigned i = 0; i < SESSIONS_MAX && hunts->waiting && busy < HUNTS_AT_ONCE; i++) {
                struct hunt_order *order = &hunts->order[hunts->from];
                struct hunt *hunt =
                        order->state == ORDER_WAITS ? find_hunt(hunts, order->payer) : NULL;

                hunts->from = (hunts->from + 1) % SESSIONS_MAX;
                if (!hunt || hunt->aside.child)
                        continue;
                begin_hunt(hunts, hunt, now_ns);
                busy++;
        }
        return sent;
}
