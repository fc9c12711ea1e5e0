/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/promise.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/text.h"

#define PPM_A_MILLI_PERCENT 10u
#define USUAL_WEIGHT 100u
#define USUAL_PRIORITY 1u

/* Writes the version last, so that an interrupted write counts as the previous version. */
void promise_write(struct limits_page *page, const struct sessions_one *session)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                struct limits_device *row = &page->device[i];

                store_relaxed(shared_half(&row->guarantee_milli_percent),
                              session->share[i].guarantee_milli_percent);
                if (session->share[i].memory_bytes >
                    load_relaxed(shared_word(&row->promised_bytes)))
                        store_relaxed(shared_word(&row->promised_at_ns), clock_now_ns());
                store_relaxed(shared_word(&row->promised_bytes), session->share[i].memory_bytes);
        }
        store_release(shared_word(&page->session_version), session->version);
}

static void read_shares(const struct limits_page *page, struct sessions_one *ret)
{
        int host = page_host_row(page);

        ret->swaps = (page->flags & PAGE_SWAPS) != 0;
        /* card_bytes of the host row and not limit_bytes, which is lower while the session ends. */
        ret->host_bytes = host < 0 || ret->swaps ? 0 : page->device[host].card_bytes;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *row = &page->device[i];
                struct sessions_share *share = &ret->share[ret->share_count];

                if ((!row->uuid[0] && !row->uuid[1]) || page_is_no_card(row->uuid))
                        continue;
                memcpy(share->uuid, row->uuid, sizeof(share->uuid));
                share->memory_bytes = ret->version ? row->promised_bytes : row->limit_bytes;
                share->guarantee_milli_percent = row->guarantee_milli_percent;
                if (page_cap_ppm(page, row) != PAGE_WHOLE_PPM)
                        share->compute_milli_percent =
                                page_cap_ppm(page, row) / PPM_A_MILLI_PERCENT;
                ret->share_count++;
        }
}

static void read_page(const struct limits_page *page, struct promise *ret)
{
        struct sessions_one *one = &ret->session;

        *one = (struct sessions_one){ .weight = USUAL_WEIGHT,
                                      .priority = USUAL_PRIORITY,
                                      .state = SESSIONS_OPEN,
                                      .ending = SESSIONS_DENY_NEW,
                                      .is_context_free = (page->flags & PAGE_CONTEXT_FREE) != 0,
                                      .version = page->session_version };
        memcpy(one->name, page->name, sizeof(one->name));
        memcpy(one->id, page->session_id, sizeof(one->id));
        read_shares(page, one);
        ret->is_shut = page->removed != 0;
}

/* Fills in the owner and whether a process lives in the session. The owner of `slots` is the
 * session's owner, and only root can change it; a container's session is the daemon's. `limits` is
 * not used otherwise, because it may be damaged. */
static void look_at_slots(const struct store *store, const char *name, bool is_containers,
                          struct promise *ret)
{
        struct store_session session = { .is_writable = false };
        char slots[STORE_PATH_BYTES];
        struct stat st;

        ret->is_live = false;
        ret->session.owner_uid = geteuid();
        if (text_put(session.path, sizeof(session.path), NULL, "%s/sessions/%s", store->path,
                     name) < 0 ||
            text_put(slots, sizeof(slots), NULL, "%s/slots", session.path) < 0 ||
            lstat(slots, &st) < 0 || !S_ISREG(st.st_mode))
                return;
        if (!is_containers)
                ret->session.owner_uid = st.st_uid;
        session.slots_file = (struct store_file){ st.st_dev, st.st_ino };
        ret->is_live = store_is_live(&session, NULL) != 0;
}

int promise_read(const struct store *store, const char *name, struct promise *ret,
                 struct error *err)
{
        struct store_session found;
        int rc = store_join_limits(store, name, &found, err);
        bool is_ours, is_containers = false;

        if (rc == -ENOENT)
                return 0;
        if (rc == 0) {
                is_ours = found.limits->owner == PAGE_OWNER_DAEMON;
                is_containers = (found.limits->flags & PAGE_OF_CONTAINER) != 0;
                if (is_ours)
                        read_page(found.limits, ret);
                store_close(&found);
                if (!is_ours)
                        return 0;
        }
        look_at_slots(store, name, is_containers, ret);
        return rc < 0 ? rc : 1;
}

static uint32_t cap_milli_percent_of(const struct sessions_share *share)
{
        return share->compute_milli_percent ? share->compute_milli_percent
                                            : SESSIONS_WHOLE_MILLI_PERCENT;
}

bool promise_is_same(const struct sessions_one *a, const struct sessions_one *b)
{
        if (a->share_count != b->share_count || a->is_context_free != b->is_context_free ||
            a->host_bytes != b->host_bytes || a->swaps != b->swaps)
                return false;
        for (unsigned i = 0; i < a->share_count; i++) {
                const struct sessions_share *one = &a->share[i], *other = &b->share[i];

                if (memcmp(one->uuid, other->uuid, sizeof(one->uuid)) != 0 ||
                    one->memory_bytes != other->memory_bytes ||
                    cap_milli_percent_of(one) != cap_milli_percent_of(other) ||
                    one->guarantee_milli_percent != other->guarantee_milli_percent)
                        return false;
        }
        return true;
}
