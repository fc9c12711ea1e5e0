/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executables as strangers write them: what they say is read, and no offset of theirs is believed.
 */
#include "cli/executable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A small program: header, two segments, what one points at. */
struct image {
        Elf64_Ehdr header;
        Elf64_Phdr segment[2];
        char interpreter[32];
};

static struct image good_image(void)
{
        struct image image = {
                .header = { .e_type = ET_DYN,
                            .e_phoff = offsetof(struct image, segment),
                            .e_phentsize = sizeof(Elf64_Phdr),
                            .e_phnum = 2 },
                .segment = { { .p_type = PT_LOAD, .p_filesz = sizeof(image) },
                             { .p_type = PT_INTERP,
                               .p_offset = offsetof(struct image, interpreter),
                               .p_filesz = sizeof("/lib64/ld-linux.so.2") } },
                .interpreter = "/lib64/ld-linux.so.2",
        };
        int self = open("/proc/self/exe", O_RDONLY);
        Elf64_Ehdr own;

        assert_int_equal(read(self, &own, sizeof(own)), sizeof(own));
        close(self);
        memcpy(image.header.e_ident, own.e_ident, sizeof(own.e_ident));
        image.header.e_machine = own.e_machine;
        return image;
}

static int inspect(const void *bytes, size_t count, struct executable *ret)
{
        int fd = memfd_create("executable", 0);
        int rc;

        assert_int_equal(write(fd, bytes, count), count);
        rc = executable_inspect(fd, ret, NULL);
        close(fd);
        return rc;
}

static void a_dynamic_program_names_its_loader(void **state)
{
        struct image image = good_image();
        struct executable file = { 0 };

        assert_int_equal(inspect(&image, sizeof(image), &file), 0);
        assert_true(file.is_native && file.is_program);
        assert_string_equal(file.interpreter, "/lib64/ld-linux.so.2");
}

static void a_static_program_names_none(void **state)
{
        struct image image = good_image();
        struct executable file = { 0 };

        image.segment[1].p_type = PT_NULL;
        assert_int_equal(inspect(&image, sizeof(image), &file), 0);
        assert_true(file.is_native);
        assert_string_equal(file.interpreter, "");
}

static void other_machines_and_classes_are_told_apart(void **state)
{
        struct image image = good_image();
        struct executable file = { 0 };

        image.header.e_machine = EM_RISCV;
        assert_int_equal(inspect(&image, sizeof(image), &file), 0);
        assert_false(file.is_native);
        assert_int_equal(file.bits, 64);

        image = good_image();
        image.header.e_ident[EI_CLASS] = ELFCLASS32;
        assert_int_equal(inspect(&image, sizeof(image), &file), 0);
        assert_false(file.is_native);
        assert_int_equal(file.bits, 32);
}

static void a_text_is_no_program(void **state)
{
        struct executable file;

        assert_int_equal(inspect("#!/bin/sh\necho hello\n", 21, &file), -ENOEXEC);
        assert_int_equal(inspect("", 0, &file), -ENOEXEC);
        assert_int_equal(inspect(ELFMAG, SELFMAG, &file), -ENOEXEC);
}

static void what_points_outside_the_file_is_damage(void **state)
{
        struct image image = good_image();
        struct executable file;

        image.header.e_phoff = sizeof(image);
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);
        image.header.e_phoff = UINT64_MAX - 8;
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);

        image = good_image();
        image.segment[1].p_offset = UINT64_MAX;
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);
        image = good_image();
        image.segment[1].p_filesz = 0;
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);
        image.segment[1].p_filesz = UINT64_MAX;
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);
}

/* In a file that has all of it, too. */
static void a_loaders_name_without_an_end_is_damage(void **state)
{
        struct executable file;
        struct {
                struct image image;
                char more[2 * sizeof(file.interpreter)];
        } large = { .image = good_image() };

        memset(large.more, 'x', sizeof(large.more));
        large.image.segment[1].p_offset = offsetof(__typeof__(large), more);
        large.image.segment[1].p_filesz = sizeof(file.interpreter);
        assert_int_equal(inspect(&large, sizeof(large), &file), 0);
        assert_int_equal(strlen(file.interpreter), sizeof(file.interpreter) - 1);
        large.image.segment[1].p_filesz = sizeof(file.interpreter) + 1;
        assert_int_equal(inspect(&large, sizeof(large), &file), -EBADMSG);
}

static void headers_of_another_size_are_damage(void **state)
{
        struct image image = good_image();
        struct executable file;

        image.header.e_phentsize = sizeof(image.segment[0]) / 2;
        assert_int_equal(inspect(&image, sizeof(image), &file), -EBADMSG);
}

static void any_single_byte_may_be_wrong(void **state)
{
        struct image image = good_image();
        struct executable file;

        for (size_t i = 0; i < sizeof(image.header) + sizeof(image.segment); i++) {
                struct image changed = image;

                ((unsigned char *)&changed)[i] ^= 0xff;
                assert_true(inspect(&changed, sizeof(changed), &file) <= 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_dynamic_program_names_its_loader),
                cmocka_unit_test(a_static_program_names_none),
                cmocka_unit_test(other_machines_and_classes_are_told_apart),
                cmocka_unit_test(a_text_is_no_program),
                cmocka_unit_test(what_points_outside_the_file_is_damage),
                cmocka_unit_test(a_loaders_name_without_an_end_is_damage),
                cmocka_unit_test(headers_of_another_size_are_damage),
                cmocka_unit_test(any_single_byte_may_be_wrong),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
