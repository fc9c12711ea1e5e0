/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager the daemon's state, by the protocol of sd_notify(3): a datagram to the
 * socket that NOTIFY_SOCKET names. Does nothing without that variable.
 */
#ifndef ALIQUOT_DAEMON_NOTIFY_H
#define ALIQUOT_DAEMON_NOTIFY_H

void notify(const char *state);

#endif
