/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a limits page: refused, or used without harm by all that the store does with it,
 * whatever its numbers say.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct limits_page *page)
{
        struct settings_limits limits = {
                .has_default = true,
                .default_bytes = 1 << 20,
                .count = 1,
                .device = { { .uuid = { 7 },
                              .limit_bytes = 1 << 20,
                              .card_bytes = 1 << 30,
                              .is_named = true } },
        };
        struct store_request request = {
                .name = "s", .created_as = "memory=1048576", .device_name = "", .limits = &limits
        };
        struct store_session session = { .limits = page, .is_writable = true };
        struct error err;
        int row;

        store_check_same(&session, &request, &err);
        row = store_claim_row(&session, (uint8_t[16]){ 9, 9 }, 1 << 30, &err);
        if (row >= (int)PAGE_DEVICES)
                abort();
        /* A row that was given out has a limit. */
        if (row >= 0 && !page->device[row].limit_bytes)
                abort();
        store_set(&session, &limits, &err);
        store_is_current(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct limits_page *page;
        void *memory;

        if (posix_memalign(&memory, 64, sizeof(*page)) != 0)
                return 0;
        page = memory;
        memset(page, 0, sizeof(*page));
        memcpy(page, data, size < sizeof(*page) ? size : sizeof(*page));
        if (size && data[size - 1] & 1) {
                /* Past the head, which a fuzzer would take long to guess. */
                page->magic = PAGE_LIMITS_MAGIC;
                page->version = page_version_of(page->flags);
                page->page_bytes = sizeof(*page);
                page->owner = PAGE_OWNER_USER;
        }
        if (page_check_limits(page, sizeof(*page), NULL) == 0)
                use(page);
        free(memory);
        return 0;
}
