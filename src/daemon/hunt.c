/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hunt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/log.h"
#include "daemon/victim.h"

/* Once a child of the same user was ended so often in a row, what is left waits for the next
 * order. */
#define STILL_MOST 8u

enum order_state { ORDER_NONE, ORDER_WAITS, ORDER_BEGUN };

struct order {
        enum order_state state;
        uint8_t id[16]; /* of the session: its place may be another's by now */
        uint32_t uid;
        struct folder_signal signal;
};

/* What a child tells as it goes. */
struct progress {
        struct victim_walk walk;
        _Atomic uint32_t sent;
        _Atomic uint8_t is_done[SESSIONS_MOST]; /* by place, since it began */
};

/* A user's. It stays that user's until the place is needed: where the last walk ended is known. */
struct hunt {
        uint32_t uid;
        pid_t child; /* 0: none */
        uint32_t steps;
        uint64_t step_ns; /* they last rose */
        unsigned stills;
        struct progress *progress; /* shared with the child */
};

struct hunts {
        const struct sessions *sessions;
        const struct store *store;
        unsigned waiting, running, used;
        struct hunt hunt[HUNTS_MOST];
        struct progress *progress;
        struct order order[SESSIONS_MOST];
};

struct hunts *hunts_new(const struct sessions *sessions, const struct store *store)
{
        struct hunts *hunts = calloc(1, sizeof(*hunts));

        if (!hunts)
                return NULL;
        hunts->sessions = sessions;
        hunts->store = store;
        hunts->progress = mmap(NULL, HUNTS_MOST * sizeof(struct progress), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (hunts->progress == MAP_FAILED) {
                free(hunts);
                return NULL;
        }
        for (unsigned i = 0; i < HUNTS_MOST; i++) {
                hunts->progress[i].walk.spared = (uint32_t)getpid();
                hunts->hunt[i].progress = &hunts->progress[i];
        }
        return hunts;
}

static void end_child(const struct hunt *hunt)
{
        kill(hunt->child, SIGKILL);
        while (waitpid(hunt->child, NULL, 0) < 0 && errno == EINTR)
                ;
}

void hunts_free(struct hunts *hunts)
{
        if (!hunts)
                return;
        for (unsigned i = 0; i < hunts->used; i++) {
                if (hunts->hunt[i].child)
                        end_child(&hunts->hunt[i]);
        }
        munmap(hunts->progress, HUNTS_MOST * sizeof(struct progress));
        free(hunts);
}

bool hunts_are_on(const struct hunts *hunts)
{
        return hunts->waiting || hunts->running;
}

/* -- Orders ----------------------------------------------------------------------------------- */

void hunts_order(struct hunts *hunts, const struct sessions_one *session,
                 const struct folder_signal *signal)
{
        struct order *order = &hunts->order[session - hunts->sessions->session];

        hunts->waiting += order->state != ORDER_WAITS;
        *order = (struct order){ .state = ORDER_WAITS,
                                 .uid = session->owner_uid,
                                 .signal = *signal };
        memcpy(order->id, session->id, sizeof(order->id));
}

static const struct sessions_one *session_of(const struct hunts *hunts, const struct order *order)
{
        const struct sessions_one *session = &hunts->sessions->session[order - hunts->order];

        return session->state != SESSIONS_FREE &&
                               memcmp(session->id, order->id, sizeof(order->id)) == 0
                       ? session
                       : NULL;
}

/* -- The child -------------------------------------------------------------------------------- */

/* Of the daemon it has what it began with: its listeners, locks and files are the daemon's alone,
 * and it does not outlive it. */
static void be_child(pid_t parent)
{
        static const int handled[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(1);
        prctl(PR_SET_NAME, "aliquot-hunt");
        for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
                signal(handled[i], SIG_DFL);
        if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) < 0) {
                for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > STDERR_FILENO; fd--)
                        close(fd);
        }
}

static void carry_out(const struct hunts *hunts, const struct hunt *hunt)
{
        struct progress *progress = hunt->progress;

        for (unsigned i = 0; i < hunts->sessions->entries; i++) {
                const struct order *order = &hunts->order[i];
                const struct sessions_one *session = session_of(hunts, order);
                int sent;

                if (order->state != ORDER_BEGUN || order->uid != hunt->uid)
                        continue;
                sent = session ? folder_signal(hunts->store, session, &order->signal,
                                               &progress->walk)
                               : 0;
                add_relaxed(&progress->sent, sent > 0 ? (uint32_t)sent : 0);
                store_release(&progress->is_done[i], 1);
        }
}

static void take_orders(struct hunts *hunts, const struct hunt *hunt)
{
        for (unsigned i = 0; i < SESSIONS_MOST; i++) {
                struct order *order = &hunts->order[i];

                if (order->state != ORDER_WAITS || order->uid != hunt->uid)
                        continue;
                order->state = ORDER_BEGUN;
                store_relaxed(&hunt->progress->is_done[i], 0);
                hunts->waiting--;
        }
}

/* Those that are not carried out wait again, or are given up. */
static void drop_orders(struct hunts *hunts, const struct hunt *hunt, bool is_again)
{
        for (unsigned i = 0; i < SESSIONS_MOST; i++) {
                struct order *order = &hunts->order[i];

                if (order->state != ORDER_BEGUN || order->uid != hunt->uid)
                        continue;
                order->state = is_again && !load_acquire(&hunt->progress->is_done[i]) ? ORDER_WAITS
                                                                                      : ORDER_NONE;
                hunts->waiting += order->state == ORDER_WAITS;
                order->signal.is_repeated = true; /* what slots tell of may be where it stood */
        }
}

static void begin(struct hunts *hunts, struct hunt *hunt, uint64_t now_ns)
{
        const pid_t parent = getpid();
        pid_t child;

        take_orders(hunts, hunt);
        store_relaxed(&hunt->progress->sent, 0);
        hunt->steps = load_relaxed(&hunt->progress->walk.steps);
        hunt->step_ns = now_ns;
        child = fork();
        if (child == 0) {
                be_child(parent);
                carry_out(hunts, hunt);
                _exit(0);
        }
        if (child < 0) {
                log_line(LOG_ERROR, "no process for the signals of user %u: %m", hunt->uid);
                drop_orders(hunts, hunt, false);
                return;
        }
        hunt->child = child;
        hunts->running++;
}

/* -- Turns ------------------------------------------------------------------------------------ */

static void end(struct hunts *hunts, struct hunt *hunt, bool is_still)
{
        hunt->stills = is_still ? hunt->stills + 1 : 0;
        drop_orders(hunts, hunt, is_still && hunt->stills < STILL_MOST);
        hunt->child = 0;
        hunts->running--;
}

static bool is_still(struct hunt *hunt, uint64_t now_ns)
{
        uint32_t steps = load_relaxed(&hunt->progress->walk.steps);

        if (steps != hunt->steps) {
                hunt->steps = steps;
                hunt->step_ns = now_ns;
        }
        return now_ns - hunt->step_ns >= HUNT_STILL_NS;
}

/* Returns how many processes it has signalled, if it is over. */
static unsigned tend(struct hunts *hunts, struct hunt *hunt, uint64_t now_ns)
{
        bool has_ended = waitpid(hunt->child, NULL, WNOHANG) != 0;
        bool stands = !has_ended && is_still(hunt, now_ns);

        if (!has_ended && !stands)
                return 0;
        if (stands) {
                log_line(LOG_WARN,
                         "a process of user %u holds up the search for the processes of a session: "
                         "it is passed over",
                         hunt->uid);
                end_child(hunt);
        }
        end(hunts, hunt, stands);
        return load_relaxed(&hunt->progress->sent);
}

/* The user's; else one that nobody uses now. NULL: all are in use. */
static struct hunt *find(struct hunts *hunts, uint32_t uid)
{
        struct hunt *idle = NULL;

        for (unsigned i = 0; i < hunts->used; i++) {
                if (hunts->hunt[i].uid == uid)
                        return &hunts->hunt[i];
                if (!hunts->hunt[i].child)
                        idle = &hunts->hunt[i];
        }
        if (hunts->used < HUNTS_MOST)
                idle = &hunts->hunt[hunts->used++];
        if (idle)
                *idle = (struct hunt){ .uid = uid, .progress = idle->progress };
        return idle;
}

unsigned hunts_tend(struct hunts *hunts, uint64_t now_ns)
{
        unsigned sent = 0;

        for (unsigned i = 0; i < hunts->used; i++) {
                if (hunts->hunt[i].child)
                        sent += tend(hunts, &hunts->hunt[i], now_ns);
        }
        for (unsigned i = 0; i < SESSIONS_MOST && hunts->waiting; i++) {
                struct order *order = &hunts->order[i];
                struct hunt *hunt = order->state == ORDER_WAITS ? find(hunts, order->uid) : NULL;

                if (hunt && !hunt->child)
                        begin(hunts, hunt, now_ns);
        }
        return sent;
}
