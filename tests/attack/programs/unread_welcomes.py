# SPDX-License-Identifier: Apache-2.0
"""Says HELLO on COUNT connections to a session's socket and reads no answer; told so, it reads them all.

    unread_welcomes.py SOCKET COUNT     says "ready"; then, for a line, how many were WELCOME
"""
import array
import socket
import struct
import sys

HEAD = "=IHHHHI"  # docs/protocol.md
HELLO, WELCOME = 1, 2
BYTES = 72
HANG_SECONDS = 60
hello = struct.pack(HEAD, int.from_bytes(b"ALQM", "little"), HELLO, 0, 1, 1, BYTES) + bytes(16) + struct.pack("=32sII", b"unread", 0, 0)


def connect():
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(HANG_SECONDS)
    peer.connect(sys.argv[1])
    peer.send(hello)
    return peer


def is_welcomed(peer):
    """With its two descriptors."""
    message, control, _, _ = peer.recvmsg(8192, socket.CMSG_SPACE(8 * array.array("i").itemsize))
    return bool(control) and struct.unpack_from(HEAD, message)[1] == WELCOME


peers = [connect() for _ in range(int(sys.argv[2]))]
print("ready", flush=True)
sys.stdin.readline()
print(sum(is_welcomed(peer) for peer in peers), flush=True)
sys.stdin.read()
