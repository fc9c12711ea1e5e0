/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One daemon a runtime folder.
 *
 *      runtime_lock_take("/run/aliquot", &err)         // -EBUSY: another one serves it
 *
 * Two locks, which the kernel drops with the process: of a file in it, which tells others who
 * serves and can be deleted, and of the folder itself, which cannot while its sessions are there.
 * Nobody gives them back; once a process.
 */
#ifndef ALIQUOT_DAEMON_RUNTIME_LOCK_H
#define ALIQUOT_DAEMON_RUNTIME_LOCK_H

#include "common/error.h"

int runtime_lock_take(const char *folder, struct error *err);

#endif
