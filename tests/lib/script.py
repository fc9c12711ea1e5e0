# SPDX-License-Identifier: Apache-2.0
"""A program that makes driver calls one by one, as a test orders them (programs/hooks/script.c).

    with Script(sim, ALIQUOT_MEMORY="64MiB") as gpu:
        gpu.do("init", "context 0 0")           # each must answer 0
        assert gpu.code("alloc 1 99999999") == OUT_OF_MEMORY
        free, total = gpu.values("info")

replay() runs a whole list at once and returns the lines, to compare two runs.
"""
import collections
import threading

from hang import HANG_SECONDS

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
INVALID_CONTEXT, NOT_PERMITTED = 201, 800
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

Books = collections.namedtuple("Books", "charged granted granted_tag high")


class Script:
    def __init__(self, sim, preload=True, shims=False, **variables):
        self.process = sim.start([sim.build.program("hooks/script")], preload=preload, shims=shims, **variables)

    @classmethod
    def of(cls, process):
        """Wraps a process that was started elsewhere."""
        self = cls.__new__(cls)
        self.process = process
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.stdin = None  # Node.close() would flush it
            self.process.wait(HANG_SECONDS)

    def say(self, line):
        """The words of the answer; the first is the result code."""
        self.send(line)
        return self.hear()

    def send(self, *lines):
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def hear(self):
        """The words of an answer. A program that never answers is killed: it would stop the whole test."""
        hang = threading.Timer(HANG_SECONDS, self.process.kill)
        hang.daemon = True
        hang.start()
        try:
            answer = self.process.stdout.readline()
        finally:
            hang.cancel()
        assert answer, f"ended with {self.process.wait()}: {self.process.stderr.read()}"
        return answer.split()

    def code(self, line):
        return int(self.say(line)[0])

    def do(self, *lines):
        for line in lines:
            assert self.code(line) == SUCCESS, line

    def values(self, line):
        words = self.say(line)
        assert words[0] == "0", f"{line}: {words}"
        return [int(word) for word in words[1:]]

    def look(self, device=0):
        return Books(*self.values(f"look {device}"))

    def ready(self, device=0):
        """Initialises it and makes a context; returns itself."""
        self.do("init", f"context 0 {device}")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(HANG_SECONDS)


def replay(sim, lines, preload=True, **variables):
    result = sim.run([sim.build.program("hooks/script")], preload=preload,
                     stdin="\n".join(lines) + "\n", **variables)
    assert result.rc == 0, f"ended with {result.rc}: {result.stderr[-2000:]}"
    return result.stdout.splitlines()
