# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set under the daemon, or while it is away: what docs/sessions.md says under Time."""
import os
import time

import pytest

from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, Script
from wallclock import WallClock

if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer reads the clock that these stories replace before it has set itself up",
                allow_module_level=True)


@pytest.fixture
def clock(sim):
    sim.configure(memory="1GiB")
    return WallClock(sim)


@pytest.fixture
def daemon(sim, clock):
    return Daemon(sim).start(**clock.variables)


def test_a_jump_ahead_ends_what_is_over_on_it_at_once(daemon, clock):
    daemon.create("hour", "64MiB", ttl="1h")
    daemon.create("day", "64MiB", ttl="1d")
    daemon.create("endless", "64MiB")
    clock.ahead(hours=2)
    wait_for(lambda: daemon.names() == ["day", "endless"], daemon.said)
    clock.ahead(hours=25)
    wait_for(lambda: daemon.names() == ["endless"], daemon.said)
    clock.ahead(hours=24 * 365 * 50)
    daemon.create("later", "64MiB", ttl="1h")
    assert daemon.names() == ["endless", "later"]


def test_a_jump_back_makes_every_end_later(daemon, clock):
    made = daemon.create("short", "64MiB", ttl=1)
    clock.ahead(hours=-2)
    gone = time.monotonic()
    wait_for(lambda: time.monotonic() > gone + 1.5)
    session = daemon.session("short")
    assert session["state"] == "open" and session["expires_at"] == made["expires_at"]
    clock.ahead(hours=0)
    wait_for(lambda: daemon.names() == [], daemon.said)


def test_at_the_beginning_of_time_nothing_is_over(daemon, clock):
    daemon.create("hour", "64MiB", ttl="1h")
    clock.ahead(hours=-24 * 366 * 80)
    assert daemon.session("hour")["state"] == "open"
    assert daemon.patch("/v1/sessions/hour", {"memory": 128 * MIB}).status == 200
    clock.ahead(hours=0)
    assert daemon.session("hour")["state"] == "open"


def test_a_program_gets_its_grace_all_the_same(daemon, clock, sim):
    """However far the clock has jumped: the grace period begins with the ending."""
    daemon.reload("[admission]\ngrace = 1h\n")
    daemon.create("a", "256MiB", ttl="1h", on_end="term")
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        clock.ahead(hours=24 * 30)
        assert gpu.process.wait(HANG_SECONDS) == -15
    wait_for(lambda: daemon.names() == [], daemon.said)
    assert "killed" not in [event["type"] for event in daemon.events(most=4)]


@pytest.mark.parametrize("hours, names", [(2, ["day"]), (-2, ["day", "hour"]), (30, [])])
def test_a_clock_that_was_set_while_it_was_away(daemon, clock, hours, names):
    daemon.create("hour", "64MiB", ttl="1h")
    daemon.create("day", "64MiB", ttl="1d")
    daemon.kill()
    clock.ahead(hours=hours)
    daemon.start(**clock.variables)
    wait_for(lambda: daemon.names() == names, daemon.said)
    if names:
        assert daemon.post("/v1/sessions/day/renew", {"ttl": "1h"}).status == 200
        assert daemon.session("day")["ttl_seconds"] == 3600


def test_programs_do_not_notice(daemon, clock, sim):
    daemon.create("a", "256MiB")
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        for hours in (1000, -1000, 0):
            clock.ahead(hours=hours)
            assert daemon.patch("/v1/sessions/a", {"memory": (256 + abs(hours)) * MIB // 2}).status == 200
            assert gpu.values("info")[1] == (256 + abs(hours)) * MIB // 2
            gpu.do("alloc 1 1048576", "free 1")


def test_numbers_of_events_rise_whatever_the_time(daemon, clock):
    for number, hours in enumerate((0, 5, -5, 3)):
        clock.ahead(hours=hours)
        daemon.create(f"s{number}", "64MiB")
    events = list(daemon.events(most=5))
    assert [event["session"] for event in events] == [None, "s0", "s1", "s2", "s3"]
    assert [event["id"] for event in events] == sorted(event["id"] for event in events)
