# SPDX-License-Identifier: Apache-2.0
"""Several sessions of one daemon on a simulated GPU in virtual time, with programs that start
together, and an observer that records each session's GPU time (programs/compute/).

    company = Company(sim, [{"priority": "rt"}, {"priority": "batch"}])     # sessions s0, s1
    company.load(0, kind="kernel", ns=200 * US, seconds=3)
    company.load(1, kind="kernel", ns=2 * MS, seconds=3)
    seen = company.observe(3, "1000:patch:s0:" + json.dumps({"weight": 300}))
    assert abs(seen.share("s0", 1.1, 2.9) - 0.75) < 0.02, seen

The figures are the simulator's engine time, and the same on every machine.
"""
import bisect
import json

from daemon import Daemon
from node import finished

US, MS = 10**3, 10**6
POINT = 0.01


class Seen:
    """The observer's records; times in seconds since the start."""
    def __init__(self, told):
        self.at = [ns / 1e9 for ns in told["at_ns"]]
        self.done = [ns / 1e9 for ns in told["done_ns"]]
        self.busy, self.flight = told["busy_ns"], told["flight_ns"]
        self.calls = {session: [sum(both) for both in zip(*by)] for session, by in told["calls"].items()}

    def looks(self, start, end):
        return [at for at in self.at if start <= at <= end]

    def share(self, session, start, end, device=0):
        """The session's part of a device's time from the first sample at or after `start` to the
        last one before `end`."""
        return self.rate(self.busy, session, start, end, device)

    def in_flight(self, session, start, end, device=0):
        """The part of that time in which the session had work in flight (with flights="on")."""
        return self.rate(self.flight, session, start, end, device)

    def calls_a_second(self, session, start, end):
        """Driver calls by its programs and Aliquot's library together (with calls="on")."""
        first, last = bisect.bisect_left(self.at, start), bisect.bisect_right(self.at, end) - 1
        return (self.calls[session][last] - self.calls[session][first]) / (self.at[last] - self.at[first])

    def rate(self, counted, session, start, end, device):
        first, last = bisect.bisect_left(self.at, start), bisect.bisect_right(self.at, end) - 1
        assert first < last, (start, end, self.at[-1])
        counted = counted[session][device]
        return (counted[last] - counted[first]) / 1e9 / (self.at[last] - self.at[first])

    def windows(self, session, start, end, length, device=0):
        """The session's shares in all windows of `length` between samples from `start` to `end`."""
        return [self.share(session, at, at + length, device) for at in self.looks(start, end - length)]


class Company:
    def __init__(self, sim, terms, *, programs=None, config="", **settings):
        """Time starts when `programs` and the observer have started (default: one program per
        session)."""
        self.sim, self.programs = sim, []
        self.size = len(terms) if programs is None else programs
        sim.configure(**{"clock": "virtual", "memory": "1GiB", "begin_with": self.size + 1, **settings})
        self.daemon = Daemon(sim, config).start()
        for at, term in enumerate(terms):
            self.daemon.create(f"s{at}", **{"memory": "64MiB", **term})

    def start(self, at, program, gpu=None, **arguments):
        words = [f"{key}={value}" for key, value in arguments.items()]
        self.programs.append(self.sim.start([self.sim.build.program(f"compute/{program}"), *words], preload=True,
                                            ALIQUOT_SESSION=f"s{at}", CUDA_VISIBLE_DEVICES=gpu))
        return self

    def load(self, at, **arguments):
        return self.start(at, "load", **arguments)

    def request(self, at, **arguments):
        return self.start(at, "request", **arguments)

    def observe(self, seconds, *deeds, every_us=5000):
        """Runs the observer to its end; returns its records."""
        assert len(self.programs) == self.size
        observer = self.sim.start([self.sim.build.program("compute/observe"), f"every={every_us}",
                                   f"seconds={seconds}", *deeds])
        return Seen(finished(observer, self.said))

    def said(self):
        """For a failure message: output of the daemon, and of programs that failed."""
        failed = [program for program in self.programs if program.poll()]
        return "\n".join([self.daemon.said(), *(f"{program.args}: {program.returncode}, {program.communicate()}" for program in failed)])

    def told(self, nth=0):
        """A program's output at its end."""
        return finished(self.programs[nth], self.said)


def patch(at_ms, session, **terms):
    return f"{at_ms}:patch:{session}:{json.dumps(terms)}"
