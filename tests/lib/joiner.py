# SPDX-License-Identifier: Apache-2.0
"""A joiner at a session's socket that sends any message a test wants (docs/protocol.md).

    answer = join(path, hello())
    assert answer.type == WELCOME and answer.name == "a"
    limits, slots = answer.descriptors

Or a program under test that gets the socket: script(), refused(). Test files import the fixtures
`daemon` and `path`.
"""
import contextlib
import os
import socket
import struct

import pytest

from daemon import Daemon
from hang import HANG_SECONDS
from script import SUCCESS, Script

HELLO, WELCOME, REFUSED = 1, 2, 3
NO_VERSION, MALFORMED, NOT_YOURS, BAD_TOKEN, OTHER_SESSION, ENDED, TOO_MANY, TROUBLE = range(1, 9)
READ_ONLY_MOUNT = 1  # a flag of WELCOME
MAGIC = int.from_bytes(b"ALQM", "little")
HEAD = "=IHHHHI"
HEAD_BYTES = struct.calcsize(HEAD)
HELLO_BYTES = 72


@pytest.fixture(name="daemon")
def daemon_of_stories(sim):
    sim.configure(memory="1GiB")
    return Daemon(sim).start()


@pytest.fixture(name="path")
def path_of_session(daemon, sim):
    """The socket of a session of 256 MiB."""
    daemon.create("a")
    return socket_of(sim, "a")


def hello(token=b"", session_id=bytes(16), least=1, most=1, command=b"joiner"):
    size = HELLO_BYTES + len(token)
    head = struct.pack(HEAD, MAGIC, HELLO, 0, least, most, size)
    return head + session_id + struct.pack("=32sII", command, HELLO_BYTES if token else 0, len(token)) + token


class Answer:
    def __init__(self, message, descriptors):
        self.descriptors = descriptors
        _, self.type, self.version, self.least, self.most, _ = struct.unpack_from(HEAD, message)
        if self.type == WELCOME:
            self.session_id, name, self.flags, self.page_version = struct.unpack_from("=16s64sII", message, HEAD_BYTES)
            self.name = name.rstrip(b"\0").decode()
        else:
            self.code, self.retry_ms, reason = struct.unpack_from("=II192s", message, HEAD_BYTES)
            self.wait_ms, = struct.unpack_from("=I", message, 216) if len(message) >= 220 else (0,)
            self.reason = reason.rstrip(b"\0").decode()

    def close(self):
        for fd in self.descriptors:
            os.close(fd)


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(HANG_SECONDS)
    peer.connect(str(path))
    return peer


def hear(peer):
    """None: the connection ended without an answer."""
    message, descriptors, _, _ = socket.recv_fds(peer, 8192, 8)
    return Answer(message, descriptors) if message else None


def join(path, message):
    with contextlib.closing(connect(path)) as peer:
        peer.send(message)
        return hear(peer)


def socket_of(sim, name):
    return sim.runtime / "sessions" / name / "socket"


def script(sim, path, **variables):
    """A program that gets only the socket: no runtime folder, no name."""
    return Script(sim, ALIQUOT_SESSION_SOCKET=path, ALIQUOT_RUNTIME_DIR=None, **variables)


def refused(sim, path, **variables):
    """The stderr line of a program that could not join; it gets no memory, and goes on."""
    with script(sim, path, **variables) as gpu:
        assert gpu.code("init") != SUCCESS
        gpu.process.stdin.close()
        gpu.process.stdin = None
        gpu.process.wait(HANG_SECONDS)
        lines = gpu.process.stderr.read().splitlines()
    assert len(lines) == 1 and lines[0].endswith("GPU calls are refused"), lines
    return lines[0]
