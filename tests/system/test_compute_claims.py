# SPDX-License-Identifier: Apache-2.0
"""What sessions say of their GPU time, compared with what the driver shows (docs/watch.md).

The real daemon, library and programs in the simulator's virtual time; the judge is its engine time. The
simulated driver tells what each process used in whole percents, of steps of 50 ms.
"""
import contextlib
import datetime
import itertools
import sqlite3

import pytest

from company import MS, POINT, US, Company
from daemon import Daemon, wait_for

HANG_SECONDS = 120
FOUND = 20  # seconds until a liar is reported, with some to spare


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


def reports(found):
    """Each of them: whose, and why."""
    assert {event["type"] for event in found} <= {"compute-reported"}, found
    return [(event["session"], event["detail"]["why"]) for event in found]


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def is_reported(company, session):
    return company.daemon.session(session)["devices"][0]["compute_reported"]


# -- Liars -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("lie, least", (("meter", 0.48), ("all", 0.2)))
def test_a_liar_is_reported_and_its_neighbour_keeps_its_share(sim, lie, least):
    """Of the turns, which go by the daemon's own clock. With "all" it also says that nothing is in flight, so that its work
    runs into the other's turns, where the card shares itself out."""
    company = Company(sim, [{}, {}])
    company.load(0, kind="kernel", ns=200 * US, seconds=FOUND, slots=slots(company, "s0"), lie=lie)
    company.load(1, kind="kernel", ns=200 * US, seconds=FOUND)
    seen = company.observe(FOUND)
    assert seen.share("s1", 1, FOUND - 0.1) > least, seen.share("s1", 1, FOUND - 0.1)
    assert is_reported(company, "s0") and not is_reported(company, "s1")
    found = events(company, "s0", "s1")
    assert reports(found) == [("s0", "understated")], found
    detail = found[0]["detail"]
    assert detail["shown_percent"] > 25 and detail["claimed_percent"] < 1, detail


def start_around(company, at, **arguments):
    """A program of the session that launches past the library."""
    words = [f"{key}={value}" for key, value in arguments.items()]
    process = company.sim.start([company.sim.build.program("compute/load"), *words, f"slots={slots(company, f's{at}')}"],
                                ALIQUOT_SESSION=f"s{at}")
    company.programs.append(process)
    return process


def test_programs_past_the_library_are_told_of(sim):
    company = Company(sim, [{"compute": 30}, {"compute": 70}])
    start_around(company, 0, kind="kernel", ns=200 * US, seconds=FOUND)
    company.load(1, kind="kernel", ns=200 * US, seconds=FOUND)
    company.observe(FOUND)
    assert reports(events(company, "s0", "s1")) == [("s0", "understated")]


@pytest.mark.parametrize("lie, why", (("meter", "understated"), ("bucket", "above-cap")))
def test_who_is_reported_is_told_since_when_and_why(sim, lie, why):
    """Alone, it keeps its cap by itself. By the API and by the metrics, while that is so."""
    company = Company(sim, [{"compute": 30}], config="[metrics]\nsessions = yes\n")
    company.load(0, kind="kernel", ns=200 * US, seconds=60, slots=slots(company, "s0"), lie=lie)
    observer = company.sim.start([sim.build.program("compute/observe"), "every=10000", "seconds=60"])
    wait_for(lambda: is_reported(company, "s0"))
    device, metrics = company.daemon.session("s0")["devices"][0], company.daemon.metrics()
    listed = {what: company.daemon.get(f"/v1/sessions?reported={what}").json["sessions"] for what in ("true", "false")}
    assert [session["name"] for session in listed["true"]] == ["s0"] and not listed["false"], listed
    observer.kill()
    report = device["compute_report"]
    assert report["why"] == why and instant(report["since"]) > 1.7e9, device
    assert report["shown_percent"] > 25 and (report["claimed_percent"] < 1) == (lie == "meter"), report
    assert metrics["aliquot_compute_reported"] == 1
    assert metrics[f'aliquot_session_gpu_time_reported{{session="s0",gpu="{device["uuid"]}"}}'] == 1


def test_who_is_honest_again_is_believed_again(sim):
    company = Company(sim, [{"compute": 40}], programs=2)
    company.load(0, kind="kernel", ns=200 * US, seconds=FOUND, slots=slots(company, "s0"), lie="all")
    company.load(0, kind="kernel", ns=200 * US, seconds=24, **{"from": (FOUND + 1) * 1000})
    company.observe(FOUND + 25)
    assert not is_reported(company, "s0")
    assert reports(events(company, "s0")) == [("s0", "understated")]


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
    company.load(0, kind="kernel", ns=200 * US, seconds=FOUND, slots=slots(company, "s0"), lie="meter")
    company.load(1, kind="kernel", ns=200 * US, seconds=FOUND)
    company.observe(FOUND)
    assert company.daemon.said().count("does not tell who keeps it busy") == 1, company.daemon.said()
    assert events(company, "s0", "s1") == []


def test_alone_on_such_a_gpu_a_liar_is_seen_by_the_whole(sim):
    company = Company(sim, [{"compute": 80}], fail=f"nvmlDeviceGetProcessUtilization:1:{NOT_SUPPORTED}:1000000")
    company.load(0, kind="kernel", ns=200 * US, seconds=30, slots=slots(company, "s0"), lie="meter")
    company.observe(30)
    assert reports(events(company, "s0")) == [("s0", "understated")]


def test_a_daemon_that_comes_anew_finds_the_liar_again_and_nobody_else(sim):
    company = Company(sim, [{"compute": 30}, {"compute": 70}])
    company.load(0, kind="kernel", ns=200 * US, seconds=60, slots=slots(company, "s0"), lie="meter")
    company.load(1, kind="kernel", ns=200 * US, seconds=60)
    observer = company.sim.start([sim.build.program("compute/observe"), "every=10000", "seconds=60"])
    wait_for(lambda: is_reported(company, "s0"))
    company.daemon.kill().start()
    wait_for(lambda: is_reported(company, "s0"))
    assert not is_reported(company, "s1")
    observer.communicate(timeout=HANG_SECONDS)


def test_it_may_be_off(sim):
    company = Company(sim, [{"compute": 30}], config="[watch]\nclaims = off\n")
    company.load(0, kind="kernel", ns=200 * US, seconds=FOUND, slots=slots(company, "s0"), lie="all")
    company.observe(FOUND)
    assert events(company, "s0") == []


@pytest.mark.parametrize("word", ("clamp", "kill"))
def test_what_older_versions_did_is_a_report_with_one_warning(sim, word):
    """The program runs to its end."""
    company = Company(sim, [{"compute": 30}], config=f"[watch]\nclaims = {word}\n")
    company.load(0, kind="kernel", ns=200 * US, seconds=FOUND, slots=slots(company, "s0"), lie="meter")
    company.observe(FOUND)
    assert company.told()["busy_ns"] > 0
    assert company.daemon.said().count(f"watch.claims = {word}: warning") == 1, company.daemon.said()
    assert reports(events(company, "s0")) == [("s0", "understated")]


def test_what_older_versions_wrote_into_the_trail_is_still_told(sim):
    daemon = Daemon(sim).start()
    daemon.create("s", "64MiB")
    daemon.stop()
    file, = daemon.state.glob("*.db")
    old = ["compute-forged", "compute-clamped", "compute-unclamped"]
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        for kind in old:
            database.execute("INSERT INTO event (time_ns, type, session, session_id, who, detail) "
                             "VALUES (1, ?, 's', zeroblob(16), 'daemon', ?)",
                             (kind, '{"why":"understated","times":1}'))
    daemon.start()
    told = (event["type"] for event in daemon.events() if event["type"].startswith("compute-"))
    assert list(itertools.islice(told, len(old))) == old
