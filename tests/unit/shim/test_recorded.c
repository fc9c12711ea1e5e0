/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that record into a command list of a graphics interface: which ones do, whatever the
 * driver answers, and however their handles come and go. The driver is played here.
 */
#include "shim/time/credit.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/captures.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/recorded.h"
#include "shim/cuda/stream/time.h"
#include "shim/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct capture_state capture_state;
static CUresult answer;
static unsigned asked;
static unsigned long long id_offset; /* a handle that comes again is another stream */

static CUstream left;

void time_forget_stream(CUstream stream)
{
        left = stream;
}

void capture_stream_gone(CUstream unused)
{
        (void)unused;
}

void capture_ends_begin(void)
{
}

CUresult capture_ends_end(CUresult rc)
{
        return rc;
}

void gate_return_credit(void)
{
        credit_here.left = 0;
}

static CUresult get_id(CUstream stream, unsigned long long *ret)
{
        *ret = (uintptr_t)stream + id_offset;
        return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUstreamCigCaptureParams *params)
{
        (void)stream;
        (void)params;
        asked++;
        return answer;
}

static CUresult end(CUstream stream)
{
        (void)stream;
        asked++;
        return answer;
}

static CUresult destroy(CUstream stream)
{
        assert_ptr_equal(left, stream);
        return answer;
}

struct real real = { .cuStreamGetId = get_id };

/* What the hooks are that cuda.api makes. */
static CUresult record(CUstream stream, CUstreamCigCaptureParams *params)
{
        return stream_record(begin, stream, params, stream);
}

static CUresult end_record(CUstream stream)
{
        uint64_t id = stream_recorded_begin(stream);

        return stream_recorded_end(id, end(stream));
}

static CUresult destroy_stream(CUstream stream)
{
        struct stream_destroy before = stream_destroy_begin(stream);

        return stream_destroy_end(&before, destroy(stream));
}

static uint32_t owner;

struct place place_of_stream(CUstream stream)
{
        (void)stream;
        return (struct place){ .owner = owner };
}

enum session_state session_state(void)
{
        return SESSION_ACTIVE;
}

static CUstream stream_of(uintptr_t number)
{
        return (CUstream)(number * 16);
}

static void a_stream_records_from_its_begin_to_its_end(void **unused)
{
        CUstreamCigCaptureParams params = { 0 };

        (void)unused;
        answer = CUDA_SUCCESS;
        assert_false(stream_is_recorded(stream_of(1)));
        credit_here.left = 5;
        assert_int_equal(record(stream_of(1), &params), CUDA_SUCCESS);
        assert_int_equal(credit_here.left, 0);
        assert_true(stream_is_recorded(stream_of(1)));
        assert_false(stream_is_recorded(stream_of(2)));
        assert_int_equal(end_record(stream_of(1)), CUDA_SUCCESS);
        assert_false(stream_is_recorded(stream_of(1)));
        assert_int_equal(capture_state.recorded_count, 0);
}

/* The second beginning is refused, and takes nothing of the first one with it. */
static void a_refusal_changes_nothing(void **unused)
{
        (void)unused;
        answer = CUDA_ERROR_NOT_SUPPORTED;
        assert_int_equal(record(stream_of(1), NULL), answer);
        assert_false(stream_is_recorded(stream_of(1)));
        answer = CUDA_SUCCESS;
        assert_int_equal(record(stream_of(1), NULL), CUDA_SUCCESS);
        answer = CUDA_ERROR_INVALID_VALUE;
        assert_int_equal(record(stream_of(1), NULL), answer);
        assert_int_equal(end_record(stream_of(1)), answer);
        assert_true(stream_is_recorded(stream_of(1)));
        answer = CUDA_SUCCESS;
        assert_int_equal(end_record(stream_of(1)), CUDA_SUCCESS);
        assert_false(stream_is_recorded(stream_of(1)));
}

/* Else its launches would go unmeasured for ever. */
static void a_handle_that_comes_again_is_another_stream(void **unused)
{
        (void)unused;
        answer = CUDA_SUCCESS;
        assert_int_equal(record(CU_STREAM_PER_THREAD, NULL), CUDA_SUCCESS);
        assert_true(stream_is_recorded(CU_STREAM_PER_THREAD));
        id_offset = 1000;
        assert_false(stream_is_recorded(CU_STREAM_PER_THREAD));
        id_offset = 0;
        assert_int_equal(end_record(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
        assert_false(stream_is_recorded(CU_STREAM_PER_THREAD));
}

/* One that could not be told from others is not begun. */
static void there_is_an_end_to_what_is_remembered(void **unused)
{
        (void)unused;
        answer = CUDA_SUCCESS;
        for (unsigned i = 1; i <= STATE_RECORDED; i++)
                assert_int_equal(record(stream_of(i), NULL), CUDA_SUCCESS);
        asked = 0;
        assert_int_equal(record(stream_of(STATE_RECORDED + 1), NULL), CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(asked, 0);
        for (unsigned i = 1; i <= STATE_RECORDED; i++)
                assert_int_equal(end_record(stream_of(i)), CUDA_SUCCESS);
        assert_int_equal(capture_state.recorded_count, 0);
}

/* As often as it likes, and also one that was begun twice. */
static void a_stream_that_ends_leaves_its_place(void **unused)
{
        (void)unused;
        answer = CUDA_SUCCESS;
        for (unsigned i = 1; i <= 2 * STATE_RECORDED; i++) {
                assert_int_equal(record(stream_of(i), NULL), CUDA_SUCCESS);
                assert_int_equal(destroy_stream(stream_of(i)), CUDA_SUCCESS);
        }
        for (unsigned i = 0; i < 2; i++)
                assert_int_equal(record(stream_of(1), NULL), CUDA_SUCCESS);
        assert_int_equal(record(stream_of(2), NULL), CUDA_SUCCESS);
        answer = CUDA_ERROR_INVALID_HANDLE;
        assert_int_equal(destroy_stream(stream_of(2)), answer);
        assert_true(stream_is_recorded(stream_of(2)));
        answer = CUDA_SUCCESS;
        assert_int_equal(destroy_stream(stream_of(1)), CUDA_SUCCESS);
        assert_int_equal(destroy_stream(stream_of(2)), CUDA_SUCCESS);
        assert_int_equal(capture_state.recorded_count, 0);
}

static void a_context_takes_the_places_of_its_streams_along(void **unused)
{
        (void)unused;
        answer = CUDA_SUCCESS;
        for (unsigned i = 1; i <= STATE_RECORDED; i++) {
                owner = i % 2;
                assert_int_equal(record(stream_of(i), NULL), CUDA_SUCCESS);
        }
        recorded_owner_gone(0);
        assert_int_equal(capture_state.recorded_count, STATE_RECORDED);
        recorded_owner_gone(1);
        assert_int_equal(capture_state.recorded_count, STATE_RECORDED / 2);
        assert_false(stream_is_recorded(stream_of(1)));
        assert_true(stream_is_recorded(stream_of(2)));
        for (unsigned i = 2; i <= STATE_RECORDED; i += 2)
                assert_int_equal(end_record(stream_of(i)), CUDA_SUCCESS);
        assert_int_equal(capture_state.recorded_count, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_stream_records_from_its_begin_to_its_end),
                cmocka_unit_test(a_refusal_changes_nothing),
                cmocka_unit_test(a_handle_that_comes_again_is_another_stream),
                cmocka_unit_test(there_is_an_end_to_what_is_remembered),
                cmocka_unit_test(a_stream_that_ends_leaves_its_place),
                cmocka_unit_test(a_context_takes_the_places_of_its_streams_along),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
