/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds how many processes a session has and how much memory they hold. The result is kept: if an
 * owner's sessions were read too often (budget.h), the last result is returned with its time.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/api/api_parts.h"

struct api_uses {
        struct api_use *use[SESSIONS_MAX]; /* by session index; NULL: never needed */
};

struct api_uses *api_uses_new(void)
{
        return calloc(1, sizeof(struct api_uses));
}

void api_uses_free(struct api_uses *uses)
{
        for (unsigned i = 0; uses && i < SESSIONS_MAX; i++)
                free(uses->use[i]);
        free(uses);
}

/* Returns the entry for the session. If there is no memory, returns an entry that is not kept. */
static struct api_use *use_entry_of(const struct http_api *api, const struct sessions_one *session)
{
        static struct api_use passing;
        const struct sessions *all = node_sessions(api->options.node);
        struct api_use **place = &api->uses->use[session - all->session];
        struct api_use *use;

        if (!*place)
                *place = calloc(1, sizeof(**place));
        use = *place ? *place : &passing;
        if (memcmp(use->id, session->id, sizeof(use->id)) != 0) {
                *use = (struct api_use){ .at_ns = 0 };
                memcpy(use->id, session->id, sizeof(use->id));
        }
        return use;
}

/* If reading fails for another reason than the budget, the result is empty: no process and no
 * bytes. */
const struct api_use *api_use_of(const struct http_api *api, const struct sessions_one *session,
                                 struct folder_use *seen)
{
        struct api_use *use = use_entry_of(api, session);

        use->is_now = folder_read(node_store(api->options.node), session, seen, NULL) != -EAGAIN;
        if (!use->is_now)
                return use;
        use->at_ns = node_now_ns();
        use->count = seen->count;
        for (unsigned i = 0; i < session->share_count; i++)
                use->used_bytes[i] = folder_used_bytes(seen, session->share[i].uuid);
        use->host_bytes = folder_used_bytes(seen, (const uint8_t *)PAGE_HOST_NAME);
        use->swap_bytes = folder_used_bytes(seen, (const uint8_t *)PAGE_SWAP_NAME);
        return use;
}
