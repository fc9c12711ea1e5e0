# SPDX-License-Identifier: Apache-2.0
"""A cap holds whatever a program launches between two waits, and however it waits (docs/compute.md).

In virtual time, beside the same program without a cap: it is to be as fast as the cap says, or as it was where it has nothing in
flight for much of the time. Where no program may have more than its cap, whatever it does alone, it is not played alone: some
would launch for ever then, each time with a thread. The words are those of programs/compute/script.h."""
import pytest

from alone import beside_solo, load_alone

CAP = 300_000
US = 10**3
POINT = 0.01  # of what it does alone


@pytest.fixture
def play(sim):
    def play_script(words, cap=CAP, seconds=4, solo_seconds=1, node=None, **more):
        return beside_solo(sim, node or {}, kind="script", cap=cap, seconds=seconds, solo_seconds=solo_seconds, settle=500,
                           do=words, **more)
    return play_script


@pytest.fixture
def play_capped(sim):
    def play_script(words, cap=CAP, seconds=4, node=None, **more):
        return load_alone(sim, node or {}, kind="script", cap=cap, seconds=seconds, settle=500, do=words, **more)
    return play_script


def assert_at_the_cap(got, within=POINT):
    assert abs(got["of_solo"] - got["promised"]) < within, got


@pytest.mark.parametrize("words", ("9*k20u k5m s", "9*k20u k5m c", "9*k20u k5m e", "9*k5u k900u t", "l 9*k20u k5m D",
                                   "l 9*k5u k900u H", "l 9*k5u k900u M", "9*k20u k5m d s", "9*k5u k900u d s"))
def test_a_cap_holds_however_a_step_is_waited_for(play, words):
    """Also by a copy that returns when it is done, or behind one that does not."""
    assert_at_the_cap(play(words))


@pytest.mark.parametrize("words", ("k200u h 2*k20u s", "k20u h k20u k800u s", "9*k5u d 9*k5u k400u s"))
def test_a_copy_between_launches_counts_with_them(play, words):
    assert_at_the_cap(play(words))


@pytest.mark.parametrize("words", ("5*k20u g 5*k20u g s", "5*k20u g 5*k20u g k20u s"))
def test_kernels_between_graphs_are_charged_once(play, words):
    assert_at_the_cap(play(words, ns=2 * US))


@pytest.mark.parametrize("words", ("0 9*k20u k5m 1 9*k20u k5m c", "0 9*k20u k500u 1 9*k20u k500u c", "9*k20u k5m n c"))
def test_a_cap_holds_where_the_next_launch_is_in_another_stream(play, words):
    """Streams overlap, and end, while what is in them is in flight."""
    assert_at_the_cap(play(words))


@pytest.mark.parametrize("words", ("T k50m e", "T k5m e", "T 9*k20u k5m t", "T k200u e", "T k20m w1m e", "V l k50m e",
                                   "V l 9*k20u k5m e", "l V k20m w1m e"))
def test_a_cap_holds_in_a_stream_that_others_cannot_ask_about(play, words):
    """A thread's default stream, which no other one can name; the old default stream while something is captured."""
    assert_at_the_cap(play(words), 2 * POINT)


@pytest.mark.parametrize("words", ("l k20u V o | k200u s", "l k20u V o | 9*k20u k5m s", "l k5m V | k200u s"))
def test_what_is_in_flight_when_a_capture_begins_ends(play, words):
    """In the old default stream, which nobody can ask about from then on: it is not in flight until the capture ends."""
    assert_at_the_cap(play(words))


@pytest.mark.parametrize("words", ("F | k5m w5200u", "F | 9*k200u w2m"))
def test_who_looks_is_not_ended_by_a_child(play_capped, words):
    """A vfork child runs the program's handlers at exit, in the program's memory."""
    got = play_capped(words, cap=100_000)
    assert got["own"] < 0.1 + 2 * POINT, got


@pytest.mark.parametrize("words", ("y k500u", "v k500u"))
def test_what_two_threads_put_around_a_wait_is_billed(play_capped, words):
    """One of them waits for the host, and the other one launches meanwhile, in the same stream."""
    got = play_capped(words, cap=100_000, threads=2, seconds=6, node={"costs": "real"})
    assert got["own"] < 0.1 + POINT, got


def test_a_capture_ends_with_its_stream(sim, build):
    """From then on the old default stream can be asked about again: not each launch in it has a marker."""
    sim.configure(clock="virtual", calls="on")
    assert sim.run([build.program("compute/load"), "kind=script", "seconds=2", "settle=500", "cap=300000", "do=C20u w2m l | 9*k20u k1m"],
                   preload=True, ALIQUOT_MEMORY="512MiB", ALIQUOT_SESSION="capped").rc == 0
    calls = {name: sum(by.values()) for name, by in sim.oracle()["calls"]["capped"].items()}
    assert calls["cuEventRecord"] < calls["cuLaunchKernel"] / 3, calls


@pytest.mark.parametrize("words", ("y k200u", "v k200u", "9*y k5m", "10*y 20*k1m", "Y50m Y20u"))
def test_no_number_of_waits_or_threads_is_a_way_past_a_cap(play_capped, words):
    """More waits stand in a stream than are told apart; a thread ends, and another one has its place in memory."""
    got = play_capped(words)
    assert got["own"] < CAP / 1e6 + 2 * POINT, got


@pytest.mark.parametrize("words", ("y20m 100*k1m", "y20m 50*k5m", "y20m k1m 1 10*k1m 0", "y30m 1 k20u 0 9*k1m 1 k20u 0 9*k1m"))
def test_what_is_launched_behind_a_wait_is_no_burst(play_capped, words):
    """While a stream waits for the host no more is let in behind the wait than the cap would have let run since; what runs when
    the wait ends is billed although nobody saw it begin."""
    got = play_capped(words)
    assert got["own"] < CAP / 1e6 + 3 * POINT and max(got["windows"]) < CAP / 1e6 + 10 * POINT, got


@pytest.mark.parametrize("words", ("l k200u z", "l 9*k20u k5m w2m z", "C10m w12m"))
def test_nothing_that_only_looks_like_an_end_is_one(play_capped, words):
    """A copy of nothing, which waits for nobody; the end of a stream in a capture."""
    got = play_capped(words, seconds=2)
    assert got["own"] < CAP / 1e6 + 2 * POINT, got


@pytest.mark.parametrize("words", ("R5m", "R200u", "X5m", "X20m", "X300u"))
def test_a_cap_holds_where_contexts_come_and_go(play, words):
    """Of a context that others still use nothing ends with one user; of one that is destroyed all is done then. A step may
    take seconds."""
    assert_at_the_cap(play(words, solo_seconds=3.5))


@pytest.mark.parametrize("words", ("y10m k20u X8m", "y3m k20u X2m", "k20u w200m | Z20m", "k20u w200m | Z5m"))
def test_a_cap_holds_where_a_context_ends_while_a_stream_waits_for_the_host(play_capped, words):
    """Another one, which goes on waiting, or one of the context, whose kernel runs while the driver ends that. Nobody looked
    meanwhile, and a cap of 30 % gave 45 to 94."""
    got = play_capped(words)
    assert 0.2 < got["own"] < CAP / 1e6 + 2 * POINT, got


@pytest.mark.parametrize("words, cap", (("k100u q", 900_000), ("k20u q", 700_000), ("k20u k180u p", CAP)))
def test_who_asks_or_waits_for_something_earlier_pays_once(play, words, cap):
    """The stream is never idle: one flight lasts from the first launch to the last."""
    assert_at_the_cap(play(words, cap))


@pytest.mark.parametrize("words", ("k20u w30u 3*k300u w1m s", "k20u w30u 3*k300u w1m d s", "l k20u w30u 3*k300u w1m D",
                                   "k5u w10u k100u w105u s", "0 k20u w30u 3*k300u 1 k20u w30u 3*k300u w1m c"))
def test_who_does_something_else_before_it_waits_pays_for_what_was_in_flight(play, words):
    """The device is idle by then, and nobody knows since when: the end of such a flight is sampled."""
    assert_at_the_cap(play(words, seconds=3), 3 * POINT)


def test_a_default_stream_is_known_when_another_context_is_current(play):
    """To the driver it is another one's then."""
    assert_at_the_cap(play("l A 9*k20u k5m B c A c"))


@pytest.mark.parametrize("words", ("l 9*k5u k400u D", "9*k5u k400u s", "3*k5u g k40u s"))
def test_threads_that_wait_for_one_stream_pay_for_all_of_it(play, words):
    """What one has launched stands between the launches of the other, and its wait."""
    assert_at_the_cap(play(words, threads=2, ns=2 * US), 2 * POINT)


@pytest.mark.parametrize("threads, ns, cap", ((2, "20u", CAP), (4, "200u", CAP), (2, "500u", CAP), (4, "200u", 700_000)))
def test_threads_that_each_wait_in_a_stream_of_their_own_pay_for_the_time_of_all(play, threads, ns, cap):
    """Their streams overlap: the session is in flight while one of them is."""
    assert_at_the_cap(play(f"o k{ns} s", cap, threads=threads), 2 * POINT)
