/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/socket.h"

#include <errno.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "proto/message.h"
#include "store/ask.h"

_Static_assert(SETTINGS_TOKEN_BYTES == MESSAGE_TOKEN_MAX + 1, "any token can be said");

/* Maximum wait for a new descriptor, and pause after a failure. In real time, whatever clock the
 * GPU follows: the daemon runs in real time. */
#define RENEW_WAIT_NS UINT64_C(1000000000)

static int renew_slots(void);

/* Written by the thread that finds the session; read-only after that, except the atomic fields. */
static struct {
        char path[STORE_PATH_BYTES];
        uint8_t session_id[16];
        struct ask ask;
        bool is_joined;
        _Atomic uint64_t failed_ns; /* when the socket last gave no descriptor */
        struct liveness_kept kept;
} self = { .kept = { .fd = -1, .renew = renew_slots } };

/* Asks the socket for a new descriptor of `slots`. The caller holds the lock of the descriptors. */
static int renew_slots(void)
{
        static _Atomic bool is_told;
        uint64_t failed_ns = load_relaxed(&self.failed_ns);
        int fd;

        if (failed_ns && clock_machine_ns() - failed_ns < RENEW_WAIT_NS)
                return -ETIMEDOUT;
        fd = ask_slots(&self.ask);
        if (fd >= 0)
                return fd;
        store_relaxed(&self.failed_ns, clock_machine_ns());
        if (log_once(&is_told))
                log_tell("aliquot: the program closed our descriptor of its session, and %s gives "
                         "no other; memory may be refused until it does",
                         self.path);
        return fd;
}

int socket_join(const char *path, bool is_found, const struct settings *settings,
                struct store_session *ret, struct error *err)
{
        int slots = -1;
        int rc = text_put(self.path, sizeof(self.path), err, "%s", path);

        if (rc < 0)
                return rc;
        self.ask = (struct ask){ .path = self.path,
                                 .token = settings->token,
                                 .wait_ns = ASK_WAIT_NS,
                                 .is_found = is_found };
        rc = ask_join(&self.ask, ret, &slots, err);
        if (rc < 0)
                return rc;
        liveness_keep(&self.kept, slots);
        memcpy(self.session_id, ret->limits->session_id, sizeof(self.session_id));
        self.ask.session_id = self.session_id;
        self.ask.wait_ns = RENEW_WAIT_NS;
        self.is_joined = true;
        return 0;
}

int socket_renew_at(const char *path, struct error *err)
{
        return text_put(self.path, sizeof(self.path), err, "%s", path);
}

struct liveness_kept *socket_kept(void)
{
        return self.is_joined ? &self.kept : NULL;
}
