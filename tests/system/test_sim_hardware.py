# SPDX-License-Identifier: Apache-2.0
"""What hardware does and the simulated GPU does only when it is asked to (docs/simulator-limits.md): events that take time
and tell it in steps of their own clock, shares of processes that are told seldom. What is promised holds there, too.
"""
import pytest

from alone import beside_solo
from company import POINT, US, MS, Company

CLOCK = {"event_step": "500ns", "drift": 50}
EVENTS = {"event": "2us", **CLOCK}


@pytest.mark.parametrize("kind, ns, settings", [
    *((kind, 20 * US, CLOCK) for kind in ("kernel", "sync", "graph")),
    *((kind, 200 * US, EVENTS) for kind in ("kernel", "sync", "streams")),
    *((kind, 2 * MS, EVENTS) for kind in ("kernel", "sync", "graph"))])
@pytest.mark.figures
def test_a_cap_is_delivered(sim, kind, ns, settings):
    got = beside_solo(sim, settings, kind=kind, ns=ns, cap=300_000, seconds=4, settle=300)
    assert abs(got["of_solo"] - got["promised"]) < POINT, got


def test_a_liar_is_found_by_shares_of_whole_seconds(sim):
    """And its neighbour, who is honest, is not taken for one."""
    company = Company(sim, [{"compute": 30}, {"compute": 70}], sample="1s")
    for at, lie in enumerate(({"slots": sim.runtime / "sessions/s0/slots", "lie": "meter"}, {})):
        company.load(at, kind="kernel", ns=200 * US, seconds=20, **lie)
    company.observe(20)
    reported = [company.daemon.session(session)["devices"][0]["compute_reported"] for session in ("s0", "s1")]
    assert reported == [True, False]
