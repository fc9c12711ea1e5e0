/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/executable.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#error "no name for this machine"
#endif

#define HEADERS 64u /* more than any program has */

struct elf_reader {
        int fd;
        Elf64_Phdr header[HEADERS];
        unsigned count;
};

static bool read_at(int fd, void *ret, size_t bytes, uint64_t offset)
{
        return offset <= INT64_MAX - bytes &&
               pread(fd, ret, bytes, (off_t)offset) == (ssize_t)bytes;
}

static int fail_damaged(struct error *err, const char *what)
{
        return fail(err, -EBADMSG, "a damaged executable: its %s lie outside the file", what);
}

static int read_interpreter(const struct elf_reader *reader, struct executable *file,
                            struct error *err)
{
        for (unsigned i = 0; i < reader->count; i++) {
                const Elf64_Phdr *segment = &reader->header[i];

                if (segment->p_type != PT_INTERP)
                        continue;
                if (!segment->p_filesz || segment->p_filesz > sizeof(file->interpreter) ||
                    !read_at(reader->fd, file->interpreter, segment->p_filesz, segment->p_offset))
                        return fail_damaged(err, "loader's name");
                file->interpreter[segment->p_filesz - 1] = '\0';
        }
        return 0;
}

int executable_inspect(int fd, struct executable *ret, struct error *err)
{
        struct elf_reader reader = { .fd = fd };
        struct executable file = { 0 };
        Elf64_Ehdr header;
        int rc;

        /* In both classes (32 and 64 bits), machine and type are at the same offset. */
        if (!read_at(fd, &header, offsetof(Elf64_Ehdr, e_version), 0) ||
            memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
                return fail(err, -ENOEXEC, "no ELF file");
        file.bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
        file.machine = header.e_machine;
        file.is_native = file.bits == 64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
                         file.machine == NATIVE_MACHINE;
        file.is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
        if (!file.is_native) {
                *ret = file;
                return 0;
        }
        if (!read_at(fd, &header, sizeof(header), 0))
                return fail_damaged(err, "header");
        reader.count = header.e_phnum < HEADERS ? header.e_phnum : HEADERS;
        if (header.e_phentsize != sizeof(reader.header[0]) ||
            !read_at(fd, reader.header, reader.count * sizeof(reader.header[0]), header.e_phoff))
                return fail_damaged(err, "program headers");
        rc = read_interpreter(&reader, &file, err);
        if (rc == 0)
                *ret = file;
        return rc;
}
