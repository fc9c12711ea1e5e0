/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ensures that one daemon serves a runtime folder.
 *
 *      runtime_lock_take("/run/aliquot", &err)         // -EBUSY: another daemon serves it
 *
 * There are two locks, which the kernel drops with the process. One is on a file in the folder,
 * which shows others that a daemon serves it and can be deleted. The other is on the folder itself,
 * which cannot be deleted while its sessions are there. They are never released; once a process.
 */
#ifndef ALIQUOT_DAEMON_RUNTIME_LOCK_H
#define ALIQUOT_DAEMON_RUNTIME_LOCK_H

#include "common/error.h"

int runtime_lock_take(const char *folder, struct error *err);

#endif
