/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "daemon/base/owner_log.h"

#define WAIT_NS 500000
/* Maximum number of reports about a process: one at the beginning, one with each higher rank, and
 * one at the end. */
#define TOLD_MAX (IDENTITY_OF_ITS_USERS + 2u)

/* The daemon sets TICKET_ASKED on a free ticket. The child changes that once, to TICKET_NOBODY or
 * TICKET_WHOLE. Before that, the daemon can set TICKET_DROPPED, which the child changes to
 * TICKET_FREE. */
enum ticket_state { TICKET_FREE, TICKET_ASKED, TICKET_DROPPED, TICKET_NOBODY, TICKET_WHOLE };

/* The request for one process, in memory that the daemon and the child share. */
struct ticket {
        _Atomic uint32_t state;
        _Atomic uint32_t is_left_alone; /* a child got stuck at this process, so it is skipped */
        uint32_t pid;
        /* number of complete elements of `identity`, which no longer change */
        _Atomic uint32_t told;
        struct identity identity[TOLD_MAX];
};

struct desk {
        _Atomic uint32_t steps;
        _Atomic uint32_t at; /* index of the ticket whose process is being read */
        struct ticket ticket[READERS_EACH];
};

/* The present sessions. Only the daemon writes them; `version` is odd during a write. A child
 * copies them before it reads a process. */
struct known {
        _Atomic uint32_t version;
        struct identity_sessions sessions;
};

/* A user with tickets or with a child. */
struct user_reader {
        uint32_t uid;
        unsigned tickets;
        unsigned round;     /* increases when the user's tickets become invalid */
        uint64_t placed_ns; /* when the user got the entry */
        /* the entry is needed by another user, and is free when the child is gone */
        bool must_leave;
        struct aside aside;
        uint64_t rest_until_ns[READERS_EACH];
        struct desk *desk;
        const struct known *known;
};

struct shared {
        struct known known;
        struct desk desk[READERS_USERS];
};

struct readers {
        struct user_reader reader[READERS_USERS];
        struct shared *shared;
        struct owner_log log;
};

#define TICKETS (READERS_USERS * READERS_EACH)
/* number of values of user_reader.round; a ticket is a number below TICKETS * ROUNDS */
#define ROUNDS 65536u

struct readers *readers_new(void)
{
        struct readers *readers = calloc(1, sizeof(*readers));

        if (!readers)
                return NULL;
        readers->log = (struct owner_log)OWNER_LOG_TROUBLE;
        readers->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (readers->shared == MAP_FAILED) {
                free(readers);
                return NULL;
        }
        for (unsigned i = 0; i < READERS_USERS; i++) {
                readers->reader[i].desk = &readers->shared->desk[i];
                readers->reader[i].known = &readers->shared->known;
        }
        return readers;
}

void readers_free(struct readers *readers)
{
        if (!readers)
                return;
        for (unsigned i = 0; i < READERS_USERS; i++)
                aside_end(&readers->reader[i].aside);
        munmap(readers->shared, sizeof(struct shared));
        free(readers);
}

/* -- The child -------------------------------------------------------------------------------- */

/* Reports a complete identity, or a partial one if it is the first or has a higher rank. The last
 * element of `identity` is kept for the complete one. */
static void report_identity(struct ticket *ticket, const struct identity *identity)
{
        uint32_t told = load_relaxed(&ticket->told);

        if (identity->is_partial && told &&
            (told == TOLD_MAX - 1 || identity->rank <= ticket->identity[told - 1].rank))
                return;
        ticket->identity[told] = *identity;
        store_release(&ticket->told, told + 1);
}

/* Returns the present sessions, copied into this child's memory. */
static const struct identity_sessions *sessions_now(const struct known *known)
{
        static struct identity_sessions ours;
        static uint32_t as_of;
        uint32_t version = load_acquire(&known->version);

        while (version != as_of) {
                as_of = version & ~1u;
                ours = known->sessions;
                fence_seq_cst();
                version = load_acquire(&known->version);
        }
        return &ours;
}

static void finish_ticket(struct ticket *ticket, enum ticket_state state)
{
        uint32_t asked = TICKET_ASKED;

        if (!cas_acq_rel(&ticket->state, &asked, state))
                store_release(&ticket->state, TICKET_FREE);
}

/* Reads one process for up to `max_ns`; increments the desk's `steps` as it makes progress. */
static void read_ticket(const struct user_reader *reader, struct ticket *ticket, uint64_t max_ns)
{
        const struct identity_sessions *sessions = sessions_now(reader->known);
        struct desk *desk = reader->desk;
        struct identity identity;
        scoped_file FILE *maps = NULL;

        add_relaxed(&desk->steps, 1);
        if (!identity_begin(ticket->pid, &identity, &maps)) {
                finish_ticket(ticket, TICKET_NOBODY);
                return;
        }
        for (uint64_t ns = 0; identity.is_partial && ns < max_ns; ns += READERS_SLICE_NS) {
                identity_go_on(&identity, maps, sessions, clock_thread_ns() + READERS_SLICE_NS);
                add_relaxed(&desk->steps, 1);
                if (identity.is_partial)
                        report_identity(ticket, &identity);
        }
        if (identity.is_partial && max_ns < READERS_MAX_NS)
                return;
        identity.is_partial = false;
        report_identity(ticket, &identity);
        finish_ticket(ticket, TICKET_WHOLE);
}

/* Returns the index of the requested process that was read for the shortest time; -1: there is
 * none. */
static int pick(struct desk *desk, uint64_t read_ns[READERS_EACH])
{
        int least = -1;

        for (unsigned i = 0; i < READERS_EACH; i++) {
                struct ticket *ticket = &desk->ticket[i];
                uint32_t state = load_acquire(&ticket->state);

                if (state == TICKET_DROPPED)
                        store_release(&ticket->state, TICKET_FREE);
                if (state != TICKET_ASKED)
                        read_ns[i] = 0;
                else if (!load_relaxed(&ticket->is_left_alone) &&
                         (least < 0 || read_ns[i] < read_ns[least]))
                        least = (int)i;
        }
        return least;
}

static void read_all(const struct user_reader *reader)
{
        static uint64_t read_ns[READERS_EACH];
        struct desk *desk = reader->desk;
        int at;

        while ((at = pick(desk, read_ns)) >= 0) {
                const uint64_t began_ns = clock_thread_ns();

                read_ns[at] += read_ns[at] ? read_ns[at] : READERS_SLICE_NS;
                store_relaxed(&desk->at, (uint32_t)at);
                read_ticket(reader, &desk->ticket[at], read_ns[at]);
                if (clock_thread_ns() > READERS_FREE_NS) {
                        const struct timespec pause =
                                clock_timespec(9 * (clock_thread_ns() - began_ns));

                        nanosleep(&pause, NULL);
                }
        }
}

/* -- Children --------------------------------------------------------------------------------- */

static bool is_waiting(struct user_reader *reader, unsigned at, uint64_t now_ns)
{
        struct ticket *ticket = &reader->desk->ticket[at];

        if (load_relaxed(&ticket->is_left_alone) && now_ns >= reader->rest_until_ns[at])
                store_relaxed(&ticket->is_left_alone, 0);
        return load_relaxed(&ticket->state) == TICKET_ASKED &&
               !load_relaxed(&ticket->is_left_alone);
}

static bool has_waiting(struct user_reader *reader, uint64_t now_ns)
{
        bool is_any = false;

        for (unsigned i = 0; reader->tickets && i < READERS_EACH; i++)
                is_any |= is_waiting(reader, i, now_ns);
        return is_any;
}

static void begin_reader(struct readers *readers, struct user_reader *reader, uint64_t now_ns)
{
        switch (aside_fork(&reader->aside, "aliquot-read", now_ns)) {
        case 0:
                read_all(reader);
                _exit(0);
        case -1:
                owner_log(&readers->log, reader->uid, LOG_ERROR,
                          "cannot fork to read who the processes of user %u are: %m", reader->uid);
                break;
        }
}

/* Notes that the child has ended. The next child reads what it did not reach. If it was killed
 * because it got stuck, its process is skipped for READERS_REST_NS. */
static void end_reader(struct readers *readers, struct user_reader *reader, uint64_t now_ns,
                       bool is_cut)
{
        const uint32_t at = load_relaxed(&reader->desk->at);

        for (unsigned i = 0; i < READERS_EACH; i++) {
                struct ticket *ticket = &reader->desk->ticket[i];

                if (load_acquire(&ticket->state) == TICKET_DROPPED)
                        store_relaxed(&ticket->state, TICKET_FREE);
        }
        if (!is_cut || load_relaxed(&reader->desk->ticket[at].state) != TICKET_ASKED)
                return;
        owner_log(&readers->log, reader->uid, LOG_WARN,
                  "pid %u of user %u cannot be looked into: it is left alone for %u s",
                  reader->desk->ticket[at].pid, reader->uid,
                  (unsigned)(READERS_REST_NS / CLOCK_SECOND_NS));
        store_relaxed(&reader->desk->ticket[at].is_left_alone, 1);
        reader->rest_until_ns[at] = now_ns + READERS_REST_NS;
}

/* Invalidates the user's tickets. The user must have no child. */
static void invalidate_tickets(struct user_reader *reader)
{
        for (unsigned i = 0; i < READERS_EACH; i++)
                store_relaxed(&reader->desk->ticket[i].state, TICKET_FREE);
        reader->tickets = 0;
        reader->round = (reader->round + 1) % ROUNDS;
        reader->must_leave = false;
}

/* Checks on the user's child and starts one if needed. Returns whether some answer is still
 * pending. */
static bool tend_reader(struct readers *readers, struct user_reader *reader, uint64_t now_ns)
{
        enum aside_state state = ASIDE_DONE;

        if (reader->must_leave)
                aside_end(&reader->aside);
        if (reader->aside.child) {
                state = aside_tend(&reader->aside, load_relaxed(&reader->desk->steps),
                                   READERS_STILL_NS, now_ns);
                if (state == ASIDE_DONE || state == ASIDE_CUT)
                        end_reader(readers, reader, now_ns,
                                   state == ASIDE_CUT && !reader->must_leave);
        }
        if (reader->must_leave && !reader->aside.child)
                invalidate_tickets(reader);
        if (reader->must_leave || !has_waiting(reader, now_ns))
                return false;
        if (!reader->aside.child)
                begin_reader(readers, reader, now_ns);
        return reader->aside.child > 0;
}

void readers_tend(struct readers *readers, uint64_t max_ns)
{
        const struct timespec pause = { .tv_nsec = WAIT_NS };
        const uint64_t until_ns = clock_machine_ns() + max_ns;
        bool is_any = true;

        while (is_any) {
                const uint64_t now_ns = clock_machine_ns();

                is_any = false;
                for (unsigned i = 0; i < READERS_USERS; i++)
                        is_any |= tend_reader(readers, &readers->reader[i], now_ns);
                if (now_ns >= until_ns)
                        return;
                if (is_any)
                        nanosleep(&pause, NULL);
        }
}

void readers_know(struct readers *readers, const struct identity_sessions *sessions)
{
        struct known *known = &readers->shared->known;
        const uint32_t version = load_relaxed(&known->version);

        store_relaxed(&known->version, version + 1);
        fence_seq_cst();
        known->sessions.count = sessions->count;
        memcpy(known->sessions.session, sessions->session,
               sessions->count * sizeof(sessions->session[0]));
        store_release(&known->version, version + 2);
}

/* -- Tickets ---------------------------------------------------------------------------------- */

/* Whether all requested processes of the user are skipped, and its child is gone. */
static bool is_at_rest(struct user_reader *reader)
{
        for (unsigned i = 0; i < READERS_EACH; i++) {
                struct ticket *ticket = &reader->desk->ticket[i];

                if (load_acquire(&ticket->state) != TICKET_FREE &&
                    !load_relaxed(&ticket->is_left_alone))
                        return false;
        }
        return !reader->aside.child;
}

/* Frees the entry of a user whose processes are all skipped, and returns it. NULL: none is free
 * yet, but the user that has had its entry for longest may lose it soon. */
static struct user_reader *free_place(struct readers *readers, uint64_t now_ns)
{
        struct user_reader *first = NULL;

        for (unsigned i = 0; i < READERS_USERS; i++) {
                struct user_reader *reader = &readers->reader[i];

                if (is_at_rest(reader)) {
                        invalidate_tickets(reader);
                        return reader;
                }
                if (!reader->must_leave && (!first || reader->placed_ns < first->placed_ns))
                        first = reader;
        }
        if (first && now_ns - first->placed_ns >= READERS_TURN_NS)
                first->must_leave = true;
        return NULL;
}

/* Returns the reader of a user; NULL: no entry is free yet. */
static struct user_reader *reader_of(struct readers *readers, uint32_t uid)
{
        const uint64_t now_ns = clock_machine_ns();
        struct user_reader *idle = NULL;

        for (unsigned i = 0; i < READERS_USERS; i++) {
                struct user_reader *reader = &readers->reader[i];
                bool is_used = reader->tickets || reader->aside.child;

                if (is_used && reader->uid == uid)
                        return reader->must_leave ? NULL : reader;
                if (!is_used)
                        idle = reader;
        }
        if (!idle)
                idle = free_place(readers, now_ns);
        if (idle) {
                idle->uid = uid;
                idle->placed_ns = now_ns;
                idle->must_leave = false;
        }
        return idle;
}

static int number_of(const struct readers *readers, const struct user_reader *reader, unsigned at)
{
        return (int)(reader->round * TICKETS + (unsigned)(reader - readers->reader) * READERS_EACH +
                     at);
}

/* Returns the ticket of this number; NULL: it is invalid. */
static struct ticket *ticket_of(const struct readers *readers, int number)
{
        const unsigned at = (unsigned)number % TICKETS;
        const struct user_reader *reader = &readers->reader[at / READERS_EACH];

        return (unsigned)number / TICKETS == reader->round
                       ? &reader->desk->ticket[at % READERS_EACH]
                       : NULL;
}

int readers_ask(struct readers *readers, uint32_t pid)
{
        struct user_reader *reader;
        uint32_t uid;

        if (!identity_user(pid, &uid))
                return -ESRCH;
        reader = reader_of(readers, uid);
        for (unsigned i = 0; reader && i < READERS_EACH; i++) {
                struct ticket *ticket = &reader->desk->ticket[i];

                if (load_acquire(&ticket->state) != TICKET_FREE)
                        continue;
                ticket->pid = pid;
                store_relaxed(&ticket->told, 0);
                store_relaxed(&ticket->is_left_alone, 0);
                store_release(&ticket->state, TICKET_ASKED);
                reader->tickets++;
                return number_of(readers, reader, i);
        }
        return -EAGAIN;
}

enum readers_word readers_answer(const struct readers *readers, int at, struct identity *ret)
{
        const struct ticket *ticket = ticket_of(readers, at);
        uint32_t state, told;

        if (!ticket)
                return READERS_LOST;
        state = load_acquire(&ticket->state);
        told = load_acquire(&ticket->told);
        if (state == TICKET_NOBODY)
                return READERS_NOBODY;
        if (!told)
                return READERS_SILENT;
        *ret = ticket->identity[told - 1];
        return state == TICKET_WHOLE ? READERS_WHOLE : READERS_PART;
}

void readers_drop(struct readers *readers, int at)
{
        struct user_reader *reader;
        struct ticket *ticket;
        uint32_t asked = TICKET_ASKED;

        if (at < 0)
                return;
        reader = &readers->reader[(unsigned)at % TICKETS / READERS_EACH];
        ticket = ticket_of(readers, at);
        if (!ticket)
                return;
        reader->tickets--;
        if (!reader->aside.child || !cas_acq_rel(&ticket->state, &asked, TICKET_DROPPED))
                store_release(&ticket->state, TICKET_FREE);
}
