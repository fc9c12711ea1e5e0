/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/executable.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#error "no name for this machine"
#endif

#define HEADERS 64u /* more than any program has */
#define DYNAMIC_BYTES 65536u

struct reader {
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

/* Where in the file an address of the program lies. */
static bool find_offset(const struct reader *reader, uint64_t address, uint64_t *ret)
{
        for (unsigned i = 0; i < reader->count; i++) {
                const Elf64_Phdr *segment = &reader->header[i];

                if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
                    address - segment->p_vaddr < segment->p_filesz) {
                        *ret = segment->p_offset + (address - segment->p_vaddr);
                        return true;
                }
        }
        return false;
}

static bool is_name_at(const struct reader *reader, uint64_t strings, uint64_t at, const char *name)
{
        char text[32] = "";
        uint64_t offset;

        return strlen(name) < sizeof(text) && find_offset(reader, strings + at, &offset) &&
               read_at(reader->fd, text, strlen(name) + 1, offset) && strcmp(text, name) == 0;
}

static bool needs(const struct reader *reader, const Elf64_Phdr *dynamic, const char *name)
{
        uint64_t bytes = dynamic->p_filesz < DYNAMIC_BYTES ? dynamic->p_filesz : DYNAMIC_BYTES;
        uint64_t strings = 0;

        /* First where the names lie, then the names. */
        for (unsigned pass = 0; pass < 2; pass++) {
                for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= bytes; at += sizeof(Elf64_Dyn)) {
                        Elf64_Dyn entry;

                        if (!read_at(reader->fd, &entry, sizeof(entry), dynamic->p_offset + at) ||
                            entry.d_tag == DT_NULL)
                                break;
                        if (entry.d_tag == DT_STRTAB)
                                strings = entry.d_un.d_ptr;
                        if (pass && strings && entry.d_tag == DT_NEEDED &&
                            is_name_at(reader, strings, entry.d_un.d_val, name))
                                return true;
                }
        }
        return false;
}

static int read_segments(struct reader *reader, struct executable *file, struct error *err)
{
        for (unsigned i = 0; i < reader->count; i++) {
                const Elf64_Phdr *segment = &reader->header[i];

                if (segment->p_type == PT_INTERP) {
                        if (!segment->p_filesz || segment->p_filesz > sizeof(file->interpreter) ||
                            !read_at(reader->fd, file->interpreter, segment->p_filesz,
                                     segment->p_offset))
                                return fail_damaged(err, "loader's name");
                        file->interpreter[segment->p_filesz - 1] = '\0';
                }
                if (segment->p_type == PT_DYNAMIC)
                        file->needs_nvml = needs(reader, segment, "libnvidia-ml.so.1");
        }
        return 0;
}

int executable_inspect(int fd, struct executable *ret, struct error *err)
{
        struct reader reader = { .fd = fd };
        struct executable file = { 0 };
        Elf64_Ehdr header;
        int rc;

        /* Machine and type lie at the same place in both classes. */
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
        rc = read_segments(&reader, &file, err);
        if (rc == 0)
                *ret = file;
        return rc;
}
