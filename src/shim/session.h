/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's session: found once, at the first call that needs it, by the socket that its
 * container was given (common/injected.h), or else from the environment.
 *
 * settings_read() reads the settings. Without any, calls pass through for ever. Else the session's
 * folder is joined, or created (then the front end lists the cards), both files are mapped, and the
 * state is published. The first charge takes the slot later. On any error the state is
 * SESSION_BROKEN, one line goes to stderr (and to the log), and the front ends refuse: a configured
 * session that cannot be enforced fails closed.
 *
 * After fork the child keeps the mappings but owns no slot and no blocks; it takes its own slot at
 * its first charge, after any kind of fork (the owner flag lies in a page that the kernel wipes).
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
        SESSION_NONE,    /* no settings: pass everything through */
        SESSION_ACTIVE,
        SESSION_BROKEN, /* refuse; the reason went to standard error */
};

/* A physical device (or MIG instance), as the front end's driver names it. */
struct session_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance; /* a MIG instance: chosen by UUID only, never by index */
};

/* Fills up to `max` GPUs in physical (NVML, PCI) order and returns how many; negative: unknown.
 * Called at most once a process, and only if the session must be created, or if the limits are
 * spelled unlike those of the existing session. */
typedef int session_gpu_lister(struct session_gpu *ret, size_t max);

/* Finds the session. Thread-safe, idempotent; the first call decides, later ones are cheap. Returns
 * SESSION_UNKNOWN only to a call from inside the lister (the driver calling an entry of ours),
 * which must be passed on. */
enum session_state session_start(session_gpu_lister *lister);

/* The state, without starting anything: one relaxed load. */
enum session_state session_state(void);

/* The row of the page for a GPU; negative: it has none yet, or there is no session. */
int session_find_device(const uint8_t uuid[16]);

/* The row of the page for a GPU; claims one if this user owns the session. CHARGE_NO_DEVICE if
 * there is no session; -2 (SESSION_NO_ROW) if the session is active but has no row: refuse. */
#define SESSION_NO_ROW (-2)
int session_device(const uint8_t uuid[16], uint64_t card_bytes);

/* After a refusal on a GPU, by its row: writes one line if the daemon has ended the session,
 * because the program sees only that there is no memory. */
void session_tell_if_ended(int row);

/* The mapped pages; NULL unless SESSION_ACTIVE. Borrowed for the life of the process. */
const struct limits_page *session_limits(void);
struct slots_page *session_slots(void);

/* The absolute path of `slots` and the inode that is mapped, for locks on a fresh open. NULL unless
 * SESSION_ACTIVE. */
const struct liveness_file *session_slots_file(void);

#endif
