/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/people.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/processes/readers.h"

#define HELD_MAX 4096u  /* maximum number of pidfds that are kept open */
#define READ_AGAIN 256u /* in each complete poll, one of this many identities is read again */

/* A process that NVML listed in the last poll. While `fd` is open, no other process can get its
 * pid. */
struct held {
        int fd; /* pidfd; -1: no descriptor is left, so the process is known for one poll only */
        uint32_t pid;
        int ticket;     /* of the reading in progress; -1: none */
        bool must_read; /* the process must be read as soon as a ticket is free */
        /* CLOCK_MONOTONIC before which the process is not read; 0: any time */
        uint64_t rest_until_ns;
        bool is_known;
        /* The identity was read after the process was first listed, with a list of sessions that
         * was current then. A program joins its session before it uses a GPU, so its session was in
         * that list. */
        bool is_settled;
        /* values of people->asks when it was first listed, and when its reading last began */
        unsigned listed, asked;
        struct identity identity;
};

static void drop_ticket(const struct people *people, struct held *held)
{
        readers_drop(people->readers, held->ticket);
        held->ticket = -1;
}

static void drop_process(const struct people *people, struct held *held)
{
        drop_ticket(people, held);
        if (held->fd >= 0)
                close(held->fd);
        held->fd = -1;
}

/* -- The listed processes --------------------------------------------------------------------- */

static unsigned count_pids(const struct sample *sample)
{
        unsigned count = 0;

        for (unsigned i = 0; i < sample->process_count; i++)
                count += !i || sample->process[i].pid != sample->process[i - 1].pid;
        return count;
}

static bool must_read_again(const struct nvml_ask *ask, unsigned looks, const struct held *held)
{
        for (unsigned i = 0; i < ask->suspect_count; i++) {
                if (ask->suspect[i] == held->pid)
                        return true;
        }
        return ask->extent == SAMPLE_WHOLE && (held->pid + looks) % READ_AGAIN == 0;
}

/* Whether the process is the one that was listed before. An exec changes the process's mappings,
 * but not its pidfd. */
static bool is_process_running(const struct held *held)
{
        return held->fd >= 0 && identity_is_there(held->fd);
}

static struct held begin_process(uint32_t pid, bool has_room, unsigned asks)
{
        return (struct held){ .fd = has_room ? identity_hold(pid) : -1,
                              .pid = pid,
                              .ticket = -1,
                              .must_read = true,
                              .listed = asks };
}

/* Fills in the processes of the sample, and takes over those of the last poll. Both lists are
 * sorted by pid. */
static unsigned hold_all(struct people *people, const struct nvml_ask *ask, unsigned looks,
                         const struct sample *sample, struct held *ret)
{
        const unsigned most = descriptors_max(HELD_MAX, DESCRIPTORS_GPU_USERS);
        struct held *old = people->held, *end = old + people->count;
        unsigned count = 0;

        for (unsigned i = 0; i < sample->process_count; i++) {
                uint32_t pid = sample->process[i].pid;

                if (i && pid == sample->process[i - 1].pid)
                        continue;
                while (old < end && old->pid < pid)
                        drop_process(people, old++);
                if (old < end && old->pid == pid && is_process_running(old) && count < most) {
                        ret[count] = *old++;
                        ret[count].must_read |= (!ret[count].is_settled && ret[count].ticket < 0) ||
                                                must_read_again(ask, looks, &ret[count]);
                } else {
                        ret[count] = begin_process(pid, count < most, people->asks);
                }
                count++;
        }
        while (old < end)
                drop_process(people, old++);
        return count;
}

/* -- Reading processes ------------------------------------------------------------------------ */

static unsigned first_from(const struct people *people)
{
        unsigned at = 0;

        while (at < people->count && people->held[at].pid < people->from)
                at++;
        return at;
}

/* Begins to read processes. Returns whether any was begun. If there are too few tickets, the next
 * poll begins with the process that got none. */
static bool ask_all(struct people *people)
{
        const uint64_t now_ns = clock_machine_ns();
        const unsigned first = first_from(people);
        bool is_any = false, has_turned_away = false;

        for (unsigned i = 0; i < people->count; i++) {
                struct held *held = &people->held[(first + i) % people->count];

                if (!held->must_read || held->ticket >= 0 || now_ns < held->rest_until_ns)
                        continue;
                held->ticket = readers_ask(people->readers, held->pid);
                held->must_read = held->ticket < 0;
                held->asked = people->asks;
                is_any |= held->ticket >= 0;
                if (held->must_read && !has_turned_away)
                        people->from = held->pid;
                has_turned_away |= held->must_read;
        }
        return is_any;
}

/* Handles a ticket that was given to another process: the process is read again after the
 * others. */
static void lose(const struct people *people, struct held *held)
{
        drop_ticket(people, held);
        held->must_read = true;
        held->rest_until_ns = clock_machine_ns() + READERS_REST_NS;
}

/* Takes what was read. The process had its pid before the driver listed it and still has it, so
 * it is the listed process. The identity of a known process is replaced only when everything was
 * read. */
static void take_identity(struct held *held, const struct identity *said, uint64_t listed_ns)
{
        if (!held->is_known && !identity_was_there(said, listed_ns))
                return;
        if (held->is_known && said->is_partial && !held->identity.is_partial)
                return;
        held->identity = *said;
        held->is_known = true;
        held->is_settled = said->rank != IDENTITY_OF_NONE || held->asked != held->listed ||
                           /* without a descriptor, the process is known for this poll only */
                           held->fd < 0;
}

static void take_all(struct people *people, uint64_t listed_ns)
{
        for (unsigned i = 0; i < people->count; i++) {
                struct held *held = &people->held[i];
                struct identity said;
                enum readers_word word = READERS_SILENT;

                if (held->ticket >= 0)
                        word = readers_answer(people->readers, held->ticket, &said);
                if (word == READERS_PART || word == READERS_WHOLE)
                        take_identity(held, &said, listed_ns);
                if (word == READERS_NOBODY)
                        held->is_known = held->is_settled = false;
                if (word == READERS_NOBODY || word == READERS_WHOLE)
                        drop_ticket(people, held);
                if (word == READERS_LOST)
                        lose(people, held);
        }
}

/* Whether the process counts. An exiting process does not: the kernel removes its mappings before
 * the driver frees its memory, which follows soon. */
static bool is_somebody(const struct held *held)
{
        return held->is_known && !held->identity.is_exiting &&
               (held->fd < 0 || is_process_running(held));
}

static bool make_room(struct nvml_look *look, unsigned room)
{
        struct identity *who;

        if (room <= look->who_room)
                return true;
        who = reallocarray(look->who, room, sizeof(*who));
        if (!who)
                return false;
        look->who = who;
        look->who_room = room;
        return true;
}

int people_find(struct people *people, const struct nvml_ask *ask, unsigned looks,
                struct nvml_look *look)
{
        const uint64_t until_ns = clock_machine_ns() + PEOPLE_LOOK_NS;
        const unsigned room = count_pids(&look->sample);
        struct held *held = calloc(room + 1, sizeof(*held));
        uint64_t now_ns;
        bool has_more = true;

        if (!people->readers)
                people->readers = readers_new();
        if (!people->readers || !held || !make_room(look, room)) {
                free(held);
                return -ENOMEM;
        }
        people->asks++;
        readers_know(people->readers, &ask->sessions);
        people->count = hold_all(people, ask, looks, &look->sample, held);
        free(people->held);
        people->held = held;
        while (has_more && (now_ns = clock_machine_ns()) < until_ns) {
                has_more = ask_all(people);
                readers_tend(people->readers, until_ns - now_ns);
                take_all(people, look->sample.listed_ns);
        }
        look->who_count = 0;
        for (unsigned i = 0; i < people->count; i++) {
                if (is_somebody(&held[i])) {
                        look->who[look->who_count] = held[i].identity;
                        look->who[look->who_count++].is_partial |= !held[i].is_settled;
                }
                if (held[i].fd < 0)
                        drop_ticket(people, &held[i]);
        }
        return 0;
}

void people_release(struct people *people)
{
        for (unsigned i = 0; i < people->count; i++)
                drop_process(people, &people->held[i]);
        free(people->held);
        readers_free(people->readers);
}
