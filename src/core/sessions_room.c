/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room: how much of each GPU is promised, how much may still be promised, and which session gets
 * which GPU.
 *
 * There is no running total: each question sums the promises of all sessions, so the sum cannot
 * become wrong. If a session's limit was lowered, the memory above the new limit counts as promised
 * (ceiling_bytes) until it is seen to be free. A session gets all that it requests or nothing. A
 * request that could not fit even on an empty node is refused as NO_GPU.
 *
 * Sessions that swap take turns with their memory on a GPU. So together they count as the largest
 * of them; another one adds to the promise only if it is larger.
 */
#include "common/minmax.h"
#include "core/sessions_parts.h"

/* What a session that wants a share of a GPU would find there. */
struct room {
        const struct sessions_gpu *gpu; /* NULL: the GPU is not on the node */
        uint64_t most;                  /* maximum memory for one session */
        uint64_t bound;                 /* maximum memory for all sessions together */
        /* Memory promised to other sessions. For a session that swaps: promised to those that do
         * not swap. */
        uint64_t promised;
        uint64_t swapped; /* sum of the promises to other sessions that swap */
        /* the part of the GPU's time that the guarantees of other sessions leave */
        uint32_t free_milli_percent;
};

static const struct sessions_gpu *gpu_here(const struct sessions *node, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < node->gpu_count; i++) {
                if (node->gpu[i].is_here && uuid_is_same(node->gpu[i].uuid, uuid))
                        return &node->gpu[i];
        }
        return NULL;
}

/* The memory of one GPU that is promised. */
struct promised {
        uint64_t plain;   /* sum of the promises to sessions that do not swap */
        uint64_t largest; /* the largest promise to a session that swaps */
        uint64_t swapped; /* sum of the promises to sessions that swap */
};

static void promised_add(struct promised *promised, const struct sessions_one *one, uint64_t bytes)
{
        if (!one->swaps) {
                promised->plain = sum_of(promised->plain, bytes);
                return;
        }
        promised->largest = max_u64(promised->largest, bytes);
        promised->swapped = sum_of(promised->swapped, bytes);
}

static struct promised promised_but(const struct sessions *node, const struct sessions_one *but,
                                    const uint8_t uuid[16])
{
        struct promised promised = { 0 };

        for (unsigned i = 0; i < node->entries; i++) {
                const struct sessions_one *one = &node->session[i];

                if (one == but || one->state == SESSIONS_FREE)
                        continue;
                for (unsigned j = 0; j < one->share_count; j++) {
                        if (uuid_is_same(one->share[j].uuid, uuid))
                                promised_add(&promised, one, one->share[j].ceiling_bytes);
                }
        }
        return promised;
}

static uint64_t promised_bytes(const struct promised *promised)
{
        return sum_of(promised->plain, promised->largest);
}

static uint32_t free_time_but(const struct sessions *node, const struct sessions_one *but,
                              const uint8_t uuid[16])
{
        uint32_t left = SESSIONS_WHOLE_MILLI_PERCENT;

        for (unsigned i = 0; i < node->entries; i++) {
                const struct sessions_one *one = &node->session[i];

                if (one == but || one->state == SESSIONS_FREE)
                        continue;
                for (unsigned j = 0; j < one->share_count; j++) {
                        uint32_t taken = one->share[j].guarantee_milli_percent;

                        if (uuid_is_same(one->share[j].uuid, uuid))
                                left -= taken < left ? taken : left;
                }
        }
        return left;
}

static uint64_t percent_of(uint64_t bytes, uint32_t percent)
{
        uint64_t whole = bytes / 100;

        return sum_of(product_of(whole, percent), bytes % 100 * percent / 100);
}

static uint64_t bound_of(const struct sessions_policy *policy, uint64_t card_bytes)
{
        switch (policy->overcommit) {
        case SESSIONS_RATIO:
                return percent_of(card_bytes, policy->ratio_percent);
        case SESSIONS_NONE:
                return UINT64_MAX;
        case SESSIONS_STRICT:
        default:
                return card_bytes;
        }
}

/* Returns the room on a GPU for a new session, or for one that replaces `but`. `swaps`: whether
 * that session swaps. */
static struct room room_of(const struct sessions *node, const uint8_t uuid[16],
                           const struct sessions_one *but, bool swaps)
{
        struct room room = { .gpu = gpu_here(node, uuid) };
        struct promised promised;

        if (!room.gpu)
                return room;
        if (room.gpu->card_bytes > node->policy.reserve_bytes)
                room.most = room.gpu->card_bytes - node->policy.reserve_bytes;
        room.bound = bound_of(&node->policy, room.most);
        promised = promised_but(node, but, uuid);
        room.promised = promised_bytes(&promised);
        room.swapped = promised.swapped;
        if (swaps && room.promised <= room.bound)
                room.promised = promised.plain;
        room.free_milli_percent = free_time_but(node, but, uuid);
        return room;
}

static uint64_t room_bytes(const struct room *room)
{
        uint64_t left = room->bound > room->promised ? room->bound - room->promised : 0;

        return left < room->most ? left : room->most;
}

static bool refuse_room(struct sessions_actions *ret, const uint8_t uuid[16],
                        const struct room *room, uint64_t wanted)
{
        memcpy(ret->gpu, uuid, sizeof(ret->gpu));
        ret->wanted_bytes = wanted;
        ret->free_bytes = room_bytes(room);
        return refuse_event(ret, SESSIONS_NO_ROOM, "memory");
}

static bool refuse_time(struct sessions_actions *ret, const struct room *room, uint32_t wanted)
{
        memcpy(ret->gpu, room->gpu->uuid, sizeof(ret->gpu));
        ret->wanted_milli_percent = wanted;
        ret->free_milli_percent = room->free_milli_percent;
        return refuse_event(ret, SESSIONS_NO_TIME, "guarantee");
}

static bool refuse_gpu(struct sessions_actions *ret, uint64_t wanted, uint64_t most)
{
        ret->wanted_bytes = wanted;
        ret->free_bytes = most;
        return refuse_event(ret, SESSIONS_NO_GPU, "gpus");
}

/* -- GPUs that the request names --------------------------------------------------------------- */

/* Whether the share would fit if the node had no other session. */
static bool is_possible(const struct sessions *node, const struct sessions_share *share,
                        struct sessions_actions *ret)
{
        struct room room = room_of(node, share->uuid, NULL, false);

        if (share->memory_bytes <= room.most)
                return true;
        memcpy(ret->gpu, share->uuid, sizeof(ret->gpu));
        return refuse_gpu(ret, share->memory_bytes, room.most);
}

static bool has_room(const struct sessions *node, const struct sessions_one *but,
                     const struct sessions_share *share, bool swaps, struct sessions_actions *ret)
{
        struct room room = room_of(node, share->uuid, but, swaps);

        if (share->memory_bytes <= room_bytes(&room))
                return true;
        return refuse_room(ret, share->uuid, &room, share->memory_bytes);
}

static bool has_time(const struct sessions *node, const struct sessions_one *but,
                     const struct sessions_share *share, struct sessions_actions *ret)
{
        struct room room = room_of(node, share->uuid, but, false);

        return !room.gpu || share->guarantee_milli_percent <= room.free_milli_percent ||
               refuse_time(ret, &room, share->guarantee_milli_percent);
}

static bool grant_named(const struct sessions *node, const struct sessions_one *one,
                        struct sessions_actions *ret)
{
        for (unsigned i = 0; i < one->share_count; i++) {
                if (!is_possible(node, &one->share[i], ret))
                        return false;
        }
        for (unsigned i = 0; i < one->share_count; i++) {
                if (!has_room(node, NULL, &one->share[i], one->swaps, ret) ||
                    !has_time(node, NULL, &one->share[i], ret))
                        return false;
        }
        return true;
}

bool room_regrant(const struct sessions *node, const struct sessions_one *one,
                  const struct sessions_one *wanted, struct sessions_actions *ret)
{
        for (unsigned i = 0; i < one->share_count; i++) {
                if (wanted->share[i].memory_bytes > one->share[i].memory_bytes &&
                    (!is_possible(node, &wanted->share[i], ret) ||
                     !has_room(node, one, &wanted->share[i], one->swaps, ret)))
                        return false;
                if (wanted->share[i].guarantee_milli_percent >
                            one->share[i].guarantee_milli_percent &&
                    !has_time(node, one, &wanted->share[i], ret))
                        return false;
        }
        return true;
}

/* -- GPUs that this module chooses ------------------------------------------------------------- */

/* The GPUs that can still be chosen; once a GPU is chosen, its .gpu is NULL. */
struct offer {
        struct room room[SESSIONS_GPUS];
        unsigned count;
        uint64_t free_min_bytes;
        enum sessions_choice choice;
        bool swaps;
};

static void offer_make(struct offer *ret, const struct sessions *node,
                       const struct sessions_wish *wish, bool swaps)
{
        ret->count = node->gpu_count;
        ret->free_min_bytes = wish->free_min_bytes;
        ret->swaps = swaps;
        ret->choice = wish->has_choice ? wish->choice : node->policy.choice;
        for (unsigned i = 0; i < node->gpu_count; i++) {
                ret->room[i] = room_of(node, node->gpu[i].uuid, NULL, swaps);
                if (wish->barred & UINT32_C(1) << i)
                        ret->room[i].gpu = NULL;
        }
}

/* Returns the memory that may be promised in all, for comparisons of GPUs. With SESSIONS_NONE
 * there is no such limit, and the memory of the card counts. */
static uint64_t whole_of(const struct room *room)
{
        return room->bound == UINT64_MAX ? room->most : room->bound;
}

static bool has_more_left(const struct room *a, const struct room *b)
{
        return sum_of(whole_of(a), b->promised) > sum_of(whole_of(b), a->promised);
}

static bool has_enough_left(const struct room *room, uint64_t bytes)
{
        return sum_of(room->promised, bytes) <= whole_of(room);
}

static bool is_better(const struct offer *offer, const struct room *a, const struct room *b,
                      uint64_t bytes)
{
        bool is_enough = has_enough_left(a, bytes);

        /* Sessions that swap take turns, so the GPU with the least memory in turns comes first. */
        if (offer->swaps && a->swapped != b->swapped)
                return a->swapped < b->swapped;
        if (offer->choice == SESSIONS_LEAST_LOADED)
                return has_more_left(a, b);
        if (is_enough != has_enough_left(b, bytes))
                return is_enough;
        return is_enough ? has_more_left(b, a) : has_more_left(a, b);
}

static uint64_t min_room(const struct offer *offer, const struct sessions_share *share)
{
        return share->memory_bytes > offer->free_min_bytes ? share->memory_bytes
                                                           : offer->free_min_bytes;
}

/* Returns the first GPU with enough memory for the share, even if its time is promised; NULL:
 * none is left. */
static const struct room *offer_large_enough(const struct offer *offer,
                                             const struct sessions_share *share)
{
        for (unsigned i = 0; i < offer->count; i++) {
                const struct room *room = &offer->room[i];

                if (room->gpu && room_bytes(room) >= min_room(offer, share))
                        return room;
        }
        return NULL;
}

static struct room *offer_choose(struct offer *offer, const struct sessions_share *share)
{
        struct room *best = NULL;

        for (unsigned i = 0; i < offer->count; i++) {
                struct room *room = &offer->room[i];

                if (!room->gpu || room_bytes(room) < min_room(offer, share) ||
                    room->free_milli_percent < share->guarantee_milli_percent)
                        continue;
                if (!best || is_better(offer, room, best, share->memory_bytes))
                        best = room;
        }
        return best;
}

static const struct room *offer_freest(const struct offer *offer)
{
        const struct room *freest = NULL;

        for (unsigned i = 0; i < offer->count; i++) {
                const struct room *room = &offer->room[i];

                if (room->gpu && (!freest || room_bytes(room) > room_bytes(freest)))
                        freest = room;
        }
        return freest;
}

static struct sessions_share *largest_unplaced(struct sessions_one *one, const bool *is_placed)
{
        struct sessions_share *largest = NULL;

        for (unsigned i = 0; i < one->share_count; i++) {
                struct sessions_share *share = &one->share[i];

                if (!is_placed[i] && (!largest || share->memory_bytes > largest->memory_bytes))
                        largest = share;
        }
        return largest;
}

/*
 * Places all shares on GPUs. Returns NULL, or the share for which no GPU is left. The largest share
 * is placed first. Every GPU that is large enough for it is large enough for the next, so if the
 * shares can be placed at all, this finds a way. (This holds because the guarantees of a session
 * are the same on all GPUs if this module chooses them.)
 */
static const struct sessions_share *offer_place(struct offer *offer, struct sessions_one *one)
{
        bool is_placed[SESSIONS_GPUS] = { false };

        for (unsigned i = 0; i < one->share_count; i++) {
                struct sessions_share *share = largest_unplaced(one, is_placed);
                struct room *room = offer_choose(offer, share);

                if (!room)
                        return share;
                memcpy(share->uuid, room->gpu->uuid, sizeof(share->uuid));
                is_placed[share - one->share] = true;
                room->gpu = NULL;
        }
        return NULL;
}

static void offer_all_time(struct offer *offer)
{
        for (unsigned i = 0; i < offer->count; i++)
                offer->room[i].free_milli_percent = SESSIONS_WHOLE_MILLI_PERCENT;
}

/* Whether the shares would fit on some GPUs if the node had no other session. */
static bool is_any_possible(const struct offer *offer, const struct sessions_one *one,
                            struct sessions_actions *ret)
{
        struct offer hollow = *offer;
        struct sessions_one trial = *one;
        const struct sessions_share *share;
        const struct room *freest;

        offer_all_time(&hollow);
        for (unsigned i = 0; i < hollow.count; i++)
                hollow.room[i].promised = 0;
        share = offer_place(&hollow, &trial);
        if (!share)
                return true;
        freest = offer_freest(&hollow);
        return refuse_gpu(ret, min_room(offer, share), freest ? freest->most : 0);
}

/* Whether there is enough memory for the session, whatever the guarantees of other sessions. */
static bool has_any_room(const struct offer *offer, const struct sessions_one *one,
                         struct sessions_actions *ret)
{
        struct offer timeless = *offer;
        struct sessions_one trial = *one;
        const struct sessions_share *share;
        const struct room *freest;

        offer_all_time(&timeless);
        share = offer_place(&timeless, &trial);
        if (!share)
                return true;
        freest = offer_freest(&timeless); /* not NULL, because the share fits on empty cards */
        return refuse_room(ret, freest->gpu->uuid, freest, min_room(offer, share));
}

static bool grant_any(const struct sessions *node, const struct sessions_wish *wish,
                      struct sessions_one *one, struct sessions_actions *ret)
{
        const struct sessions_share *share;
        const struct room *room;
        struct offer offer;

        offer_make(&offer, node, wish, one->swaps);
        if (!is_any_possible(&offer, one, ret) || !has_any_room(&offer, one, ret))
                return false;
        share = offer_place(&offer, one);
        if (!share)
                return true;
        /* There was enough memory, so a GPU with enough memory is left; its time is what lacks. */
        room = offer_large_enough(&offer, share);
        return room ? refuse_time(ret, room, share->guarantee_milli_percent)
                    : refuse_gpu(ret, min_room(&offer, share), 0);
}

/* -- The public functions --------------------------------------------------------------------- */

bool room_admit(const struct sessions *node, const struct sessions_wish *wish,
                struct sessions_one *one, struct sessions_actions *ret)
{
        return wish->is_chosen_here ? grant_any(node, wish, one, ret) : grant_named(node, one, ret);
}

uint64_t sessions_promised(const struct sessions *node, const uint8_t uuid[16])
{
        const struct promised promised = promised_but(node, NULL, uuid);

        return promised_bytes(&promised);
}

uint64_t sessions_promised_plain(const struct sessions *node, const uint8_t uuid[16])
{
        return promised_but(node, NULL, uuid).plain;
}

bool sessions_is_over(const struct sessions *node, const uint8_t uuid[16])
{
        struct room room = room_of(node, uuid, NULL, false);

        return room.gpu && room.promised > room.bound;
}

uint64_t sessions_room(const struct sessions *node, const uint8_t uuid[16])
{
        struct room room = room_of(node, uuid, NULL, false);

        return room_bytes(&room);
}
