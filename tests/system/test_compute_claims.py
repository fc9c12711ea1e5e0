# SPDX-License-Identifier: Apache-2.0
"""What sessions say of their GPU time, compared with what the driver shows (docs/daemon.md).

The real daemon, library and programs in the simulator's virtual time; the judge is its engine time. The
simulated driver tells what each process used in whole percents, of steps of 50 ms.
"""
import datetime
import signal

import pytest

from company import MS, POINT, US, Company
from daemon import wait_for

HANG_SECONDS = 120
SETTLED = 15  # seconds until a liar was seen, has paid what it owed, and goes by its cap


def slots(company, session):
    return company.sim.runtime / f"sessions/{session}/slots"


def events(company, *sessions):
    """Of GPU time, when the programs have ended and these sessions are gone."""
    for process in company.programs:
        process.communicate(timeout=HANG_SECONDS)
    for session in sessions:
        assert company.daemon.delete(f"/v1/sessions/{session}").status == 204
    found, left = [], set(sessions)
    for event in company.daemon.events():
        if event["type"].startswith("compute-"):
            found.append(event)
        left -= {event["session"]} if event["type"] == "gone" else set()
        if not left:
            return found
    return None


def kinds(found):
    return [event["type"].removeprefix("compute-") for event in found]


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def clamps(company):
    return company.daemon.metrics()["aliquot_compute_clamps_total"]


# -- Liars -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("lie, share", (("meter", 0.68), ("all", 0.64)))
def test_a_liar_s_neighbour_gets_its_share_again(sim, lie, share):
    """With "all" it also says that nothing is in flight: its neighbour is let in too early, and pays for the overlap."""
    seconds = SETTLED + 5
    company = Company(sim, [{"compute": 30}, {"compute": 70}])
    company.load(0, kind="kernel", ns=200 * US, seconds=seconds, slots=slots(company, "s0"), lie=lie)
    company.load(1, kind="kernel", ns=200 * US, seconds=seconds)
    seen = company.observe(seconds)
    assert seen.share("s0", 0.5, 2) > 0.4 and seen.share("s1", 0.5, 2) < 0.6, seen.share("s1", 0.5, 2)
    assert seen.share("s0", SETTLED, seconds - 0.1) < 0.3 + POINT
    assert seen.share("s1", SETTLED, seconds - 0.1) > share
    # What it had beyond its cap, it has paid back.
    assert seen.share("s0", 0.1, seconds - 0.1) < 0.3 + POINT
    device, = company.daemon.session("s0")["devices"]
    assert device["compute_clamped"] and not company.daemon.session("s1")["devices"][0]["compute_clamped"], device
    found = events(company, "s0")
    assert kinds(found)[:2] == ["forged", "clamped"] and {event["session"] for event in found} == {"s0"}, found
    detail = found[0]["detail"]
    assert detail["action"] == "clamp" and detail["shown_percent"] > 40 and detail["claimed_percent"] < 1, detail


def test_who_fills_its_own_bucket_is_above_its_cap_and_owes_nothing(sim):
    """Alone, it keeps its cap by itself; its meter is honest."""
    seconds = SETTLED + 5
    company = Company(sim, [{"compute": 30}])
    company.load(0, kind="kernel", ns=200 * US, seconds=seconds, slots=slots(company, "s0"), lie="bank")
    seen = company.observe(seconds)
    assert seen.share("s0", 0.5, 2) > 0.9
    assert min(seen.windows("s0", 5, seconds, 3)) < 0.3 + POINT  # until ten seconds were honest
    assert kinds(events(company, "s0"))[:2] == ["forged", "clamped"]


def start_around(company, at, **arguments):
    """A program of the session that launches past the library."""
    words = [f"{key}={value}" for key, value in arguments.items()]
    process = company.sim.start([company.sim.build.program("compute/load"), *words, f"slots={slots(company, f's{at}')}"],
                                ALIQUOT_SESSION=f"s{at}")
    company.programs.append(process)
    return process


def test_who_goes_around_the_library_is_told_of_or_stopped(sim):
    company = Company(sim, [{"compute": 30}, {"compute": 70}], config="[watch]\nclaims = kill\n")
    seconds = SETTLED + 5
    process = start_around(company, 0, kind="kernel", ns=200 * US, seconds=2 * seconds)
    company.load(1, kind="kernel", ns=200 * US, seconds=seconds)
    seen = company.observe(seconds)
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    assert seen.share("s0", 0.5, 2) > 0.45 and seen.share("s0", SETTLED, seconds - 0.1) == 0
    assert seen.share("s1", SETTLED, seconds - 0.1) > 0.68
    found = events(company, "s0", "s1")
    assert kinds(found) == ["forged"] and found[0]["detail"]["action"] == "kill", found


@pytest.mark.parametrize("lie, why", (("meter", "understated"), ("bank", "above-cap")))
def test_who_is_clamped_is_told_since_when_why_and_until_when(sim, lie, why):
    """By the API and by the metrics; what has ended is told by the events."""
    company = Company(sim, [{"compute": 30}], config="[metrics]\nsessions = yes\n")
    company.load(0, kind="kernel", ns=200 * US, seconds=90, slots=slots(company, "s0"), lie=lie)
    observer = company.sim.start([sim.build.program("compute/observe"), "every=10000", "seconds=90"])
    seen = []

    def is_clamped():
        """In the one and in the other; who keeps its cap again is not so for ever."""
        seen[:] = [company.daemon.session("s0")["devices"][0], company.daemon.metrics()]
        return seen[0]["compute_clamped"] and seen[1]["aliquot_compute_clamped"]
    wait_for(is_clamped)
    listed = company.daemon.get("/v1/sessions?clamped=true").json["sessions"]
    assert [session["name"] for session in listed] == ["s0"], listed
    observer.kill()
    device, metrics = seen
    clamp = device["compute_clamp"]
    assert clamp["why"] == why and clamp["times"] >= 1, device
    assert instant(clamp["until"]) > instant(clamp["since"]), clamp
    assert clamp["shown_percent"] > 25 and (clamp["claimed_percent"] < 1) == (lie == "meter"), clamp
    one = f'session="s0",gpu="{device["uuid"]}"'
    for reason in ("understated", "above-cap"):
        assert metrics[f'aliquot_session_gpu_time_clamped{{{one},why="{reason}"}}'] == (reason == why)
    since, until = (metrics[f"aliquot_session_gpu_time_clamped_{end}_seconds{{{one}}}"] for end in ("since", "until"))
    assert until > since > 1.7e9


def test_who_lies_again_is_clamped_for_twice_as_long(sim):
    """Two lies with an honest time between them."""
    company = Company(sim, [{"compute": 40}], programs=3)
    company.load(0, kind="kernel", ns=200 * US, seconds=10, slots=slots(company, "s0"), lie="all")
    company.load(0, kind="kernel", ns=200 * US, seconds=38, **{"from": 11000})
    company.load(0, kind="kernel", ns=200 * US, seconds=10, slots=slots(company, "s0"), lie="all", **{"from": 50000})
    company.observe(61)
    found = events(company, "s0")
    assert kinds(found) == ["forged", "clamped", "unclamped", "forged", "clamped"], found
    assert [(event["detail"]["times"], event["detail"]["least_seconds"]) for event in found
            if event["type"] == "compute-clamped"] == [(1, 10), (2, 20)]
    assert {event["detail"].get("why", "understated") for event in found} == {"understated"}


def test_who_is_honest_again_is_believed_again(sim):
    company = Company(sim, [{"compute": 40}], programs=2)
    company.load(0, kind="kernel", ns=200 * US, seconds=6, slots=slots(company, "s0"), lie="all")
    company.load(0, kind="kernel", ns=200 * US, seconds=32, **{"from": 7000})
    seen = company.observe(38)
    assert seen.share("s0", 25, 37) < 0.4 + POINT
    assert kinds(events(company, "s0")) == ["forged", "clamped", "unclamped"]


# -- Honest ones -----------------------------------------------------------------------------------

@pytest.mark.parametrize("kind, ns", (("kernel", 20 * US), ("kernel", 200 * US), ("kernel", 20 * MS), ("sync", 200 * US),
                                      ("step", 200 * US), ("graph", 200 * US), ("streams", 200 * US), ("kernel", 1500 * MS)))
@pytest.mark.parametrize("terms", ([{"compute": 30}], [{"compute": 30}, {"compute": 60}], [{}, {}]),
                         ids=["alone", "caps", "no caps"])
def test_no_honest_one_is_ever_accused(sim, kind, ns, terms):
    seconds = 3 if ns < 100 * US else 8
    company = Company(sim, terms)
    for at in range(len(terms)):
        company.load(at, kind=kind, ns=ns, seconds=seconds, settle=0)
    company.observe(seconds)
    assert events(company, *(f"s{at}" for at in range(len(terms)))) == []


def test_who_pauses_is_not_accused(sim):
    company = Company(sim, [{"compute": 30}], programs=2)
    company.load(0, kind="kernel", ns=200 * US, seconds=4)
    company.load(0, kind="kernel", ns=2 * MS, seconds=4, **{"from": 6500})
    company.observe(11)
    assert events(company, "s0") == []


def test_what_the_driver_shows_is_what_the_engine_did(sim):
    """But for the first look, which knows of no time before it, and the last one."""
    company = Company(sim, [{"compute": 50}])
    company.load(0, kind="kernel", ns=200 * US, seconds=12)
    company.observe(12)
    used = company.told()["busy_ns"] / 1e9
    shown = company.daemon.session("s0")["devices"][0]["gpu_time"]["shown_seconds"]
    assert used - 2 < shown <= used, (shown, used)


# -- Drivers, and daemons --------------------------------------------------------------------------

NOT_SUPPORTED, NO_PERMISSION = 3, 4


@pytest.mark.parametrize("code", (NOT_SUPPORTED, NO_PERMISSION))
def test_a_driver_that_does_not_tell_accuses_nobody(sim, code):
    """Not even a liar, as long as two have the GPU."""
    company = Company(sim, [{"compute": 30}, {"compute": 70}], fail=f"nvmlDeviceGetProcessUtilization:1:{code}:1000000")
    company.load(0, kind="kernel", ns=200 * US, seconds=10, slots=slots(company, "s0"), lie="meter")
    company.load(1, kind="kernel", ns=200 * US, seconds=10)
    company.observe(10)
    assert company.daemon.said().count("does not tell who keeps it busy") == 1, company.daemon.said()
    assert events(company, "s0", "s1") == []


def test_alone_on_such_a_gpu_a_liar_is_seen_by_the_whole(sim):
    company = Company(sim, [{"compute": 80}], fail=f"nvmlDeviceGetProcessUtilization:1:{NOT_SUPPORTED}:1000000")
    company.load(0, kind="kernel", ns=200 * US, seconds=30, slots=slots(company, "s0"), lie="meter")
    company.observe(30)
    assert kinds(events(company, "s0"))[:2] == ["forged", "clamped"]


def test_a_daemon_that_comes_anew_finds_the_liar_again_and_nobody_else(sim):
    company = Company(sim, [{"compute": 30}, {"compute": 70}])
    company.load(0, kind="kernel", ns=200 * US, seconds=60, slots=slots(company, "s0"), lie="meter")
    company.load(1, kind="kernel", ns=200 * US, seconds=60)
    observer = company.sim.start([sim.build.program("compute/observe"), "every=10000", "seconds=60"])
    wait_for(lambda: clamps(company) == 1)
    company.daemon.kill().start()
    wait_for(lambda: clamps(company) == 1)
    assert [company.daemon.session(name)["devices"][0]["compute_clamped"] for name in ("s0", "s1")] == [True, False]
    observer.communicate(timeout=HANG_SECONDS)


def test_it_may_be_nobody_s_business(sim):
    company = Company(sim, [{"compute": 30}], config="[watch]\nclaims = ignore\n")
    company.load(0, kind="kernel", ns=200 * US, seconds=8, slots=slots(company, "s0"), lie="all")
    company.observe(8)
    assert events(company, "s0") == []
