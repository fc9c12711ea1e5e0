# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own nvidia-smi, version 535 as Debian has it: its screens from within a share, and what it
makes of the simulated NVML alone, compared with what the node was configured to be and with what a
process on it was told by its driver.

    all              nvmlInitWithFlags, nvmlInternalGetExportTable, DeviceGetCount_v2, GetHandleByIndex_v2
    -L               DeviceGetName, GetUUID, GetMaxMigDeviceCount, GetMigDeviceHandleByIndex
    --query-gpu      DeviceGetMemoryInfo_v2, GetUtilizationRates, and one question a field
    (none)           30 functions, EventSetCreate and GetVirtualizationMode among them
    -q               74 functions: each has its lines in screens/nvidia-smi-q.txt
"""
import csv
import re
import time

import pytest

from golden import expect_screen

MIB = 1 << 20
HANG_SECONDS = 30


@pytest.fixture
def smi(sim, client):
    def smi_run(*arguments, rc=0, **variables):
        result = sim.run([client("nvidia-smi"), *arguments], **variables)
        assert result.rc == rc, result
        return result.stdout
    return smi_run


@pytest.fixture
def query(smi):
    """One dictionary a card, of the fields asked for."""
    def query_run(*fields, **variables):
        text = smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", **variables)
        return [dict(zip(fields, (word.strip() for word in row)))
                for row in csv.reader(text.splitlines())]
    return query_run


def until(question, answer):
    """Asks until the answer is given, or for so long that something hangs."""
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        given = question()
        if answer(given) or time.monotonic() > deadline:
            return given
        time.sleep(0.1)


@pytest.fixture
def golden_version(sim, client):
    """The screens are drawn differently by every series of the driver."""
    version = re.search(r"-- v(\d+)", sim.run([client("nvidia-smi"), "-h"]).stdout)
    if not version or version[1] != "535":
        pytest.skip("the golden screens are those of nvidia-smi 535")


# From within a share

@pytest.mark.parametrize("name, arguments", (
    ("nvidia-smi", ()),
    ("nvidia-smi-L", ("-L",)),
    ("nvidia-smi-q", ("-q",)),
    ("nvidia-smi-query", ("--query-gpu=index,name,uuid,memory.total,memory.used,memory.free,"
                          "utilization.gpu", "--format=csv")),
    ("nvidia-smi-apps", ("--query-compute-apps=pid,used_memory", "--format=csv")),
))
def test_a_screen_of_a_share_is_that_of_a_card_of_its_size(sim, share, trainer, client, name, arguments,
                                                          golden_version):
    sim.configure(memory="16GiB", model="h200")
    trainer(share, 240 * MIB, memory="4GiB", session="s")
    result = share.run([client("nvidia-smi"), *arguments], session="s")
    assert result.rc == 0, result
    expect_screen(name, result.stdout)


# Of the simulated card alone

def test_every_card_is_listed(sim, smi):
    sim.configure(gpus=3, model="a100")
    lines = smi("-L").splitlines()
    assert len(lines) == 3
    for index, line in enumerate(lines):
        assert re.fullmatch(rf"GPU {index}: NVIDIA A100-SXM4-80GB \(UUID: GPU-[0-9a-f-]{{36}}\)", line)
    assert len({line.split("UUID: ")[1] for line in lines}) == 3


def test_the_main_screen_is_whole(sim, smi, hold):
    """One function missing (EventSetCreate) and the real tool prints "Internal NVML error"."""
    sim.configure(gpus=2, memory="16GiB", model="h200")
    _, used = hold(1, 256 * MIB)
    screen = smi()
    assert re.search(r"Driver Version: 580\.\S+\s+CUDA Version: 13\.0", screen), screen
    assert screen.count("NVIDIA H200") == 2, screen
    assert "00000000:01:00.0 Off" in screen and "00000000:03:00.0 Off" in screen, screen
    assert re.search(r"\b0MiB / 16384MiB", screen), screen
    assert f"{used // MIB}MiB / 16384MiB" in screen, screen
    assert "75W / 700W" in screen, screen
    assert "Default" in screen and "ERR" not in screen, screen


def test_another_driver_version_is_shown(sim, query, smi):
    sim.configure(driver="12020")
    assert query("driver_version") == [{"driver_version": "535.104.05"}]
    assert "CUDA Version: 12.2" in smi()


def test_queried_fields_are_those_of_the_configured_model(sim, query):
    sim.configure(gpus=2, memory="8GiB", model="t4")
    first, second = query("index", "name", "pci.bus_id", "memory.total", "power.limit", "pstate",
                          "ecc.mode.current", "pcie.link.gen.max", "pcie.link.width.current",
                          "clocks.max.sm", "clocks.max.memory", "temperature.gpu",
                          "persistence_mode", "compute_mode", "utilization.gpu")
    assert first == {
        "index": "0", "name": "Tesla T4", "pci.bus_id": "00000000:01:00.0", "memory.total": "8192",
        "power.limit": "70.00", "pstate": "P8", "ecc.mode.current": "Enabled",
        "pcie.link.gen.max": "3", "pcie.link.width.current": "16", "clocks.max.sm": "1590",
        "clocks.max.memory": "5001", "temperature.gpu": "32", "persistence_mode": "Enabled",
        "compute_mode": "Default", "utilization.gpu": "0"}
    assert second == {**first, "index": "1", "pci.bus_id": "00000000:03:00.0"}


def test_used_memory_is_what_processes_hold(sim, query, hold):
    sim.configure(gpus=2, memory="4GiB", draining=0)
    first, _ = hold(0, 100 * MIB)
    _, used = hold(0, 200 * MIB)
    cards = query("memory.used", "memory.free")
    assert cards[0] == {"memory.used": str(used // MIB), "memory.free": str(4096 - used // MIB)}
    assert cards[1] == {"memory.used": "0", "memory.free": "4096"}
    first.kill()
    first.wait()
    less = until(lambda: int(query("memory.used")[0]["memory.used"]), lambda mib: mib < used // MIB)
    assert (used // MIB - less) > 100


def test_a_computing_card_is_busy_warm_and_fast(sim, query, hold):
    sim.configure(gpus=2, model="h200")
    hold(0, MIB, "busy")
    fields = ("utilization.gpu", "temperature.gpu", "power.draw", "clocks.sm")
    busy, idle = until(lambda: query(*fields), lambda cards: int(cards[0]["utilization.gpu"]) >= 90)
    assert int(busy["utilization.gpu"]) >= 90
    assert idle["utilization.gpu"] == "0"
    assert int(busy["temperature.gpu"]) > int(idle["temperature.gpu"])
    assert float(busy["power.draw"]) > 5 * float(idle["power.draw"])
    assert (busy["clocks.sm"], idle["clocks.sm"]) == ("1980", "345")


def test_the_environment_hides_no_card(sim, query, hold):
    """NVML knows nothing of CUDA_VISIBLE_DEVICES; CUDA's card 0 is then NVML's card 1."""
    sim.configure(gpus=2, memory="4GiB")
    _, used = hold(0, 100 * MIB, CUDA_VISIBLE_DEVICES="1")
    cards = query("memory.used", CUDA_VISIBLE_DEVICES="1")
    assert [card["memory.used"] for card in cards] == ["0", str(used // MIB)]


def test_the_private_process_table_stays_empty(sim, smi, hold):
    """nvidia-smi draws its processes from there, not from the public lists: documented."""
    sim.configure(memory="4GiB")
    hold(0, MIB)
    assert "No running processes found" in smi()
    assert "[N/A]" in smi("--query-compute-apps=pid,used_memory", "--format=csv,noheader")


def test_a_lost_card_is_reported_lost(sim, smi, hold):
    sim.configure(gpus=1)
    process, _ = hold(0, MIB, ALIQUOT_SIM=sim.spec + ",lost=200ms")
    assert process.wait(timeout=HANG_SECONDS) == 3
    result = smi("-L", rc=15)
    assert "GPU is lost" in result


def test_instances_are_listed_under_their_card(sim, smi, query):
    sim.configure(gpus=2, memory="14GiB", model="a100", mig=2)
    lines = smi("-L").splitlines()
    assert [line.strip().split(":")[0] for line in lines] == [
        "GPU 0", lines[1].strip().split(":")[0], lines[2].strip().split(":")[0],
        "GPU 1", lines[4].strip().split(":")[0], lines[5].strip().split(":")[0]]
    for line in (lines[1], lines[2], lines[4], lines[5]):
        assert re.search(r"MIG .*\(UUID: MIG-[0-9a-f-]{36}\)", line), lines
    assert [card["mig.mode.current"] for card in query("mig.mode.current")] == ["Enabled"] * 2


def test_no_client_becomes_a_process_of_the_card(sim, smi, hold):
    sim.configure(memory="4GiB")
    _, used = hold(0, MIB)
    before = sim.oracle()
    for _ in range(3):
        smi()
    assert sim.oracle() == before
    assert used > 0
