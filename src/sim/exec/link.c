/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a device (copy engines between host and device, or between devices), which all
 * processes share: a copy reserves a link and sleeps until the end of its reservation.
 *
 * A reservation follows the last one of its link, and its length is fixed when it is made. While
 * the opposite direction has reservations, a new one is longer (setting duplex=). The earlier copy
 * was reserved as if it were alone, and keeps its time: the later copy gets the remaining rate.
 *
 * Reservations are made in drafts (cell.h), so a process that dies or stops delays others by the
 * length of its copy at most.
 */
#include "sim/exec/engine.h"

#include "common/minmax.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

/* Longest single sleep. It limits how late a copy notices that its context ends. */
#define NAP_NS 20000000ULL

/* Returns the length of a copy that takes `ns` alone, if the opposite direction is busy for the
 * first `beside_ns` of it. Reservations of a link have no gaps between them, so a direction is busy
 * until the time from which it is free. */
static uint64_t duplex_ns(uint64_t ns, uint64_t beside_ns)
{
        uint64_t percent = config_get()->duplex_percent - 100;
        uint64_t done_ns = beside_ns / 100 * percent + beside_ns % 100 * percent / 100;

        if (ns == 0)
                return 0;
        return done_ns < ns ? beside_ns + ns - done_ns : ns * 100 / percent;
}

/* Returns for how long the opposite direction is busy from `start_ns` on. */
static uint64_t other_way_ns(const struct exec_links *links, enum exec_link link, uint64_t start_ns)
{
        uint64_t other_ns = 0;

        if (link == LINK_TO_DEVICE)
                other_ns = links->free_ns[LINK_TO_HOST];
        else if (link == LINK_TO_HOST)
                other_ns = links->free_ns[LINK_TO_DEVICE];
        return other_ns > start_ns ? other_ns - start_ns : 0;
}

/* Reserves the link. Returns the end of the reservation, and stores its start in `ret_start_ns`. */
static uint64_t link_reserve(struct exec_place *place, enum exec_link link, uint64_t ns,
                             uint64_t ready_ns, uint64_t *ret_start_ns)
{
        struct exec_device *device = place->device;
        struct cell_draft draft;
        struct exec_links *links;
        uint64_t start, end;

        do {
                links = cell_begin(&device->link_cell, device->links, &draft);
                start = max_u64(links->free_ns[link], ready_ns);
                end = start + duplex_ns(ns, other_way_ns(links, link, start));
                if (ns)
                        links->free_ns[link] = end;
        } while (!cell_commit(&draft));
        *ret_start_ns = start;
        return end;
}

uint64_t place_copy(struct exec_place *place, enum exec_link link, uint64_t ready_ns, uint64_t ns)
{
        uint64_t start, end = link_reserve(place, link, ns, ready_ns, &start);

        if (ns) {
                node_busy_add(place->unit, ENGINE_COPY, start, end);
                if (link == LINK_TO_DEVICE || link == LINK_TO_HOST)
                        node_way_add(place->unit,
                                     link == LINK_TO_DEVICE ? WAY_TO_DEVICE : WAY_TO_HOST, start,
                                     end);
        }
        while (sim_now_ns() < end && !load_relaxed(&place->is_closing) &&
               !load_relaxed(place->error)) {
                uint64_t nap_ns = sim_now_ns() + NAP_NS;

                sim_sleep_until(min_u64(end, nap_ns));
        }
        return end;
}
