/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a mapped page before its first use, and asserts the offsets of its fields.
 *
 * Another process writes the page. The checks cover the fields that only a malicious writer changes
 * later (magic, version, sizes); all other fields are checked at each use. The offsets are
 * protocol: programs of other builds map the page too, so a new layout needs a new version.
 */
#include "proto/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/atomic.h"

#define AT(type, field, offset) \
        _Static_assert(offsetof(struct type, field) == (offset), "layout is protocol")

AT(limits_device, uuid, 0);
AT(limits_device, limit_bytes, 16);
AT(limits_device, card_bytes, 24);
AT(limits_device, cap_ppm, 32);
AT(limits_device, guarantee_milli_percent, 36);
AT(limits_device, promised_bytes, 40);
AT(limits_device, promised_at_ns, 48);
AT(limits_device, reserved, 56);
AT(limits_device, lease, 64);

AT(page_lease, turn, 0);
AT(page_lease, mode, 4);
AT(page_lease, end_ns, 8);
AT(page_lease, target_ns, 16);
AT(page_lease, room, 24);
AT(page_lease, reserved, 56);
AT(page_room, resident_bytes, 0);
AT(page_room, max_bytes, 8);
AT(page_room, pinned_bytes, 16);
AT(page_room, answered_at_ns, 24);

AT(limits_page, magic, 0);
AT(limits_page, version, 8);
AT(limits_page, page_bytes, 12);
AT(limits_page, session_id, 16);
AT(limits_page, owner, 32);
AT(limits_page, flags, 36);
AT(limits_page, name, 40);
AT(limits_page, device_name, 104);
AT(limits_page, created_as, 200);
AT(limits_page, default_limit_bytes, 1224);
AT(limits_page, default_micro_percent, 1232);
AT(limits_page, gate, 1280);
AT(limits_page, epoch, 1284);
AT(limits_page, removed, 1288);
AT(limits_page, default_cap_ppm, 1292);
AT(limits_page, scheduler_at_ns, 1296);
AT(limits_page, session_version, 1304);
AT(limits_page, device, 1344);
_Static_assert(sizeof(struct limits_page) == 1344 + 128 * PAGE_DEVICES, "layout is protocol");

AT(page_ledger, used_bytes, 0);
AT(page_ledger, tag, 8);
AT(page_ledger, reclaimed_at_ns, 16);
AT(page_ledger, context_bytes, 24);
AT(page_ledger, refused, 32);
AT(page_ledger, reclaimed_bytes, 40);
AT(page_ledger, drained, 48);
AT(page_ledger, driver_refused, 56);

AT(page_meter, bucket_ns, 0);
AT(page_meter, filled_at_ns, 8);
AT(page_meter, busy_ns, 16);
AT(page_meter, launches, 24);
AT(page_meter, wanted_at_ns, 32);
AT(page_meter, active_at_ns, 40);
AT(page_meter, settled_until_ns, 48);
AT(page_meter, drained_turn, 56);
AT(page_meter, reserved_half, 60);
AT(page_meter, waits, 64);
AT(page_meter, waited_ns, 72);
AT(page_meter, began_at_ns, 80);
AT(page_meter, wished_resident_bytes, 88);
AT(page_meter, wished_pinned_bytes, 96);
AT(page_meter, wished_at_ns, 104);
AT(page_meter, stood_at_ns, 112);
AT(page_meter, reserved, 120);

AT(page_row, seq, 0);
AT(page_row, delta, 8);
AT(page_row, charge, 16);
AT(page_row, committed, 32);
AT(page_row, done, 40);
AT(page_row, flight_begin_ns, 48);
AT(page_row, flight_seen_ns, 56);

AT(page_slot, pid_ns_inode, 0);
AT(page_slot, start_ticks, 8);
AT(page_slot, pid, 16);
AT(page_slot, uid, 20);
AT(page_slot, command, 24);
AT(page_slot, drained_gate, 56);
AT(page_slot, measured_devices, 60);

AT(slots_page, magic, 0);
AT(slots_page, version, 8);
AT(slots_page, slot_count, 12);
AT(slots_page, page_bytes, 16);
AT(slots_page, session_id, 24);
AT(slots_page, slots_high, 64);
AT(slots_page, bell, 68);
AT(slots_page, ledger, 128);
AT(slots_page, meter, 128 + 64 * PAGE_DEVICES);
AT(slots_page, slot, 128 + 192 * PAGE_DEVICES);
AT(slots_page, row, 128 + 192 * PAGE_DEVICES + 64 * PAGE_SLOTS);
_Static_assert(sizeof(struct slots_page) ==
                       128 + 192 * PAGE_DEVICES + 64 * PAGE_SLOTS * (1 + PAGE_DEVICES),
               "layout is protocol");

static int check_head(const char *what, uint64_t found, uint64_t expected, struct error *err)
{
        if (found != expected)
                return fail(err, -EPROTO, "%s is %" PRIu64 " (0x%" PRIx64 "), expected %" PRIu64,
                            what, found, found, expected);
        return 0;
}

/* Accepts all versions from the oldest to the newest: the fields that they share have the same
 * sizes and offsets. */
static int check_version(const char *what, uint32_t found, struct error *err)
{
        if (found < PAGE_VERSION_OLDEST || found > PAGE_VERSION_SWAP)
                return fail(err, -EPROTO, "%s is %" PRIu32 ", expected %u to %u", what, found,
                            PAGE_VERSION_OLDEST, PAGE_VERSION_SWAP);
        return 0;
}

static int check_swaps(const struct limits_page *page, struct error *err)
{
        bool swaps = page->flags & PAGE_SWAPS;

        if (swaps == (page->version == PAGE_VERSION_SWAP))
                return 0;
        return fail(err, -EPROTO, "limits version is %" PRIu32 " in a session that %s",
                    page->version, swaps ? "swaps" : "does not swap");
}

static int check_text(const char *what, const char *text, size_t size, struct error *err)
{
        if (!memchr(text, '\0', size))
                return fail(err, -EPROTO, "%s is not terminated within its %zu bytes", what, size);
        return 0;
}

static int check_limits_texts(const struct limits_page *page, struct error *err)
{
        int rc = check_text("limits name", page->name, sizeof(page->name), err);

        if (rc == 0)
                rc = check_text("limits device name", page->device_name, sizeof(page->device_name),
                                err);
        if (rc == 0)
                rc = check_text("limits words", page->created_as, sizeof(page->created_as), err);
        return rc;
}

int page_check_limits(const struct limits_page *page, uint64_t bytes, struct error *err)
{
        int rc = check_head("limits file size", bytes, sizeof(*page), err);

        if (rc == 0)
                rc = check_head("limits magic", page->magic, PAGE_LIMITS_MAGIC, err);
        if (rc == 0)
                rc = check_version("limits version", page->version, err);
        if (rc == 0)
                rc = check_swaps(page, err);
        if (rc == 0)
                rc = check_head("limits page size", page->page_bytes, sizeof(*page), err);
        if (rc == 0 && page->owner != PAGE_OWNER_USER && page->owner != PAGE_OWNER_DAEMON)
                rc = fail(err, -EPROTO, "limits owner is %" PRIu32 ", expected 1 or 2",
                          page->owner);
        if (rc == 0)
                rc = check_limits_texts(page, err);
        return rc;
}

int page_check_slots(const struct slots_page *page, uint64_t bytes, struct error *err)
{
        int rc = check_head("slots file size", bytes, sizeof(*page), err);

        if (rc == 0)
                rc = check_head("slots magic", page->magic, PAGE_SLOTS_MAGIC, err);
        if (rc == 0)
                rc = check_version("slots version", page->version, err);
        if (rc == 0)
                rc = check_head("slot count", page->slot_count, PAGE_SLOTS, err);
        if (rc == 0)
                rc = check_head("slots page size", page->page_bytes, sizeof(*page), err);
        if (rc == 0 && page->slots_high > PAGE_SLOTS)
                rc = fail(err, -EPROTO, "highest slot is %" PRIu32 ", expected at most %u",
                          page->slots_high, PAGE_SLOTS);
        return rc;
}

/* Returns the index of the row whose uuid is these 16 letters; -1: none. */
static int named_row(const struct limits_page *page, const char letters[PAGE_ROW_NAME_BYTES])
{
        uint64_t name[2];

        memcpy(name, letters, sizeof(name));
        for (int i = 0; i < (int)PAGE_DEVICES; i++) {
                const uint64_t *uuid = page->device[i].uuid;

                if (load_acquire(shared_word(&uuid[0])) == name[0] &&
                    load_acquire(shared_word(&uuid[1])) == name[1])
                        return i;
        }
        return -1;
}

bool page_is_no_card(const void *uuid)
{
        return memcmp(uuid, PAGE_HOST_NAME, PAGE_ROW_NAME_BYTES) == 0 ||
               memcmp(uuid, PAGE_SWAP_NAME, PAGE_ROW_NAME_BYTES) == 0;
}

int page_host_row(const struct limits_page *page)
{
        return named_row(page, PAGE_HOST_NAME);
}

int page_swap_row(const struct limits_page *page)
{
        return named_row(page, PAGE_SWAP_NAME);
}

uint32_t page_cap_ppm(const struct limits_page *page, const struct limits_device *device)
{
        uint32_t cap_ppm = load_acquire(shared_half(&device->cap_ppm));

        if (!cap_ppm)
                cap_ppm = load_acquire(shared_half(&page->default_cap_ppm));
        return cap_ppm && cap_ppm < PAGE_WHOLE_PPM ? cap_ppm : PAGE_WHOLE_PPM;
}

uint64_t page_row_bytes(const struct slots_page *page, uint32_t slot, unsigned device)
{
        const struct page_row *row = &page->row[slot % PAGE_SLOTS][device % PAGE_DEVICES];
        uint64_t held = 0;

        /* charge[] has two entries, and `committed` says which one is current. A writer may replace
         * it during the read; then the value is read again. */
        for (int attempt = 0; attempt < 8; attempt++) {
                uint64_t committed = load_acquire(shared_word(&row->committed));

                held = load_acquire(shared_word(&row->charge[committed & 1]));
                if (load_acquire(shared_word(&row->committed)) == committed)
                        break;
        }
        return held;
}
