# SPDX-License-Identifier: Apache-2.0
"""Fixtures of every system test.

    build       where the things under test are (the build folder comes in ALIQUOT_BUILD)
    sim         a private simulated node: state and runtime folders of its own, gone afterwards
    run         runs a program on that node to its end, with or without the library in front
    start       the same in the background; whatever still runs at the end of the test is killed
    compile_c   compiles a C text into a program or a shared library
    public_folder  where every user can start a program
    two_cards   that node with two cards of 1 GiB
    cli         the command there (lib/cli.py)
    daemon      aliquotd there, started (lib/daemon.py)
    holder      the program that holds bytes of a simulated card (programs/sim/hold.c)
    hold        starts it
    top         starts aliquot top there, on a terminal (lib/terminal.py)
    machine     one with fake drivers (lib/machine.py)
    nvidia_smi  NVIDIA's own tool, where this machine can have it

Nothing of the caller's environment reaches a program under test but what lib/node.py lists.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))

import hang  # noqa: E402 (the path comes first)
import place  # noqa: E402
import still  # noqa: E402
from build import Build  # noqa: E402
from cli import Command  # noqa: E402
from daemon import Daemon  # noqa: E402
from emulation import LACKS  # noqa: E402
from machine import Machine  # noqa: E402
from node import Node  # noqa: E402
from terminal import Tops  # noqa: E402

# nohup, and a shell's &, leave signals ignored, and a shell under test cannot trap what it finds so.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


# What other programs say is compared in English; all else is as the caller's locale has it.
if "LC_ALL" in os.environ:
    os.environ["LANG"] = os.environ.pop("LC_ALL")
os.environ["LC_MESSAGES"] = "C"
os.environ.pop("LANGUAGE", None)


@pytest.fixture(scope="session")
def build():
    return Build(os.environ["ALIQUOT_BUILD"])


@pytest.fixture
def sim(build):
    node = Node(build)
    yield node
    node.close()


@pytest.fixture
def run(sim):
    return sim.run


@pytest.fixture
def start(sim):
    return sim.start


@pytest.fixture(scope="session")
def nvidia_smi(build):
    """Its path; the test is skipped, with the reason, where it cannot be fetched."""
    done = subprocess.run([build.source / "tools/fetch-debian", "nvidia-smi"], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def public_folder():
    """Where every user can start a program (of /dev/shm of a container nobody can)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def two_cards(sim):
    sim.configure(gpus=2, memory="1GiB")
    return sim


@pytest.fixture
def cli(two_cards):
    return Command(two_cards)


@pytest.fixture
def daemon(two_cards):
    return Daemon(two_cards).start()


@pytest.fixture
def top(cli):
    tops = Tops(cli)
    yield tops
    tops.close()


@pytest.fixture
def machine(build, tmp_path):
    return Machine(build, tmp_path)


@pytest.fixture
def holder(build):
    return build.program("sim/hold")


@pytest.fixture
def hold(sim, holder):
    """Starts it on a card; gives it and the bytes its driver says are used there."""
    def hold_start(ordinal, size, *more, start=sim.start, program=holder, **variables):
        process = start([program, ordinal, size, *more], **variables)
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], process.communicate()
        return process, int(words[2]) - int(words[1])
    return hold_start


@pytest.fixture
def compile_c(build, tmp_path):
    return lambda name, text, *flags: build.compile_c(tmp_path / name, text, *flags)


def pytest_addoption(parser):
    parser.addoption("--each-value-once", action="store_true",
                     help="of a story's parameters, as few sets as have each value of each parameter in them; no story of figures")


def sets_with_each_value(items):
    """Those of one story's that pytest runs with --each-value-once: next is the one with the most values not seen yet."""
    values = {item: {(name, repr(value)) for name, value in item.callspec.params.items()} for item in items}
    missing = set().union(*values.values())
    chosen = set()
    while missing:
        best = max(items, key=lambda item: len(values[item] & missing))
        missing -= values[best]
        chosen.add(best)
    return chosen


def pytest_configure(config):
    config.addinivalue_line("markers", "figures: of what is measured, over seconds of virtual time or thousands of programs; not run with "
                                       "--each-value-once, where shorter stories of the same file run the same code")
    config.addinivalue_line("markers", "needs(*names): skipped, with the reason, in a place that lacks one (lib/place.py)")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        place.need(*mark.args)


HUNG = "hung"  # so begins what is said of any hang


def say_hung(*_):
    raise AssertionError(f"{HUNG}: nothing of it ended in {hang.STORY_SECONDS} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol():
    """A story that hangs fails by itself, where it stands, and the file's others run."""
    signal.signal(signal.SIGALRM, say_hung)
    signal.alarm(hang.STORY_SECONDS)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With what hangs: what it and those beside it do, while they are still there."""
    report = (yield).get_result()
    error = call.excinfo and call.excinfo.value
    if isinstance(error, subprocess.TimeoutExpired) or isinstance(error, AssertionError) and str(error).startswith(HUNG):
        report.sections.append(("still there", still.describe()))


def pytest_collection_modifyitems(config, items):
    """Under an emulator, what it lacks is a skip with its reason and no failure of ours."""
    if config.getoption("--each-value-once"):
        stories = {}
        for item in items:
            stories.setdefault(item.nodeid.partition("[")[0], []).append(item)
        left = {item for story in stories.values() if len(story) > 1 for item in set(story) - sets_with_each_value(story)}
        left |= {item for item in items if item.get_closest_marker("figures")}
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    if "ALIQUOT_EMULATOR" in os.environ:
        for item in items:
            if item.name in LACKS:
                item.add_marker(pytest.mark.skip(LACKS[item.name]))


def pytest_sessionfinish(session, exitstatus):
    """A file that skipped everything, one by one or as a whole, is a skipped test for Meson (77), not
    a passed one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    counts = {key: len(reporter.stats.get(key, [])) for key in ("passed", "failed", "skipped")}
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and counts["skipped"] and not counts["passed"]:
        session.exitstatus = 77
