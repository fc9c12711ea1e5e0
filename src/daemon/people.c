/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/people.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "daemon/descriptors.h"

#define HELD_MOST 4096u   /* descriptors of processes */
#define READINGS_MOST 16u /* and of mappings that are read on at the next look */
#define READ_AGAIN 256u   /* one of so many identities is read again at each whole look */
/* Then a process is taken for what was read: mappings can be added without end. */
#define SLICES_MOST 400u

/* A process that NVML listed at the last look, by a descriptor that keeps its pid its own. */
struct held {
        int fd; /* -1: one too many */
        struct identity identity;
        FILE *maps;           /* being read; NULL: none are */
        struct identity next; /* what they have shown so far */
        unsigned slices;
};

static void close_maps(struct held *held)
{
        if (held->maps)
                fclose(held->maps);
        held->maps = NULL;
}

static void drop(struct held *held)
{
        close_maps(held);
        if (held->fd >= 0)
                close(held->fd);
        held->fd = -1;
        held->identity.is_partial = false; /* it is begun anew at each look */
}

/* -- One process ------------------------------------------------------------------------------ */

/* Reads on for a moment. Who is known already stays what it was until all is read. */
static void read_on(const struct people *people, struct held *held)
{
        uint64_t until_ns = clock_thread_ns() + PEOPLE_SLICE_NS;
        bool is_read = identity_go_on(&held->next, held->maps,
                                      until_ns < people->until_ns ? until_ns : people->until_ns);

        if (is_read || ++held->slices >= SLICES_MOST) {
                held->next.is_partial = false;
                close_maps(held);
        }
        if (!held->maps || held->identity.is_partial)
                held->identity = held->next;
}

/* Who is on the way out is nobody any more: what it held goes, but after its mappings. */
static bool is_somebody(const struct held *held)
{
        return !held->next.is_exiting && identity_is_there(held->fd);
}

static bool read_who(struct people *people, struct held *held, uint32_t pid)
{
        close_maps(held);
        if (!identity_begin(pid, &held->next, &held->maps))
                return false;
        if (held->identity.is_partial || !held->maps)
                held->identity = held->next;
        if (held->maps)
                read_on(people, held);
        if (held->maps && people->readings >= READINGS_MOST)
                close_maps(held);
        return is_somebody(held);
}

/* It had its pid before the driver listed it and has it still: it is the one that was listed. */
static bool find_out(struct people *people, uint32_t pid, uint64_t listed_ns, struct held *ret)
{
        *ret = (struct held){ .fd = identity_hold(pid), .identity.is_partial = true };
        if (ret->fd < 0)
                return false;
        if (read_who(people, ret, pid) && identity_was_there(&ret->identity, listed_ns))
                return true;
        drop(ret);
        return false;
}

static bool must_read_again(const struct nvml_ask *ask, unsigned looks, const struct held *held)
{
        for (unsigned i = 0; i < ask->suspect_count; i++) {
                if (ask->suspect[i] == held->identity.pid)
                        return true;
        }
        return ask->extent == SAMPLE_WHOLE && (held->identity.pid + looks) % READ_AGAIN == 0;
}

/* Another program in the same process (exec) changes what it has mapped, not who it is. */
static bool is_known(struct people *people, struct held *held, bool must_read)
{
        if (held->fd < 0 || !identity_is_there(held->fd))
                return false;
        if (!must_read || held->maps || held->identity.is_partial ||
            clock_thread_ns() >= people->until_ns)
                return true;
        held->slices = 0;
        return read_who(people, held, held->identity.pid);
}

/* -- All of them ------------------------------------------------------------------------------ */

static unsigned count_pids(const struct sample *sample)
{
        unsigned count = 0;

        for (unsigned i = 0; i < sample->process_count; i++)
                count += !i || sample->process[i].pid != sample->process[i - 1].pid;
        return count;
}

static void keep(struct people *people, struct held *held, bool has_room)
{
        people->readings += held->maps != NULL;
        if (!has_room)
                drop(held);
}

/* Takes the former array over: both are in the order of the pids. */
static unsigned hold_all(struct people *people, const struct nvml_ask *ask, unsigned looks,
                         const struct sample *sample, struct held *ret)
{
        const unsigned most = descriptors_most(HELD_MOST, DESCRIPTORS_GPU_USERS);
        struct held *old = people->held, *end = old + people->count;
        unsigned count = 0;

        for (unsigned i = 0; i < sample->process_count; i++) {
                uint32_t pid = sample->process[i].pid;
                bool is_found;

                if (i && pid == sample->process[i - 1].pid)
                        continue;
                while (old < end && old->identity.pid < pid)
                        drop(old++);
                is_found = old < end && old->identity.pid == pid;
                if (is_found && is_known(people, old, must_read_again(ask, looks, old))) {
                        ret[count] = *old++;
                        keep(people, &ret[count], count < most);
                        count++;
                        continue;
                }
                if (is_found)
                        drop(old++);
                if (!find_out(people, pid, sample->listed_ns, &ret[count]))
                        continue;
                keep(people, &ret[count], count < most);
                count++;
        }
        while (old < end)
                drop(old++);
        return count;
}

/* Those whose mappings are not read yet, each for a slice, by turns. */
static void read_all_on(struct people *people)
{
        const unsigned from = people->from;

        for (unsigned i = 0; i < people->count && clock_thread_ns() < people->until_ns; i++) {
                struct held *held = &people->held[(from + i) % people->count];

                if (!held->maps && !held->identity.is_partial)
                        continue;
                people->from = (from + i + 1) % people->count;
                if (held->maps) {
                        read_on(people, held);
                        continue;
                }
                if (!read_who(people, held, held->identity.pid))
                        held->identity.is_exiting = true;
                people->readings += held->maps != NULL;
        }
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
        unsigned room = count_pids(&look->sample);
        struct held *held = calloc(room + 1, sizeof(*held));

        if (!held || !make_room(look, room)) {
                free(held);
                return -ENOMEM;
        }
        people->readings = 0;
        people->until_ns = clock_thread_ns() + PEOPLE_LOOK_NS;
        room = hold_all(people, ask, looks, &look->sample, held);
        free(people->held);
        people->held = held;
        people->count = room;
        read_all_on(people);
        look->who_count = 0;
        for (unsigned i = 0; i < people->count; i++) {
                if (!held[i].identity.is_exiting)
                        look->who[look->who_count++] = held[i].identity;
        }
        return 0;
}

void people_release(struct people *people)
{
        for (unsigned i = 0; i < people->count; i++)
                drop(&people->held[i]);
        free(people->held);
}
