# SPDX-License-Identifier: Apache-2.0
"""The simulator answers as the driver did: each question of tests/gpu/programs/contracts.py, whose answers by a real
card are kept in docs/results. What differs deliberately stands in DIFFERENT, with its reason.
"""
import json
import os
import re
import sys

import pytest

pytestmark = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="Python itself is not sanitized")
ANSWERS = "docs/results/2026-11-27-h200/contracts.json"

# By section and question.
DIFFERENT = {
    "timers: elapsed over an empty kernel, ns: least, median":
        "what an event and a kernel take is configured (event, ptx_time)",
    "timers: elapsed: least step between two different answers, ns":
        "400 samples of the host's time need not have two that are neighbours",
    "timers: %globaltimer: steps, ns: least, median, most": "no PTX is run",
    "events: three streams made and destroyed in turns: handle, id": "addresses; see the test of its own",
    "events: ids: null, legacy, per thread": "ids count what was made before; see the test of its own",
    "events: ids in another context: null, legacy, per thread": "likewise",
    "ends: stream of a destroyed context: query": "201 on 2026-11-26, SIGSEGV on 2026-11-27",
    "memory: 64 MiB made, exported and released, the descriptor closed: taken":
        "the simulator is not told of a descriptor that is closed",
}


@pytest.fixture
def run_contracts(sim):
    def contracts_run(*sections, grants="plain", kernels=None, **how):
        sim.configure(memory="4GiB", ptx="noop", costs="real", grants=grants, **({"kernels": kernels} if kernels else {}))
        return sim.run([sys.executable, "-B", sim.build.source / "tests/gpu/programs/contracts.py", *sections], **how)
    return contracts_run


@pytest.fixture
def ask(run_contracts):
    """Answers of the simulated driver, as `driver` has them."""
    def contracts_ask(*sections, **how):
        done = run_contracts(*sections, **how)
        said = [json.loads(line.removeprefix("@ ")) for line in done.stdout.splitlines() if line.startswith("@ ")]
        ends = {each["section"]: each["ended"] for each in said if each["at"] == "section"}
        assert ends == dict.fromkeys(sections, 0), done
        return {f"{each['section']}: {each['what']}": each["value"] for each in said if each["at"] == "answer"}
    return contracts_ask


@pytest.fixture(scope="session")
def driver(build):
    answers = json.loads((build.source / ANSWERS).read_text())["answers"]
    return {f"{section}: {what}": value for section, asked in answers.items() for what, value in asked.items()}


LIMITS = {"preload": True, "ALIQUOT_MEMORY": "1GiB"}
TIMED = {**LIMITS, "ALIQUOT_COMPUTE": "50"}
FULL, OURS = "queues: launches in one stream before one blocks", 5  # markers in it: docs/compute-reference.md


@pytest.mark.parametrize("how", [{}, LIMITS, TIMED], ids=["bare", "memory", "compute"])
@pytest.mark.parametrize("section", ["calls", "capture", "events", "ends", "queues"])
def test_the_simulator_answers_as_the_driver(ask, driver, section, how):
    """And so it does with our library before it, with limits on memory and on time."""
    expected = {what: value for what, value in driver.items() if what.startswith(f"{section}: ")}
    answers = ask(section, **how)
    if how == TIMED and FULL in answers and expected[FULL] - OURS <= answers[FULL]:
        answers[FULL] = expected[FULL]
    assert answers.keys() == expected.keys()
    wrong = {what: (answers[what], expected[what]) for what in expected
             if what not in DIFFERENT and answers[what] != expected[what]}
    assert not wrong, "\n".join(f"{what}: {ours}, the driver {theirs}" for what, (ours, theirs) in wrong.items())


def test_the_simulator_takes_memory_as_the_driver_does(ask, driver):
    """Slabs and whole pages; graphs take their memory when they are launched."""
    expected = {what: value for what, value in driver.items() if what.startswith("memory: ") and what not in DIFFERENT}
    answers = ask("memory", grants="real")
    assert {what: answers[what] for what in expected} == expected


# No driver has been asked yet. What a manual says is meant: CUDA Driver API, "Unified Addressing" (host memory is
# accessible by the same address, and calls tell by it what it is) and cuMemHostAlloc (the device's pointer of mapped
# memory is one for kernels and calls alike). That cuMemFreeHost waits no manual says; programs see it do so.
ASSUMED = {
    "64 MiB pinned: taken of the card": 0,
    "the device's address is the host's": True,
    "type: code, value": [0, 1],
    "device: code, value": [0, 0],
    "is managed: code, value": [0, 0],
    "range of its first byte: codes, begins at its beginning, bytes": [0, 0, True, 64 << 20],
    "range of its last byte: codes, begins at its beginning, bytes": [0, 0, True, 64 << 20],
    "cuIpcGetMemHandle": 1,
    "cuMemFree": 1,
    "cuMemFreeHost": 0,
    "its context has ended: type": 1,
    "cuMemFreeHost of a block in use: code, the word when it returns, code of the wait for the context": [0, 1, 0],
}


def test_what_is_assumed_of_pinned_memory(ask):
    """Memory of the host is used in place of the card's by this alone (src/shim/cuda/memory/spill.h)."""
    answers = {what.removeprefix("host: "): value for what, value in ask("host").items()}
    assert {what: answers[what] for what in ASSUMED} == ASSUMED
    ways = {what: value for what, value in answers.items() if what.endswith("bytes are right")}
    assert len(ways) == 11
    assert {what for what, value in ways.items() if value != [0, True]} == {"a kernel writes: code, bytes are right"}  # no PTX is run


# No driver has been asked yet. What a manual says is meant: CUDA Driver API, "Virtual Memory Management" (memory mapped
# at an address serves whatever names the address; access is set for a range that is mapped whole) and "Unified
# Addressing". That no call of it disturbs another thread's capture, as cuMemCreate was seen not to, that free follows at
# once, and what an address that is out is told to be, no manual says.
CAPTURES = ("global", "thread-local", "relaxed")
MOVES = ("cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemHostAlloc", "cuMemcpyDtoHAsync", "cuEventRecord",
         "cuEventSynchronize", "cuMemcpyHtoDAsync", "cuStreamSynchronize", "cuStreamQuery", "cuMemUnmap", "cuMemRelease",
         "cuMemFreeHost", "cuMemAddressFree", "cuCtxPopCurrent and cuCtxPushCurrent")
SEGMENT, WORD = 64 << 20, 0xA11C0A7E
READ = [0, 0, WORD, WORD]  # codes of the launch and of the wait, words at both ends
GONE, THERE = [0, 0, 0], {size: [-size, size, size] for size in (64, 256)}
ASSUMED_OF_SWAP = {
    "virtual memory management supported: code, value": [0, 1],
    "granularity, minimum: code, bytes": [0, 2 << 20],
    "granularity, recommended: code, bytes": [0, 2 << 20],
    "cuMemSetAccess over 4 mappings at once: code": 0,
    "a fill across all of them: code": 0,
    "a word at each of their ends": [7, 7, 7, 7],
    "cuMemSetAccess again: code": 0,
    "cuMemSetAccess over a gap: code": 1,
    "a fill across a gap: code": 1,
    "cuMemAddressFree of addresses in use: code": 1,
    "beside the gap it still is what it was": [7, 7],
    "cuMemAddressFree when nothing is mapped: code": 0,
    "before, a kernel: codes, words": READ,
    "before, a graph: codes, words": READ,
    "copied out: words at both ends": [WORD, WORD],
    "out: a copy from there: code": 1,
    "out: memory type of its address: code": 0,
    "out: the same addresses are given to nobody else": True,
    "in again, a copy: words at both ends": [WORD, WORD],
    "in again, a kernel: codes, words": READ,
    "in again, the graph of before: codes, words": READ,
    **{f"{mode}, a relaxed thread: {call}: launch, code, launch, end": [0, 0, 0, 0] for mode in CAPTURES for call in MOVES},
    **{f"{size} MiB mapped, out, in, out: MiB more of free, NVML's process, NVML's card": [THERE[size], GONE] * 2 for size in THERE},
    # What a program is told of a block that can leave the card is what it is told of cuMemAlloc's (shim/cuda/memory/told.c).
    **{f"cuMemAlloc, {name}: code, value": [0, value] for name, value in (
        ("context", True), ("memory type", 2), ("device pointer", SEGMENT + 4096), ("sync memops", 0), ("buffer id", True), ("is managed", 0),
        ("device ordinal", 0), ("is legacy IPC capable", 1), ("range start", 0), ("range size", 2 * SEGMENT), ("mapped", 1),
        ("allowed handle types", 0), ("is GPU direct RDMA capable", 0), ("access flags", 3), ("pool", 0),
        ("mapping size", 2 * SEGMENT), ("mapping base", 0), ("memory block id", True))},
    "cuMemAlloc, host pointer: code, value": [1, None],
    "cuMemAlloc, buffer ids of both segments are one": True,
    "cuMemAlloc, cuPointerGetAttributes of type, device, is managed: code, values": [0, 2, 0, 0],
    "mapped, memory type: code, value": [0, 2],
    "mapped, context: code, value": [0, False],
    "mapped, range size: code, value": [0, SEGMENT],
    "mapped, buffer ids of both segments are one": False,
    "mapped, is legacy IPC capable: code, value": [0, 0],
    "mapped, cuIpcGetMemHandle: code": 1,
    "mapped, cuMemFree: code": 1,
}


def test_what_is_assumed_of_moving_memory(ask, build):
    """Whatever src/shim/cuda/swap does with a driver. Times and rates are told, and are the host's own here."""
    asked = ask("swap", kernels=build.folder / "tests/gpu/gpu_kernels.so")
    answers = {what.removeprefix("swap: "): value for what, value in asked.items()}
    assert {what: answers[what] for what in ASSUMED_OF_SWAP} == ASSUMED_OF_SWAP
    rates = [value for what, value in answers.items() if "B/s" in what]
    times = [value for what, value in answers.items() if ", ns" in what]
    assert len(rates) == 3 and min(rates) > 0 and len(times) == 10 and all(times)
    late = [value for what, value in answers.items() if "ms until" in what]
    assert len(late) == 2 and "never" not in str(late)
    assert len([what for what in answers if "s a GiB" in what]) == 4


def test_handles_are_used_again_and_ids_are_not(ask, driver):
    """As by the driver: the same address at once, with an id of its own."""
    for answers in (ask("events"), driver):
        made = answers["events: three streams made and destroyed in turns: handle, id"]
        assert len({handle for handle, _ in made}) == 1
        assert [number - made[0][1] for _, number in made] == [0, 1, 2]
        ids = [answers[f"events: ids{where}: null, legacy, per thread"] for where in ("", " in another context")]
        assert all(null == legacy != thread for null, legacy, thread in ids)
        assert len({each for row in ids for each in row}) == 4


def test_every_difference_is_one_that_was_asked(driver):
    assert DIFFERENT.keys() <= driver.keys()


def test_a_crash_names_its_call_and_handle(run_contracts):
    """For whoever has to find out whose call it was."""
    done = run_contracts("ends")
    crashes = re.findall(r"^aliquot-sim: (\w+): (\w+) 0x[0-9a-f]+ has ended; a real driver crashes here$", done.stderr, re.M)
    assert sorted(crashes) == [("cuEventQuery", "event"), ("cuStreamGetId", "stream"), ("cuStreamQuery", "stream")], done


def test_times_are_multiples_of_the_drivers_step(ask, driver):
    step = "timers: elapsed: least step between two different answers, ns"
    assert ask("timers")[step] % driver[step] == 0
