# SPDX-License-Identifier: Apache-2.0
"""Copies within a device are GPU time by whichever call they are made (docs/compute.md). Those over a link are not, but work
behind them in a stream is in flight meanwhile.

In the simulator's virtual time; the judge is its engine, which does what is copied within a device."""
import re

import pytest

from alone import load_alone
from build import SOURCE
from company import Company, POINT

CAP = 300_000  # 30 %
US = 10**3
POINTS = 0.01  # of share
PART = 0.03  # of what is billed
COPY = {"device": "1GB/s"}  # 200 kB: 200 us


def calls_within():
    """Those of the library's table that may copy within the device; without those of 32-bit addresses."""
    table = (SOURCE / "src/shim/cuda/cuda.api").read_text()
    rows = re.findall(r"^(cuMemcpy\S*)\s+\d+\s+hook .*the device", table, re.M)
    return [row for row in rows if f"{row}_v2" not in rows or "Batch" in row]


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got."""
    def load_run(kind, ns=200 * US, seconds=3, **more):
        return load_alone(sim, more, kind=kind, ns=ns, cap=CAP, seconds=seconds, settle=300)
    return load_run


def assert_at_the_cap(got):
    assert abs(got["share"] - 0.3) < POINTS, got
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < PART, got


@pytest.mark.parametrize("call", calls_within())
def test_a_cap_holds_for_whichever_call_copies_within_the_device(load, call):
    """Synchronous or in a stream, of a run of bytes, a box or an array, between two contexts, in a batch; whether or not the
    call says that its ends are on the device, and where it says that they are the host's."""
    assert_at_the_cap(load(call, **COPY))


@pytest.mark.parametrize("kind", ("peer-array", "peer-arrays"))
def test_what_is_said_of_an_array_s_context_is_not_looked_at(load, kind):
    """The driver ignores it."""
    assert_at_the_cap(load(kind, **COPY))


@pytest.mark.parametrize("call", ("cuMemcpyDtoDAsync_v2", "cuMemcpyDtoD_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpy2DAsync_v2"))
def test_a_second_device_hides_no_copy_within_the_first(load, call):
    assert_at_the_cap(load(call, gpus=2, **COPY))


def test_a_graph_of_copies_is_counted(load):
    assert_at_the_cap(load("copies", **COPY))


def test_copies_and_kernels_by_turns_are_counted(load):
    assert_at_the_cap(load("both", ns=50 * US, **COPY))


def test_long_copies_are_counted(load):
    """Of 20 ms each."""
    assert_at_the_cap(load("cuMemcpyAsync", seconds=10, device="10MB/s"))


@pytest.mark.parametrize("kind, link", (("copied", "host"), ("copied-3d", "host"), ("copied-peer", "peer"),
                                        ("copied-between", "peer"), ("copied-2d-between", "peer")))
def test_copies_over_a_link_count_while_work_waits_behind_them(load, kind, link):
    """To or from the host, or another device: 200 us before each kernel, whatever the call says of where they go. With several
    kernels submitted there is always one in flight, so half of the quota goes to the copies."""
    got = load(kind, gpus=2, flights="on", seconds=5, **{link: "1GB/s"})
    assert abs(got["in_flight"] - 0.3) < POINTS, got
    assert abs(got["share"] - 0.15) < POINTS, got


def test_copies_over_a_link_alone_are_not_counted(sim):
    """A program that only copies from the host is never in flight, and waits for nothing."""
    got = load_alone(sim, {"host": "10MB/s"}, kind="script", do="h", cap=CAP, seconds=2)
    assert got["billed_ns"] == got["waits"] == 0, got


@pytest.mark.parametrize("stream, answer", [("beside", "0 0"), ("before", "906 901")])
def test_a_cap_does_not_let_a_call_into_a_capture_that_forbids_it(sim, build, stream, answer):
    """Each synchronous copy and fill, while its thread captures: refused, and the capture is lost, where the old default stream waits
    for the stream that captures; with and without Aliquot."""
    fills = re.findall(r"^(cuMemset\S*_v2)(?:_ptds)\s", (SOURCE / "src/shim/cuda/cuda.api").read_text(), re.M)
    copies = [call for call in calls_within() if call.endswith("_ptds")]
    calls = [call for each in copies for call in (each.removesuffix("_ptds"), each)] + [call for each in fills for call in (each, each + "_ptds")]
    assert len(copies) == 14 and len(fills) == 6, calls
    program = build.program("compute/captured")
    bare = sim.run([program, 0, stream, *calls])
    capped = sim.run([program, CAP, stream, *calls], preload=True, ALIQUOT_MEMORY="512MiB")
    assert bare.rc == capped.rc == 0, (bare, capped)
    old = [call for call in calls if not call.endswith("_ptds")]
    assert {f"{call} {answer}" for call in old} <= set(bare.stdout.splitlines()), bare
    assert capped.stdout == bare.stdout


def test_who_copies_within_the_device_takes_turns_with_who_launches(sim):
    """Two sessions without caps: half of it each."""
    company = Company(sim, [{}, {}], **COPY)
    company.load(0, kind="cuMemcpyAsync", seconds=2).load(1, kind="kernel", ns=200 * US, seconds=2)
    seen = company.observe(2)
    assert abs(seen.share("s0", 0.5, 1.9) - 0.5) < POINT, seen
    assert abs(seen.share("s1", 0.5, 1.9) - 0.5) < POINT, seen
