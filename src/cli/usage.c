/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/usage.h"

#include <errno.h>
#include <stdlib.h>

#include "common/atomic.h"
#include "common/text.h"

bool usage_has_row(const struct store_session *session, unsigned row)
{
        return load_acquire(shared_word(&session->limits->device[row].limit_bytes)) != 0 &&
               !page_is_no_card(session->limits->device[row].uuid);
}

static void add_process(struct usage *usage, const struct usage_process *process,
                        const struct limits_page *limits)
{
        int host = page_host_row(limits), swap = page_swap_row(limits);

        usage->host_bytes += host < 0 ? 0 : process->bytes[host];
        usage->swap_bytes += swap < 0 ? 0 : process->bytes[swap];
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (page_is_no_card(limits->device[i].uuid))
                        continue;
                usage->used_bytes[i] += process->bytes[i];
                usage->total_bytes += process->bytes[i];
                if (!process->bytes[i])
                        continue;
                usage->holders[i]++;
                usage->measured[i] += process->measured_devices >> i & 1;
        }
}

int usage_read(const struct store_session *session, struct usage *ret, struct error *err)
{
        char path[STORE_PATH_BYTES];
        const struct liveness_file file = { path, session->slots_file.device,
                                            session->slots_file.inode };
        struct usage usage = { 0 };
        int rc = text_put(path, sizeof(path), err, "%s/slots", session->path);

        if (rc < 0)
                return rc;
        usage.process = calloc(PAGE_SLOTS, sizeof(*usage.process));
        if (!usage.process)
                return fail(err, -ENOMEM, "out of memory");
        rc = usage_list(session->slots, &file, usage.process, PAGE_SLOTS);
        if (rc < 0) {
                free(usage.process);
                errno = -rc;
                return fail(err, rc, "locks of %s: %m", path);
        }
        usage.count = (unsigned)rc;
        usage_name(usage.process, usage.count, USAGE_NO_BOUND);
        for (unsigned i = 0; i < usage.count; i++)
                add_process(&usage, &usage.process[i], session->limits);
        *ret = usage;
        return 0;
}

void usage_free(struct usage *usage)
{
        free(usage->process);
        usage->process = NULL;
}
