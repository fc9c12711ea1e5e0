/* SPDX-License-Identifier: Apache-2.0 */
#include "lie.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "proto/page.h"

#define PLENTY_NS UINT64_C(20000000)

static struct page_meter *meter; /* of the session's first GPU */
static bool is_meter, is_bucket;

void lie_begin(const char *path, const char *what)
{
        struct slots_page *slots;
        int fd = open(path, O_RDWR | O_CLOEXEC);

        slots = mmap(NULL, sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (fd < 0 || slots == MAP_FAILED)
                exit(4);
        meter = &slots->meter[0];
        is_meter = what && strcmp(what, "bucket") != 0;
        is_bucket = what && strcmp(what, "meter") != 0;
}

void lie_tell(void)
{
        if (is_meter)
                store_relaxed(shared_word(&meter->busy_ns), 0);
        if (is_bucket)
                store_relaxed(shared_word(&meter->bucket_ns), PLENTY_NS);
        if (is_meter && is_bucket)
                store_relaxed(shared_half(&meter->drained_turn), 0);
}
