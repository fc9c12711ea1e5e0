/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the node to the swapper: tells the swapper which sessions swap, and how much of each GPU
 * these sessions may use. Reports sessions that are stuck, and ends their programs if the setting
 * swap.stuck says so.
 */
#include <signal.h>
#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"
#include "daemon/node/judge_parts.h"
#include "daemon/swap/swapper.h"

/* Returns how many bytes of a GPU the sessions that swap may use: the card's bytes less the reserve
 * and the promises to sessions that do not swap, but at least the largest promise to a session that
 * swaps. If more than the card is promised, the driver refuses what does not fit. */
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
                owner_log(&node->trouble, sessions_payer(session), LOG_WARN,
                          "session %s gets no turns of memory: %s", session->name, err.text);
}

/* Ends all processes of a stuck session, because the session holds the card as a whole. Only
 * processes of the session's owner get the signal (victim.h). */
static void end_stuck(struct node *node, const struct sessions_one *session)
{
        owner_log(&node->trouble, sessions_payer(session), LOG_WARN,
                  "session %s has not given its memory back for 10 s: its programs are ended "
                  "(swap.stuck)",
                  session->name);
        answer_tell(node, "swap.killed", session, "{}");
        node_hunt(node, session, &(struct folder_signal){ .number = SIGKILL });
}

static void tell_stuck(struct node *node, const struct sessions_one *session, bool is_overdue)
{
        if (!is_overdue)
                answer_tell(node, "swap.stuck", session, "{}");
        else if (*node->kills_stuck)
                end_stuck(node, session);
}

static void on_stuck(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        const struct sessions *all = node->sessions;
        struct swapper_stuck stuck;

        while (swapper_next_stuck(node->swapper, &stuck)) {
                for (unsigned i = 0; i < all->entries; i++) {
                        const struct sessions_one *session = &all->session[i];

                        if (session->state != SESSIONS_FREE &&
                            memcmp(session->id, stuck.id, sizeof(stuck.id)) == 0)
                                tell_stuck(node, session, stuck.is_overdue);
                }
        }
}

int node_use_swapper(struct node *node, struct swapper *swapper, const bool *kills_stuck)
{
        if (node->stuck)
                event_free(node->stuck);
        node->stuck = NULL;
        node->swapper = swapper;
        node->kills_stuck = kills_stuck;
        if (!swapper)
                return 0;
        swap_note_promises(node);
        node->stuck =
                event_new(node->base, swapper_fd(swapper), EV_READ | EV_PERSIST, on_stuck, node);
        return node->stuck && event_add(node->stuck, NULL) == 0 ? 0 : -ENOMEM;
}
