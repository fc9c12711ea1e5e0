/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges memory; charge.h has the contract. Bytes are charged to this process's slot under a lock
 * per device. The same lock guards the device's list of free nodes, so a charge and the node of its
 * block are reserved together.
 */
#include "shim/charge.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/host_memory.h"
#include "common/minmax.h"
#include "common/sums.h"
#include "shim/attach.h"
#include "shim/room.h"
#include "shim/session.h"

/* How long the driver may take to free a dead process's memory, and how often a request is tried
 * meanwhile. */
#define DRAIN_NS UINT64_C(2000000000)
#define DRAIN_SLEEP_NS 5000000
#define DRAIN_ATTEMPTS (unsigned)(DRAIN_NS / DRAIN_SLEEP_NS)
/* Minimum number of tries for a thread that began to wait in time, even if the thread gets
 * little processor time. */
#define DRAIN_TRIES 40u

static const struct charge nothing = { .device = CHARGE_NO_DEVICE };

/* Whether the charge is one of an active session that this process must settle. */
static bool is_ours(const struct charge *c)
{
        return c->device >= 0 && c->device < (int)PAGE_DEVICES && session_state() == SESSION_ACTIVE;
}

typedef enum ledger_status (*process_grow)(struct process *process, unsigned device,
                                           uint64_t bytes);

/* Counts one charge in both halves of process_device.flights. */
#define FLIGHT_BEGINS ((UINT64_C(1) << 32) + 1)

static void flight_begin(struct process *process, int device)
{
        add_acq_rel(&process->device[device].flights, FLIGHT_BEGINS);
}

static void flight_end(struct process *process, int device)
{
        add_acq_rel(&process->device[device].flights, -UINT64_C(1));
}

uint64_t charge_flights(int device)
{
        struct process *process = process_here();

        return process ? load_acquire(&process->device[device].flights) : 0;
}

static bool charge_reserve(struct process *process, struct charge *c, process_grow grow)
{
        struct process_device *device = &process->device[c->device];
        bool is_granted;

        lock_take(&device->lock);
        c->node = blocks_reserve(&process->blocks, &device->free_nodes);
        is_granted = c->node != 0;
        if (is_granted && c->bytes > 0)
                is_granted = grow(process, (unsigned)c->device, c->bytes) == LEDGER_DONE;
        if (!is_granted && c->node != 0)
                blocks_return(&process->blocks, &device->free_nodes, c->node);
        lock_drop(&device->lock);
        return is_granted;
}

static bool charge_grow(struct charge *c, int device, uint64_t bytes, process_grow grow)
{
        enum session_state state = session_state();
        struct charge wanted = { .bytes = bytes, .device = device, .is_reserved = true };
        struct process *process;

        *c = nothing;
        if (state == SESSION_BROKEN)
                return false;
        if (state != SESSION_ACTIVE || device == CHARGE_NO_DEVICE)
                return true;
        if (!is_ours(&wanted))
                return false;
        process = process_attached();
        if (process) {
                flight_begin(process, device);
                if (charge_reserve(process, &wanted, grow)) {
                        *c = wanted;
                        return true;
                }
                flight_end(process, device);
        }
        session_tell_if_ended(device);
        return false;
}

bool charge_begin(struct charge *c, int device, uint64_t bytes)
{
        if (!charge_grow(c, device, bytes, process_charge))
                return false;
        if (!c->bytes || c->device < 0 || c->device != room_rows().card ||
            room_admits(ROOM_OF_PINNED))
                return true;
        charge_drop(c);
        return false;
}

/* The rows are charged in this order because the pinned bytes are the difference of the two
 * rows: meanwhile they are too large, never too small. */
bool charge_begin_swappable(struct charge_swappable *c, int device, uint64_t bytes)
{
        c->swap = nothing;
        if (!charge_grow(&c->card, device, bytes, process_charge))
                return false;
        if (charge_grow(&c->swap, room_rows().swap, bytes, process_charge) &&
            room_admits(ROOM_OF_SWAPPABLE))
                return true;
        charge_drop_swappable(c);
        return false;
}

void charge_drop_swappable(struct charge_swappable *c)
{
        charge_drop(&c->swap);
        charge_drop(&c->card);
}

bool charge_force(struct charge *c, int device, uint64_t bytes)
{
        return charge_grow(c, device, bytes, process_force);
}

/* Releases `bytes` of the charge, and its node if `node` is not 0. */
static void give_back(const struct charge *c, uint64_t bytes, uint32_t node)
{
        struct process *process = process_here();
        struct process_device *device;

        if (!process || !is_ours(c))
                return;
        device = &process->device[c->device];
        lock_take(&device->lock);
        if (c->is_unseen)
                add_relaxed(&device->unseen_bytes, -bytes);
        if (bytes > 0)
                process_release(process, (unsigned)c->device, bytes);
        if (node != 0)
                blocks_return(&process->blocks, &device->free_nodes, node);
        lock_drop(&device->lock);
}

/* Notes that the charge is settled. */
static void end_flight(const struct charge *c)
{
        struct process *process = process_here();

        if (process && is_ours(c))
                flight_end(process, c->device);
}

void charge_trim(struct charge *c, uint64_t bytes)
{
        if (!c->is_reserved || bytes >= c->bytes)
                return;
        give_back(c, c->bytes - bytes, 0);
        c->bytes = bytes;
}

void charge_mark_unseen(struct charge *c)
{
        struct process *process = process_here();

        if (!c->is_reserved || c->is_unseen || !process || !is_ours(c))
                return;
        add_relaxed(&process->device[c->device].unseen_bytes, c->bytes);
        c->is_unseen = true;
}

void charge_mark_seen(struct charge *c)
{
        struct process *process = process_here();

        if (!c->is_reserved || !c->is_unseen || !process || !is_ours(c))
                return;
        add_relaxed(&process->device[c->device].unseen_bytes, -c->bytes);
        c->is_unseen = false;
}

static bool is_row(int device)
{
        return device >= 0 && device < (int)PAGE_DEVICES;
}

void charge_move_begin(int device)
{
        struct process *process = process_here();

        if (process && is_row(device))
                flight_begin(process, device);
}

void charge_move_end(int device)
{
        struct process *process = process_here();

        if (process && is_row(device))
                flight_end(process, device);
}

/* The charge is forced, because the memory has left the card, whatever the page's limit. */
void charge_move_out(int device, uint64_t bytes)
{
        struct process *process = process_here();
        int out = room_rows().out;

        if (!process || !is_row(device) || !is_row(out))
                return;
        lock_take(&process->device[out].lock);
        process_force(process, (unsigned)out, bytes);
        lock_drop(&process->device[out].lock);
        add_relaxed(&process->device[device].unseen_bytes, bytes);
}

void charge_move_in(int device, uint64_t bytes)
{
        struct process *process = process_here();
        int out = room_rows().out;

        if (!process || !is_row(device) || !is_row(out))
                return;
        add_relaxed(&process->device[device].unseen_bytes, -bytes);
        lock_take(&process->device[out].lock);
        process_release(process, (unsigned)out, bytes);
        lock_drop(&process->device[out].lock);
}

uint64_t charge_unseen_bytes(int device)
{
        struct process *process = process_here();

        if (!process || device < 0 || device >= (int)PAGE_DEVICES)
                return 0;
        return load_relaxed(&process->device[device].unseen_bytes);
}

void charge_join(struct charge *c, struct charge *take_other)
{
        if (!c->is_reserved) {
                *c = *take_other;
        } else if (take_other->is_reserved) {
                if (c->is_unseen)
                        charge_mark_unseen(take_other);
                if (take_other->is_unseen)
                        charge_mark_unseen(c);
                c->bytes += take_other->bytes;
                give_back(take_other, 0, take_other->node);
                end_flight(take_other);
        }
        *take_other = nothing;
}

void charge_keep(struct charge *c, enum charge_space space, uint64_t key)
{
        struct process *process = process_here();
        struct block block = { .key = key,
                               .bytes = c->bytes,
                               .owner = c->owner,
                               .device = (uint16_t)c->device,
                               .space = (uint8_t)space };
        struct block old;
        uint32_t node;

        if (!c->is_reserved || !process || !is_ours(c))
                return;
        block.is_unseen = c->is_unseen;
        node = blocks_put(&process->blocks, c->node, &block, &old);
        if (node != 0) {
                const struct charge replaced = { .bytes = old.bytes,
                                                 .device = old.device,
                                                 .is_unseen = old.is_unseen };

                give_back(&replaced, old.bytes, node);
        }
        end_flight(c);
        *c = nothing;
}

void charge_drop(struct charge *c)
{
        if (c->is_reserved) {
                give_back(c, c->bytes, c->node);
                end_flight(c);
        }
        *c = nothing;
}

bool charge_take(struct charge *c, enum charge_space space, uint64_t key)
{
        struct process *process = process_here();
        struct block block;
        uint32_t node;

        *c = nothing;
        if (!process)
                return false;
        node = blocks_take(&process->blocks, (uint8_t)space, key, &block);
        if (node == 0)
                return false;
        flight_begin(process, block.device);
        *c = (struct charge){ .bytes = block.bytes,
                              .owner = block.owner,
                              .device = block.device,
                              .node = node,
                              .is_reserved = true,
                              .is_unseen = block.is_unseen };
        return true;
}

void charge_drop_owner(uint32_t owner)
{
        struct process *process = process_here();

        if (!process || owner == 0)
                return;
        for (unsigned i = 0; i < BLOCK_SHARDS; i++) {
                uint32_t node = blocks_take_owner(&process->blocks, i, owner);

                while (node != 0) {
                        struct block block = blocks_see(&process->blocks, node);
                        const struct charge gone = { .device = block.device,
                                                     .is_unseen = block.is_unseen };

                        give_back(&gone, block.bytes, node);
                        node = block.next;
                }
        }
}

uint64_t charge_owned_bytes(uint32_t owner)
{
        struct process *process = process_here();

        return process && owner ? blocks_owned_bytes(&process->blocks, owner) : 0;
}

uint64_t charge_held(enum charge_space space, uint64_t key)
{
        struct process *process = process_here();
        struct block block;

        if (!process || !blocks_find(&process->blocks, (uint8_t)space, key, &block))
                return 0;
        return block.bytes;
}

void charge_note_refused(int device)
{
        if (session_state() == SESSION_ACTIVE && device >= 0 && device < (int)PAGE_DEVICES)
                add_relaxed(shared_word(&session_slots()->ledger[device].refused), 1);
}

void charge_note_driver_refused(const struct charge *c)
{
        if (is_ours(c) && c->bytes > 0)
                add_relaxed(shared_word(&session_slots()->ledger[c->device].driver_refused), 1);
}

static bool is_recent(uint64_t at_ns)
{
        return at_ns != 0 && clock_now_ns() - at_ns <= DRAIN_NS;
}

/* Whether memory of a dead process may be draining: of this session, or of another session whose
 * memory the daemon has just promised to this one. In a session that swaps, other sessions may
 * be moving out. */
static bool may_be_draining(int device)
{
        const struct page_ledger *ledger = &session_slots()->ledger[device];
        const struct limits_device *row = &session_limits()->device[device];

        return device == room_rows().card ||
               is_recent(load_relaxed(shared_word(&ledger->reclaimed_at_ns))) ||
               is_recent(load_acquire(shared_word(&row->promised_at_ns)));
}

bool charge_wait_for_drain(const struct charge *c, unsigned attempt)
{

        if (!is_ours(c) || attempt >= DRAIN_ATTEMPTS)
                return false;
        /* Even if the limit had room beside the dead processes' bytes, the card may have had
         * none. */
        process_reap((unsigned)c->device);
        if (!may_be_draining(c->device) && (attempt == 0 || attempt >= DRAIN_TRIES))
                return false;
        if (attempt == 0)
                add_relaxed(shared_word(&session_slots()->ledger[c->device].drained), 1);
        clock_sleep_ns(DRAIN_SLEEP_NS);
        return true;
}

bool charge_read(int device, struct charge_view *ret)
{
        if (session_state() != SESSION_ACTIVE || device < 0 || device >= (int)PAGE_DEVICES)
                return false;
        process_reap((unsigned)device);
        *ret = (struct charge_view){
                .used_bytes =
                        load_relaxed(shared_word(&session_slots()->ledger[device].used_bytes)),
                .limit_bytes =
                        load_acquire(shared_word(&session_limits()->device[device].limit_bytes)),
        };
        return true;
}

int charge_host(void)
{
        const struct limits_page *limits = session_limits();

        return limits && !(limits->flags & PAGE_SWAPS) ? page_host_row(limits) : CHARGE_NO_DEVICE;
}

int charge_device(enum charge_space space, uint64_t key)
{
        struct process *process = process_here();
        struct block block;

        if (!process || !blocks_find(&process->blocks, (uint8_t)space, key, &block))
                return CHARGE_NO_DEVICE;
        return block.device;
}

static uint64_t left(const struct charge_view *view)
{
        return view->limit_bytes - min_u64(view->used_bytes, view->limit_bytes);
}

/* Sets the card's numbers in a session that swaps. The driver's free memory does not matter,
 * because other sessions are moved out if this one needs room. */
static bool view_swapping(const struct charge_view *now, struct charge_card *card)
{
        struct room_books books = room_read();
        uint64_t max_bytes = min_u64(now->limit_bytes, books.max_bytes);

        if (now->limit_bytes != PAGE_UNLIMITED)
                card->total_bytes = now->limit_bytes;
        max_bytes = min_u64(max_bytes, card->total_bytes);
        card->free_bytes = max_bytes - min_u64(now->used_bytes, max_bytes);
        return true;
}

bool charge_view(int device, struct charge_card *card)
{
        struct charge_view now, host = { 0 };
        bool has_host = charge_read(charge_host(), &host);

        if (device >= 0 && device == room_rows().card && charge_read(device, &now))
                return view_swapping(&now, card);
        if (!charge_read(device, &now) || (now.limit_bytes == PAGE_UNLIMITED && !has_host))
                return false;
        card->free_bytes = min_u64(left(&now), card->free_bytes);
        if (now.limit_bytes != PAGE_UNLIMITED)
                card->total_bytes = now.limit_bytes;
        if (has_host) {
                card->free_bytes =
                        max_u64(card->free_bytes, min_u64(left(&host), host_memory_spare()));
                card->total_bytes = sum_of(card->total_bytes, host.limit_bytes);
        }
        return true;
}
