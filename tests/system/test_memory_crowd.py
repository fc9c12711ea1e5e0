# SPDX-License-Identifier: Apache-2.0
"""Many programs in one session: exactly as much as fits is granted, and nothing stays behind (B3,
B4 as function; how long their start takes is measured in bench/fleet.py).
"""
import pytest

from hang import HANG_SECONDS, IS_SLOW

MIB = 1 << 20
PROGRAMS = 60 if IS_SLOW else 300  # all start by the same code, in a sanitizer's time each
WAVES = 300 if IS_SLOW else 2000
CONTEXT = 1 * MIB
SHARE = 2 * MIB + 512


def current(sim):
    told = sim.oracle()["tags"]["crowd"][0]
    return {key: told[key] for key in ("current_bytes", "high_bytes")}


def test_three_hundred_programs_start_at_once(sim):
    """Each takes a 300th of the limit, to the byte: nobody is refused, and not a byte is left."""
    limit = PROGRAMS * (CONTEXT + SHARE)
    sim.configure(memory="4GiB", context=CONTEXT)
    box = {"preload": True, "ALIQUOT_SESSION": "crowd", "ALIQUOT_MEMORY": limit}
    process = sim.start([sim.build.program("hooks/crowd"), PROGRAMS, SHARE], **box)
    assert process.stdout.readline() == "0\n", process.communicate(timeout=HANG_SECONDS)
    assert process.stdout.readline() == "held\n"
    assert current(sim) == {"current_bytes": limit, "high_bytes": limit}
    held = {each["pid"]: each["devices"][0]["bytes"]
            for each in sim.aliquot("ps", "crowd", "--json").json}
    assert sum(held.values()) == limit
    assert sorted(held.values()).count(CONTEXT + SHARE) == PROGRAMS
    late = sim.run([sim.build.program("hooks/crowd"), 1, 1], stdin="\n", **box)
    assert late.stdout.splitlines()[0] == "1", "there is room for nobody else"
    _, err = process.communicate("\n", timeout=HANG_SECONDS)
    assert process.returncode == 0, err
    assert current(sim) == {"current_bytes": 0, "high_bytes": limit}
    again = sim.run([sim.build.program("hooks/crowd"), 1, limit - CONTEXT], stdin="\n", **box)
    assert again.stdout.splitlines()[0] == "0", again


@pytest.mark.figures
def test_two_thousand_programs_come_and_go(sim):
    """In batches, every other one killed while it holds memory; the limit is that of one batch, so
    whatever is lost, kept or counted twice makes a later one fail."""
    batch = 100
    limit = batch * (CONTEXT + MIB)
    sim.configure(memory="4GiB", context=CONTEXT)
    box = {"preload": True, "ALIQUOT_SESSION": "crowd", "ALIQUOT_MEMORY": limit}
    result = sim.run([sim.build.program("hooks/crowd"), "waves", WAVES, batch], **box)
    assert result.rc == 0 and result.stdout == "0\n", result
    assert current(sim) == {"current_bytes": 0, "high_bytes": limit}
    assert sim.aliquot("ps", "crowd", "--json").json == []
