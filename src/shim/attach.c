/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches this process, and implements the ledger's ports with file locks, the monotonic clock and
 * short sleeps. attach.h has the contract.
 *
 * If a fork happens while locks are held, the child's copy is wiped, so no lock stays held there.
 * The fork handlers hold `descriptors` until the fork is over. posix_spawn() and vfork() run no
 * handlers; their children close our descriptors at exec.
 */
#include "shim/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "shim/session.h"
#include "store/liveness.h"
#include "store/store.h"
#include "store/usage.h"

/* How long to wait while another process recovers a slot: sleeps of 100 us, 40 ms in all. The
 * requested time is counted, not the clock, because on a busy machine the other process needs
 * time to run. */
#define BUSY_SLEEP_NS 100000
#define BUSY_LOOKS 400u
/* How often a charge over the limit is tried again because the word keeps changing, if no dead
 * process was found. */
#define CHANGED_LOOKS 64u
/* How many used slots are tried, since some may be dead, before a new slot is used. */
#define REUSE_TRIES 4u
/* A search for dead processes costs about a microsecond per slot. With more slots than
 * CROWD_SLOTS, it runs only once in CROWD_REAP_NS. */
#define CROWD_SLOTS 64u
#define CROWD_REAP_NS 10000000
/* How long to wait while another process checks whether it can remove the session: it checks
 * every slot, and 4096 probes take some 10 ms. */
#define REMOVAL_SLEEP_NS 1000000
#define REMOVAL_LOOKS 100u

static _Atomic(struct process *) here;

/* The state of one ledger operation, on the stack. */
struct world {
        struct process *process;
        int fd; /* descriptor for probing; -1 if `descriptors` is not held */
        void *recover_pin;
        void *live_pin;
        unsigned busy_looks;
        unsigned changed_looks;
        bool is_full; /* the file system had no memory for a free slot */
        int error;    /* why the slots file could not be opened or locked; 0: it could */
};

/* -- The ledger's ports ------------------------------------------------------------------------ */

static bool world_open(struct world *world)
{
        if (world->fd >= 0)
                return true;
        lock_take(&world->process->descriptors);
        world->fd = liveness_open(session_slots_file());
        if (world->fd >= 0)
                return true;
        /* if the file is opened through a kept descriptor, socket.c has logged the failure */
        if (!session_slots_file()->kept)
                world->error = world->fd;
        lock_drop(&world->process->descriptors);
        return false;
}

static void world_close(struct world *world)
{
        if (world->fd < 0)
                return;
        liveness_close(world->fd);
        world->fd = -1;
        lock_drop(&world->process->descriptors);
}

static bool port_is_live(void *context, uint32_t slot)
{
        struct world *world = context;
        int rc;

        if (!world_open(world))
                return true;
        rc = liveness_probe(world->fd, PAGE_LOCK_LIVE(slot));
        if (rc < 0)
                world->error = rc;
        return rc != 0;
}

static bool port_try_recover(void *context, uint32_t slot)
{
        struct world *world = context;

        return world_open(world) && liveness_lock(session_slots_file(), PAGE_LOCK_RECOVER(slot),
                                                  &world->recover_pin) == 0;
}

static void port_end_recover(void *context, uint32_t slot)
{
        struct world *world = context;

        liveness_unlock(world->recover_pin);
        world->recover_pin = NULL;
}

static bool port_take_live(void *context, uint32_t slot)
{
        struct world *world = context;
        int rc = liveness_lock(session_slots_file(), PAGE_LOCK_LIVE(slot), &world->live_pin);

        if (rc < 0 && rc != -EAGAIN)
                world->error = rc;
        return rc == 0;
}

static void port_note_reclaim(void *context, unsigned device, uint64_t bytes)
{
        struct page_ledger *ledger = &session_slots()->ledger[device % PAGE_DEVICES];

        store_relaxed(shared_word(&ledger->reclaimed_at_ns), clock_now_ns());
        add_relaxed(shared_word(&ledger->reclaimed_bytes), bytes);
}

static bool port_may_retry(void *context, bool is_busy)
{
        struct world *world = context;

        if (!is_busy)
                return ++world->changed_looks < CHANGED_LOOKS;
        if (++world->busy_looks > BUSY_LOOKS)
                return false;
        world_close(world);
        clock_sleep_ns(BUSY_SLEEP_NS);
        return true;
}

static const struct ledger_ports ports = {
        .is_live = port_is_live,
        .try_recover = port_try_recover,
        .end_recover = port_end_recover,
        .take_live = port_take_live,
        .note_reclaim = port_note_reclaim,
        .may_retry = port_may_retry,
};

static struct ledger world_ledger(struct world *world)
{
        return (struct ledger){ .slots = session_slots(),
                                .limits = session_limits(),
                                .ports = &ports,
                                .context = world };
}

/* -- Memory of the process --------------------------------------------------------------------- */

struct process *process_here(void)
{
        return load_acquire(&here);
}

static uint32_t thread_id(void)
{
        return (uint32_t)syscall(SYS_gettid);
}

static void fork_prepare(void)
{
        struct process *process = process_here();

        if (!process)
                return;
        lock_take(&process->descriptors);
        store_relaxed(&process->forking_thread, thread_id());
}

/* Releases the lock only if this thread's fork_prepare() took it: the process may have been
 * mapped in between. */
static void fork_parent(void)
{
        struct process *process = process_here();

        if (!process || load_relaxed(&process->forking_thread) != thread_id())
                return;
        store_relaxed(&process->forking_thread, 0);
        lock_drop(&process->descriptors);
}

static void process_map(void)
{
        int saved = errno;
        struct process *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (made != MAP_FAILED && madvise(made, sizeof(*made), MADV_WIPEONFORK) == 0 &&
            pthread_atfork(fork_prepare, fork_parent, NULL) == 0) {
                store_release(&here, made);
        } else {
                log_tell("aliquot: memory that a fork wipes (MADV_WIPEONFORK): %m; memory is "
                         "refused");
                if (made != MAP_FAILED)
                        munmap(made, sizeof(*made));
        }
        errno = saved;
}

/* -- Taking and leaving a slot ----------------------------------------------------------------- */

static bool slot_try(struct world *world, uint32_t slot)
{
        const struct ledger ledger = world_ledger(world);
        struct ledger_op op;

        /* Cheaper than the recover lock. Skipping a slot is always correct. */
        if (port_is_live(world, slot))
                return false;
        /* Finds out here whether the tmpfs is full, instead of by a signal at the first access. */
        if (store_reserve_slot(world->fd, slot, NULL) < 0) {
                world->is_full = true;
                return false;
        }
        ledger_attach(&op, slot);
        return ledger_run(&op, &ledger) == LEDGER_DONE;
}

/* Gets a slot and returns its number. Tries a few used slots first, so that passes over the
 * slots stay short; then a new slot; then any slot. */
static int slot_find(struct world *world)
{
        uint32_t high = load_acquire(shared_half(&session_slots()->slots_high));
        uint64_t chance = clock_now_ns();

        high = min_u32(high, PAGE_SLOTS);
        for (unsigned i = 0; i < REUSE_TRIES && high > 0; i++) {
                chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                uint32_t slot = (uint32_t)(chance >> 33) % high;

                if (slot_try(world, slot))
                        return (int)slot;
        }
        for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
                uint32_t slot = (high + i) % PAGE_SLOTS;

                /* a used slot has its memory; a higher one would leave a hole for processes that
                 * pass over the slots */
                if (world->is_full && slot >= high)
                        continue;
                if (slot_try(world, slot))
                        return (int)slot;
        }
        return -ENOSPC;
}

/* Whether the session is being removed. A process that removes a session first sets `removed`,
 * then looks for live slots; this process reads `removed` after it has its slot. So one of the
 * two sees the other. */
static bool is_session_removed(void)
{
        fence_seq_cst();
        return load_acquire(shared_half(&session_limits()->removed)) != 0;
}

/* As slot_find(), but returns -ESTALE if the session is removed; then this process never
 * attaches. A remover that finds the session in use clears `removed`; this function waits for
 * that. */
static int slot_find_in_session(struct world *world)
{
        for (unsigned look = 0; look < REMOVAL_LOOKS; look++) {
                int slot;

                if (is_session_removed()) {
                        clock_sleep_ns(REMOVAL_SLEEP_NS);
                        continue;
                }
                slot = slot_find(world);
                if (slot < 0 || !is_session_removed())
                        return slot;
                liveness_unlock(world->live_pin);
        }
        world->process->has_left = true;
        return -ESTALE;
}

/* Logs why there is no slot, because the program sees only that there is no memory. */
static void tell_without_slot(const struct world *world)
{
        static _Atomic bool is_told;
        const char *path = session_slots_file()->path;

        if ((!world->is_full && !world->error) || !log_once(&is_told))
                return;
        if (world->is_full) {
                log_tell("aliquot: the file system of %s is full: no room for this process in its "
                         "session; memory is refused",
                         path);
                return;
        }
        errno = -world->error;
        log_tell("aliquot: %s cannot be opened or locked: %m; memory is refused", path);
}

static void process_attach(struct process *process)
{
        struct world world = { .process = process, .fd = -1 };
        int slot, cancelling, saved = errno;

        /* usage_describe_self() reads files, where a thread could be cancelled while it holds
         * the lock */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
        if (world_open(&world) && load_relaxed(&process->slot_plus_one) == 0 &&
            !process->has_left) {
                slot = slot_find_in_session(&world);
                if (slot >= 0) {
                        usage_describe_self(&session_slots()->slot[slot]);
                        process->live_pin = world.live_pin;
                        store_release(&process->slot_plus_one, (uint32_t)slot + 1);
                }
        }
        world_close(&world);
        if (load_relaxed(&process->slot_plus_one) == 0)
                tell_without_slot(&world);
        pthread_setcancelstate(cancelling, NULL);
        errno = saved;
}

/* Returns the record of this process, attached or not. NULL: no memory. */
static struct process *process_mapped(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        if (!process_here())
                pthread_once(&once, process_map);
        return process_here();
}

struct process *process_attached(void)
{
        struct process *process = process_mapped();

        if (!process)
                return NULL;
        if (load_acquire(&process->slot_plus_one) != 0)
                return process;
        process_attach(process);
        return load_acquire(&process->slot_plus_one) != 0 ? process : NULL;
}

uint32_t process_slot_plus_one(void)
{
        struct process *process = process_attached();

        return process ? load_acquire(&process->slot_plus_one) : 0;
}

typedef void (*ledger_begin)(struct ledger_op *op, uint32_t slot, unsigned device, uint64_t bytes);

static enum ledger_status run_ledger_op(struct process *process, unsigned device, uint64_t bytes,
                                        ledger_begin begin)
{
        struct world world = { .process = process, .fd = -1 };
        const struct ledger ledger = world_ledger(&world);
        uint32_t slot_plus_one = load_relaxed(&process->slot_plus_one);
        struct ledger_op op;
        enum ledger_status status;

        if (slot_plus_one == 0)
                return LEDGER_REFUSED;
        begin(&op, slot_plus_one - 1, device, bytes);
        status = ledger_run(&op, &ledger);
        world_close(&world);
        return status;
}

enum ledger_status process_charge(struct process *process, unsigned device, uint64_t bytes)
{
        return run_ledger_op(process, device, bytes, ledger_charge);
}

enum ledger_status process_force(struct process *process, unsigned device, uint64_t bytes)
{
        return run_ledger_op(process, device, bytes, ledger_force);
}

void process_release(struct process *process, unsigned device, uint64_t bytes)
{
        struct world world = { .process = process, .fd = -1 };
        const struct ledger ledger = world_ledger(&world);
        uint32_t slot_plus_one = load_relaxed(&process->slot_plus_one);
        struct ledger_op op;

        if (slot_plus_one == 0)
                return;
        /* At most the row's bytes are released; otherwise other processes' bytes would be
         * released too. */
        uint64_t held = page_row_bytes(ledger.slots, slot_plus_one - 1, device);

        bytes = min_u64(bytes, held);
        if (bytes == 0)
                return;
        ledger_release(&op, slot_plus_one - 1, device, bytes);
        ledger_run(&op, &ledger);
}

/* Whether this thread must search for dead processes now. */
static bool is_reap_due(struct process_device *device)
{
        uint64_t last = load_relaxed(&device->reaped_at_ns);
        uint64_t now;

        if (load_acquire(shared_half(&session_slots()->slots_high)) <= CROWD_SLOTS)
                return true;
        now = clock_now_ns();
        return now - last >= CROWD_REAP_NS && cas_acq_rel(&device->reaped_at_ns, &last, now);
}

void process_reap(unsigned device)
{
        struct process *process = process_mapped();
        struct world world = { .process = process, .fd = -1 };
        const struct ledger ledger = world_ledger(&world);
        uint32_t slot = process ? load_relaxed(&process->slot_plus_one) - 1 : 0;
        uint64_t own = 0;
        struct ledger_op op;

        if (!process)
                return;
        if (slot < PAGE_SLOTS)
                own = page_row_bytes(ledger.slots, slot, device);
        if (load_relaxed(shared_word(&ledger.slots->ledger[device].used_bytes)) == own ||
            !is_reap_due(&process->device[device]))
                return;
        ledger_reap(&op, slot, device);
        ledger_run(&op, &ledger);
        world_close(&world);
}
