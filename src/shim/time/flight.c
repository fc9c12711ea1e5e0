/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/time/flight.h"

#include "common/scramble.h"

/* Slots are long (FLIGHT_LONG_SLOT_NS) from this age of a flight on, or if flights usually get
 * this old. */
#define OLD_NS UINT64_C(2000000)
/* Slots are also long if waits ended this many flights. */
#define WAITED_MANY 16u
/* Maximum of flight.waited. */
#define WAITED_MAX (8 * WAITED_MANY)
/* Part that one flight has in the smoothed length. */
#define USUAL_PARTS 8u

static uint64_t slot_length_ns(const struct flight *flight, uint64_t slot_ns)
{
        bool is_old = flight->begin_ns && slot_ns > flight->begin_ns + OLD_NS;

        if (slot_ns % FLIGHT_LONG_SLOT_NS == 0 &&
            (is_old || flight->is_coarse || flight->usual_ns >= OLD_NS ||
             flight->waited >= WAITED_MANY))
                return FLIGHT_LONG_SLOT_NS;
        return FLIGHT_SLOT_NS;
}

/* Sets the slot that begins at `slot_ns`, and the random moment of its look. Slots begin at
 * multiples of their length, whenever the flight began. */
static void take_slot(struct flight *flight, uint64_t slot_ns)
{
        flight->slot_ns = slot_ns;
        flight->length_ns = slot_length_ns(flight, slot_ns);
        flight->look_ns = slot_ns + scramble(flight->seed ^ slot_ns) % flight->length_ns;
}

uint64_t flight_look_ns(struct flight *flight, uint64_t now_ns)
{
        bool is_in_slot = flight->slot_ns <= now_ns && now_ns - flight->slot_ns < flight->length_ns;

        if (!is_in_slot && flight->look_ns <= now_ns)
                take_slot(flight, now_ns - now_ns % FLIGHT_SLOT_NS);
        if (flight->look_ns <= now_ns)
                take_slot(flight, flight->slot_ns + flight->length_ns);
        return flight->look_ns;
}

void flight_begin(struct flight *flight, uint64_t now_ns)
{
        flight->begin_ns = flight->busy_ns = now_ns;
        flight->first_ns = flight->slots_ns = 0;
        flight_look_ns(flight, now_ns);
        flight->first_until_ns = flight->slot_ns + flight->length_ns;
        if (flight->slot_ns > now_ns)
                flight->first_until_ns = flight->slot_ns;
}

void flight_seen(struct flight *flight, uint64_t now_ns)
{
        flight->busy_ns = now_ns > flight->busy_ns ? now_ns : flight->busy_ns;
        while (flight->look_ns <= now_ns) {
                if (flight->slot_ns < flight->first_until_ns)
                        flight->first_ns = flight->length_ns;
                else
                        flight->slots_ns += flight->length_ns;
                take_slot(flight, flight->slot_ns + flight->length_ns);
        }
}

void flight_begin_unseen(struct flight *flight, uint64_t now_ns)
{
        uint64_t begin_ns = now_ns;

        if (flight->look_ns <= now_ns && now_ns - flight->slot_ns < flight->length_ns)
                begin_ns = flight->slot_ns > flight->ended_ns ? flight->slot_ns : flight->ended_ns;
        flight_begin(flight, begin_ns);
        flight_seen(flight, now_ns);
}

static void end_flight(struct flight *flight, uint64_t end_ns)
{
        flight->usual_ns -= flight->usual_ns / USUAL_PARTS;
        flight->usual_ns += (end_ns - flight->begin_ns) / USUAL_PARTS;
        flight->begin_ns = 0;
        flight->ended_ns = end_ns;
}

void flight_end_at(struct flight *flight, uint64_t end_ns)
{
        end_flight(flight, end_ns);
        flight->busy_ns = end_ns;
        if (flight->waited < WAITED_MAX)
                flight->waited++;
}

int64_t flight_end(struct flight *flight, uint64_t now_ns)
{
        uint64_t first_ns = flight->busy_ns >= flight->first_until_ns
                                    ? flight->first_until_ns - flight->begin_ns
                                    : flight->first_ns;
        int64_t rest_ns =
                (int64_t)(first_ns + flight->slots_ns - (flight->busy_ns - flight->begin_ns));

        end_flight(flight, now_ns);
        flight->waited /= 2;
        return rest_ns;
}
