# SPDX-License-Identifier: Apache-2.0
"""Sends a socket whose closing takes 30 s (SO_LINGER, and bytes that nobody reads) to the daemon, which gets the last
reference to it.

    linger.py stream|seqpacket|urgent SOCKET CONNECTIONS [FIRST]

On each connection FIRST is sent before it, as a message of its own. `urgent`: with an urgent byte of a stream, and
another byte after it. Says "ready".
"""
import array
import socket
import struct
import sys

LINGER_SECONDS = 30
ROOM, SENT = 4096, 1 << 18  # so much more is sent than the other side can take
kind, path, connections, *first = sys.argv[1:]

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
listener.bind(("127.0.0.1", 0))
listener.listen()


def lingering():
    """And its other side, which is to stay."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT)
    sock.connect(listener.getsockname())
    other, _ = listener.accept()
    sock.setblocking(False)
    try:
        while True:
            sock.send(bytes(SENT))
    except BlockingIOError:
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_SECONDS))
    sock.setblocking(True)
    return sock, other


kept = []
for _ in range(int(connections)):
    sent, other = lingering()
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if kind == "seqpacket" else socket.SOCK_STREAM)
    peer.connect(path)
    for message in first:
        peer.send(message.encode())
    peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [sent.fileno()]))],
                 socket.MSG_OOB if kind == "urgent" else 0)
    if kind == "urgent":
        peer.send(b"G")
    sent.close()
    kept += [other, peer]
print("ready", flush=True)
sys.stdin.read()
