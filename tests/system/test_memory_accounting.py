# SPDX-License-Identifier: Apache-2.0
"""The ledger beside what NVML shows of the process, where the simulated driver grants by a driver's own rules
(grants=real, docs/simulator-memory.md) and not by ours: by how much they differ, and which way.

A difference is what is charged less NVML's line, so one below 0 is memory that nobody is charged for yet: NVML is asked
each 20 ms at most, and these programs take less. `-s` prints the table.
"""
import collections

import pytest

from script import MIB, Script

# The least and the most that a difference may be, but for the families below.
BOUND = (-8 * MIB, 32 * MIB)

# What differs by more, and why.
KNOWN = {
    ("managed", "untouched"): +64 * MIB,  # charged wherever its pages are
    ("managed", "prefetched"): +64 * MIB,  # NVML shows it of no process
    ("heap", "set"): +56 * MIB,  # charged when it is set, taken with the module that needs it
    ("local", "launched"): -264 * MIB,  # of kernels: no call asks for it; charged at the next question
}

Look = collections.namedtuple("Look", "family moment charged shown")


def looks(sim, program, *names):
    """Each look of a program, with what NVML of the bare driver shows of it at that moment."""
    listing = sim.build.program("sim/nvml-list")
    process = sim.start([sim.build.program(program), *names], preload=True, ALIQUOT_MEMORY="8GiB",
                        WATCH_WAITS="1")
    for line in process.stdout:
        family, *moment, charged, granted = line.split()
        shown = {int(pid): int(size) for _, pid, size in map(str.split, sim.run([listing]).stdout.splitlines())}
        mine = shown.get(process.pid, 0)
        assert mine == int(granted) or family == "managed", (line, shown)  # that is no process's
        yield Look(family, " ".join(moment), int(charged), mine)
        process.stdin.write("\n")
        process.stdin.flush()
    assert process.wait() == 0, process.stderr.read()


def is_within(look):
    known = KNOWN.get((look.family, look.moment), 0)
    least, most = min(known, 0) + BOUND[0], max(known, 0) + BOUND[1]
    return least <= look.charged - look.shown <= most


@pytest.fixture
def hardware(sim):
    del sim.settings["memory"]  # a whole card, so that a context takes what it takes
    return sim.configure(grants="real", ptx="noop", fatbin="noop")


@pytest.mark.parametrize("program", ("hooks/accounting", "hooks/families"))
def test_the_ledger_is_near_what_nvml_shows(hardware, program):
    seen = list(looks(hardware, program))
    for look in seen:
        print(f"{look.family:10} {look.moment:24} {look.charged:>15,} {look.shown:>15,} "
              f"{look.charged - look.shown:>+14,}")
    assert [look for look in seen if not is_within(look)] == []
    assert seen[-1].charged == seen[-1].shown == 0


def test_contexts_and_large_blocks_are_charged_as_nvml_shows_them(hardware):
    """To the byte: these are the same by both authors."""
    exact = [look for look in looks(hardware, "hooks/accounting", "pools") if look.moment == "context"]
    exact += [look for look in looks(hardware, "hooks/families", "vmm", "shared") if look.family != "end"]
    assert len(exact) > 8
    assert all(look.charged == look.shown for look in exact), exact


def test_before_cuda_12_2_a_library_is_taken_when_it_is_loaded(hardware):
    """And from then on when CUDA_MODULE_LOADING says so."""
    def when(**variables):
        program = hardware.build.program("hooks/accounting")
        result = hardware.run([program, "library"], **variables)
        assert result.rc == 0, result
        granted = {moment: int(line.split()[-1]) for line in result.stdout.splitlines()
                   if (moment := " ".join(line.split()[1:-2]))}
        taken = 32 * MIB
        assert granted["used"] == granted["context"] + taken
        return "loaded" if granted["loaded"] == granted["used"] else "used"

    assert when() == "used"
    assert when(CUDA_MODULE_LOADING="EAGER") == "loaded"
    hardware.configure(driver=12010)
    assert when() == "loaded"
    assert when(CUDA_MODULE_LOADING="LAZY") == "used"


# NVML's total and what it calls reserved; CUDA's total is the rest.
CARDS = {"h200": (150754820096, 644939776), "t4": (15360 * MIB, 265 * MIB)}


@pytest.mark.parametrize("model", CARDS)
def test_nvml_and_cuda_have_totals_of_their_own(hardware, model):
    """What NVML calls reserved is no part of CUDA's total."""
    hardware.configure(model=model)
    listing = hardware.run([hardware.build.program("sim/nvml-list"), "memory"])
    _, total, reserved, free, used = map(int, listing.stdout.split())
    assert (total, reserved) == CARDS[model]
    assert (free, used) == (total - reserved, 0)
    with Script(hardware, preload=False) as gpu:
        gpu.ready()
        cuda_free, cuda_total = gpu.values("info")
        assert (cuda_total, cuda_free) == (free, free - gpu.look().granted)
