/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session through its socket: asks the daemon that listens there for the pages
 * (docs/protocol.md).
 *
 *      const struct ask ask = { .path = path, .wait_ns = ASK_WAIT_NS };
 *      ask_join(&ask, &session, &slots_fd, &err)
 *
 * These functions work inside other people's programs: they raise no signal, have no cancellation
 * point, use no heap and keep errno. They wait no longer than the caller allows (wait_ns), or than
 * a daemon that has no room yet asks for (wait_ms of proto/message.h). If a daemon restarts, is
 * busy, or asks to be asked again, the request is repeated until that time is over. If a daemon
 * hangs, the wait ends at that time. Descriptors are moved above 511; only the returned one stays
 * open.
 *
 * Errors: -ENOENT, -EACCES: no socket there, or no access; -ETIMEDOUT: no answer in time; -EPERM:
 * refused; -EPROTO: the answer or the pages are invalid.
 */
#ifndef ALIQUOT_STORE_ASK_H
#define ALIQUOT_STORE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "store/store.h"

#define ASK_WAIT_NS UINT64_C(5000000000)

/* What to ask, and on which socket. All pointers are borrowed until return. */
struct ask {
        const char *path;          /* path of the socket, absolute */
        const char *token;         /* token that proves who asks; NULL or "": none */
        const uint8_t *session_id; /* the session that is expected, 16 bytes; NULL: any session */
        uint64_t wait_ns;          /* maximum time to wait for an answer, including repetitions */
        /* no setting named the path: then only root or this user may listen on the socket */
        bool is_found;
};

/* Joins the session: maps and checks both pages. *ret_slots gets a descriptor of `slots` with an
 * open file description of its own, above 511 if possible; the caller closes it. */
int ask_join(const struct ask *ask, struct store_session *ret, int *ret_slots, struct error *err);

/* Whether there is a socket at `path` on which nobody listens, because its daemon has ended. */
bool ask_is_deserted(const char *path);

/* Returns another descriptor of `slots` of the joined session, or a negative errno. Maps
 * nothing. The caller must block fork() until the descriptor is closed, as liveness.h says. */
int ask_slots(const struct ask *ask);

#endif
