/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares requested limits with those of a session, and describes both in the error text.
 */
#include <errno.h>
#include <string.h>

#include "common/atomic.h"
#include "common/text.h"
#include "common/uuid.h"
#include "settings/settings.h"
#include "store/rows.h"
#include "store/store.h"

/* Returns the present limit of the GPU's row, or of a GPU without a row. */
static uint64_t current_limit(struct limits_page *page, const struct settings_limit *device)
{
        struct limits_device *row;
        uint64_t words[2], bytes = 0;

        memcpy(words, device->uuid, sizeof(words));
        row = rows_find(page, words);
        if (row)
                return load_acquire(shared_word(&row->limit_bytes));
        rows_default_limit(page, device->card_bytes, &bytes, NULL);
        return bytes;
}

static uint32_t current_cap(struct limits_page *page, const struct settings_limit *device)
{
        struct limits_device *row;
        uint64_t words[2];

        memcpy(words, device->uuid, sizeof(words));
        row = rows_find(page, words);
        return row ? page_cap_ppm(page, row) : rows_default_cap(page);
}

/* Whether the defaults are the same. They apply to GPUs that have no rule and are not known yet;
 * a daemon's session never gets such GPUs. If the request knows all GPUs, comparing their rows
 * is enough. */
static bool is_same_default(struct limits_page *page, const struct settings_limits *limits)
{
        struct settings_limits defaults = { 0 };

        if (page->owner != PAGE_OWNER_USER || (limits->count > 0 && limits->count < PAGE_DEVICES))
                return true;
        rows_default(page, &defaults);
        return defaults.default_bytes == limits->default_bytes &&
               defaults.default_micro_percent == limits->default_micro_percent &&
               rows_default_cap(page) == rows_cap(limits->default_cap_ppm);
}

static uint64_t host_limit(const struct limits_page *page)
{
        int row = page_host_row(page);

        return row < 0 ? 0 : load_acquire(shared_word(&page->device[row].limit_bytes));
}

static bool is_same_host(const struct limits_page *page, uint64_t asked_bytes)
{
        uint64_t bytes = host_limit(page);

        if (page->flags & PAGE_SWAPS)
                return asked_bytes == 0;
        return asked_bytes == SETTINGS_HOST_SPARE ? bytes != 0 : bytes == asked_bytes;
}

/* Whether the present limit of the device is the requested one. A request to swap without a size
 * matches any limit. */
static bool is_same_limit(struct limits_page *page, const struct settings_limit *device)
{
        return current_limit(page, device) == device->limit_bytes ||
               ((page->flags & PAGE_SWAPS) && device->limit_bytes == PAGE_UNLIMITED);
}

static bool are_same_flags(const struct limits_page *page, const struct store_request *request)
{
        bool is_chosen = page->owner == PAGE_OWNER_DAEMON && !request->says_swap;

        return ((page->flags ^ request->flags) &
                ~(PAGE_OF_CONTAINER | (is_chosen ? PAGE_SWAPS : 0u))) == 0;
}

static bool is_same_now(struct limits_page *page, const struct store_request *request)
{
        const struct settings_limits *limits = request->limits;
        const char *name = request->device_name ? request->device_name : "";

        if (!limits || !are_same_flags(page, request) ||
            strncmp(page->device_name, name, sizeof(page->device_name)) != 0 ||
            !is_same_default(page, limits) || !is_same_host(page, limits->host_bytes))
                return false;
        for (unsigned i = 0; i < limits->count; i++) {
                if (!is_same_limit(page, &limits->device[i]) ||
                    current_cap(page, &limits->device[i]) != rows_cap(limits->device[i].cap_ppm))
                        return false;
        }
        return true;
}

/* Gets the present limits for GPUs whose row says nothing else. A daemon's session has no
 * default; the limit of its first row is used. */
static void usual_now(struct limits_page *page, struct settings_limits *ret)
{
        rows_default(page, ret);
        if (page->owner == PAGE_OWNER_USER)
                return;
        ret->default_bytes = load_acquire(shared_word(&page->device[0].limit_bytes));
        ret->default_micro_percent = 0;
}

static void add_limit(struct text *text, const char *gpu, uint64_t bytes, uint32_t micro_percent)
{
        const struct size size = { micro_percent ? 0 : bytes, micro_percent };
        char shown[SIZE_TEXT_BYTES];

        text_add(text, "%s=%s", gpu,
                 !micro_percent && bytes == PAGE_UNLIMITED ? "card" : size_canonical(&size, shown));
}

static void add_cap(struct text *text, const char *gpu, uint32_t cap_ppm)
{
        const struct size size = { 0, cap_ppm * MICRO_PERCENT_A_PPM };
        char shown[SIZE_TEXT_BYTES];

        text_add(text, "%s=%s", gpu, size_canonical(&size, shown));
}

static void describe_caps(struct limits_page *page, struct text *text)
{
        uint32_t usual = page->owner == PAGE_OWNER_USER ? rows_default_cap(page)
                                                        : page_cap_ppm(page, &page->device[0]);
        bool is_said = usual != PAGE_WHOLE_PPM;

        if (is_said)
                add_cap(text, ";compute", usual);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct limits_device *row = &page->device[i];
                uint32_t cap_ppm = page_cap_ppm(page, row);
                char shown[UUID_TEXT_BYTES];
                uint8_t uuid[16];

                if (!load_acquire(shared_word(&row->limit_bytes)) || cap_ppm == usual ||
                    page_is_no_card(row->uuid))
                        continue;
                memcpy(uuid, row->uuid, sizeof(uuid));
                text_add(text, is_said ? "," : ";compute=");
                add_cap(text, uuid_format(uuid, false, shown), cap_ppm);
                is_said = true;
        }
}

/* Describes the present limits, in the form of settings_canonical(). */
static void describe_now(struct limits_page *page, char *ret, size_t bytes)
{
        struct settings_limits usual = { 0 };
        struct text text;

        usual_now(page, &usual);
        text_begin(&text, ret, bytes);
        add_limit(&text, "memory", usual.default_bytes, usual.default_micro_percent);
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct limits_device *row = &page->device[i];
                uint64_t limit_bytes = load_acquire(shared_word(&row->limit_bytes)), default_bytes;
                char shown[UUID_TEXT_BYTES];
                uint8_t uuid[16];

                memcpy(uuid, row->uuid, sizeof(uuid));
                if (!limit_bytes || page_is_no_card(uuid) ||
                    (settings_resolve_default(&usual, load_relaxed(shared_word(&row->card_bytes)),
                                              &default_bytes, NULL) == 0 &&
                     default_bytes == limit_bytes))
                        continue;
                text_add(&text, ",");
                add_limit(&text, uuid_format(uuid, false, shown), limit_bytes, 0);
        }
        describe_caps(page, &text);
        if (page->flags & PAGE_SWAPS)
                text_add(&text, ";swap=yes");
        else if (host_limit(page))
                add_limit(&text, ";oversubscribe", host_limit(page), 0);
}

int store_check_same(const struct store_session *session, const struct store_request *request,
                     struct error *err)
{
        struct limits_page *page = session->limits;
        char now[SETTINGS_CANONICAL_BYTES], shown[SETTINGS_CANONICAL_BYTES], has[160], asked[160];

        if (strncmp(page->created_as, request->created_as, sizeof(page->created_as)) == 0 ||
            is_same_now(page, request))
                return 0;
        if (load_acquire(shared_half(&page->epoch)))
                describe_now(page, now, sizeof(now));
        else
                memcpy(now, page->created_as, sizeof(now));
        text_quote(settings_shown(now, shown, sizeof(shown)), has, sizeof(has));
        settings_shown(request->created_as, shown, sizeof(shown));
        return fail(
                err, -EEXIST,
                "session %s exists with other limits: it has %s, asked was %s; leave the limits "
                "out to join it, change it with aliquot set, or name another with --session",
                request->name, has, text_quote(shown, asked, sizeof(asked)));
}
