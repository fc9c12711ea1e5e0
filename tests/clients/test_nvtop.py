# SPDX-License-Identifier: Apache-2.0
"""nvtop 3.0.1, as Debian has it, on a terminal. No plot is drawn: it tells the time since the start.

    the card         nvmlInit_v2, DeviceGetMemoryInfo, GetUtilizationRates, GetClockInfo, GetMaxClockInfo,
                     GetTemperature, GetTemperatureThreshold, GetPowerUsage, GetEnforcedPowerLimit,
                     GetFanSpeed, GetPcieThroughput, GetCurrPcieLinkGeneration and its kin,
                     GetEncoderUtilization, GetDecoderUtilization, GetPciInfo_v3
    the processes    DeviceGetComputeRunningProcesses, GetGraphicsRunningProcesses,
                     GetProcessUtilization
"""
import re

import pytest

from golden import expect_screen

MIB = 1 << 20
TOOL = ("--no-plot", "--no-color", "--delay", 1)


@pytest.fixture
def draw(client, screen):
    """The screen once the pattern is on it."""
    def draw_run(share, pattern, **where):
        result = share.run(screen(pattern, [client("nvtop"), *TOOL]), **where)
        assert result.rc == 0, result
        return result.stdout
    return draw_run


def test_the_screen_of_a_share_is_that_of_a_card_of_its_size(sim, share, trainer, draw, client):
    version = sim.run([client("nvtop"), "--version"]).stdout.split()[-1]
    if version != "3.0.1":
        pytest.skip(f"the golden screen is that of nvtop 3.0.1, not of {version}")
    sim.configure(memory="16GiB", model="h200")
    trainer(share, 240 * MIB, memory="4GiB", session="s")
    expect_screen("nvtop", draw(share, "trainer", session="s"))


def test_programs_of_the_session_are_listed_and_no_others(sim, share, trainer, draw):
    first, used = trainer(share, 100 * MIB, memory="512MiB", session="s")
    second, both = trainer(share, 50 * MIB, session="s")
    other, _ = trainer(share, 200 * MIB, memory="512MiB", session="other")
    text = draw(share, f"^ +{second.pid} ", session="s")
    assert f"{both // MIB}.000Mi/512.000Mi" in text
    assert re.search(rf"^ +{first.pid} .* {used // MIB}MiB ", text, re.MULTILINE), text
    assert f" {other.pid} " not in text


def test_without_a_limit_it_is_the_whole_card(share, trainer, draw):
    trainer(share, 100 * MIB)
    assert re.search(r"MEM\[.*0\.113Gi/1\.000Gi\]", draw(share, r"MEM\["))
