# SPDX-License-Identifier: Apache-2.0
"""bench/peers judges fairly: it sees who lets memory escape, and who holds the limit."""
import json
import os
import subprocess

import pytest

from build import SOURCE
from hang import LONG_HANG_SECONDS

RUN = SOURCE / "bench/peers/run"
pytestmark = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="bench/ preloads no sanitizer")


def peers(build, *arguments):
    return subprocess.run([RUN, "--rounds", "1", *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=LONG_HANG_SECONDS, env=os.environ | {"ALIQUOT_BUILD": str(build.folder)})


@pytest.fixture
def measured(build, tmp_path):
    """What each side has of a probe: Aliquot's library by its own variables, and by those of a peer."""
    def measured_probe(probe):
        done = peers(build, "--only", probe, "--json", tmp_path / "json", f"hami-core={build.library}")
        assert done.returncode == 0, done.stderr
        rows = json.loads((tmp_path / "json").read_text())["rows"][probe]
        return {side: results[0] for side, results in rows.items()}
    return measured_probe


@pytest.mark.parametrize("probe", ("families", "ways"))
def test_what_escapes_is_seen(measured, probe):
    """Nothing in front of the driver: everything escapes. With a limit nothing does, also where the
    limit is told by the variables of another system."""
    sides = measured(probe)
    assert sides["bare"]["values"] == [sides["bare"]["of"], 0] and sides["bare"]["of"] >= 14
    assert sides["Aliquot"]["faults"] == {} and sides["hami-core"]["faults"] == {}


def test_a_peer_that_nobody_described_is_refused(build):
    done = peers(build, "nobody=/nowhere.so")
    assert done.returncode == 1 and "no nobody.ini" in done.stderr
    done = peers(build, "hami-core=/nowhere.so")
    assert done.returncode == 1 and "no /nowhere.so" in done.stderr
