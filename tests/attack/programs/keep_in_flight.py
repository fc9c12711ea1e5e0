# SPDX-License-Identifier: Apache-2.0
"""Holds a lock over all of a file by a descriptor that lies unread in a socket: no process has it."""
import array
import fcntl
import os
import socket
import struct
import sys

F_OFD_SETLK = 37
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
ours, theirs = socket.socketpair()
ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
os.close(fd)
print("ready", flush=True)
sys.stdin.read()
