# SPDX-License-Identifier: Apache-2.0
"""Our library asks the driver about nothing that has ended: a driver of an H200 crashes at a destroyed stream, and at
what was in a released primary context. With ended=crash, which every story has, so does the simulated one.
"""
import pytest

CAP = 300_000
ROUNDS = 8


@pytest.mark.parametrize("how", ["release", "reset", "green", "poison", "streams"])
def test_nothing_is_asked_about_what_has_ended(sim, build, how):
    """Contexts and streams that end with work in them, under a cap and a limit, so that markers and
    meters of theirs are about."""
    program = build.program("compute/ended")
    for cap_ppm, limits in ((0, {}), (CAP, {"preload": True, "ALIQUOT_MEMORY": "512MiB"})):
        done = sim.run([program, cap_ppm, how, ROUNDS], **limits)
        assert (done.rc, done.stdout) == (0, "done\n"), done
