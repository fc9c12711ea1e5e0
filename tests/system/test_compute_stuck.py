# SPDX-License-Identifier: Apache-2.0
"""Under a cap on GPU time a program never waits for ever (docs/compute.md), and gets what it would get.

What runs may wait for what is still to be launched, and a thread may capture while another launches.
"""
import pytest

from daemon import Daemon

PERCENT = 10_000
MS = 10**6


@pytest.fixture
def stuck(sim, build):
    def play(scene, percent):
        kernels = build.program("compute/compute_kernels.so")
        result = sim.run([build.program("compute/stuck"), str(percent * PERCENT), kernels, scene],
                         preload=True, ALIQUOT_MEMORY="512MiB")
        assert result.rc == 0, result
        assert result.stdout == "done\n"
    return play


@pytest.mark.parametrize("percent", (20, 90))
@pytest.mark.parametrize("scene", ("spin", "behind", "fresh", "stream", "rounds", "host", "thread"))
def test_what_runs_may_wait_for_what_is_to_come(stuck, scene, percent):
    """A persistent kernel and its producers; launches behind a word that the device, the host or another
    thread writes after them. It ends. Round after round: what a stream waits for is not its own work, or else the
    wait would be charged, and make the next one longer."""
    stuck(scene, percent)


@pytest.mark.parametrize("percent", (20, 90))
@pytest.mark.parametrize("wait", ("word", "event", "function"))
def test_nearly_all_that_a_stream_takes_may_stand_behind_a_wait(stuck, wait, percent):
    """All but a few of the 1021 that a driver takes at a time, behind one that their own thread ends after them."""
    stuck(f"full-{wait}", percent)


@pytest.mark.parametrize("percent", (20, 90))
def test_a_few_launches_may_stand_behind_a_kernel_that_spins_for_the_host(stuck, percent):
    """It computes, so it is billed, and what stands behind it is let through by ones, ever more slowly: not as many
    as the stream takes."""
    stuck("few-kernel", percent)


@pytest.fixture
def waits(sim, build):
    """Alone in a daemon's session, in virtual time: what rounds of waiting took, and what was charged."""
    def play(scene, rounds, launches, *how, **terms):
        sim.configure(clock="virtual", memory="1GiB")
        Daemon(sim).start().create("own", "512MiB", **terms)
        result = sim.run([build.program("compute/waits"), scene, str(rounds), str(launches), *how],
                         preload=True, ALIQUOT_SESSION="own")
        assert result.rc == 0, result
        return result.json
    return play


@pytest.mark.parametrize("how, most_ms", (((), 100), (("cold",), 500)), ids=("known", "unknown"))
def test_what_stands_behind_a_wait_is_in_nobody_s_way(waits, how, most_ms):
    """20 ms of launches behind a word, and as many before it is written, where 10 may be in flight: 40 ms of work a round."""
    got = waits("inverse", 5, 200, *how)
    assert got["longest_ns"] < most_ms * MS, got


def assert_billed_for_its_work(got):
    """Few flights, whose ends are sampled; a wait that counted would be ten times as much."""
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.25, got


@pytest.mark.parametrize("scene", ("thread", "elsewhere"))
def test_what_a_stream_waits_for_is_nobody_s_time(waits, scene):
    """Whoever puts the wait there, wherever that thread launches next: 100 ms a round, in which the device stands still."""
    assert_billed_for_its_work(waits(scene, 5, 2, compute=50))


@pytest.mark.parametrize("scene", ("beneath", "above"))
def test_what_a_stream_waits_for_in_the_default_stream_s_order_is_nobody_s_time(waits, scene):
    """The wait stands in one of the two, the launches in the other."""
    assert_billed_for_its_work(waits(scene, 5, 2, compute=50))


def test_behind_a_wait_there_may_be_as_much_as_it_lasts(waits):
    """40 ms of launches each 100 ms, behind an event that comes after 100 ms: no more than 20 may be in flight otherwise."""
    got = waits("events", 10, 400, compute=50)
    assert got["share"] > 0.28, got


@pytest.mark.parametrize("launches, least", ((200, 0.9), (1000, 0.5)))
@pytest.mark.parametrize("percent", (20, 50))
def test_no_wait_is_a_way_past_the_cap(waits, percent, launches, least):
    """Launches behind a word which the host writes when they are there, again and again: what was launched is paid
    for, and no more. Also where that is nearly all that the stream takes."""
    got = waits("hoard", 32_000 // launches, launches, compute=percent)
    assert percent / 100 * least < got["share"] < percent / 100 + 0.02, got  # what was saved at the start is a point
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.03, got


@pytest.mark.parametrize("launches", (1, 5, 20, 60))
@pytest.mark.parametrize("percent", (20, 50))
def test_what_lies_between_waits_is_paid_for_whatever_it_is(sim, build, percent, launches):
    """Short launches and long ones by turns, behind waits that end soon: more rounds stand in the stream than can be measured."""
    sim.configure(clock="virtual", memory="1GiB")
    result = sim.run([build.aliquot, "run", "--memory", "512MiB", "--compute", percent, "--", build.program("compute/waits"),
                      "paced", 18_000 // launches, launches])
    assert result.rc == 0, result
    got = result.json
    assert abs(got["share"] / (percent / 100) - 1) < 0.05, got
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.05, got


def test_nothing_of_ours_goes_into_a_capture(stuck):
    """While another thread launches under the cap, and is measured."""
    stuck("capture", 50)
