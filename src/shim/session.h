/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's session. It is found once, at the first call that needs it: through the socket in
 * the process's container (common/injected.h), or else from the environment.
 *
 * settings_read() reads the settings. Without settings, calls pass through for ever (unless a
 * daemon shares its card, see share.h). Otherwise the session's folder is joined, or created (then
 * the front end lists the cards), both files are mapped, and the state is published. The first
 * charge gets a slot later. On any error the state is SESSION_BROKEN, one line goes to stderr (and
 * to the log), and the front ends refuse calls: a configured session that cannot be enforced fails
 * closed.
 *
 * After fork the child keeps the mappings but owns no slot and no blocks. It gets its own slot at
 * its first charge, after any kind of fork, because the record of the slot is in memory that the
 * kernel wipes.
 */
#ifndef ALIQUOT_SHIM_SESSION_H
#define ALIQUOT_SHIM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/page.h"
#include "store/liveness.h"

enum session_state {
        SESSION_UNKNOWN, /* session_start() was not called yet */
        SESSION_NONE,    /* no settings, so calls pass through */
        SESSION_ACTIVE,
        SESSION_BROKEN, /* calls are refused; the reason went to standard error */
};

/* A physical device or MIG instance, as the front end's driver names it. */
struct session_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance; /* a MIG instance: chosen by UUID only, never by index */
};

/* Lists up to `max` GPUs in physical order (of NVML and PCI) and returns their number; a
 * negative number: unknown. Called at most once per process, and only if the session must be
 * created, or if the limits are written differently from those of the existing session. */
typedef int session_gpu_lister(struct session_gpu *ret, size_t max);

/* Finds the session. Thread-safe and idempotent; the first call decides, later calls are cheap.
 * Returns SESSION_UNKNOWN only to a call from inside the lister (if the driver calls a function
 * that we interpose); such a call must be passed on. */
enum session_state session_start(session_gpu_lister *lister);

/* Returns the state without starting anything. */
enum session_state session_state(void);

/* Returns the row of the page for a GPU; a negative number: the GPU has none yet, or there is no
 * session. */
int session_find_device(const uint8_t uuid[16]);

/* Returns the row of the page for a GPU; claims one if this user owns the session.
 * CHARGE_NO_DEVICE: there is no session. SESSION_NO_ROW (-2): the session is active but has no
 * row for the GPU, so refuse. */
#define SESSION_NO_ROW (-2)
int session_device(const uint8_t uuid[16], uint64_t card_bytes);

/* Writes one line, after a refusal on the GPU of this row, if the daemon has ended the session:
 * the program sees only that there is no memory. */
void session_tell_if_ended(int row);

/* Return the mapped pages; NULL unless the state is SESSION_ACTIVE. Borrowed for the life of the
 * process. */
const struct limits_page *session_limits(void);
struct slots_page *session_slots(void);

/* Returns the absolute path of `slots` and the mapped inode, for locks on a fresh open. NULL
 * unless the state is SESSION_ACTIVE. */
const struct liveness_file *session_slots_file(void);

#endif
