/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's session: found once, at the first call that needs it, by the socket that its
 * container was given (common/injected.h), or else from the environment.
 *
 * Happy path: settings_read() says what was asked; nothing was: pass-through for ever. Else
 * the session's folder is joined, or created (then the card list is asked of the front end), both
 * files are mapped, and the state is published. The slot is taken later, by the first charge.
 * Anything wrong: SESSION_BROKEN, one line on stderr (and the log), and the front ends refuse:
 * a configured session that cannot be enforced fails closed.
 *
 * fork: the child keeps the mappings but owns no slot, no blocks; it takes its own at its first
 * charge, whatever way it was forked (the owner flag lives in a page that the kernel wipes).
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
        SESSION_NONE,    /* nothing was asked: pass everything through */
        SESSION_ACTIVE,
        SESSION_BROKEN, /* refuse; why was told on standard error */
};

/* A physical device (or MIG instance), as the front end's driver names it. */
struct session_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance; /* a MIG instance: chosen by UUID only, never by index */
};

/* Fills up to `max` GPUs in physical (NVML, PCI) order and returns how many; negative:
 * cannot tell.
 * Called at most once a process, only when the session has to be created, or when the limits asked
 * for are spelled unlike those it was made with. */
typedef int session_gpu_lister(struct session_gpu *ret, size_t max);

/* Thread-safe, idempotent; the first call decides. Cheap afterwards. SESSION_UNKNOWN only to a call
 * that comes from inside the lister (the driver calling an entry of ours): pass it on. */
enum session_state session_start(session_gpu_lister *lister);

/* The state without starting anything: one relaxed load. */
enum session_state session_state(void);

/* Row of the page for a GPU that has one; negative: it has none yet, or there is no session. */
int session_find_device(const uint8_t uuid[16]);

/* Row of the page for a GPU, claiming one if the owner is the user; CHARGE_NO_DEVICE when there is
 * no session; -2 (SESSION_NO_ROW) when the session is active but has no row: refuse. */
#define SESSION_NO_ROW (-2)
int session_device(const uint8_t uuid[16], uint64_t card_bytes);

/* After a refusal on a GPU, by its row: one line where the daemon has ended the session, since the
 * program sees only that there is no memory. */
void session_tell_if_ended(int row);

/* The mapped pages; NULL unless SESSION_ACTIVE. Borrowed for the life of the process. */
const struct limits_page *session_limits(void);
struct slots_page *session_slots(void);

/* Where `slots` was opened, absolute, with the inode that is mapped: for locks on a fresh open.
 * NULL unless SESSION_ACTIVE. */
const struct liveness_file *session_slots_file(void);

#endif
