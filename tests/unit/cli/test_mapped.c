/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file behind a mapping, and what is in it.
 */
#include "cli/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/scoped.h"

#define WORD "a word of ours"
#define FILE_BYTES 200000u /* some pieces, the last one not whole */

static char path[] = "/tmp/aliquot-test-mapped-XXXXXX";

/* A file of zeros with the word at `at`. */
static int make(const char *name, off_t at)
{
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
        assert_int_equal(pwrite(fd, WORD, sizeof(WORD), at), sizeof(WORD));
        return fd;
}

static int make_path(void **state)
{
        int fd = mkostemp(path, O_CLOEXEC);

        return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
        return unlink(path);
}

static void a_word_is_found_wherever_it_lies(void **state)
{
        for (off_t around = 0; around <= 2 * 65536; around += 65536) {
                for (off_t at = around - 16; at <= around + 1; at++) {
                        scoped_fd int fd = make(path, at < 0 ? 0 : at);
                        uint64_t budget = FILE_BYTES;

                        assert_true(mapped_has(fd, WORD, sizeof(WORD), &budget));
                }
        }
        for (unsigned beyond = 0; beyond < 2; beyond++) {
                scoped_fd int fd = make(path, (off_t)(FILE_BYTES - sizeof(WORD) + beyond));
                uint64_t budget = FILE_BYTES;

                assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
                assert_int_equal(mapped_has(fd, WORD, sizeof(WORD), &budget), beyond == 0);
                assert_int_equal(budget, 0);
        }
}

static void what_is_larger_than_the_budget_is_not_read(void **state)
{
        scoped_fd int fd = make(path, 0);
        uint64_t budget = FILE_BYTES - 1;

        assert_false(mapped_has(fd, WORD, sizeof(WORD), &budget));
        assert_int_equal(budget, FILE_BYTES - 1);
}

/* The mapping of `path` in this process. */
static void find(struct maps *ret)
{
        assert_int_equal(maps_open(ret, "self"), 0);
        while (maps_next(ret)) {
                if (maps_is_named(ret, strrchr(path, '/') + 1))
                        return;
        }
        fail();
}

static void a_mapped_file_is_opened_and_no_other_of_its_name(void **state)
{
        scoped_maps struct maps maps = { 0 };
        scoped_fd int fd = make(path, 7);
        scoped_fd int opened = -1;
        void *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
        uint64_t budget = FILE_BYTES;

        assert_ptr_not_equal(page, MAP_FAILED);
        find(&maps);
        opened = mapped_open("self", &maps);
        assert_true(opened >= 0);
        assert_true(mapped_has(opened, WORD, sizeof(WORD), &budget));
        maps.inode++;
        maps.begin++; /* no mapping begins there, so the name is all there is */
        assert_int_equal(mapped_open("self", &maps), -ESTALE);
        munmap(page, 1);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
        struct maps null = { .begin = 1, .inode = 1, .path = "/dev/null" };

        assert_int_equal(mapped_open("self", &null), -EACCES);
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(a_word_is_found_wherever_it_lies),
                cmocka_unit_test(what_is_larger_than_the_budget_is_not_read),
                cmocka_unit_test(a_mapped_file_is_opened_and_no_other_of_its_name),
                cmocka_unit_test(what_is_no_regular_file_is_not_opened),
        };

        return cmocka_run_group_tests(stories, make_path, drop_path);
}
