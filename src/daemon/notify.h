/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the daemon's state to the service manager, by the protocol of sd_notify(3): sends `state`
 * as a datagram to the socket that the variable NOTIFY_SOCKET names. Does nothing if the variable
 * is not set.
 */
#ifndef ALIQUOT_DAEMON_NOTIFY_H
#define ALIQUOT_DAEMON_NOTIFY_H

void notify(const char *state);

#endif
