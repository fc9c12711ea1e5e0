/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of a process, as who names the files would have them misread.
 */
#include "common/maps.h"

#include "common/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define FOLDER_BYTES 250
#define FOLDERS 20 /* one below the other: longer than any buffer of PATH_MAX */

static char top[] = "/tmp/aliquot-test-maps-XXXXXX";

struct found {
        unsigned mappings;
        uint64_t begin, inode;
        char path[2 * FOLDERS * FOLDER_BYTES];
};

/* What this process has mapped of files with that name. */
static void find(const char *name, struct found *ret)
{
        scoped_maps struct maps maps = { 0 };

        *ret = (struct found){ 0 };
        assert_int_equal(maps_open(&maps, "self"), 0);
        while (maps_next(&maps)) {
                if (!maps_is_named(&maps, name))
                        continue;
                ret->mappings++;
                ret->begin = maps.begin;
                ret->inode = maps.inode;
                assert_int_equal(maps.end - maps.begin, getpagesize());
                assert_true(strlen(maps.path) < sizeof(ret->path));
                strcpy(ret->path, maps.path);
        }
}

static int open_page(const char *name)
{
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, getpagesize()), 0);
        return fd;
}

static void *map_page(int fd)
{
        void *page = mmap(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

        assert_ptr_not_equal(page, MAP_FAILED);
        return page;
}

static int go_to_top(void **state)
{
        return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int drop_top(void **state)
{
        return chdir("/") == 0 ? rmdir(top) : -1;
}

static void a_file_is_found_by_its_name_also_when_it_is_deleted(void **state)
{
        static struct found found;
        int fd = open_page("slots");
        void *page = map_page(fd);
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        find("slots", &found);
        assert_int_equal(found.mappings, 1);
        assert_int_equal(found.begin, (uintptr_t)page);
        assert_int_equal(found.inode, st.st_ino);
        assert_int_equal(unlink("slots"), 0);
        find("slots", &found);
        assert_int_equal(found.mappings, 1);
        assert_non_null(strstr(found.path, "/slots (deleted)"));
        munmap(page, (size_t)getpagesize());
        close(fd);
}

static void other_names_are_others(void **state)
{
        static const char *const other[] = { "slots2", "myslots", "slots (deleted) x" };
        static struct found found;

        for (unsigned i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
                int fd = open_page(other[i]);
                void *page = map_page(fd);

                find("slots", &found);
                assert_int_equal(found.mappings, 0);
                munmap(page, (size_t)getpagesize());
                close(fd);
                assert_int_equal(unlink(other[i]), 0);
        }
}

/* A folder's name that reads as a line wherever a buffer ends. */
static const char *folder_name(void)
{
        static const char line[] = "0-f r 0 0:0 7 slots ";
        static char name[FOLDER_BYTES + 1];

        for (size_t i = 0; i < FOLDER_BYTES; i++)
                name[i] = line[i % (sizeof(line) - 1)];
        return name;
}

static void go_down(void)
{
        assert_int_equal(mkdir(folder_name(), 0700), 0);
        assert_int_equal(chdir(folder_name()), 0);
}

static void go_up(void)
{
        assert_int_equal(chdir(".."), 0);
        assert_int_equal(rmdir(folder_name()), 0);
}

/* An emulator makes the lines up, with paths that are cut off. */
static bool are_long_paths_told(void)
{
        scoped_file FILE *maps = fopen("/proc/self/maps", "re");
        scoped_free char *line = NULL;
        ssize_t length, longest = 0;
        size_t room = 0;

        while (maps && (length = getline(&line, &room, maps)) > 0)
                longest = length > longest ? length : longest;
        return longest > (ssize_t)(FOLDERS * FOLDER_BYTES);
}

static void a_path_of_any_length_is_one_line(void **state)
{
        static struct found found;
        struct stat st;
        bool is_told;
        void *page;
        int fd;

        for (unsigned i = 0; i < FOLDERS; i++)
                go_down();
        fd = open_page("slots");
        page = map_page(fd);
        assert_int_equal(fstat(fd, &st), 0);
        find("slots", &found);
        is_told = are_long_paths_told();
        if (is_told) {
                assert_int_equal(found.mappings, 1);
                assert_int_equal(found.begin, (uintptr_t)page);
                assert_int_equal(found.inode, st.st_ino);
                assert_true(strlen(found.path) > FOLDERS * FOLDER_BYTES);
        }
        munmap(page, (size_t)getpagesize());
        close(fd);
        assert_int_equal(unlink("slots"), 0);
        for (unsigned i = 0; i < FOLDERS; i++)
                go_up();
        if (!is_told)
                skip();
}

/* The kernel gives the same inode number on many file systems. */
static void a_file_is_told_by_device_inode_and_name(void **state)
{
        int fd = open_page("slots");
        void *page = map_page(fd);
        struct maps_file file, other;

        assert_int_equal(maps_find(page, &file), 0);
        assert_int_equal(maps_has("self", &file, "slots"), 1);
        assert_int_equal(maps_has("self", &file, "limits"), 0);
        other = (struct maps_file){ file.device, file.inode + 1 };
        assert_int_equal(maps_has("self", &other, "slots"), 0);
        other = (struct maps_file){ file.device + 1, file.inode };
        assert_int_equal(maps_has("self", &other, "slots"), 0);
        munmap(page, (size_t)getpagesize());
        assert_int_equal(maps_find(page, &other), -ENOENT);
        assert_int_equal(maps_has("self", &file, "slots"), 0);
        close(fd);
        assert_int_equal(unlink("slots"), 0);
}

static void a_process_that_is_not_there_has_none(void **state)
{
        struct maps maps = { 0 };

        assert_true(maps_open(&maps, "4194305") < 0);
        assert_true(maps_has("4194305", &(struct maps_file){ 0 }, "slots") < 0);
        maps_close(&maps);
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(a_file_is_found_by_its_name_also_when_it_is_deleted),
                cmocka_unit_test(other_names_are_others),
                cmocka_unit_test(a_path_of_any_length_is_one_line),
                cmocka_unit_test(a_file_is_told_by_device_inode_and_name),
                cmocka_unit_test(a_process_that_is_not_there_has_none),
        };

        return cmocka_run_group_tests(stories, go_to_top, drop_top);
}
