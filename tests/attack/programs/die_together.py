# SPDX-License-Identifier: Apache-2.0
"""FOLDER COUNT LOCKS: COUNT processes join the session by its socket, and its `slots` get LOCKS locks beyond all bytes that
mean something, and one that says somebody lives. Says "ready"; for a line it ends them at one instant, and says "dead"."""
import fcntl
import os
import signal
import socket
import struct
import sys
import time

F_OFD_SETLK = 37
HEAD = "=IHHHHI"  # docs/protocol.md
HELLO, WELCOME = 1, 2
BYTES = 72
BEYOND = 1 << 40
hello = struct.pack(HEAD, int.from_bytes(b"ALQM", "little"), HELLO, 0, 1, 1, BYTES) + bytes(16) + struct.pack("=32sII", b"storm", 0, 0)
folder, count, locks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def lock(descriptor, start):
    fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, start, 1, 0))


def is_in():
    """Too many at once are told to come again."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(f"{folder}/socket")
        peer.send(hello)
        answer = peer.recv(8192)
    return len(answer) >= struct.calcsize(HEAD) and struct.unpack_from(HEAD, answer)[1] == WELCOME


def live(end):
    while not is_in():
        time.sleep(0.02)
    os.write(end, b"x")
    signal.pause()


begun, end = os.pipe()
children = []
for _ in range(count):
    children.append(os.fork())
    if not children[-1]:
        live(end)
for _ in children:
    assert os.read(begun, 1) == b"x"
many, living = (os.open(f"{folder}/slots", os.O_RDWR) for _ in range(2))
for i in range(locks):
    lock(many, BEYOND + 2 * i)
lock(living, 0)
print("ready", flush=True)
sys.stdin.readline()
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
print("dead", flush=True)
sys.stdin.read()
