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

#define HEAD_BYTES(shares) \
        (offsetof(struct slots_page, meter) + (shares) * sizeof(struct page_meter))
#define BELL_BYTES (offsetof(struct slots_page, bell) + sizeof(uint32_t))
#define PPM_A_MILLI_PERCENT 10u

_Static_assert(SCHED_WHOLE_PPM == PAGE_WHOLE_PPM, "the core's whole is the page's");
_Static_assert(SCHED_DEVICES == SESSIONS_GPUS, "the core has a place for each GPU of the node");

_Static_assert(SESSIONS_GPUS <= PAGE_DEVICES, "each share has its meter");
_Static_assert(offsetof(struct page_meter, busy_ns) % 8 == 0, "words are aligned");

/* -- Pages ------------------------------------------------------------------------------------ */

static int open_slots(const struct store_session *session, struct seat *seat, struct error *err)
{
        char path[STORE_PATH_BYTES];
        scoped_fd int fd = -1;
        struct stat st;
        void *mapped;
        int rc = text_put(path, sizeof(path), err, "%s/slots", session->path);

        if (rc < 0)
                return rc;
        /* Opened for writing, although it is only read, so that the file's owner cannot take a
         * lease on it, which would make the daemon wait. */
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", path);
        if (st.st_ino != session->slots_file.inode || st.st_dev != session->slots_file.device ||
            st.st_size < (off_t)HEAD_BYTES(SESSIONS_GPUS))
                return fail(err, -ESTALE, "%s is not the file it was", path);
        mapped = mmap(NULL, BELL_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                return fail(err, -errno, "map %s: %m", path);
        seat->bell = &((const struct slots_page *)mapped)->bell;
        /* Without this, a fork would wait for a tenant that punches holes into the file. */
        if (madvise(mapped, BELL_BYTES, MADV_DONTFORK) < 0)
                return fail(err, -errno, "%s: MADV_DONTFORK: %m", path);
        seat->slots = steal_fd(&fd);
        return 0;
}

static uint32_t cap_ppm_of(const struct sessions_share *share)
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
                        .cap_ppm = cap_ppm_of(share),
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
        struct seat_head head;
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
        seat->payer = sessions_payer(session);
        memcpy(seat->gang, session->gang, sizeof(seat->gang));
        seat->share_count = session->share_count;
        seat_terms(session, seat->share);
        seat->limits = joined.limits;
        seat->slots = -1;
        rc = open_slots(&joined, seat, err);
        if (rc < 0) {
                seat_close(seat);
                return rc;
        }
        seat_look(seat, &head);
        seat_take(seat, &head, clock_now_ns());
        *ret = seat;
        return 0;
}

void seat_close(struct seat *seat)
{
        if (seat->bell)
                munmap((char *)(uintptr_t)seat->bell - offsetof(struct slots_page, bell),
                       BELL_BYTES);
        if (seat->slots >= 0)
                close(seat->slots);
        munmap(seat->limits, sizeof(*seat->limits));
        free(seat);
}

/* -- Claims and leases ------------------------------------------------------------------------ */

/* Copies the head of `slots`. Each word is copied whole, because it is aligned in both buffers
 * (x86-64, aarch64). */
static void read_head(const struct seat *seat, struct seat_head *ret)
{
        _Alignas(64) uint8_t bytes[HEAD_BYTES(SESSIONS_GPUS)];
        size_t wanted = HEAD_BYTES(seat->share_count), got = 0;
        ssize_t rc = pread(seat->slots, bytes, wanted, 0);

        if (rc > 0)
                got = (size_t)rc;
        memset(bytes + got, 0, wanted - got);
        memcpy(&ret->magic, bytes + offsetof(struct slots_page, magic), sizeof(ret->magic));
        memcpy(&ret->bell, bytes + offsetof(struct slots_page, bell), sizeof(ret->bell));
        memcpy(ret->meter, bytes + offsetof(struct slots_page, meter),
               seat->share_count * sizeof(ret->meter[0]));
}

/* The words of one pread() are read in no particular order. So if the bell is new, the data is read
 * once more, after the bell. */
void seat_look(const struct seat *seat, struct seat_head *ret)
{
        uint32_t bell;

        read_head(seat, ret);
        bell = ret->bell;
        if (bell == seat->head.bell)
                return;
        read_head(seat, ret);
        ret->bell = bell;
}

void seat_take(struct seat *seat, const struct seat_head *head, uint64_t now_ns)
{
        seat->head.magic = head->magic;
        seat->head.bell = head->bell;
        memcpy(seat->head.meter, head->meter, seat->share_count * sizeof(head->meter[0]));
        seat->head_ns = now_ns;
}

bool seat_has_changed(const struct seat *seat, struct timespec since)
{
        struct stat st;

        if (fstat(seat->slots, &st) < 0)
                return false;
        return st.st_ctim.tv_sec > since.tv_sec ||
               (st.st_ctim.tv_sec == since.tv_sec && st.st_ctim.tv_nsec >= since.tv_nsec);
}

bool seat_read(const struct seat *seat, unsigned share, uint64_t now_ns, struct seat_claim *ret)
{
        const struct page_meter *meter = &seat->head.meter[share];

        *ret = (struct seat_claim){
                .busy_ns = meter->busy_ns,
                .wanted_ns = min_u64(meter->wanted_at_ns, now_ns),
                .active_ns = min_u64(meter->active_at_ns, now_ns),
                .began_ns = min_u64(meter->began_at_ns, now_ns),
                .is_in_flight = meter->drained_turn & 1,
                .bucket_ns = (int64_t)meter->bucket_ns,
        };
        return seat->head.magic == PAGE_SLOTS_MAGIC;
}

void seat_count(const struct seat *seat, unsigned share, uint64_t ret[SEAT_COUNTERS])
{
        const struct page_meter *meter = &seat->head.meter[share];

        ret[SEAT_BUSY_NS] = meter->busy_ns;
        ret[SEAT_WAITS] = meter->waits;
        ret[SEAT_WAITED_NS] = meter->waited_ns;
}

const uint32_t *seat_bell(const struct seat *seat)
{
        return seat->bell;
}

void seat_tell(struct seat *seat, unsigned share, enum page_mode mode, uint64_t end_ns,
               uint64_t target_ns)
{
        struct page_lease *lease = &seat->limits->device[share].lease;
        _Atomic uint32_t *turn = shared_half(&lease->turn);
        uint32_t odd = load_relaxed(turn) | 1;

        store_relaxed(turn, odd);
        fence_release();
        store_relaxed(shared_half(&lease->mode), mode);
        store_relaxed(shared_word(&lease->end_ns), end_ns);
        store_relaxed(shared_word(&lease->target_ns), target_ns);
        store_release(turn, odd + 1);
        /* A process that waits at a closed gate need not wake up, unless it must raise its bell. */
        if (mode != PAGE_MODE_CLOSED || end_ns)
                clock_wake(turn, PAGE_WAKE_MAX);
}

void seat_nudge(struct seat *seat, unsigned share)
{
        _Atomic uint32_t *turn = shared_half(&seat->limits->device[share].lease.turn);

        store_release(turn, (load_relaxed(turn) | 1) + 1);
        clock_wake(turn, PAGE_WAKE_MAX);
}

void seat_beat(struct seat *seat, uint64_t now_ns)
{
        store_release(shared_word(&seat->limits->scheduler_at_ns), now_ns);
}
