/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file names mean a library, what a file on disk is, and what the loader's cache says, also
 * when the cache is nonsense.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "front.h"
#include "interpose/cache.h"
#include "interpose/object.h"
#include "interpose/self.h"
#include "shim/real.h"

static void which_names_mean_the_library(void **state)
{
        static const char *const yes[] = {
                "libtoy.so",      "libtoy.so.1",   "libtoy.so.535.261.03",
                "/a/b/libtoy.so", "./libtoy.so.1", "libtoy.so.1.2.3.4"
        };
        static const char *const no[] = { "",
                                          "libtoy",
                                          "libtoy.so.",
                                          "libtoy.so.1.",
                                          "libtoy.so.x",
                                          "libtoyrt.so.1",
                                          "xlibtoy.so",
                                          "libtoy.so.1a",
                                          "libtoy.so/x",
                                          "toy.so",
                                          "libtoy.so..1" };

        for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
                assert_ptr_equal(api_of_file(yes[i]), &toy_api);
        for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
                assert_null(api_of_file(no[i]));
}

static void symbols_are_found_by_name(void **state)
{
        assert_int_equal(api_find(&toy_api, "toyMixed"), ENTRY_toyMixed);
        assert_int_equal(api_find(&toy_api, "toyNothing"), API_NO_ENTRY);
        assert_ptr_equal(api_of_prefix("toyWho"), &toy_api);
        assert_null(api_of_prefix("cuInit"));
        for (unsigned i = 0; i < toy_api.table->entry_count; i++)
                assert_int_equal(api_find(&toy_api, entry_name(&toy_api, i)), (int)i);
}

struct comparison {
        const struct elf *elf;
        void *handle;
        unsigned found, missed;
};

static bool compare_with_loader(const char *name, void *argument)
{
        struct comparison *all = argument;
        void *address = elf_symbol(all->elf, name), *of_loader = dlsym(all->handle, name);

        if (address)
                assert_ptr_equal(address, of_loader);
        all->found += address != NULL;
        all->missed += !address && of_loader;
        return true;
}

/* The C library has some thousand names, and old versions of many. */
static void a_symbol_is_the_one_that_the_loader_finds(void **state)
{
        struct elf libc;
        struct comparison all = { .elf = &libc, .handle = dlopen("libc.so.6", RTLD_NOW) };

        assert_true(elf_find_loaded("libc.so.6", &libc));
        elf_each_function(&libc, compare_with_loader, &all);
        assert_in_range(all.found, 1000, 10000);
        assert_in_range(all.missed, 0, 16); /* variables that each thread has, as errno */
        assert_null(elf_symbol(&libc, "toyNothing"));
        dlclose(all.handle);
}

/* Of one chain of a DT_HASH table, which also holds what the object only uses. */
static void what_an_object_only_uses_or_hides_is_not_its_own(void **state)
{
        static const char strings[] = "\0toyA";
        const ElfW(Sym) symbols[] = {
                { 0 },
                { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_value = 1 },
                { .st_name = 1,
                  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                  .st_shndx = 1,
                  .st_value = 2 },
                { .st_name = 1,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
                  .st_shndx = 1,
                  .st_value = 3 },
                { .st_name = 1,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_shndx = 1,
                  .st_value = 4 },
        };
        const uint32_t table[] = { 1, 5, 1, 0, 2, 3, 4, 0 };
        struct elf elf = {
                .base = 0x1000, .symbol = symbols, .strings = strings, .sysv_hash = table
        };

        assert_ptr_equal(elf_symbol(&elf, "toyA"), (void *)0x1004);
        assert_null(elf_symbol(&elf, "toyB"));
}

/* A thunk's address follows from its number: what the generator lays out and what C computes. */
static void thunks_are_where_they_are_counted(void **state)
{
        assert_ptr_equal(entry_thunk(&toy_api, ENTRY_toyBig), (void *)toyBig);
        assert_ptr_equal(entry_thunk(&toy_api, ENTRY_toyHooked), (void *)toyHooked);
        assert_ptr_equal(entry_thunk(&toy_api, ENTRY_toyWide), (void *)toyWide);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, size), (ssize_t)size);
        close(fd);
}

/* Every prefix of a library, and a library with any one word of its headers spoilt: no crash. */
static void files_are_believed_in_nothing(void **state)
{
        static unsigned char whole[1 << 20], spoilt[1 << 20];
        char path[] = "/tmp/aliquot-test-object-XXXXXX";
        int fd = open(TOY_REAL_PATH, O_RDONLY);
        size_t size = (size_t)read(fd, whole, sizeof(whole));

        close(fd);
        close(mkstemp(path));
        assert_int_equal(elf_file_kind(TOY_REAL_PATH, "toyBig"), ELF_FILE_DEFINES);
        assert_int_equal(elf_file_kind(TOY_REAL_PATH, SELF_MARK), ELF_FILE_LIBRARY);
        assert_int_equal(elf_file_kind("/proc/self/exe", "toyBig"), ELF_FILE_LIBRARY);
        assert_int_equal(elf_file_kind("/dev/null", SELF_MARK), ELF_FILE_ABSENT);
        assert_int_equal(elf_file_kind("/tmp", SELF_MARK), ELF_FILE_ABSENT);
        for (size_t cut = 0; cut < size; cut += cut < 256 ? 1 : 509) {
                write_file(path, whole, cut);
                assert_int_not_equal(elf_file_kind(path, SELF_MARK), ELF_FILE_DEFINES);
                /* Its sections are told at its end, which is missing. */
                assert_int_not_equal(elf_file_kind(path, "toyBig"), ELF_FILE_DEFINES);
        }
        for (size_t at = 16; at < 64; at++) {
                memcpy(spoilt, whole, size);
                spoilt[at] ^= 0xff;
                write_file(path, spoilt, size);
                (void)elf_file_kind(path, "toyBig");
        }
        /* A library for another machine, of another class, or no library at all. */
        for (size_t i = 0; i < 3; i++) {
                static const size_t at[] = { EI_CLASS, offsetof(ElfW(Ehdr), e_machine),
                                             offsetof(ElfW(Ehdr), e_type) };

                memcpy(spoilt, whole, size);
                spoilt[at[i]] ^= 1;
                write_file(path, spoilt, size);
                assert_int_equal(elf_file_kind(path, SELF_MARK), ELF_FILE_ABSENT);
        }
        srand(7);
        for (int i = 0; i < 500; i++) {
                memcpy(spoilt, whole, size);
                for (int j = 0; j < 200; j++)
                        spoilt[size - 1 - (size_t)rand() % 4096] ^= (unsigned char)rand();
                write_file(path, spoilt, size);
                (void)elf_file_kind(path, "toyBig");
        }
        unlink(path);
}

/* A cache as ldconfig writes it, with three entries. */
struct cache {
        char magic[20];
        uint32_t count, strings_bytes, unused[5];
        struct {
                uint32_t flags, key, value, version, hwcap[2];
        } entry[3];
        char strings[128];
};

static void cache_add(struct cache *c, const char *key, const char *value)
{
        char *end = c->strings + c->strings_bytes;
        uint32_t base = offsetof(struct cache, strings) + c->strings_bytes;

        c->entry[c->count].key = base;
        c->entry[c->count++].value = base + (uint32_t)strlen(key) + 1;
        strcpy(end, key);
        strcpy(end + strlen(key) + 1, value);
        c->strings_bytes += (uint32_t)(strlen(key) + strlen(value) + 2);
}

static struct cache cache_made(void)
{
        struct cache c = { .magic = "glibc-ld.so.cache1." };

        c.magic[19] = '1';
        cache_add(&c, "libother.so.1", "/lib/libother.so.1");
        cache_add(&c, "libtoy.so.1", "/lib32/libtoy.so.1");
        cache_add(&c, "libtoy.so.1", "/lib64/libtoy.so.1");
        return c;
}

static bool is_64(const char *path)
{
        return strncmp(path, "/lib64/", 7) == 0;
}

static bool is_any(const char *path)
{
        return path[0] != '\0';
}

static void cache_lists_what_is_accepted(void **state)
{
        struct cache c = cache_made();
        char path[PATH_MAX];
        char behind[512 + sizeof(c)] = "ld.so-1.7.0";

        assert_true(cache_find_in(&c, sizeof(c), "libtoy.so.1", is_any, path));
        assert_string_equal(path, "/lib32/libtoy.so.1");
        assert_true(cache_find_in(&c, sizeof(c), "libtoy.so.1", is_64, path));
        assert_string_equal(path, "/lib64/libtoy.so.1");
        assert_false(cache_find_in(&c, sizeof(c), "libtoy.so", is_any, path));
        memcpy(behind + 512, &c, sizeof(c));
        assert_true(cache_find_in(behind, sizeof(behind), "libtoy.so.1", is_64, path));
        assert_string_equal(path, "/lib64/libtoy.so.1");
}

/* The bytes, in memory behind which there is none. */
static bool find_at_an_end(const void *bytes, size_t size, char *ret_path)
{
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *pages =
                mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bool is_found;

        assert_ptr_not_equal(pages, MAP_FAILED);
        assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
        memcpy(pages + page - size, bytes, size);
        is_found = cache_find_in(pages + page - size, size, "libtoy.so.1", is_64, ret_path);
        munmap(pages, 2 * page);
        return is_found;
}

static void cache_is_read_to_its_end_only(void **state)
{
        struct cache c = cache_made();
        char path[PATH_MAX];

        for (size_t cut = 0; cut < sizeof(c); cut++)
                (void)find_at_an_end(&c, cut, path);
        /* More entries than there is room for. */
        c.count = 1000;
        assert_false(find_at_an_end(&c, sizeof(c), path));
        /* A name without an end: as long as it is the one that is asked for, and not over then. */
        c = cache_made();
        c.entry[0].key = sizeof(c) - strlen("libtoy.so.1");
        memcpy((char *)&c + c.entry[0].key, "libtoy.so.1", strlen("libtoy.so.1"));
        (void)find_at_an_end(&c, sizeof(c), path);
}

static void cache_is_believed_in_nothing(void **state)
{
        char path[PATH_MAX];

        for (size_t cut = 0; cut < sizeof(struct cache); cut++) {
                struct cache c = cache_made();
                char *copy = malloc(cut + 1); /* so that a sanitizer sees a read past the end */

                memcpy(copy, &c, cut);
                (void)cache_find_in(copy, cut, "libtoy.so.1", is_64, path);
                free(copy);
        }
        for (size_t at = 20; at < offsetof(struct cache, strings); at += 4) {
                static const uint32_t values[] = { 0, 1, 0x7fffffff, 0xffffffff, 0x00010000 };
                struct cache c = cache_made();

                for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                        memcpy((char *)&c + at, &values[i], 4);
                        (void)cache_find_in(&c, sizeof(c), "libtoy.so.1", is_64, path);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(which_names_mean_the_library),
                cmocka_unit_test(symbols_are_found_by_name),
                cmocka_unit_test(a_symbol_is_the_one_that_the_loader_finds),
                cmocka_unit_test(what_an_object_only_uses_or_hides_is_not_its_own),
                cmocka_unit_test(thunks_are_where_they_are_counted),
                cmocka_unit_test(files_are_believed_in_nothing),
                cmocka_unit_test(cache_lists_what_is_accepted),
                cmocka_unit_test(cache_is_read_to_its_end_only),
                cmocka_unit_test(cache_is_believed_in_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
