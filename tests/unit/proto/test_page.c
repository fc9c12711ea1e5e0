/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page is another process's word: what is not exactly ours is refused, with what was found.
 */
#include "proto/page.h" /* before cmocka.h: it has a macro fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct limits_page limits;
static struct slots_page slots;
static struct error err;

static int good_pages(void **state)
{
        memset(&limits, 0, sizeof(limits));
        memset(&slots, 0, sizeof(slots));
        memset(&err, 0, sizeof(err));
        limits.magic = PAGE_LIMITS_MAGIC;
        limits.version = PAGE_VERSION;
        limits.page_bytes = sizeof(limits);
        limits.owner = PAGE_OWNER_USER;
        slots.magic = PAGE_SLOTS_MAGIC;
        slots.version = PAGE_VERSION;
        slots.slot_count = PAGE_SLOTS;
        slots.page_bytes = sizeof(slots);
        return 0;
}

static void expect_limits_refused(const char *word)
{
        assert_int_equal(page_check_limits(&limits, sizeof(limits), &err), -EPROTO);
        assert_non_null(strstr(err.text, word));
}

static void expect_slots_refused(const char *word)
{
        assert_int_equal(page_check_slots(&slots, sizeof(slots), &err), -EPROTO);
        assert_non_null(strstr(err.text, word));
}

static void pages_of_ours_pass(void **state)
{
        assert_int_equal(page_check_limits(&limits, sizeof(limits), &err), 0);
        assert_int_equal(page_check_slots(&slots, sizeof(slots), &err), 0);
        assert_string_equal(err.text, "");
}

static void a_truncated_file_is_refused(void **state)
{
        assert_int_equal(page_check_limits(&limits, sizeof(limits) - 1, &err), -EPROTO);
        assert_int_equal(page_check_slots(&slots, sizeof(slots) - 1, &err), -EPROTO);
        assert_int_equal(page_check_slots(&slots, 0, &err), -EPROTO);
}

static void a_longer_file_is_refused(void **state)
{
        assert_int_equal(page_check_limits(&limits, sizeof(limits) + 1, &err), -EPROTO);
        assert_int_equal(page_check_slots(&slots, UINT64_MAX, &err), -EPROTO);
}

static void another_magic_is_refused(void **state)
{
        limits.magic = PAGE_SLOTS_MAGIC;
        slots.magic = PAGE_LIMITS_MAGIC;
        expect_limits_refused("magic");
        expect_slots_refused("magic");
}

static void another_version_is_refused(void **state)
{
        char newer[32], older[32];

        limits.version = PAGE_VERSION_SWAP + 1;
        slots.version = PAGE_VERSION_OLDEST - 1;
        snprintf(newer, sizeof(newer), "version is %u", PAGE_VERSION_SWAP + 1);
        snprintf(older, sizeof(older), "version is %u", PAGE_VERSION_OLDEST - 1);
        expect_limits_refused(newer);
        expect_slots_refused(older);
}

static void an_older_version_is_read_but_has_no_turns(void **state)
{
        for (uint32_t version = PAGE_VERSION_OLDEST; version <= PAGE_VERSION_SWAP; version++) {
                limits.version = slots.version = version;
                limits.flags = version == PAGE_VERSION_SWAP ? PAGE_SWAPS : 0;
                assert_int_equal(page_check_limits(&limits, sizeof(limits), &err), 0);
                assert_int_equal(page_check_slots(&slots, sizeof(slots), &err), 0);
                assert_int_equal(page_has_turns(version), version != PAGE_VERSION_OLDEST);
        }
}

/* So a library from before swap, which knows PAGE_VERSION alone, refuses such a session. */
static void a_session_that_swaps_has_a_version_of_its_own(void **state)
{
        assert_int_equal(page_version_of(0), PAGE_VERSION);
        assert_int_equal(page_version_of(PAGE_CONTEXT_FREE), PAGE_VERSION);
        assert_int_equal(page_version_of(PAGE_CONTEXT_FREE | PAGE_SWAPS), PAGE_VERSION_SWAP);
        limits.version = PAGE_VERSION;
        limits.flags = PAGE_SWAPS;
        expect_limits_refused("in a session that swaps");
        limits.version = PAGE_VERSION_SWAP;
        limits.flags = 0;
        expect_limits_refused("in a session that does not swap");
}

static void sizes_that_the_page_says_of_itself_must_match(void **state)
{
        limits.page_bytes++;
        slots.page_bytes = UINT64_MAX;
        expect_limits_refused("page size");
        expect_slots_refused("page size");
}

static void more_slots_than_there_are_are_refused(void **state)
{
        slots.slots_high = PAGE_SLOTS;
        assert_int_equal(page_check_slots(&slots, sizeof(slots), &err), 0);
        slots.slots_high = PAGE_SLOTS + 1;
        expect_slots_refused("highest slot");
        slots.slots_high = 0;
        slots.slot_count = PAGE_SLOTS * 2;
        expect_slots_refused("slot count");
}

static void an_owner_that_nobody_is_is_refused(void **state)
{
        limits.owner = 0;
        expect_limits_refused("owner is 0");
        limits.owner = 3;
        expect_limits_refused("owner is 3");
        limits.owner = PAGE_OWNER_DAEMON;
        assert_int_equal(page_check_limits(&limits, sizeof(limits), &err), 0);
}

static void text_without_an_end_is_refused(void **state)
{
        memset(limits.name, 'x', sizeof(limits.name));
        expect_limits_refused("name");
        limits.name[sizeof(limits.name) - 1] = '\0';
        memset(limits.created_as, 'x', sizeof(limits.created_as));
        expect_limits_refused("words");
        memset(limits.created_as, 0, sizeof(limits.created_as));
        memset(limits.device_name, 'x', sizeof(limits.device_name));
        expect_limits_refused("device name");
}

/* Random bytes behind a good head are neither a crash nor a way out of the page. */
static void rubbish_is_read_without_harm(void **state)
{
        unsigned char *bytes = (unsigned char *)&slots;

        srand(1);
        for (size_t i = 0; i < sizeof(slots); i++)
                bytes[i] = (unsigned char)rand();
        assert_int_equal(page_check_slots(&slots, sizeof(slots), &err), -EPROTO);
        for (uint32_t slot = 0; slot < PAGE_SLOTS; slot += 97)
                for (unsigned device = 0; device < PAGE_DEVICES; device++) {
                        const struct page_row *row = &slots.row[slot][device];

                        assert_int_equal(page_row_bytes(&slots, slot, device),
                                         row->charge[row->committed & 1]);
                }
        assert_int_equal(page_row_bytes(&slots, PAGE_SLOTS + 5, PAGE_DEVICES + 3),
                         page_row_bytes(&slots, 5, 3));
}

static void the_reason_may_be_left_out(void **state)
{
        slots.magic = 0;
        assert_int_equal(page_check_slots(&slots, sizeof(slots), NULL), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(pages_of_ours_pass, good_pages),
                cmocka_unit_test_setup(a_truncated_file_is_refused, good_pages),
                cmocka_unit_test_setup(a_longer_file_is_refused, good_pages),
                cmocka_unit_test_setup(another_magic_is_refused, good_pages),
                cmocka_unit_test_setup(another_version_is_refused, good_pages),
                cmocka_unit_test_setup(an_older_version_is_read_but_has_no_turns, good_pages),
                cmocka_unit_test_setup(a_session_that_swaps_has_a_version_of_its_own, good_pages),
                cmocka_unit_test_setup(sizes_that_the_page_says_of_itself_must_match, good_pages),
                cmocka_unit_test_setup(more_slots_than_there_are_are_refused, good_pages),
                cmocka_unit_test_setup(an_owner_that_nobody_is_is_refused, good_pages),
                cmocka_unit_test_setup(text_without_an_end_is_refused, good_pages),
                cmocka_unit_test_setup(rubbish_is_read_without_harm, good_pages),
                cmocka_unit_test_setup(the_reason_may_be_left_out, good_pages),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
