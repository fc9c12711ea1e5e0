/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads module images: ELF notes, and entry points of PTX text.
 */
#include "sim/node/image_internal.h"

#include "sim/aliquot_sim.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA_MACHINE 190
#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

/* Longest text in which the end is searched when the caller does not know the length. */
#define TEXT_MAX ((size_t)64 << 20)

/* No fat binary is larger. A header with a larger size is damaged, and the size could overflow. */
#define FATBIN_MAX (UINT64_C(4) << 30)

/* The header of a fat binary; struct image_wrapper is what a program passes to the driver. */
struct image_fatbin {
        uint32_t magic;
        uint16_t version;
        uint16_t header_bytes;
        uint64_t body_bytes;
};

struct image_wrapper {
        uint32_t magic;
        uint32_t version;
        const void *fatbin;
};

static const char builtin_mark[] = "aliquot-sim builtin";

static bool starts_with(const struct image *image, const char *mark)
{
        size_t n = strlen(mark);

        return (image->size == 0 || image->size >= n) && strncmp(image->bytes, mark, n) == 0;
}

/* Returns the end of the comment that begins at `p`. */
static const char *skip_comment(const char *p, const char *end)
{
        const char *last = p[1] == '/' ? memchr(p, '\n', (size_t)(end - p))
                                       : memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);

        if (!last)
                return end;
        return p[1] == '/' ? last : last + 2;
}

static bool is_comment(const char *p, const char *end)
{
        return end - p >= 2 && p[0] == '/' && (p[1] == '/' || p[1] == '*');
}

static const char *skip_blank_and_comments(const char *p, const char *end)
{
        while (p < end) {
                if (isspace((unsigned char)*p))
                        p++;
                else if (is_comment(p, end))
                        p = skip_comment(p, end);
                else
                        break;
        }
        return p;
}

static enum image_kind elf_kind(const Elf64_Ehdr *header)
{
        if (header->e_ident[EI_CLASS] != ELFCLASS64)
                return IMAGE_BAD;
        if (header->e_machine == EM_CUDA_MACHINE)
                return IMAGE_FOREIGN;
        if (header->e_type != ET_DYN || header->e_shentsize != sizeof(Elf64_Shdr))
                return IMAGE_BAD;
        return IMAGE_ELF;
}

static void read_elf(struct image *image)
{
        Elf64_Ehdr header;
        size_t end;

        if (image->size && image->size < sizeof(header))
                return;
        memcpy(&header, image->bytes, sizeof(header));
        end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
        if (header.e_shoff > TEXT_MAX * 16 || (image->size && end > image->size))
                return;
        image->kind = elf_kind(&header);
        if (!image->size)
                image->size = end;
}

static void read_fatbin(struct image *image, const void *bytes)
{
        struct image_fatbin header;
        size_t size;

        if (!bytes || (image->size && image->size < sizeof(header)))
                return;
        memcpy(&header, bytes, sizeof(header));
        size = header.header_bytes + header.body_bytes;
        if (header.magic != FATBIN_MAGIC || header.body_bytes > FATBIN_MAX ||
            (image->size && size > image->size))
                return;
        image->kind = IMAGE_FATBIN;
        image->bytes = bytes;
        image->size = size;
}

/* Replaces the wrapper by the fat binary that it points to. A wrapper contains an address, so it
 * cannot be in a file, whose size is known. */
static void read_fatbin_wrapper(struct image *image)
{
        struct image_wrapper wrapper;

        if (image->size)
                return;
        memcpy(&wrapper, image->bytes, sizeof(wrapper));
        read_fatbin(image, wrapper.fatbin);
}

struct image image_read(const void *bytes, size_t size)
{
        struct image image = { .kind = IMAGE_BAD, .bytes = bytes, .size = size };
        uint32_t magic;
        const char *text;

        if (size && size < sizeof(magic))
                return image;
        memcpy(&magic, bytes, sizeof(magic));
        if (magic == FATBIN_MAGIC) {
                read_fatbin(&image, bytes);
                return image;
        }
        if (magic == FATBIN_WRAPPER_MAGIC) {
                read_fatbin_wrapper(&image);
                return image;
        }
        if (memcmp(bytes, ELFMAG, SELFMAG) == 0) {
                read_elf(&image);
                return image;
        }
        image.size = strnlen(bytes, size ? size : TEXT_MAX);
        if (starts_with(&image, builtin_mark)) {
                image.kind = IMAGE_BUILTIN;
                return image;
        }
        text = skip_blank_and_comments(bytes, (const char *)bytes + image.size);
        if ((const char *)bytes + image.size - text > 8 && strncmp(text, ".version", 8) == 0)
                image.kind = IMAGE_PTX;
        return image;
}

uint64_t image_loaded_bytes(const struct image *image)
{
        uint64_t bytes = image->size;
        Elf64_Ehdr header;
        Elf64_Phdr segment;

        if (image->kind != IMAGE_ELF || image->size < sizeof(header))
                return bytes;
        memcpy(&header, image->bytes, sizeof(header));
        if (header.e_phentsize != sizeof(segment) || header.e_phoff > image->size ||
            header.e_phnum * sizeof(segment) > image->size - header.e_phoff)
                return bytes;
        for (size_t i = 0; i < header.e_phnum; i++) {
                memcpy(&segment, (const char *)image->bytes + header.e_phoff + i * sizeof(segment),
                       sizeof(segment));
                if (segment.p_type == PT_LOAD && segment.p_memsz > segment.p_filesz)
                        bytes += segment.p_memsz - segment.p_filesz;
        }
        return bytes;
}

/* Reads the section header with this index. False if the header or the section's contents are
 * outside the image. */
static bool section_at(const struct image *image, size_t index, Elf64_Shdr *ret_section)
{
        const unsigned char *base = image->bytes;
        Elf64_Ehdr header;
        Elf64_Shdr section;

        memcpy(&header, base, sizeof(header));
        if (index >= header.e_shnum)
                return false;
        memcpy(&section, base + header.e_shoff + index * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NOBITS &&
            (section.sh_offset > image->size || section.sh_size > image->size - section.sh_offset))
                return false;
        *ret_section = section;
        return true;
}

static bool find_notes(const struct image *image, Elf64_Shdr *ret_section)
{
        static const char wanted[] = ".note.aliquot";
        const char *base = image->bytes;
        Elf64_Ehdr header;
        Elf64_Shdr names, section;

        memcpy(&header, base, sizeof(header));
        if (!section_at(image, header.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
                return false;
        for (size_t i = 0; i < header.e_shnum; i++) {
                if (!section_at(image, i, &section) || section.sh_type != SHT_NOTE ||
                    section.sh_name >= names.sh_size ||
                    names.sh_size - section.sh_name < sizeof(wanted))
                        continue;
                if (memcmp(base + names.sh_offset + section.sh_name, wanted, sizeof(wanted)) == 0) {
                        *ret_section = section;
                        return true;
                }
        }
        return false;
}

static bool next_elf_kernel(const struct image *image, size_t *cursor, struct image_kernel *kernel)
{
        struct aliquot_sim_note note;
        Elf64_Shdr section;

        if (!find_notes(image, &section))
                return false;
        if (*cursor > section.sh_size || section.sh_size - *cursor < sizeof(note))
                return false;
        memcpy(&note, (const char *)image->bytes + section.sh_offset + *cursor, sizeof(note));
        if (memcmp(note.owner, "Aliquot", sizeof(note.owner)) != 0 ||
            note.type != ALIQUOT_SIM_NOTE_TYPE || note.abi != ALIQUOT_SIM_ABI ||
            note.param_count > ALIQUOT_SIM_MAX_PARAMS ||
            !memchr(note.kernel, 0, sizeof(note.kernel)))
                return false;
        memset(kernel, 0, sizeof(*kernel));
        memcpy(kernel->name, note.kernel, sizeof(note.kernel));
        kernel->param_count = note.param_count;
        memcpy(kernel->param_sizes, note.param_sizes, sizeof(note.param_sizes));
        *cursor += sizeof(note);
        return true;
}

const char *image_next_word(const char *p, const char *end, char *ret_word, size_t room)
{
        size_t n = 0;

        p = skip_blank_and_comments(p, end);
        while (p < end && (isalnum((unsigned char)*p) || *p == '_' || *p == '$' || *p == '.')) {
                if (n + 1 < room)
                        ret_word[n++] = *p;
                p++;
        }
        ret_word[n] = '\0';
        if (n == 0 && p < end)
                ret_word[n++] = *p++, ret_word[n] = '\0';
        return p;
}

uint32_t image_type_bytes(const char *word)
{
        unsigned long bits;

        if (word[0] != '.' || !strchr("usfb", word[1]) || word[1] == '\0')
                return 0;
        bits = strtoul(word + 2, NULL, 10);
        return bits >= 8 ? (uint32_t)(bits / 8) : 0;
}

/* Reads one parameter, from behind its `.param` word up to the comma or the bracket that ends it.
 * Returns the position there. */
static const char *ptx_param(const char *p, const char *end, uint32_t *ret_bytes)
{
        char word[IMAGE_NAME_MAX];
        uint32_t bytes = 0, count = 1;

        while (p < end) {
                const char *before = p;

                p = image_next_word(p, end, word, sizeof(word));
                if (word[0] == ',' || word[0] == ')' || word[0] == '\0') {
                        p = word[0] ? before : p;
                        break;
                }
                if (word[0] == '[') {
                        p = image_next_word(p, end, word, sizeof(word));
                        count = (uint32_t)strtoul(word, NULL, 10);
                } else if (!bytes) {
                        bytes = image_type_bytes(word);
                }
        }
        *ret_bytes = bytes * count;
        return p;
}

/* Returns the size of the local memory that is declared in the braces after a kernel's head,
 * including nested braces. */
static uint64_t ptx_local_bytes(const char *p, const char *end)
{
        char word[IMAGE_NAME_MAX];
        uint64_t bytes = 0;
        unsigned depth = 0;

        do {
                p = image_next_word(p, end, word, sizeof(word));
                if (word[0] == '{')
                        depth++;
                else if (word[0] == '}')
                        depth--;
                else if (strcmp(word, ".local") == 0)
                        p = image_variable(p, end, &bytes);
        } while (p < end && word[0] && depth > 0);
        return bytes;
}

static bool next_ptx_kernel(const struct image *image, size_t *cursor, struct image_kernel *kernel)
{
        const char *end = (const char *)image->bytes + image->size;
        const char *p = (const char *)image->bytes + *cursor;
        char word[IMAGE_NAME_MAX];

        do {
                p = image_next_word(p, end, word, sizeof(word));
                if (word[0] == '\0' || p >= end)
                        return false;
        } while (strcmp(word, ".entry") != 0);

        memset(kernel, 0, sizeof(*kernel));
        p = image_next_word(p, end, kernel->name, sizeof(kernel->name));
        p = image_next_word(p, end, word, sizeof(word));
        while (p < end && word[0] != ')' && word[0] != '{' && word[0] != '\0') {
                if (strcmp(word, ".param") == 0 && kernel->param_count < IMAGE_MAX_PARAMS)
                        p = ptx_param(p, end, &kernel->param_sizes[kernel->param_count++]);
                p = image_next_word(p, end, word, sizeof(word));
        }
        *cursor = (size_t)(p - (const char *)image->bytes);
        while (p < end && word[0] != '{' && word[0] != ';' && word[0] != '\0') {
                const char *before = p;

                p = image_next_word(p, end, word, sizeof(word));
                if (word[0] == '{')
                        kernel->local_bytes = ptx_local_bytes(before, end);
        }
        return true;
}

static bool next_builtin_kernel(size_t *cursor, struct image_kernel *kernel)
{
        static const struct image_kernel builtin[] = {
                { "spin_ns", 1, { 8 } },
                { "fill_u32", 3, { 8, 4, 8 } },
                { "add_u32", 4, { 8, 8, 8, 8 } },
                { "copy_u32", 3, { 8, 8, 8 } },
                { "checksum_u32", 3, { 8, 8, 8 } },
        };

        if (*cursor >= sizeof(builtin) / sizeof(*builtin))
                return false;
        *kernel = builtin[(*cursor)++];
        return true;
}

bool image_next_kernel(const struct image *image, size_t *cursor, struct image_kernel *ret_kernel)
{
        switch (image->kind) {
        case IMAGE_BUILTIN:
                return next_builtin_kernel(cursor, ret_kernel);
        case IMAGE_PTX:
                return next_ptx_kernel(image, cursor, ret_kernel);
        case IMAGE_ELF:
                return next_elf_kernel(image, cursor, ret_kernel);
        default:
                return false;
        }
}
