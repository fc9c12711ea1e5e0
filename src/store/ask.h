/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session by its socket: asks the daemon that listens there for the pages
 * (docs/protocol.md).
 *
 *      const struct ask ask = { .path = path, .wait_ns = ASK_WAIT_NS };
 *      ask_join(&ask, &session, &slots_fd, &err)
 *
 * Works inside other people's programs: no signal, no cancellation point, no heap, errno kept, and
 * no wait longer than it is told to, by its caller or by a daemon that has no room yet (wait_ms of
 * proto/message.h). A daemon that is restarting, has its hands full, or says "come
 * again" is asked again until that time is over; one that hangs is not waited for beyond it.
 * Descriptors are raised above 511; none stays open but the one that is returned.
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

/* The question and the socket. All borrowed until return. */
struct ask {
        const char *path;          /* absolute */
        const char *token;         /* NULL or "": no token */
        const uint8_t *session_id; /* 16 bytes; NULL: any session */
        uint64_t wait_ns;          /* for an answer, with all repetitions */
        bool is_found; /* no setting named the path: then only root or this user may listen there */
};

/* Both pages mapped and checked. *ret_slots: a description of `slots` of our own, above 511 where
 * that can be, which the caller closes. */
int ask_join(const struct ask *ask, struct store_session *ret, int *ret_slots, struct error *err);

/* Whether the socket at `path` is there and nobody listens on it: its daemon has ended. */
bool ask_is_deserted(const char *path);

/* Another descriptor of `slots` of the joined session; nothing is mapped. Negative errno. The
 * caller must block fork() until it is closed, as liveness.h says. */
int ask_slots(const struct ask *ask);

#endif
