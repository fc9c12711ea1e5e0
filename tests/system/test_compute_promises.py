# SPDX-License-Identifier: Apache-2.0
"""What a share of GPU time promises, whatever the program and the card (docs/compute-promises.md, docs/complaints.md).

The real daemon, library and programs in the simulator's virtual time; the judge is its engine time. What
follows a change is in test_compute_change.py and test_compute_converge.py.
"""
import itertools
import pathlib
import time

import pytest

from alone import beside_solo, load_alone, seconds_of
from company import MS, POINT, US, Company
from node import finished

PERCENT = 10_000
LARGEST = 2**31 - 1


@pytest.fixture
def load(sim):
    """A program under a cap (percent) of its own session, and what it got."""
    def load_run(kind, ns, percent, seconds, **more):
        settings = {key: more.pop(key) for key in ("multiprocessors", "model") if key in more}
        return load_alone(sim, settings, kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, settle=1000, **more)
    return load_run


@pytest.mark.parametrize("kind, ns", (("kernel", 20 * US), ("graph", 20 * US), ("cooperative", 200 * US),
                                      ("mixed", 100 * US), ("sync", 200 * US)))
@pytest.mark.parametrize("percent", (5, 10, 20, 30, 50, 70, 90))
def test_every_second_is_within_two_points(load, kind, ns, percent):
    """And the whole is within one, or what the program loses of a small cap within a tenth of it."""
    got = load(kind, ns, percent, 6)
    seconds = seconds_of(got)
    assert max(abs(second - percent / 100) for second in seconds) < 2 * POINT, seconds
    assert abs(got["share"] - percent / 100) < min(POINT, percent / 1000), got


@pytest.mark.parametrize("percent", (10, 30, 70, 90))
def test_half_a_second_at_a_time_and_a_wait_is_a_share_all_the_same(load, percent):
    """Over minutes: within a second such a kernel has all of the GPU or nothing."""
    got = load("sync", 500 * MS, percent, 200)
    assert abs(got["share"] - percent / 100) < 2 * POINT, got


@pytest.mark.parametrize("kind", ("kernel", "sync"))
@pytest.mark.parametrize("caps, most", (((30, 70), 0.05), ((10, 90), 0.10)))
def test_caps_of_two_sessions_are_a_ratio(sim, caps, most, kind):
    """Also of programs that wait for each of their launches."""
    company = Company(sim, [{"compute": cap} for cap in caps])
    for at in range(2):
        company.load(at, kind=kind, ns=200 * US, seconds=4)
    seen = company.observe(4)
    shares = [seen.share(f"s{at}", 1, 4) for at in range(2)]
    assert abs(shares[1] / shares[0] / (caps[1] / caps[0]) - 1) < most, shares


def assert_alike(told, expected):
    """As far as random moments of looks tell."""
    for share in (got["share"] for got in told):
        assert abs(share - expected) < POINT, [got["share"] for got in told]


@pytest.mark.parametrize("percent", (30, 70))
def test_the_size_of_the_card_changes_nothing(load, percent):
    """1 to 256 multiprocessors."""
    assert_alike([load("kernel", 200 * US, percent, 5, multiprocessors=count) for count in (1, 2, 46, 132, 188, 256)],
                 percent / 100)


def test_the_size_of_the_card_is_nothing_to_a_change(load):
    """The new cap holds as soon after it."""
    for count in (1, 132, 256):
        got = load("kernel", 200 * US, 30, 5, then=f"{70 * PERCENT}@3", multiprocessors=count)
        seconds = seconds_of(got)
        assert abs(seconds[0] - 0.3) < 2 * POINT and abs(seconds[-1] - 0.7) < 2 * POINT, (count, got)


def test_the_grid_changes_nothing(load):
    """Up to the largest that a driver takes: a product of its sides has 63 bits."""
    assert_alike([load("grid", 200 * US, 30, 5, blocks=blocks) for blocks in (1, 2, 1000, 65535, 65536, LARGEST)], 0.3)


@pytest.mark.parametrize("count", (1, 2, 4, 8, 16))
def test_the_processes_of_a_session_share_its_quota(sim, build, count):
    """However many; nobody gets nothing."""
    sim.configure(clock="virtual", begin_with=count)
    words = ["kind=kernel", f"ns={200 * US}", f"cap={40 * PERCENT}", "seconds=4", "settle=1000"]
    programs = [sim.start([build.program("compute/load"), *words], preload=True, ALIQUOT_MEMORY="512MiB")
                for _ in range(count)]
    told = [finished(program) for program in programs]
    for one in told:
        assert abs(one["share"] - 0.4) < 2 * POINT, [got["share"] for got in told]
        assert one["own"] > 0.4 / count / 4, [got["own"] for got in told]


def test_who_does_nothing_costs_next_to_nothing(sim, build):
    """Our thread in a program that has worked under a cap, and waits: no more than 1 % of a core, by far."""
    sim.configure(ptx="noop", kernels=build.folder / "tests/gpu/gpu_kernels.so")
    program = sim.start([build.folder / "tests/gpu/load", build.source / "tests/gpu/programs/stamps.ptx", "ns=20000"],
                        preload=True, ALIQUOT_MEMORY="512MiB", ALIQUOT_COMPUTE="50")
    assert '"ready"' in program.stdout.readline()
    time.sleep(0.5)
    tasks = list(pathlib.Path(f"/proc/{program.pid}/task").iterdir())
    before = {task: ran_ns(task) for task in tasks if "aliquot" in (task / "comm").read_text()}
    time.sleep(2)
    assert before, [(task / "comm").read_text() for task in tasks]
    assert sum(ran_ns(task) for task in before) - sum(before.values()) < 20 * MS


def ran_ns(task):
    return int((task / "schedstat").read_text().split()[0])


REFUSED = ("0", "-1", "101", "nan", "inf", "1e9", "fifty", "", "30%%", "0x10", "0=30,0=40")


@pytest.mark.parametrize("value, door", itertools.product(REFUSED, ("flag", "variable")))
def test_what_is_no_share_is_refused_and_named(sim, build, value, door):
    """A slip of the pen must not become a program without a cap."""
    program = [build.program("sim/hold"), "0", "1"]
    if door == "flag":
        done = sim.run([build.folder / "src/cli/aliquot", "run", "--memory", "64MiB", "--compute", value, "--", *program])
        assert done.rc == 125 and "--compute" in done.stderr, done
    else:
        done = sim.run(program, preload=True, ALIQUOT_MEMORY="64MiB", ALIQUOT_COMPUTE=value)
        assert done.rc != 0 and "ALIQUOT_COMPUTE" in done.stderr, done


@pytest.mark.parametrize("field, values", (
    ("compute", (-1, 101, 1e300, "fifty", "", [30], True)),
    ("guarantee", (-1, 101, 1e300, "fifty", "", True)),
    ("weight", (0, -1, 10001, 1.5, "100", True)),
    ("priority", ("urgent", "", 1, True)),
))
def test_what_is_no_term_of_a_session_is_refused_with_its_field(sim, field, values):
    daemon = Company(sim, [{}]).daemon
    before = daemon.get("/v1/sessions/s0").json
    for value in values:
        for answer in (daemon.post("/v1/sessions", {"name": "x", "memory": "64MiB", field: value}),
                       daemon.patch("/v1/sessions/s0", {field: value})):
            assert answer.status == 400 and answer.json["field"] == field, (value, answer)
    assert daemon.get("/v1/sessions/s0").json == before
    raw = daemon.patch("/v1/sessions/s0", f'{{"{field}": NaN}}')
    assert raw.status == 400, raw


def test_no_more_than_the_whole_is_guaranteed(sim):
    """Named are the field, what is free, and nothing is changed."""
    daemon = Company(sim, [{"guarantee": 60}, {"guarantee": 30}]).daemon
    refused = daemon.post("/v1/sessions", {"name": "x", "memory": "64MiB", "guarantee": 11})
    assert refused.status == 409 and refused.json["field"] == "guarantee", refused
    assert "11 % of the time asked for, 10 % left on GPU-" in refused.text, refused
    refused = daemon.patch("/v1/sessions/s1", {"guarantee": 41})
    assert refused.status == 409 and refused.json["field"] == "guarantee", refused
    assert daemon.patch("/v1/sessions/s1", {"guarantee": 40}).status == 200
    refused = daemon.patch("/v1/sessions/s0", {"compute": 50})
    assert refused.status == 400 and refused.json["field"] in ("compute", "guarantee"), refused
