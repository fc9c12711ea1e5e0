/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when to ask the driver, and uses its answer about the cards.
 *
 * A complete poll is requested about once a second, less often if answers take long. While a
 * process is suspected, polls of only the processes on the GPUs are requested in between. A driver
 * that does not answer blocks only the thread that calls NVML: the list of cards stays unchanged,
 * and after SILENT_NS node_gpus() returns no poll.
 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/text.h"
#include "daemon/node/node_parts.h"

#define MS UINT64_C(1000000)
#define WHOLE_MIN_NS NODE_SECOND_NS /* minimum time between two complete polls */
/* maximum time between two complete polls: a cheating session must be found within 2 s */
#define WHOLE_MAX_NS (3 * NODE_SECOND_NS / 2)
/* the time between two complete polls is this many times the length of the last poll */
#define WHOLE_SHARE 200u
/* time between two complete polls while there are no cards */
#define TROUBLE_NS (5 * NODE_SECOND_NS)
/* time between two polls while a process is suspected */
#define CLOSE_NS (50 * MS)
/* time between two checks whether a poll is due, if the clock is virtual */
#define VIRTUAL_NS (20 * MS)
/* a driver that does not answer for this long is silent: older values are not shown */
#define SILENT_NS (5 * NODE_SECOND_NS)
/* how long the daemon's start waits for the first answer */
#define START_MS 5000u
#define AGAIN_MS 500u /* how long node_look_again() waits for the answer */

/* -- Cards ------------------------------------------------------------------------------------ */

static bool has_card(const struct cards *cards, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < cards->count; i++) {
                if (memcmp(cards->card[i].uuid, uuid, 16) == 0)
                        return true;
        }
        return false;
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
                struct sessions_gpu gpu = { .card_bytes = cards->card[i].promisable_bytes };

                memcpy(gpu.uuid, cards->card[i].uuid, sizeof(gpu.uuid));
                if (gpu.card_bytes && !cards_is_divided(cards, i))
                        step_gpu(node, SESSIONS_GPU_HERE, &gpu);
        }
        for (unsigned i = 0; i < node->sessions->gpu_count; i++) {
                const struct sessions_gpu gpu = node->sessions->gpu[i];

                if (gpu.is_here && !has_card(cards, gpu.uuid))
                        step_gpu(node, SESSIONS_GPU_GONE, &gpu);
        }
}

static bool is_news(const struct cards *before, const struct cards *now)
{
        bool is_same = before->count == now->count;

        for (unsigned i = 0; is_same && i < now->count; i++)
                is_same = memcmp(before->card[i].uuid, now->card[i].uuid, 16) == 0 &&
                          before->card[i].promisable_bytes == now->card[i].promisable_bytes;
        return !is_same;
}

static void take_cards(struct node *node, const struct nvml_look *look)
{
        bool is_new = is_news(&node->cards.cards, &look->cards);

        if (look->trouble[0] && strcmp(node->cards.trouble, look->trouble) != 0)
                log_line(LOG_WARN, "%s; nothing is admitted until there is a GPU", look->trouble);
        node->cards.cards = look->cards;
        memcpy(node->cards.trouble, look->trouble, sizeof(node->cards.trouble));
        if (is_new)
                tell_cards(node);
}

/* -- Questions and answers -------------------------------------------------------------------- */

/* Returns the time between two complete polls: WHOLE_SHARE times the length of the last poll,
 * within bounds. */
static uint64_t whole_every(const struct node *node)
{
        uint64_t due_ns = nvml_thread_latest(node->nvml)->took_ns * WHOLE_SHARE;

        if (node->cards.trouble[0])
                return TROUBLE_NS;
        if (due_ns < WHOLE_MIN_NS)
                return WHOLE_MIN_NS;
        return min_u64(due_ns, WHOLE_MAX_NS);
}

/* Returns the time until the next complete poll. The time is that of the programs: in virtual time,
 * polls are as frequent as in real time. */
static uint64_t whole_in(const struct node *node)
{
        uint64_t since_ns = clock_now_ns() - node->whole_ns, every_ns = whole_every(node);

        return node->whole_ns && since_ns < every_ns ? every_ns - since_ns : 0;
}

static void arm(struct node *node)
{
        uint64_t wait_ns = whole_in(node);
        struct timeval wait;

        if (judge_is_close(node->judge) && wait_ns > CLOSE_NS)
                wait_ns = CLOSE_NS;
        if (!clock_is_machine() && wait_ns > VIRTUAL_NS)
                wait_ns = VIRTUAL_NS;
        wait = (struct timeval){ .tv_sec = (time_t)(wait_ns / NODE_SECOND_NS),
                                 .tv_usec = (suseconds_t)(wait_ns % NODE_SECOND_NS / 1000) };
        event_add(node->asking, &wait);
}

static void on_done(const struct nvml_look *look, void *context)
{
        struct node *node = context;

        if (node->is_nvml_silent)
                log_line(LOG_INFO, "the driver answers again");
        node->is_nvml_silent = false;
        node->counts.nvml_failures += look->sample.failures;
        if (look->extent == SAMPLE_WHOLE || look->trouble[0])
                take_cards(node, look);
        if (look->extent == SAMPLE_WHOLE)
                node->heard_ns = clock_machine_ns();
        if (!look->trouble[0])
                judge_look(node, look);
        arm(node);
}

static void check_silence(struct node *node)
{
        if (node->is_nvml_silent || nvml_thread_silent_ns(node->nvml) < SILENT_NS)
                return;
        node->is_nvml_silent = true;
        node->counts.nvml_failures++;
        log_line(LOG_WARN, "the driver does not answer: who uses the GPUs is not known");
}

static void ask_nvml(struct node *node)
{
        static struct nvml_ask ask; /* too large for the stack */
        uint64_t at_ns = clock_now_ns();

        ask.must_restart = node->must_restart_nvml;
        ask.suspect_count = 0;
        ask.extent = ask.must_restart || !whole_in(node) ? SAMPLE_WHOLE : SAMPLE_PROCESSES;
        judge_ask(node, &ask);
        if (!nvml_thread_ask(node->nvml, &ask)) {
                const struct timeval wait = { .tv_sec = 1 };

                check_silence(node);
                event_add(node->asking, &wait);
                return;
        }
        node->must_restart_nvml = false;
        if (ask.extent == SAMPLE_WHOLE)
                node->whole_ns = at_ns ? at_ns : 1;
        /* checks again in 1 s whether the driver answers; an answer sets the timer anew */
        event_add(node->asking, &(const struct timeval){ .tv_sec = 1 });
}

static void on_asking(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;

        if (!clock_is_machine() && whole_in(node) && !judge_is_close(node->judge))
                arm(node);
        else
                ask_nvml(node);
}

void node_look_again(struct node *node)
{
        node->must_restart_nvml = true;
        ask_nvml(node);
        nvml_thread_wait(node->nvml, AGAIN_MS);
}

const struct nvml_look *node_gpus(const struct node *node)
{
        if (!node->heard_ns || clock_machine_ns() - node->heard_ns > SILENT_NS ||
            node->cards.trouble[0])
                return NULL;
        return nvml_thread_latest(node->nvml);
}

/* -- Start and stop --------------------------------------------------------------------------- */

int node_cards_start(struct node *node, const struct node_options *options, struct error *err)
{
        const struct nvml_thread_options thread = {
                .base = node->base, .nvml = options->nvml, .done = on_done, .context = node
        };
        int rc;

        node->watch = options->watch;
        node->claims = options->claims;
        node->managed_cgroups = options->managed_cgroups;
        node->judge = judge_new(options->is_simulated);
        node->asking = event_new(node->base, -1, 0, on_asking, node);
        if (!node->judge || !node->asking)
                return fail(err, -ENOMEM, "out of memory");
        rc = nvml_thread_start(&node->nvml, &thread, err);
        if (rc < 0)
                return rc;
        text_put(node->cards.trouble, sizeof(node->cards.trouble), NULL,
                 "the driver has not answered yet");
        ask_nvml(node);
        nvml_thread_wait(node->nvml, START_MS);
        return 0;
}

void node_cards_stop(struct node *node)
{
        nvml_thread_stop(node->nvml);
        if (node->asking)
                event_free(node->asking);
        judge_free(node->judge);
}
