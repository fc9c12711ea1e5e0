# SPDX-License-Identifier: Apache-2.0
"""Programs of sessions that the daemon owns: how soon they begin, inherit from the dead, and see a new limit."""
import mmap
import signal
import struct
import tempfile
import time

import stage
from aliquotd import begun, daemon, end, numbers
from report import Report, paired, percentile

ALONE, CROWD, ROUNDS = 300, 300, 5
DEATHS = 300
WATCHERS, CHANGES = 16, 300
PAIRS = 7
MIB = 1 << 20

report = Report("tenants", "sessions of aliquotd, programs on a toy driver that takes no time. Attach: wall time from opening the "
                           f"driver to the end of the first allocation, {ALONE} programs one after the other, and {CROWD} "
                           f"at once, {ROUNDS} times. Death: from SIGKILL of a program that holds 90 % of the limit until "
                           f"another one's allocation of the same 90 % has succeeded, {DEATHS} times. Change: from the request "
                           f"to the daemon until the last of {WATCHERS} programs was told the new limit by "
                           f"cuDeviceTotalMem, which each asks every 0.5 ms, {CHANGES} times. Allocation: ns of cuMemAlloc + "
                           "cuMemFree in a session of the daemon's, which is stopped (SIGSTOP) meanwhile, less those in a "
                           f"session of one's own, in turns, median of {PAIRS} pairs of runs")


def ms(nanoseconds):
    return [value / 1e6 for value in nanoseconds]


def report_attach(node, uuid):
    alone = ms(numbers(node.program("a", "attach", ALONE, 1, uuid=uuid)))
    report.row("attach alone, p50", percentile(alone, 0.5), "ms")
    report.row("attach alone, p99", percentile(alone, 0.99), "ms", 1, "", alone)
    crowds = [ms(numbers(node.program("a", "attach", CROWD, CROWD, uuid=uuid))) for _ in range(ROUNDS)]
    together = sum(crowds, [])
    report.row(f"attach, {CROWD} at once, p50", percentile(together, 0.5), "ms")
    report.row(f"attach, {CROWD} at once, p99", percentile(together, 0.99), "ms", 50, "", crowds)


def report_deaths(node, uuid):
    refused = node.program("a", "dead", 1, 101 * MIB, uuid=uuid)
    assert refused.communicate()[0] == "" and refused.returncode, "the limit was not on"
    free = ms(numbers(node.program("a", "dead", DEATHS, 90 * MIB, uuid=uuid)))
    report.row("a dead program's bytes are another's, p50", percentile(free, 0.5), "ms")
    report.row("a dead program's bytes are another's, p99", percentile(free, 0.99), "ms", 10,
               "GPU Slice 2 s tick; vgpu.rs 120 s", free)


def seen_by_all(seen, limit):
    """When the last of them saw it, on the monotonic clock in ns; None: not all have."""
    told = [struct.unpack_from("QQ", seen, 16 * index) for index in range(WATCHERS)]
    return max(at for _, at in told) if all(bytes_ == limit for bytes_, _ in told) else None


def report_changes(node, uuid):
    file, client, samples = node.folder / "seen", node.client(), []
    file.write_bytes(bytes(65536))
    program = begun(node.program("a", "watch", WATCHERS, file, uuid=uuid))
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as seen:
        for change in range(CHANGES):
            limit = (101 + change % 50) * MIB
            began = time.monotonic_ns()
            client.ask("PATCH", "/v1/sessions/a", {"memory": limit})
            while not seen_by_all(seen, limit):
                assert time.monotonic_ns() < began + 10**10
                time.sleep(0.001)
            samples.append((seen_by_all(seen, limit) - began) / 1e6)
    end([program])
    report.row("a new limit has reached every program, p50", percentile(samples, 0.5), "ms")
    report.row("a new limit has reached every program, p99", percentile(samples, 0.99), "ms", 5, "XPUShare 5 s", samples)


def report_allocation(node, uuid):
    """Whatever the daemon did on that path, it could not do now."""
    node.process.send_signal(signal.SIGSTOP)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as own:
        found = paired(lambda env: stage.numbers(env, "pair", 1, 2000)[0], stage.environment(own, "100MiB"),
                       node.environment("a", uuid=uuid), PAIRS)
    node.process.send_signal(signal.SIGCONT)
    report.row("alloc + free, added by the daemon", found["added"], "ns", 5, "GPU Slice 255 us, 6 ms with 32 clients",
               found["raw"])


with daemon("gpus=1,memory=1GiB,model=h200") as node:
    card, = node.uuids()
    node.client().ask("POST", "/v1/sessions", {"name": "a", "memory": "100MiB"})
    report_attach(node, card)
    report_deaths(node, card)
    report_changes(node, card)
    report_allocation(node, card)
report.finish()
