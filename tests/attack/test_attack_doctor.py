# SPDX-License-Identifier: Apache-2.0
"""`aliquot doctor PID` of a process whose user chose the names and the files that root looks at: what is read is the file
that the process has mapped, and nothing waits for it."""
import json
import os
import shutil

import pytest

from script import Script
from tenant import hidden, holding, needs_root

pytestmark = needs_root

ESCAPE = "\x1b[31m\u202e"
RUNS = 10  # of what may go wrong at one instant alone


def has_map_files():
    """Whether root is given mapped files here: in a container often not."""
    folder = "/proc/self/map_files"
    try:
        os.close(os.open(f"{folder}/{os.listdir(folder)[0]}", os.O_PATH))
    except OSError:
        return False
    return True


@pytest.fixture
def mapping(served, tenant, public_folder):
    """mapping(kind): that program of the attacker's, and asking(process, user): what the doctor says of it to a user."""
    who = tenant(served())
    folder = public_folder / "libraries"
    folder.mkdir()
    os.chown(folder, who.uid, who.uid)

    def asking(process, is_root):
        words = [who.sim.build.aliquot, "doctor", process.pid, "--json"]
        result = who.sim.run(words) if is_root else who.run(words)
        assert result.rc in (0, 1), result
        return next(found for found in json.loads(result.stdout) if found["about"] == "process")["text"]
    return lambda kind: holding(who, "map_library.py", folder, kind, who.sim.build.library), asking


@pytest.mark.parametrize("is_root", [True, False], ids=["root", "its user"])
@pytest.mark.parametrize("kind", ["link", "copy", "fifo", "huge"])
def test_what_has_the_name_of_a_mapped_file_is_not_taken_for_it(mapping, kind, is_root):
    start, asking = mapping
    with start(kind) as process:
        assert "with nothing before it" in asking(process, is_root)


@pytest.mark.parametrize("is_root", [True, False], ids=["root", "its user"])
def test_a_file_that_is_cut_short_meanwhile_ends_no_doctor(mapping, is_root):
    start, asking = mapping
    with start("cut") as process:
        for _ in range(RUNS):
            assert "with nothing before it" in asking(process, is_root)


@pytest.mark.skipif(not has_map_files(), reason="mapped files cannot be opened here")
def test_root_knows_our_library_also_when_its_file_was_deleted(mapping):
    """As an upgrade does while programs run."""
    start, asking = mapping
    with start("ours") as process:
        assert "interposed, by " in asking(process, True)


def test_its_user_knows_our_library_without_the_powers_of_root(served, tenant):
    who = tenant(served())
    who.create("s")
    with who.script("s") as gpu:
        gpu.ready()
        result = who.run([who.sim.build.aliquot, "doctor", gpu.process.pid, "--json"])
        assert f"interposed, by {who.sim.build.library}" in result.stdout, result


@pytest.mark.parametrize("variable", ["ALIQUOT_SESSION", "ALIQUOT_SESSION_SOCKET"])
def test_what_a_process_says_of_itself_disturbs_no_terminal(served, tenant, public_folder, variable):
    """Its session, and the folder of the library that it has loaded."""
    who = tenant(served())
    library = public_folder / f"a{ESCAPE}" / "libaliquot.so"
    library.parent.mkdir()
    shutil.copyfile(who.sim.build.library, library)
    with Script(who.sim, preload=False, user=who.uid, cwd="/", **{"LD_PRELOAD": str(library), variable: f"/x{ESCAPE}"}) as gpu:
        gpu.say("init")
        result = who.sim.aliquot("doctor", gpu.process.pid)
        assert f"interposed, by {public_folder}/a" in result.stdout and "/x?" in result.stdout, result
        assert not hidden(result.stdout), result
        assert not hidden(who.sim.aliquot("doctor", gpu.process.pid, "--json").stdout)
