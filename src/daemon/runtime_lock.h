/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ensures that only one daemon serves a runtime folder.
 *
 *      runtime_lock_take("/run/aliquot", &err)         // -EBUSY: another daemon serves it
 *
 * There are two locks, which the kernel releases when the process ends. One is on a file in the
 * folder; it shows other programs that a daemon serves the folder, but the file can be deleted. The
 * other is on the folder itself, which cannot be deleted while it has sessions. Call this once; the
 * locks are kept until the process ends.
 */
#ifndef ALIQUOT_DAEMON_RUNTIME_LOCK_H
#define ALIQUOT_DAEMON_RUNTIME_LOCK_H

#include "common/error.h"

int runtime_lock_take(const char *folder, struct error *err);

#endif
