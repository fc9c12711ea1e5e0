/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/measure/measure_fatbin.h"

#include <stdbool.h>
#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"
#include "shim/cuda/measure/measure_elf.h"

struct fatbin {
        uint32_t magic;
        uint16_t version;
        uint16_t header_bytes;
        uint64_t body_bytes;
};

enum { PART_PTX = 1, PART_ELF = 2 };

#define PART_LZ4 UINT64_C(0x2000)
#define PART_ZSTANDARD UINT64_C(0x8000)
/* Maximum compression ratio of LZ4. A header that claims more is ignored. */
#define LZ4_MAX 255u
/* Maximum compression ratio of Zstandard: a block of one byte expands to at most this size. */
#define ZSTANDARD_MAX (128u << 10)

/* The parts of an image that claims to be larger than this are not searched. */
#define WALKED_MAX_BYTES (UINT64_C(4) << 30)

struct measured_part {
        uint16_t kind;
        uint16_t version;
        uint32_t header_bytes;
        uint64_t payload_bytes;
        uint32_t compressed_bytes;
        uint32_t options_offset;
        uint16_t minor, major;
        uint32_t architecture;
        uint32_t name_offset, name_bytes;
        uint64_t flags;
        uint64_t zero;
        uint64_t uncompressed_bytes;
};
_Static_assert(sizeof(struct measured_part) == 64, "as nvcc writes it");

/* Returns how well a part suits the device: higher is better, and 0 means that it does not run
 * there. Machine code runs only on devices of its own major version. */
static unsigned rank(const struct measured_part *part, unsigned capability)
{
        if (part->architecture > capability)
                return 0;
        if (part->kind == PART_ELF && part->architecture / 10 == capability / 10)
                return (1u << 16) + part->architecture;
        return part->kind == PART_PTX ? part->architecture : 0;
}

static uint64_t part_bytes(const struct measured_part *part, const char *payload)
{
        uint64_t most = part->flags & PART_ZSTANDARD ? ZSTANDARD_MAX : LZ4_MAX, zeros = 0;

        if (part->flags & (PART_LZ4 | PART_ZSTANDARD))
                return part->uncompressed_bytes / most <= part->payload_bytes
                               ? max_u64(part->uncompressed_bytes, part->payload_bytes)
                               : part->payload_bytes;
        if (part->kind == PART_ELF)
                zeros = measure_elf_zeros(payload, part->payload_bytes);
        return sum_of(part->payload_bytes, zeros);
}

/* Finds the part that the device loads, and returns its size in `ret`. False: no part fits, or the
 * layout is invalid. */
static bool find_best(const char *body, uint64_t bytes, unsigned capability, uint64_t *ret)
{
        unsigned best = 0;
        struct measured_part part;
        uint64_t at = 0;

        while (bytes - at >= sizeof(part)) {
                memcpy(&part, body + at, sizeof(part));
                if (part.header_bytes < sizeof(part) || part.header_bytes > bytes - at ||
                    part.payload_bytes > bytes - at - part.header_bytes)
                        return false;
                if (rank(&part, capability) > best) {
                        best = rank(&part, capability);
                        *ret = part_bytes(&part, body + at + part.header_bytes);
                }
                at += part.header_bytes + part.payload_bytes;
        }
        return best > 0;
}

uint64_t measure_fatbin(const void *fatbin, uint64_t bytes, unsigned capability)
{
        struct fatbin header;
        uint64_t best, whole;

        if (bytes < sizeof(header))
                return 0;
        memcpy(&header, fatbin, sizeof(header));
        whole = sum_of(header.header_bytes, header.body_bytes);
        if (header.magic != MEASURE_FATBIN_MAGIC || whole > bytes)
                return 0;
        if (capability && whole <= WALKED_MAX_BYTES && header.header_bytes >= sizeof(header) &&
            find_best((const char *)fatbin + header.header_bytes, header.body_bytes, capability,
                      &best))
                return best;
        return whole;
}
