/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much memory of the device an image takes: its code and its variables, for one
 * architecture.
 *
 *      text     PTX is compiled: code as long as the text (assumed), and the .global variables
 *      ELF      the loaded segments; the part beyond the file is zero-initialised
 *      cubin    the loaded sections, except those of shared and local memory
 *      fat      the cubin that fits the device best, else the newest PTX that it can run
 *
 * n-eiling/cuda-fatbin-decompression describes the header of a part of a fat binary; the fields
 * read here can be checked with cuobjdump. Of a compressed part only the size is known, which
 * counts as code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sim/node/image_internal.h"

#define PART_PTX 1
#define PART_CUBIN 2
/* Flags of a compressed part: PART_COMPRESSED for LZ4, the newer PART_COMPRESSED_2 for
 * Zstandard. */
#define PART_COMPRESSED 0x2000u
#define PART_COMPRESSED_2 0x8000u
#define CUBIN_ARRAY_MAX ((uint64_t)1 << 40)

struct fatbin_part {
        uint16_t kind;
        uint16_t version;
        uint32_t header_bytes;
        uint64_t bytes; /* size of the data behind the header */
        uint32_t compressed_bytes;
        uint32_t options;
        uint16_t minor, major;
        uint32_t architecture;
        uint32_t name_offset, name_bytes;
        uint64_t flags;
        uint64_t zero;
        uint64_t decompressed_bytes; /* size after decompression; 0: the part is not compressed */
};

struct fat_head {
        uint32_t magic;
        uint16_t version;
        uint16_t header_bytes;
        uint64_t body_bytes;
};

/* What the words of a declaration read so far say about its variable. */
struct variable {
        uint64_t type_bytes, count, lanes;
};

/* Reads one word of a declaration. Returns where the next one begins. */
static const char *take_word(struct variable *variable, const char *word, const char *p,
                             const char *end)
{
        char length[IMAGE_NAME_MAX];

        if (word[0] == '[') {
                p = image_next_word(p, end, length, sizeof(length));
                variable->count *= strtoull(length, NULL, 0);
        } else if (strcmp(word, ".v2") == 0 || strcmp(word, ".v4") == 0) {
                variable->lanes = (uint64_t)(word[2] - '0');
        } else if (strcmp(word, ".align") == 0) {
                p = image_next_word(p, end, length, sizeof(length));
        } else if (!variable->type_bytes) {
                variable->type_bytes = image_type_bytes(word);
        }
        return p;
}

const char *image_variable(const char *p, const char *end, uint64_t *bytes)
{
        struct variable variable = { .count = 1, .lanes = 1 };
        char word[IMAGE_NAME_MAX];
        const char *next = image_next_word(p, end, word, sizeof(word));

        while (word[0] && !strchr(";,)={}", word[0])) {
                p = take_word(&variable, word, next, end);
                next = image_next_word(p, end, word, sizeof(word));
        }
        if (variable.type_bytes && variable.count < CUBIN_ARRAY_MAX)
                *bytes += variable.type_bytes * variable.lanes * variable.count;
        return word[0] == '{' || word[0] == '}' ? p : next;
}

static void needs_of_text(const char *text, size_t size, struct image_needs *ret)
{
        const char *p = text, *end = text + size;
        char word[IMAGE_NAME_MAX] = "";
        bool is_elsewhere = false;

        ret->code_bytes = size;
        do {
                is_elsewhere = strcmp(word, ".extern") == 0;
                p = image_next_word(p, end, word, sizeof(word));
                if (strcmp(word, ".global") == 0 && !is_elsewhere)
                        p = image_variable(p, end, &ret->variable_bytes);
                ret->has_malloc = ret->has_malloc || strcmp(word, "malloc") == 0;
                ret->has_printf = ret->has_printf || strcmp(word, "vprintf") == 0;
        } while (p < end && word[0]);
}

static void needs_of_segments(const struct image *image, struct image_needs *ret)
{
        Elf64_Ehdr header;
        Elf64_Phdr segment;

        ret->code_bytes = image->size;
        if (image->size < sizeof(header))
                return;
        memcpy(&header, image->bytes, sizeof(header));
        if (header.e_phentsize != sizeof(segment) || header.e_phoff > image->size ||
            header.e_phnum * sizeof(segment) > image->size - header.e_phoff)
                return;
        ret->code_bytes = 0;
        for (size_t i = 0; i < header.e_phnum; i++) {
                memcpy(&segment, (const char *)image->bytes + header.e_phoff + i * sizeof(segment),
                       sizeof(segment));
                if (segment.p_type != PT_LOAD)
                        continue;
                ret->code_bytes += segment.p_filesz;
                if (segment.p_memsz > segment.p_filesz)
                        ret->variable_bytes += segment.p_memsz - segment.p_filesz;
        }
}

/* Returns whether a section is loaded with the image. Shared and local memory is allocated to a
 * block or a thread when it runs. */
static bool is_loaded(const Elf64_Shdr *section, const char *name)
{
        return section->sh_flags & SHF_ALLOC && strncmp(name, ".nv.shared", 10) != 0 &&
               strncmp(name, ".nv.local", 9) != 0;
}

static void needs_of_cubin(const char *bytes, size_t size, struct image_needs *ret)
{
        Elf64_Ehdr header;
        Elf64_Shdr section, names;
        uint64_t code = 0, variables = 0;

        ret->code_bytes = size;
        if (size < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
                return;
        memcpy(&header, bytes, sizeof(header));
        if (header.e_shentsize != sizeof(section) || header.e_shoff > size ||
            header.e_shnum * sizeof(section) > size - header.e_shoff ||
            header.e_shstrndx >= header.e_shnum)
                return;
        memcpy(&names, bytes + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
        for (size_t i = 0; i < header.e_shnum; i++) {
                memcpy(&section, bytes + header.e_shoff + i * sizeof(section), sizeof(section));
                if (names.sh_offset > size || section.sh_name + 16ULL > size - names.sh_offset ||
                    !is_loaded(&section, bytes + names.sh_offset + section.sh_name))
                        continue;
                if (section.sh_type == SHT_NOBITS)
                        variables += section.sh_size;
                else
                        code += section.sh_size;
        }
        ret->code_bytes = code;
        ret->variable_bytes = variables;
}

/* Returns how well a part fits the device: higher is better, 0 means that it does not run. A cubin
 * runs on its own architecture and on later minor ones of the same major; PTX on the same and all
 * newer ones. */
static unsigned fitness(const struct fatbin_part *part, unsigned architecture)
{
        if (part->architecture > architecture)
                return 0;
        if (part->kind == PART_CUBIN)
                return part->architecture / 10 == architecture / 10 ? 1000 + part->architecture : 0;
        return part->kind == PART_PTX ? 1 + part->architecture : 0;
}

static void needs_of_part(const char *bytes, const struct fatbin_part *part,
                          struct image_needs *ret)
{
        if (part->flags & (PART_COMPRESSED | PART_COMPRESSED_2) || part->decompressed_bytes)
                ret->code_bytes = part->decompressed_bytes;
        else if (part->kind == PART_PTX)
                needs_of_text(bytes, strnlen(bytes, part->bytes), ret);
        else
                needs_of_cubin(bytes, part->bytes, ret);
}

static void needs_of_fat(const struct image *image, unsigned architecture, struct image_needs *ret)
{
        const char *bytes = image->bytes, *best = NULL;
        struct fatbin_part part, chosen = { 0 };
        struct fat_head head;
        size_t at;

        memcpy(&head, bytes, sizeof(head));
        for (at = head.header_bytes; at <= image->size && image->size - at >= sizeof(part);
             at += part.header_bytes + part.bytes) {
                memcpy(&part, bytes + at, sizeof(part));
                if (part.header_bytes < sizeof(part) || part.header_bytes > image->size - at ||
                    part.bytes > image->size - at - part.header_bytes)
                        break;
                if (fitness(&part, architecture) > (best ? fitness(&chosen, architecture) : 0)) {
                        chosen = part;
                        best = bytes + at + part.header_bytes;
                }
        }
        if (best)
                needs_of_part(best, &chosen, ret);
        else
                ret->code_bytes = image->size;
}

struct image_needs image_needs(const struct image *image, unsigned architecture)
{
        struct image_needs needs = { 0 };

        switch (image->kind) {
        case IMAGE_PTX:
                needs_of_text(image->bytes, image->size, &needs);
                break;
        case IMAGE_ELF:
                needs_of_segments(image, &needs);
                break;
        case IMAGE_FATBIN:
                needs_of_fat(image, architecture, &needs);
                break;
        default:
                needs.code_bytes = image->size;
        }
        return needs;
}
