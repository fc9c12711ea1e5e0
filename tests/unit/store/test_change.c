/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits and caps change for all at once, and GPUs that show up later get what holds then.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "common/atomic.h"
#include "common/swap128.h"

#include "fixture.h"

#define CLAIMERS 24
#define MEETINGS 300 /* the first few were enough to show it */
#define CHANGES 2000

static void test_changing_limits_live(void **state)
{
        struct store_request request = request_of("live");
        struct settings_limits change = { .count = 1 };
        struct store_session owner, tenant;
        uint32_t epoch;

        assert_int_equal(store_create(&store, &request, &owner, NULL), 0);
        assert_int_equal(store_join(&store, "live", false, &tenant, NULL), 0);
        epoch = tenant.limits->epoch;

        /* One GPU: the other keeps its limit, and so does the default. */
        change.device[0] = two_gpus.device[1];
        change.device[0].limit_bytes = 2 * GIB;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 2 * GIB);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        assert_int_equal(tenant.limits->default_limit_bytes, 4 * GIB);
        assert_int_not_equal(tenant.limits->epoch, epoch);

        /* All of them. */
        change = (struct settings_limits){ .has_default = true, .default_bytes = 3 * GIB };
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 3 * GIB);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 3 * GIB);
        assert_int_equal(tenant.limits->default_limit_bytes, 3 * GIB);

        /* More than a card has: nothing changes at all. */
        epoch = tenant.limits->epoch;
        change = (struct settings_limits){ .has_default = true, .default_bytes = 17 * GIB };
        assert_true(store_set(&owner, &change, NULL) < 0);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 3 * GIB);
        assert_int_equal(tenant.limits->epoch, epoch);
        /* The tenant's own mapping is for reading. */
        assert_int_equal(store_set(&tenant, &change, NULL), -EPERM);
        store_close(&owner);
        store_close(&tenant);
}

/* The words for what holds now begin with what holds where nothing else is said, also where no GPU
 * has it any more. */
static void test_what_holds_now_is_said_from_the_default_on(void **state)
{
        struct store_request request = request_of("words");
        struct settings_limits change = { .count = 1 };
        struct store_session owner;
        struct error err;

        assert_int_equal(store_create(&store, &request, &owner, NULL), 0);
        change.device[0] = two_gpus.device[0];
        change.device[0].limit_bytes = 2 * GIB;
        change.device[0].is_named = true;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        request.created_as = "other words";
        assert_int_equal(store_check_same(&owner, &request, &err), -EEXIST);
        assert_non_null(strstr(err.text, "memory=4GiB,GPU-01010000-"));
        store_close(&owner);
}

static void test_changing_to_a_part_of_each_card(void **state)
{
        const struct settings_limits quarter = { .has_default = true,
                                                 .default_bytes = PAGE_UNLIMITED,
                                                 .default_micro_percent = 25000000 };
        struct store_session owner;

        make_and_join("part", &owner);
        assert_int_equal(store_set(&owner, &quarter, NULL), 0);
        assert_int_equal(owner.limits->device[0].limit_bytes, 4 * GIB);
        /* Also of one that is to come. */
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 9 }, 8 * GIB, NULL), 2);
        assert_int_equal(owner.limits->device[2].limit_bytes, 2 * GIB);
        store_close(&owner);
}

/* Caps on compute go their own way beside memory: either can be changed alone. */
static void test_changing_caps_live(void **state)
{
        struct store_request request = request_of("caps");
        struct settings_limits change = { .count = 1 }, capped = two_gpus;
        struct store_session owner, tenant;
        struct error err;

        capped.default_cap_ppm = capped.device[0].cap_ppm = capped.device[1].cap_ppm = 300000;
        request.limits = &capped;
        assert_int_equal(store_create(&store, &request, &owner, NULL), 0);
        assert_int_equal(store_join(&store, "caps", false, &tenant, NULL), 0);
        assert_int_equal(tenant.limits->device[1].cap_ppm, 300000);

        change.device[0] = capped.device[1];
        change.device[0].limit_bytes = 1 * GIB; /* not asked for */
        change.device[0].is_named = false;
        change.device[0].is_cap_named = true;
        change.device[0].cap_ppm = 500000;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].cap_ppm, 300000);
        assert_int_equal(tenant.limits->device[1].cap_ppm, 500000);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 8 * GIB);
        assert_int_equal(store_check_same(&owner, &request, &err), 0); /* its own words */
        change.device[0].is_named = true;
        change.device[0].limit_bytes = 8 * GIB;
        change.device[0].is_cap_named = false;
        change.device[0].cap_ppm = 1; /* not asked for */
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[1].cap_ppm, 500000);
        request.created_as = "other words";
        assert_int_equal(store_check_same(&owner, &request, &err), -EEXIST);
        assert_non_null(strstr(err.text, ";compute=30%,GPU-02020000-"));
        assert_null(strstr(err.text, "=30%,GPU-01"));

        change = (struct settings_limits){ .has_default_cap = true,
                                           .default_cap_ppm = PAGE_WHOLE_PPM };
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].cap_ppm, PAGE_WHOLE_PPM);
        assert_int_equal(tenant.limits->device[1].cap_ppm, PAGE_WHOLE_PPM);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        change.default_cap_ppm = 250000;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(store_claim_row(&tenant, (uint8_t[16]){ 9 }, 8 * GIB, NULL), 2);
        assert_int_equal(page_cap_ppm(tenant.limits, &tenant.limits->device[2]), 250000);
        store_close(&owner);
        store_close(&tenant);
}

/* GPUs that the maker could not see get rows when they are used: one each, whoever comes first. */
static void test_rows_for_gpus_that_show_up(void **state)
{
        struct store_session session;

        make("rows");
        assert_int_equal(store_join(&store, "rows", false, &session, NULL), 0);
        assert_int_equal(store_claim_row(&session, two_gpus.device[1].uuid, 16 * GIB, NULL), 1);
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 0 }, GIB, NULL), -EINVAL);
        for (int i = 0; i < CLAIMERS; i++) {
                if (fork() == 0) {
                        for (uint8_t gpu = 10; gpu < 20; gpu++) {
                                uint8_t uuid[16] = { [15] = (uint8_t)(10 + (gpu + i) % 10) };

                                if (store_claim_row(&session, uuid, 16 * GIB, NULL) < 2)
                                        _exit(1);
                        }
                        _exit(0);
                }
        }
        for (int i = 0; i < CLAIMERS; i++) {
                int status;

                assert_true(wait(&status) > 0);
                assert_int_equal(status, 0);
        }
        for (unsigned i = 2; i < 12; i++) {
                assert_int_equal(session.limits->device[i].limit_bytes, 4 * GIB);
                assert_int_equal(session.limits->device[i].card_bytes, 16 * GIB);
                for (unsigned j = 0; j < i; j++)
                        assert_memory_not_equal(session.limits->device[i].uuid,
                                                session.limits->device[j].uuid, 16);
        }
        assert_int_equal(session.limits->device[12].limit_bytes, 0);
        /* A limit that the card cannot hold is no limit. */
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 77 }, 2 * GIB, NULL), -ERANGE);
        for (uint8_t gpu = 100; gpu < 104; gpu++)
                assert_true(store_claim_row(&session, (uint8_t[16]){ gpu }, 16 * GIB, NULL) >= 0);
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 200 }, 16 * GIB, NULL), -ENOSPC);
        store_close(&session);
}

/* Two threads of one story, let go at the same moment. */
static struct {
        struct store_session session;
        const struct settings_limits *limits;
        _Atomic unsigned ready;
        unsigned rows;
} meeting;

static void meet(void)
{
        add_acq_rel(&meeting.ready, 1);
        while (load_acquire(&meeting.ready) < 2)
                ;
}

static void *claim_rows(void *unused)
{
        meet();
        for (uint8_t gpu = 1; gpu <= meeting.rows; gpu++)
                if (store_claim_row(&meeting.session, (uint8_t[16]){ gpu }, 16 * GIB, NULL) < 0)
                        return meeting.session.limits;
        return NULL;
}

/* Changes the default while GPUs show up: every row is to have the new one in the end. */
static void change_while_rows_are_claimed(const struct settings_limits *from,
                                          const struct settings_limits *to)
{
        struct store_request request = request_of("meet");
        const struct limits_page *page;
        uint64_t expected;
        pthread_t claimer;
        void *failed;

        request.limits = from;
        assert_int_equal(store_create(&store, &request, &meeting.session, NULL), 0);
        store_release(&meeting.ready, 0);
        meeting.rows = 14;
        assert_int_equal(pthread_create(&claimer, NULL, claim_rows, NULL), 0);
        meet();
        assert_int_equal(store_set(&meeting.session, to, NULL), 0);
        pthread_join(claimer, &failed);
        assert_null(failed);
        assert_int_equal(settings_resolve_default(to, 16 * GIB, &expected, NULL), 0);
        page = meeting.session.limits;
        for (unsigned i = 0; i < meeting.rows; i++) {
                assert_int_equal(page->device[i].limit_bytes, expected);
                assert_int_equal(page_cap_ppm(page, &page->device[i]),
                                 to->default_cap_ppm ? to->default_cap_ppm : PAGE_WHOLE_PPM);
        }
        store_close(&meeting.session);
        assert_int_equal(store_remove(&store, "meet", false, NULL), 0);
}

static void test_no_row_keeps_a_default_that_is_over(void **state)
{
        static const struct settings_limits half = { .has_default = true,
                                                     .default_bytes = PAGE_UNLIMITED,
                                                     .default_micro_percent = 50000000,
                                                     .has_default_cap = true,
                                                     .default_cap_ppm = 300000 };
        static const struct settings_limits four = { .has_default = true,
                                                     .default_bytes = 4 * GIB,
                                                     .has_default_cap = true,
                                                     .default_cap_ppm = 500000 };

        static const struct settings_limits uncapped = { .has_default = true,
                                                         .default_bytes = 16 * GIB };

        for (unsigned round = 0; round < MEETINGS; round++) {
                change_while_rows_are_claimed(&uncapped, &four);
                change_while_rows_are_claimed(&half, &four);
                change_while_rows_are_claimed(&four, &half);
        }
}

static const struct settings_limits by_one = { .has_default = true,
                                               .default_bytes = 4 * GIB,
                                               .has_default_cap = true,
                                               .default_cap_ppm = 400000 };
static const struct settings_limits by_another = { .has_default = true,
                                                   .default_bytes = 8 * GIB,
                                                   .has_default_cap = true,
                                                   .default_cap_ppm = 800000 };

static void *change_once(void *limits)
{
        meet();
        if (store_set(&meeting.session, limits, NULL) < 0)
                return meeting.session.limits;
        return NULL;
}

/* One of them has the last word, on every GPU and for those to come. */
static void test_of_two_changes_at_once_one_holds(void **state)
{
        const struct limits_page *page;

        make_and_join("both", &meeting.session);
        page = meeting.session.limits;
        for (unsigned round = 0; round < CHANGES; round++) {
                pthread_t other;
                void *failed;

                store_release(&meeting.ready, 0);
                assert_int_equal(
                        pthread_create(&other, NULL, change_once, (void *)(uintptr_t)&by_another),
                        0);
                assert_null(change_once((void *)(uintptr_t)&by_one));
                pthread_join(other, &failed);
                assert_null(failed);
                for (unsigned i = 0; i < 2; i++) {
                        assert_int_equal(page->device[i].limit_bytes, page->default_limit_bytes);
                        assert_int_equal(page->device[i].cap_ppm, page->default_cap_ppm);
                }
                assert_int_equal(page->default_limit_bytes / GIB, page->default_cap_ppm / 100000);
        }
        store_close(&meeting.session);
}

/* Who changes limits and was stopped at it keeps his turn: nobody waits for him for good. */
static void test_a_change_that_was_stopped_does_not_hang_the_others(void **state)
{
        struct store_session owner;
        struct error err;
        int stopped;

        make_and_join("stopped", &owner);
        stopped = open(path_of("stopped", "limits"), O_RDONLY | O_CLOEXEC);
        assert_int_equal(flock(stopped, LOCK_EX), 0);
        assert_int_equal(store_set(&owner, &by_another, &err), -EBUSY);
        assert_non_null(strstr(err.text, "sessions/stopped does not end"));
        assert_int_equal(owner.limits->default_limit_bytes, 4 * GIB);
        close(stopped);
        assert_int_equal(store_set(&owner, &by_another, NULL), 0);
        assert_int_equal(owner.limits->default_limit_bytes, 8 * GIB);
        store_close(&owner);
}

/* A default of nothing is none that anybody asked for: no GPU is given it. */
static void test_a_page_whose_default_is_nothing_is_refused(void **state)
{
        struct store_session owner;

        make_and_join("nothing", &owner);
        owner.limits->default_limit_bytes = 0;
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 5, 5 }, 16 * GIB, NULL), -EPROTO);
        store_close(&owner);
}

/* Its third row is claimed, and has no limit yet. */
static struct limits_device *make_claimed(const char *name, struct store_session *ret_owner)
{
        struct limits_device *row;

        make_and_join(name, ret_owner);
        row = &ret_owner->limits->device[2];
        memcpy(row->uuid, (uint8_t[16]){ 5, 5 }, 16);
        return row;
}

/* A claimer that died between its two writes: whoever comes next finishes. */
static void test_a_row_without_its_limit(void **state)
{
        struct store_session owner;

        make_claimed("half", &owner);
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 5, 5 }, 16 * GIB, NULL), 2);
        assert_int_equal(owner.limits->device[2].limit_bytes, 4 * GIB);
        store_close(&owner);
}

/* Whoever gives a row its first limit may be stopped between reading what holds and writing it: a
 * change in between makes his write fail, also where the owner has since named that very limit. */
static void test_a_claim_that_a_change_overtook_comes_to_nothing(void **state)
{
        static const struct settings_limits half = { .has_default = true,
                                                     .default_bytes = 2 * GIB };
        const uint64_t late_limit[2] = { 4 * GIB, 16 * GIB };
        struct settings_limits named = { .count = 1 };
        struct limits_device *row;
        struct store_session owner;
        uint64_t seen[2] = { 0 };

        row = make_claimed("crossed", &owner);
        seen[1] = row->card_bytes;
        assert_int_equal(store_set(&owner, &half, NULL), 0);
        assert_false(swap128(&row->limit_bytes, seen, late_limit));
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 5, 5 }, 16 * GIB, NULL), 2);
        assert_int_equal(row->limit_bytes, 2 * GIB);
        assert_int_equal(row->card_bytes, 16 * GIB);

        named.device[0] = (struct settings_limit){
                .uuid = { 5, 5 }, .limit_bytes = 4 * GIB, .card_bytes = 16 * GIB, .is_named = true
        };
        assert_int_equal(store_set(&owner, &named, NULL), 0);
        assert_false(swap128(&row->limit_bytes, seen, late_limit));
        assert_int_equal(row->limit_bytes, 4 * GIB);
        store_close(&owner);
}

/* The same where the session ends: no GPU that shows up at that moment has room. */
static void test_a_claim_that_the_end_overtook_comes_to_nothing(void **state)
{
        const uint64_t late_limit[2] = { 4 * GIB, 16 * GIB };
        struct limits_device *row;
        struct store_session owner;
        uint64_t seen[2] = { 0 };

        row = make_claimed("shut", &owner);
        seen[1] = row->card_bytes;
        store_shut(&owner);
        assert_false(swap128(&row->limit_bytes, seen, late_limit));
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 5, 5 }, 16 * GIB, NULL), 2);
        assert_int_equal(row->limit_bytes, 1);
        assert_int_equal(owner.limits->device[0].limit_bytes, 1);
        store_close(&owner);
}

/* Nobody has to bring it to a row: there is no moment at which a new GPU has another. */
static void test_a_gpu_without_a_cap_follows_the_default(void **state)
{
        static const struct settings_limits half = { .has_default_cap = true,
                                                     .default_cap_ppm = 500000 };
        struct settings_limits named = { .count = 1,
                                         .device = { { .uuid = { 5, 5 },
                                                       .card_bytes = 16 * GIB,
                                                       .is_cap_named = true,
                                                       .cap_ppm = 300000 } } };
        struct store_session owner;
        const struct limits_device *row;

        make_and_join("caps", &owner);
        row = &owner.limits->device[2];
        assert_int_equal(page_cap_ppm(owner.limits, row), PAGE_WHOLE_PPM);
        assert_int_equal(store_set(&owner, &half, NULL), 0);
        assert_int_equal(page_cap_ppm(owner.limits, row), 500000);
        memcpy(owner.limits->device[2].uuid, (uint8_t[16]){ 5, 5 }, 16);
        assert_int_equal(page_cap_ppm(owner.limits, row), 500000);

        assert_int_equal(store_set(&owner, &named, NULL), 0);
        assert_int_equal(page_cap_ppm(owner.limits, row), 300000);
        assert_int_equal(store_set(&owner, &half, NULL), 0);
        assert_int_equal(page_cap_ppm(owner.limits, row), 500000);
        store_close(&owner);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_changing_limits_live),
                story(test_what_holds_now_is_said_from_the_default_on),
                story(test_changing_to_a_part_of_each_card),
                story(test_changing_caps_live),
                story(test_rows_for_gpus_that_show_up),
                story(test_no_row_keeps_a_default_that_is_over),
                story(test_of_two_changes_at_once_one_holds),
                story(test_a_change_that_was_stopped_does_not_hang_the_others),
                story(test_a_page_whose_default_is_nothing_is_refused),
                story(test_a_row_without_its_limit),
                story(test_a_claim_that_a_change_overtook_comes_to_nothing),
                story(test_a_claim_that_the_end_overtook_comes_to_nothing),
                story(test_a_gpu_without_a_cap_follows_the_default),
        };

        return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
