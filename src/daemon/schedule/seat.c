/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"
#include "daemon/schedule/guard.h"

#define HEAD_BYTES offsetof(struct slots_page, slot)
#define PPM_A_MILLI_PERCENT 10u

_Static_assert(SCHED_WHOLE_PPM == PAGE_WHOLE_PPM, "the core's whole is the page's");
_Static_assert(SCHED_DEVICES == SESSIONS_GPUS, "the core has a place for each GPU of the node");

/* -- Pages ------------------------------------------------------------------------------------ */

static int map_slots(const struct store_session *session, struct seat *seat, struct error *err)
{
        char path[STORE_PATH_BYTES];
        scoped_fd int fd = -1;
        struct stat st;
        void *mapped;
        int rc = text_put(path, sizeof(path), err, "%s/slots", session->path);

        if (rc < 0)
                return rc;
        /* For writing, though it is only read: the file's owner can take a lease on it, which makes
         * others wait for it, only while nobody else has it open so. */
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        if (st.st_ino != session->slots_file.inode || st.st_dev != session->slots_file.device ||
            st.st_size < (off_t)HEAD_BYTES)
                return fail(err, -ESTALE, "%s is not the file it was", path);
        mapped = mmap(NULL, HEAD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                return fail(err, -errno, "map %s: %m", path);
        rc = guard_add(mapped, HEAD_BYTES, err);
        if (rc < 0)
                munmap(mapped, HEAD_BYTES);
        else
                seat->slots = mapped;
        return rc;
}

static uint32_t cap_of(const struct sessions_share *share)
{
        return share->compute_milli_percent ? share->compute_milli_percent * PPM_A_MILLI_PERCENT
                                            : SCHED_WHOLE_PPM;
}

void seat_terms(const struct sessions_one *session, struct seat_share ret[SESSIONS_GPUS])
{
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct sessions_share *share = &session->share[i];

                memcpy(ret[i].uuid, share->uuid, sizeof(share->uuid));
                ret[i].terms = (struct sched_terms){
                        .cap_ppm = cap_of(share),
                        .guarantee_ppm = share->guarantee_milli_percent * PPM_A_MILLI_PERCENT,
                        .weight = session->weight,
                        .class = session->priority,
                };
        }
}

int seat_open(const struct store *store, const struct sessions_one *session, struct seat **ret,
              struct error *err)
{
        struct store_session joined;
        struct seat *seat;
        int rc = store_join_owned(store, session->name, &joined, err);

        if (rc < 0)
                return rc;
        if (!page_has_turns(joined.limits->version)) {
                rc = fail(err, -EPROTO,
                          "its programs began with another version of Aliquot (pages of version "
                          "%u, not %u), and take no turns until all of them have ended",
                          joined.limits->version, PAGE_VERSION);
                store_close(&joined);
                return rc;
        }
        seat = calloc(1, sizeof(*seat));
        if (!seat) {
                store_close(&joined);
                return fail(err, -ENOMEM, "out of memory");
        }
        memcpy(seat->id, session->id, sizeof(seat->id));
        seat->owner_uid = session->owner_uid;
        memcpy(seat->gang, session->gang, sizeof(seat->gang));
        seat->share_count = session->share_count;
        seat_terms(session, seat->share);
        seat->limits = joined.limits;
        rc = map_slots(&joined, seat, err);
        if (rc < 0)
                seat_close(seat);
        else
                *ret = seat;
        return rc;
}

void seat_close(struct seat *seat)
{
        if (seat->slots) {
                guard_remove((void *)(uintptr_t)seat->slots);
                munmap((void *)(uintptr_t)seat->slots, HEAD_BYTES);
        }
        munmap(seat->limits, sizeof(*seat->limits));
        free(seat);
}

/* -- What is said, both ways ------------------------------------------------------------------ */

bool seat_read(const struct seat *seat, unsigned share, uint64_t now_ns, struct seat_claim *ret)
{
        const struct page_meter *meter = &seat->slots->meter[share];
        uint64_t wanted_ns = load_acquire(shared_word(&meter->wanted_at_ns));
        uint64_t active_ns = load_acquire(shared_word(&meter->active_at_ns));
        uint64_t began_ns = load_acquire(shared_word(&meter->began_at_ns));

        *ret = (struct seat_claim){
                .busy_ns = load_acquire(shared_word(&meter->busy_ns)),
                .wanted_ns = min_u64(wanted_ns, now_ns),
                .active_ns = min_u64(active_ns, now_ns),
                .began_ns = min_u64(began_ns, now_ns),
                .is_in_flight = load_acquire(shared_half(&meter->drained_turn)) & 1,
                .bucket_ns = (int64_t)load_relaxed(shared_word(&meter->bucket_ns)),
        };
        return load_relaxed(shared_word(&seat->slots->magic)) == PAGE_SLOTS_MAGIC;
}

void seat_count(const struct seat *seat, unsigned share, uint64_t ret[SEAT_COUNTERS])
{
        const struct page_meter *meter = &seat->slots->meter[share];
        const uint64_t *const words[SEAT_COUNTERS] = {
                [SEAT_BUSY_NS] = &meter->busy_ns,
                [SEAT_WAITS] = &meter->waits,
                [SEAT_WAITED_NS] = &meter->waited_ns,
        };

        for (unsigned i = 0; i < SEAT_COUNTERS; i++)
                ret[i] = load_relaxed(shared_word(words[i]));
}

const uint32_t *seat_bell(const struct seat *seat)
{
        return &seat->slots->bell;
}

void seat_tell(struct seat *seat, unsigned share, enum page_mode mode, uint64_t end_ns,
               uint64_t target_ns)
{
        struct page_lease *lease = &seat->limits->device[share].lease;
        _Atomic uint32_t *turn = shared_half(&lease->turn);
        uint32_t odd = load_relaxed(turn) | 1;

        store_relaxed(turn, odd);
        atomic_thread_fence(memory_order_release);
        store_relaxed(shared_half(&lease->mode), mode);
        store_relaxed(shared_word(&lease->end_ns), end_ns);
        store_relaxed(shared_word(&lease->target_ns), target_ns);
        store_release(turn, odd + 1);
        /* Who waits for a gate that is closed waits on, unless it is to ring. */
        if (mode != PAGE_MODE_CLOSED || end_ns)
                clock_wake(turn, UINT32_MAX);
}

void seat_nudge(struct seat *seat, unsigned share)
{
        _Atomic uint32_t *turn = shared_half(&seat->limits->device[share].lease.turn);

        store_release(turn, (load_relaxed(turn) | 1) + 1);
        clock_wake(turn, UINT32_MAX);
}

void seat_beat(struct seat *seat, uint64_t now_ns)
{
        store_release(shared_word(&seat->limits->scheduler_at_ns), now_ns);
}
