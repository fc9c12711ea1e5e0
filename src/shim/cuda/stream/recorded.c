/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/stream/recorded.h"

#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/captures.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/time.h"

/* Returns the id of the stream. 0: the driver does not report it, or there is no session. */
static uint64_t id_of(CUstream stream)
{
        unsigned long long id = 0;

        gate_return_credit();
        if (!front_is_on() || real.cuStreamGetId(stream, &id) != CUDA_SUCCESS)
                return 0;
        return id;
}

/* Returns the first entry with the id; with id 0, a free entry. NULL: none. The caller holds
 * recorded_lock. */
static struct recorded *find_recorded(uint64_t id)
{
        struct recorded *place = capture_state.recorded;

        while (place < capture_state.recorded + STATE_RECORDED && place->id != id)
                place++;
        return place < capture_state.recorded + STATE_RECORDED ? place : NULL;
}

/* Overwrites the first entry with the id. False: there is none. */
static bool replace_recorded(uint64_t id, struct recorded by)
{
        struct recorded *place;

        lock_take(&capture_state.recorded_lock);
        place = find_recorded(id);
        if (place)
                *place = by;
        lock_drop(&capture_state.recorded_lock);
        return place != NULL;
}

/* Adds an entry for a stream before the driver call that begins the recording, because without a
 * free entry the call is refused. */
static bool put_recorded(CUstream stream, uint64_t id)
{
        struct recorded recorded = { .id = id, .owner = place_of_stream(stream).owner };
        bool is_put = replace_recorded(0, recorded);

        if (is_put)
                add_acq_rel(&capture_state.recorded_count, 1u);
        return is_put;
}

/* Removes an entry of the stream. False: there is none. */
static bool take_recorded(uint64_t id)
{
        bool is_taken = id && replace_recorded(id, (struct recorded){ 0 });

        if (is_taken)
                add_acq_rel(&capture_state.recorded_count, -1u);
        return is_taken;
}

void recorded_owner_gone(uint32_t owner)
{
        if (!owner || !load_relaxed(&capture_state.recorded_count))
                return;
        lock_take(&capture_state.recorded_lock);
        for (unsigned i = 0; i < STATE_RECORDED; i++) {
                if (capture_state.recorded[i].owner != owner)
                        continue;
                capture_state.recorded[i] = (struct recorded){ 0 };
                add_acq_rel(&capture_state.recorded_count, -1u);
        }
        lock_drop(&capture_state.recorded_lock);
}

bool stream_is_recorded(CUstream stream)
{
        unsigned long long id = 0;
        bool is_found;

        if (!load_relaxed(&capture_state.recorded_count) ||
            real.cuStreamGetId(stream, &id) != CUDA_SUCCESS || !id)
                return false;
        lock_take(&capture_state.recorded_lock);
        is_found = find_recorded(id) != NULL;
        lock_drop(&capture_state.recorded_lock);
        return is_found;
}

CUresult stream_record(__typeof__(&cuStreamBeginCaptureToCig) driver, CUstream given,
                       CUstreamCigCaptureParams *params, CUstream stream)
{
        uint64_t id = id_of(stream);
        CUresult rc;

        if (id && !put_recorded(stream, id))
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = driver(given, params);
        if (rc != CUDA_SUCCESS)
                take_recorded(id);
        return rc;
}

uint64_t stream_recorded_begin(CUstream stream)
{
        uint64_t id = id_of(stream);

        capture_ends_begin();
        return id;
}

CUresult stream_recorded_end(uint64_t id, CUresult rc)
{
        capture_ends_end(rc);
        if (rc == CUDA_SUCCESS)
                take_recorded(id);
        return rc;
}

struct stream_destroy stream_destroy_begin(CUstream stream)
{
        bool is_any = load_relaxed(&capture_state.recorded_count) != 0;
        struct stream_destroy destroy = { stream, is_any ? id_of(stream) : 0 };

        gate_return_credit();
        time_forget_stream(stream);
        capture_ends_begin();
        return destroy;
}

CUresult stream_destroy_end(const struct stream_destroy *destroy, CUresult rc)
{
        capture_ends_end(rc);
        if (rc != CUDA_SUCCESS)
                return rc;
        capture_stream_gone(destroy->stream);
        while (take_recorded(destroy->id))
                ;
        return rc;
}
