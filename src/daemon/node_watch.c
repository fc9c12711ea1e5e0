/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node looks at by itself: the clock, its sessions' processes, the cards.
 *
 * When the next tick is due is the core's word, on the wall clock; the kernel says when that clock
 * is set, and then it is asked again. Whether somebody lives matters of sessions that end alone:
 * ten times a second, a few at a time, so that no load comes of there being many. Cards are looked
 * at every half minute.
 */
#include "daemon/node_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"

#define LOOK_NS 100000000 /* at sessions that end */
#define LOOKS 16u         /* at so many at once */
#define ROUND_SECONDS 30  /* between two looks at the cards, and for folders left over */

/* -- The clock -------------------------------------------------------------------------------- */

void node_arm(struct node *node)
{
        uint64_t next_ns = sessions_next_ns(node->sessions);
        struct itimerspec when = { .it_value = { (time_t)(next_ns / NODE_SECOND_NS),
                                                 (long)(next_ns % NODE_SECOND_NS) } };

        if (node->clock < 0)
                return;
        if (next_ns > 0 && !when.it_value.tv_sec && !when.it_value.tv_nsec)
                when.it_value.tv_nsec = 1;
        timerfd_settime(node->clock, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

/* Also when the clock was set: then nothing may be due, or much. */
static void on_due(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        uint64_t count;

        if (read(fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
                return;
        node_tick(node);
        node_arm(node);
}

/* -- Who lives -------------------------------------------------------------------------------- */

static void on_looking(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        const struct sessions *all = node->sessions;
        unsigned from = node->look_from, seen = 0;

        for (unsigned i = 0; i < all->places && seen < LOOKS; i++) {
                const struct sessions_one *one = &all->session[(from + i) % all->places];
                char name[SESSIONS_NAME_BYTES];

                if (one->state != SESSIONS_ENDING && one->state != SESSIONS_KILLING)
                        continue;
                seen++;
                node->look_from = (unsigned)(one - all->session) + 1;
                memcpy(name, one->name, sizeof(name));
                if (folder_is_live(&node->store, one, NULL) == 0)
                        node_note_empty(node, name);
        }
}

/* -- The cards -------------------------------------------------------------------------------- */

static int start_nvml(struct node *node, struct error *err)
{
        int rc;

        if (node->is_nvml_started)
                return 0;
        if (!node->nvml_handle)
                node->nvml_handle = dlopen(node->nvml, RTLD_NOW | RTLD_LOCAL);
        if (!node->nvml_handle)
                return fail(err, -ENOENT, "no NVIDIA driver here: %s", dlerror());
        rc = cards_start(node->nvml_handle, node->nvml, err);
        node->is_nvml_started = rc == 0;
        return rc;
}

static void stop_nvml(struct node *node)
{
        if (node->is_nvml_started)
                cards_stop();
        node->is_nvml_started = false;
}

static bool has_card(const struct cards *cards, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, 16) == 0)
                        return true;
        }
        return false;
}

/* A card that is cut into instances is not to be had whole. */
static bool is_to_be_had(const struct cards *cards, const struct card *card)
{
        for (unsigned i = 0; !card->is_instance && i < cards->count; i++) {
                if (cards->card[i].is_instance && cards->card[i].index == card->index)
                        return false;
        }
        return card->total_bytes > 0;
}

static void step_gpu(struct node *node, enum sessions_event_type type,
                     const struct sessions_gpu *gpu)
{
        const struct sessions_event event = { .type = type, .gpu = *gpu };
        struct sessions_actions actions;
        struct error err = { 0 };
        char uuid[UUID_TEXT_BYTES];

        node_step(node, &event, "daemon", &actions, &err);
        if (actions.answer == SESSIONS_FULL)
                log_line(LOG_WARN, "%s is left out: a node has at most %u GPUs",
                         uuid_format(gpu->uuid, false, uuid), SESSIONS_GPUS);
}

static void tell_cards(struct node *node)
{
        const struct cards *cards = &node->cards.cards;

        for (unsigned i = 0; i < cards->count; i++) {
                struct sessions_gpu gpu = { .card_bytes = cards->card[i].total_bytes };

                memcpy(gpu.uuid, cards->card[i].uuid, sizeof(gpu.uuid));
                if (is_to_be_had(cards, &cards->card[i]))
                        step_gpu(node, SESSIONS_GPU_HERE, &gpu);
        }
        for (unsigned i = 0; i < node->sessions->gpu_count; i++) {
                const struct sessions_gpu gpu = node->sessions->gpu[i];

                if (gpu.is_here && !has_card(cards, gpu.uuid))
                        step_gpu(node, SESSIONS_GPU_GONE, &gpu);
        }
}

void node_look_at_cards(struct node *node)
{
        struct error err = { 0 };
        int rc = start_nvml(node, &err);

        node->looked_ns = node_now_ns();
        if (rc == 0)
                rc = cards_list(&node->cards.cards, &err);
        if (rc < 0) {
                stop_nvml(node);
                node->cards.cards.count = 0;
                if (strcmp(node->cards.trouble, err.text) != 0)
                        log_line(LOG_WARN, "%s; nothing is admitted until there is a GPU",
                                 err.text);
        }
        text_put(node->cards.trouble, sizeof(node->cards.trouble), NULL, "%s", err.text);
        if (rc == 0 && node->cards.cards.count == 0)
                text_put(node->cards.trouble, sizeof(node->cards.trouble), NULL,
                         "the driver lists no GPU");
        tell_cards(node);
}

void node_refresh(struct node *node)
{
        uint64_t now_ns = node_now_ns();

        if (node->is_nvml_started &&
            (now_ns < node->looked_ns || now_ns - node->looked_ns > NODE_SECOND_NS))
                node_look_at_cards(node);
}

void node_look_again(struct node *node)
{
        stop_nvml(node);
        node_look_at_cards(node);
}

static void on_round(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;

        node_look_at_cards(node);
        if (node->has_leftovers)
                node_sweep(node);
}

/* -- Start and stop --------------------------------------------------------------------------- */

int node_watch_start(struct node *node, struct error *err)
{
        const struct timeval look_every = { .tv_usec = LOOK_NS / 1000 };
        const struct timeval round_every = { .tv_sec = ROUND_SECONDS };

        node->clock = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        if (node->clock < 0)
                return fail(err, -errno, "a timer: %m");
        node->due = event_new(node->base, node->clock, EV_READ | EV_PERSIST, on_due, node);
        node->looking = event_new(node->base, -1, EV_PERSIST, on_looking, node);
        node->rounds = event_new(node->base, -1, EV_PERSIST, on_round, node);
        if (!node->due || !node->looking || !node->rounds || event_add(node->due, NULL) < 0 ||
            event_add(node->looking, &look_every) < 0 || event_add(node->rounds, &round_every) < 0)
                return fail(err, -ENOMEM, "out of memory");
        return 0;
}

void node_watch_stop(struct node *node)
{
        struct event *events[] = { node->due, node->looking, node->rounds };

        for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
                if (events[i])
                        event_free(events[i]);
        }
        if (node->clock >= 0)
                close(node->clock);
        stop_nvml(node);
}
