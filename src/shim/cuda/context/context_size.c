/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/context/context_size.h"

#include <string.h>

#include "common/atomic.h"
#include "shim/cards.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/stream/access.h"

/* Smallest and largest possible size of a context. NVML's answer is ignored if it is outside this
 * range. */
#define CONTEXT_MIN (UINT64_C(1) << 20)
#define CONTEXT_MAX (UINT64_C(4) << 30)

/* Stored in place of a size: NVML was asked and did not answer. */
#define NOT_TOLD 1

/* Sleeps while another process has the turn: the first for 1 ms, each further one twice as long, up
 * to 16 ms. */
#define TURN_SLEEP_NS 1000000
#define TURN_SLEEP_MAX_NS 16000000
#define TURN_LOOKS 320u

static bool is_charged(struct place place)
{
        const struct limits_page *limits = session_limits();

        return place.row >= 0 && limits && !(limits->flags & PAGE_CONTEXT_FREE);
}

static bool is_sensible(uint64_t bytes)
{
        return bytes >= CONTEXT_MIN && bytes <= CONTEXT_MAX;
}

static _Atomic uint64_t *measured_bytes(struct place place)
{
        return shared_word(&session_slots()->ledger[place.row].context_bytes);
}

void *context_turn_take(struct place place)
{
        uint64_t sleep_ns = TURN_SLEEP_NS;
        void *turn = NULL;

        if (!is_charged(place))
                return NULL;
        remainder_before_context(place.row);
        for (unsigned i = 0; i < TURN_LOOKS && !load_relaxed(measured_bytes(place)); i++) {
                if (turn_try(PAGE_LOCK_CONTEXT(place.row), &turn))
                        break;
                access_sleep_ns(sleep_ns);
                sleep_ns = sleep_ns * 2 < TURN_SLEEP_MAX_NS ? sleep_ns * 2 : TURN_SLEEP_MAX_NS;
        }
        return turn;
}

static uint64_t estimate(struct place place)
{
        uint64_t known_bytes = session_limits()->device[place.row].card_bytes;
        size_t card_bytes;
        char model[128];

        /* an unknown model gets the largest estimate */
        if (real.cuDeviceGetName(model, sizeof(model), place.device) != CUDA_SUCCESS)
                strcpy(model, "B200");
        /* NVML reports a slightly larger card than CUDA does. For a large card this makes no
         * difference to the estimate; for a small one, CUDA's size is used. */
        if (measure_context(model, UINT64_MAX) <= measure_context(model, known_bytes / 2))
                return measure_context(model, known_bytes);
        if (real.cuDeviceTotalMem_v2(&card_bytes, place.device) != CUDA_SUCCESS)
                card_bytes = SIZE_MAX;
        return measure_context(model, card_bytes);
}

uint64_t context_bytes(struct place place)
{
        uint64_t measured;

        if (!is_charged(place))
                return 0;
        measured = load_relaxed(measured_bytes(place));
        return is_sensible(measured) ? measured : estimate(place);
}

/* Asks NVML how much memory this process has on the card, and stores the answer for the session. A
 * failure never replaces an answer that another process has stored. */
static uint64_t ask_size(struct place place)
{
        uint64_t known = 0;
        uint64_t bytes;
        CUuuid uuid;

        if (real.cuDeviceGetUuid_v2(&uuid, place.device) != CUDA_SUCCESS ||
            cards_own_bytes((const uint8_t *)uuid.bytes, &bytes) != CARDS_TOLD ||
            !is_sensible(bytes))
                return cas_acq_rel(measured_bytes(place), &known, NOT_TOLD) ? NOT_TOLD : known;
        store_relaxed(measured_bytes(place), bytes);
        return bytes;
}

bool context_measure(struct place place, uint64_t charged)
{
        uint64_t measured;

        if (!charged)
                return false;
        measured = load_relaxed(measured_bytes(place));
        if (!is_sensible(measured) && front_own_bytes(place.row) == charged &&
            !remainder_is_foreign(place.row))
                measured = ask_size(place);
        return is_sensible(measured) && measured != charged;
}

void context_correct(struct charge *charge, struct place place)
{
        uint64_t measured = load_relaxed(measured_bytes(place));
        struct charge more;

        if (measured < charge->bytes)
                charge_trim(charge, measured);
        else if (charge_force(&more, place.row, measured - charge->bytes))
                charge_join(charge, &more);
}
