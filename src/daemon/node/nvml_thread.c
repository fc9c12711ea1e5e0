/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/nvml_thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "daemon/base/thread.h"
#include "daemon/node/people.h"

#define SECOND_NS UINT64_C(1000000000)
/* number of complete polls for which one list of the cards is used, because it seldom changes */
#define CARDS_EVERY 5u
#define STOP_MS 1000u

enum state { IDLE, ASKED, DONE, STOPPING, STOPPED };

struct nvml_thread {
        struct nvml_thread_options options;
        pthread_t id;
        int done_fd; /* eventfd: the thread writes to it, the loop reads it */
        struct event *done;
        /* Only the event loop uses these. */
        uint64_t asked_ns;        /* clock_machine_ns() of the unanswered request; 0: none */
        struct nvml_look *latest; /* the latest complete poll */

        /* guards `state`, which decides whether the loop or the thread owns `ask` and `work` */
        pthread_mutex_t lock;
        pthread_cond_t bell;
        enum state state;
        struct nvml_ask ask;
        struct nvml_look *work;

        /* Only the thread uses these. */
        void *handle;
        bool is_started;
        struct sampler sampler;
        unsigned looks;
        struct cards cards;
        struct people people;
};

/* -- The thread: cards ------------------------------------------------------------------------ */

static int start_nvml(struct nvml_thread *thread, struct error *err)
{
        int rc;

        if (thread->is_started)
                return 0;
        if (!thread->handle)
                thread->handle = dlopen(thread->options.nvml, RTLD_NOW | RTLD_LOCAL);
        if (!thread->handle)
                return fail(err, -ENOENT, "no NVIDIA driver here: %s", dlerror());
        rc = cards_start(thread->handle, thread->options.nvml, err);
        if (rc < 0)
                return rc;
        sample_bind(thread->handle, &thread->sampler);
        thread->is_started = true;
        thread->looks = 0;
        return 0;
}

static void stop_nvml(struct nvml_thread *thread)
{
        if (!thread->is_started)
                return;
        sample_unbind(&thread->sampler);
        cards_stop();
        thread->is_started = false;
}

static int find_cards(struct nvml_thread *thread, struct error *err)
{
        int rc;

        if (thread->ask.must_restart)
                stop_nvml(thread);
        rc = start_nvml(thread, err);
        if (rc == 0 && thread->looks % CARDS_EVERY == 0)
                rc = cards_list(&thread->cards, err);
        if (rc < 0) {
                stop_nvml(thread);
                thread->cards.count = 0;
        } else if (thread->ask.extent == SAMPLE_WHOLE) {
                thread->looks++;
        }
        if (rc == 0 && thread->cards.count == 0)
                return fail(err, -ENODEV, "the driver lists no GPU");
        return rc;
}

/* Copies the cards with their present usage. Like cards_list(), this includes the driver's own
 * memory. */
static void copy_cards(const struct nvml_thread *thread, struct nvml_look *look)
{
        look->cards = thread->cards;
        for (unsigned i = 0; i < look->sample.device_count; i++) {
                const struct sample_device *device = &look->sample.device[i];

                if (device->used_bytes != SAMPLE_NONE)
                        look->cards.card[i].used_bytes =
                                device->used_bytes + (device->reserved_bytes != SAMPLE_NONE
                                                              ? device->reserved_bytes
                                                              : 0);
        }
}

/* -- The thread: polls ------------------------------------------------------------------------ */

static void sample_cards(struct nvml_thread *thread)
{
        struct nvml_look *ret = thread->work;
        uint64_t began_ns = clock_machine_ns();
        struct error err = { 0 };
        int rc = find_cards(thread, &err);

        ret->extent = thread->ask.extent;
        ret->who_count = 0;
        ret->sample.failures = rc < 0 && thread->handle;
        ret->sample.device_count = ret->sample.process_count = 0;
        if (rc == 0)
                rc = sample_take(&thread->sampler, &thread->cards, ret->extent, &ret->sample);
        if (rc == 0)
                rc = people_find(&thread->people, &thread->ask, thread->looks, ret);
        if (rc == -ENOMEM)
                fail(&err, rc, "out of memory");
        copy_cards(thread, ret);
        text_put(ret->trouble, sizeof(ret->trouble), NULL, "%s", err.text);
        ret->took_ns = clock_machine_ns() - began_ns;
}

static void *run_thread(void *context)
{
        struct nvml_thread *thread = context;

        pthread_mutex_lock(&thread->lock);
        for (;;) {
                while (thread->state == IDLE || thread->state == DONE)
                        pthread_cond_wait(&thread->bell, &thread->lock);
                if (thread->state == STOPPING)
                        break;
                pthread_mutex_unlock(&thread->lock);
                sample_cards(thread);
                pthread_mutex_lock(&thread->lock);
                if (thread->state == STOPPING)
                        break;
                thread->state = DONE;
                pthread_cond_broadcast(&thread->bell);
                eventfd_write(thread->done_fd, 1);
        }
        pthread_mutex_unlock(&thread->lock);
        stop_nvml(thread);
        pthread_mutex_lock(&thread->lock);
        thread->state = STOPPED;
        pthread_cond_broadcast(&thread->bell);
        pthread_mutex_unlock(&thread->lock);
        return NULL;
}

/* -- The loop --------------------------------------------------------------------------------- */

bool nvml_thread_ask(struct nvml_thread *thread, const struct nvml_ask *ask)
{
        bool is_free;

        pthread_mutex_lock(&thread->lock);
        is_free = thread->state == IDLE;
        if (is_free) {
                thread->ask = *ask;
                thread->state = ASKED;
                thread->asked_ns = clock_machine_ns();
                pthread_cond_broadcast(&thread->bell);
        }
        pthread_mutex_unlock(&thread->lock);
        return is_free;
}

uint64_t nvml_thread_silent_ns(const struct nvml_thread *thread)
{
        return thread->asked_ns ? clock_machine_ns() - thread->asked_ns : 0;
}

static void take_answer(struct nvml_thread *thread)
{
        struct nvml_look *done;
        bool is_done;

        pthread_mutex_lock(&thread->lock);
        is_done = thread->state == DONE;
        if (is_done)
                thread->state = IDLE;
        pthread_mutex_unlock(&thread->lock);
        if (!is_done)
                return;
        thread->asked_ns = 0;
        /* The thread uses neither `work` nor `latest` until the next request. */
        done = thread->work;
        if (done->extent == SAMPLE_WHOLE) {
                thread->work = thread->latest;
                thread->latest = done;
        }
        thread->options.done(done, thread->options.context);
}

const struct nvml_look *nvml_thread_latest(const struct nvml_thread *thread)
{
        return thread->latest;
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        eventfd_t count;

        eventfd_read(fd, &count);
        take_answer(context);
}

/* Waits until the thread leaves `state`, but at most `max_ms`. */
static void wait_while(struct nvml_thread *thread, enum state state, unsigned max_ms)
{
        struct timespec end;

        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += max_ms / 1000;
        end.tv_nsec += (long)(max_ms % 1000) * 1000000;
        if (end.tv_nsec >= (long)SECOND_NS) {
                end.tv_nsec -= (long)SECOND_NS;
                end.tv_sec++;
        }
        pthread_mutex_lock(&thread->lock);
        while (thread->state == state &&
               pthread_cond_timedwait(&thread->bell, &thread->lock, &end) == 0)
                ;
        pthread_mutex_unlock(&thread->lock);
}

void nvml_thread_wait(struct nvml_thread *thread, unsigned max_ms)
{
        wait_while(thread, ASKED, max_ms);
        take_answer(thread);
}

const struct identity *nvml_look_who(const struct nvml_look *look, uint32_t pid)
{
        unsigned low = 0, high = look->who_count;

        while (low < high) {
                unsigned middle = low + (high - low) / 2;

                if (look->who[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < look->who_count && look->who[low].pid == pid ? &look->who[low] : NULL;
}

/* -- Start and stop --------------------------------------------------------------------------- */

static void release_look(struct nvml_look *look)
{
        if (!look)
                return;
        sample_release(&look->sample);
        free(look->who);
        free(look);
}

static void release_thread(struct nvml_thread *thread)
{
        people_release(&thread->people);
        release_look(thread->work);
        release_look(thread->latest);
        if (thread->done)
                event_free(thread->done);
        if (thread->done_fd >= 0)
                close(thread->done_fd);
        pthread_cond_destroy(&thread->bell);
        pthread_mutex_destroy(&thread->lock);
        free(thread);
}

static void make_lock(struct nvml_thread *thread)
{
        pthread_condattr_t attr;

        pthread_mutex_init(&thread->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&thread->bell, &attr);
        pthread_condattr_destroy(&attr);
}

int nvml_thread_start(struct nvml_thread **ret, const struct nvml_thread_options *options,
                      struct error *err)
{
        struct nvml_thread *thread = calloc(1, sizeof(*thread));
        int rc;

        if (!thread)
                return fail(err, -ENOMEM, "out of memory");
        thread->options = *options;
        make_lock(thread);
        thread->work = calloc(1, sizeof(*thread->work));
        thread->latest = calloc(1, sizeof(*thread->latest));
        thread->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (thread->done_fd >= 0)
                thread->done = event_new(options->base, thread->done_fd, EV_READ | EV_PERSIST,
                                         on_done, thread);
        if (!thread->work || !thread->latest || !thread->done ||
            event_add(thread->done, NULL) < 0) {
                release_thread(thread);
                return fail(err, -ENOMEM, "out of memory, or of descriptors");
        }
        rc = thread_start(&thread->id, NULL, run_thread, thread);
        if (rc < 0) {
                release_thread(thread);
                return fail(err, rc, "a thread for NVML: %s", strerror(-rc));
        }
        *ret = thread;
        return 0;
}

void nvml_thread_stop(struct nvml_thread *thread)
{
        bool is_stopped;

        if (!thread)
                return;
        pthread_mutex_lock(&thread->lock);
        thread->state = STOPPING;
        pthread_cond_broadcast(&thread->bell);
        pthread_mutex_unlock(&thread->lock);
        wait_while(thread, STOPPING, STOP_MS);
        pthread_mutex_lock(&thread->lock);
        is_stopped = thread->state == STOPPED;
        pthread_mutex_unlock(&thread->lock);
        if (is_stopped) {
                pthread_join(thread->id, NULL);
                release_thread(thread);
                return;
        }
        /* The thread is blocked in the driver. Its memory is not freed, because the thread may
         * return. */
        pthread_detach(thread->id);
        event_free(thread->done);
        thread->done = NULL;
}
