/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/measure/measure_elf.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"

#define EM_CUDA_MACHINE 190

struct measured_elf {
        const char *base;
        uint64_t bytes;
        Elf64_Ehdr header;
};

uint64_t measure_elf_file(const void *image)
{
        Elf64_Ehdr header;

        memcpy(&header, image, sizeof(header));
        if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
                return 0;
        return sum_of(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
}

static bool read_at(const struct measured_elf *elf, uint64_t offset, void *ret, uint64_t bytes)
{
        if (offset > elf->bytes || bytes > elf->bytes - offset)
                return false;
        memcpy(ret, elf->base + offset, bytes);
        return true;
}

static uint64_t segment_zeros(const struct measured_elf *elf)
{
        uint64_t zeros = 0;
        Elf64_Phdr segment;

        if (elf->header.e_phentsize != sizeof(segment))
                return 0;
        for (uint64_t i = 0; i < elf->header.e_phnum; i++) {
                if (!read_at(elf, sum_of(elf->header.e_phoff, i * sizeof(segment)), &segment,
                             sizeof(segment)))
                        break;
                if (segment.p_type == PT_LOAD && segment.p_memsz > segment.p_filesz)
                        zeros = sum_of(zeros, segment.p_memsz - segment.p_filesz);
        }
        return zeros;
}

static bool section_at(const struct measured_elf *elf, uint64_t index, Elf64_Shdr *ret)
{
        return elf->header.e_shentsize == sizeof(*ret) && index < elf->header.e_shnum &&
               read_at(elf, sum_of(elf->header.e_shoff, index * sizeof(*ret)), ret, sizeof(*ret));
}

/* Whether a section is shared memory. False if its name cannot be read: then it counts as device
 * memory. */
static bool is_shared(const struct measured_elf *elf, const Elf64_Shdr *section)
{
        static const char mark[] = ".nv.shared";
        char name[sizeof(mark) - 1];
        Elf64_Shdr names;

        return section_at(elf, elf->header.e_shstrndx, &names) &&
               read_at(elf, sum_of(names.sh_offset, section->sh_name), name, sizeof(name)) &&
               memcmp(name, mark, sizeof(name)) == 0;
}

static uint64_t section_zeros(const struct measured_elf *elf)
{
        uint64_t zeros = 0;
        Elf64_Shdr section;

        for (uint64_t i = 0; section_at(elf, i, &section); i++) {
                if (section.sh_type == SHT_NOBITS && section.sh_flags & SHF_ALLOC &&
                    !is_shared(elf, &section))
                        zeros = sum_of(zeros, section.sh_size);
        }
        return zeros;
}

uint64_t measure_elf_zeros(const void *image, uint64_t bytes)
{
        struct measured_elf elf = { .base = image, .bytes = bytes };
        uint64_t segments, sections;

        if (!read_at(&elf, 0, &elf.header, sizeof(elf.header)) || !measure_elf_file(image))
                return 0;
        segments = segment_zeros(&elf);
        if (elf.header.e_machine != EM_CUDA_MACHINE)
                return segments;
        sections = section_zeros(&elf);
        return max_u64(segments, sections);
}
