/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling the service manager how we are: the protocol of sd_notify(3), a datagram to the socket
 * that NOTIFY_SOCKET names. Nothing where there is none.
 */
#ifndef ALIQUOT_DAEMON_NOTIFY_H
#define ALIQUOT_DAEMON_NOTIFY_H

void notify(const char *state);

#endif
