/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the node to the swapper: tells it how much of each GPU sessions that swap may have, and
 * which sessions swap; reports sessions that are stuck.
 */
#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"
#include "daemon/node/judge_parts.h"
#include "daemon/swap/swapper.h"

/* The card's bytes less the promises to sessions that do not swap; at least the largest promise to
 * a session that swaps. Where more than the card is promised, the driver refuses what does not fit.
 */
static uint64_t capacity_of(const struct sessions *all, const struct sessions_gpu *gpu)
{
        uint64_t plain = sessions_promised_plain(all, gpu->uuid);
        uint64_t most = difference_of(gpu->card_bytes, all->policy.reserve_bytes);

        return max_u64(difference_of(most, plain),
                       difference_of(sessions_promised(all, gpu->uuid), plain));
}

void swap_note_promises(struct node *node)
{
        const struct sessions *all = node->sessions;

        if (!node->swapper)
                return;
        for (unsigned i = 0; i < all->gpu_count; i++)
                swapper_give(node->swapper, all->gpu[i].uuid, capacity_of(all, &all->gpu[i]));
}

void node_swap(struct node *node, const struct sessions_one *session, bool is_there, unsigned most)
{
        struct error err = { 0 };

        if (!node->swapper || !session->swaps)
                return;
        swap_note_promises(node);
        if (!is_there)
                swapper_drop(node->swapper, session->id);
        else if (swapper_put(node->swapper, session, most, &err) < 0)
                owner_log(&node->trouble, session->owner_uid, LOG_WARN,
                          "session %s gets no turns of memory: %s", session->name, err.text);
}

static void on_stuck(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        const struct sessions *all = node->sessions;
        uint8_t id[16];

        while (swapper_next_stuck(node->swapper, id)) {
                for (unsigned i = 0; i < all->entries; i++) {
                        const struct sessions_one *session = &all->session[i];

                        if (session->state != SESSIONS_FREE &&
                            memcmp(session->id, id, sizeof(id)) == 0)
                                answer_tell(node, "swap.stuck", session, "{}");
                }
        }
}

int node_use_swapper(struct node *node, struct swapper *swapper)
{
        if (node->stuck)
                event_free(node->stuck);
        node->stuck = NULL;
        node->swapper = swapper;
        if (!swapper)
                return 0;
        swap_note_promises(node);
        node->stuck =
                event_new(node->base, swapper_fd(swapper), EV_READ | EV_PERSIST, on_stuck, node);
        return node->stuck && event_add(node->stuck, NULL) == 0 ? 0 : -ENOMEM;
}
