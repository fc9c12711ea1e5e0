# SPDX-License-Identifier: Apache-2.0
"""A shell that sees no driver works by the daemon's word: nothing but ALIQUOT_RUNTIME_DIR leads to it."""
import json
import re

import pytest

from daemon import Daemon

MIB = 1 << 20


@pytest.fixture
def clean(cli):
    """The command in an environment without the simulator's variables and without a driver in the loader's path."""
    cli.that_asks_daemons()
    words = {"ALIQUOT_SIM": None, "ALIQUOT_REAL_LIBCUDA": None, "ALIQUOT_REAL_LIBNVML": None, "LD_LIBRARY_PATH": None}

    def command(*arguments, **variables):
        return cli.sim.run([cli.sim.build.aliquot, *arguments], **{**words, **variables})
    if "no NVIDIA driver here" not in command("gpus").stderr:
        pytest.skip("this machine has a driver of its own")
    return command


def test_gpus_are_those_that_the_daemon_serves(clean, daemon):
    devices = daemon.get("/v1/devices").json["devices"]
    daemon.create("a", "64MiB", gpus=["1"])
    listed = json.loads(clean("gpus", "--json").stdout)
    assert [(gpu["index"], gpu["uuid"], gpu["name"], gpu["total_bytes"]) for gpu in listed] == \
        [(device["index"], device["uuid"], device["name"], device["memory_bytes"]) for device in devices]
    assert [[session["name"] for session in gpu["sessions"]] for gpu in listed] == [[], ["a"]]
    assert re.search(r"^1 +GPU-\w{8} .* a 64 MiB$", clean("gpus").stdout, re.MULTILINE)


@pytest.mark.parametrize("words, limits", [(["--memory", "64MiB"], [64 * MIB, 64 * MIB]), (["--memory", "25%", "--gpu", "1"], [256 * MIB]),
                                           (["--memory", "64MiB", "--gpu", "any"], [64 * MIB]),
                                           (["--swap", "--gpu", "0"], [1024 * MIB])],
                         ids=["each", "percent of one", "any", "swap"])
def test_a_session_is_made_on_the_daemons_gpus(clean, daemon, words, limits):
    made = clean("create", "a", *words)
    assert made.rc == 0, made
    assert [device["memory_bytes"] for device in daemon.session("a")["devices"]] == limits
    changed = clean("set", "a", "--memory", "32MiB")
    assert changed.rc == 0, changed
    assert {device["memory_bytes"] for device in daemon.session("a")["devices"]} == {32 * MIB}
    assert clean("show", "a").rc == clean("ps").rc == clean("rm", "a").rc == 0


def test_top_shows_the_daemons_gpus_and_what_they_do(clean, daemon):
    daemon.create("a", "64MiB", gpus=["1"])
    shown = clean("top", "--once")
    assert shown.rc == 0 and "no NVIDIA driver" not in shown.stdout, shown
    assert len(re.findall(r"^[01] +\S.* 1 GiB +\d+% +\d+C ", shown.stdout, re.MULTILINE)) == 2, shown


def test_a_word_that_completes_a_gpu_is_the_daemons(clean, daemon):
    offered = clean("complete", "create", "a", "--gpu", "").stdout.split()
    assert offered == ["0", daemon.get("/v1/devices").json["devices"][0]["uuid"],
                       "1", daemon.get("/v1/devices").json["devices"][1]["uuid"], "any"]


def test_a_driver_that_is_named_is_the_stronger_word(clean, daemon, cli):
    """As before: whoever says --sim means those GPUs, also beside a daemon that has others."""
    named = clean("gpus", "--sim=gpus=1,memory=3GiB", "--json")
    assert [gpu["total_bytes"] for gpu in json.loads(named.stdout)] == [3 * 1024 * MIB], named


def test_a_daemon_that_is_away_or_has_no_gpu_leaves_the_drivers_absence_to_be_told(clean, daemon, two_cards):
    daemon.kill()
    away = clean("gpus")
    assert away.rc == 1 and "no NVIDIA driver here" in away.stderr, away
    Daemon(two_cards).start()
    assert clean("gpus").rc == 0
