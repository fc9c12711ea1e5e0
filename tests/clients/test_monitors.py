# SPDX-License-Identifier: Apache-2.0
"""Monitors that read NVML through Python, from within a share and without one.

    nvidia-ml-py 13.580.126    nvmlInitWithFlags, DeviceGetMemoryInfo and _v2, GetHandleByUUID, GetUUID,
                               GetIndex, GetComputeRunningProcesses_v3, SystemGetProcessName
    gpustat 1.1.1              DeviceGetMemoryInfo_v2, GetComputeRunningProcesses_v3,
                               GetGraphicsRunningProcesses_v3, utilisation, power, fan, temperature
    nvitop 1.7.2, once         the same and GetProcessUtilization, GetTemperatureV, GetMigMode,
                               GetTotalEccErrors, GetPowerManagementLimit, GetDriverModel_v2
"""
import dataclasses
import json
import re

import pytest

MIB = 1 << 20


@dataclasses.dataclass
class Seen:
    """The card of a monitor: MiB, and {pid: MiB}."""
    total: int
    used: int
    processes: dict


def ask_nvml(text):
    seen = json.loads(text)
    assert seen["memory"] == [seen["memory_v2"][i] for i in range(3)], seen
    return Seen(seen["memory"][0] // MIB, seen["memory"][1] // MIB,
                {pid: used // MIB for pid, used in seen["processes"]})


def ask_gpustat(text):
    card, = json.loads(text)["gpus"]
    return Seen(card["memory.total"], card["memory.used"],
                {process["pid"]: process["gpu_memory_usage"] for process in card["processes"]})


def ask_nvitop(text):
    used, unit, total = re.search(r"([.\d]+)(\w*B) / (\d+)(?:\.0)?MiB", text).groups()
    rows = re.findall(r"^│ +0 +(\d+) C +\S+ +([.\d]+)MiB", text, re.MULTILINE)
    assert unit == "MiB" or (used, unit) == ("0", "B"), text
    return Seen(int(total), int(float(used)), {int(pid): int(float(mib)) for pid, mib in rows})


MONITORS = {"nvidia-ml-py": (["{here}/programs/nvml.py"], ask_nvml),
            "gpustat": (["-m", "gpustat", "--json"], ask_gpustat),
            "nvitop": (["-m", "nvitop", "--once"], ask_nvitop)}


@pytest.fixture(params=MONITORS)
def look(request, client):
    """What one of the monitors sees from within the share."""
    words, parse = MONITORS[request.param]
    here = request.path.parent

    def look_run(share, **where):
        result = share.run([client(request.param), *(word.format(here=here) for word in words)], **where)
        assert result.rc == 0, result
        return parse(result.stdout)
    return look_run


def test_a_share_is_a_card_with_the_bytes_and_programs_of_its_session(sim, share, trainer, look):
    first, alone = trainer(share, 100 * MIB, memory="512MiB", session="s")
    second, both = trainer(share, 50 * MIB, session="s")
    trainer(share, 200 * MIB, memory="256MiB", session="other")
    seen = look(share, session="s")
    assert seen == Seen(512, both // MIB, {first.pid: alone // MIB, second.pid: (both - alone) // MIB})


def test_an_empty_share_is_an_empty_card(share, trainer, look):
    trainer(share, 200 * MIB, memory="256MiB", session="other")
    assert look(share, memory="512MiB") == Seen(512, 0, {})


def test_without_a_limit_it_is_the_whole_card(share, trainer, look):
    """In a session without a limit (aliquot run) others' programs stay unnamed; without a session
    (the facades with no wish) all is the driver's."""
    process, used = trainer(share, 100 * MIB)
    named = {process.pid: used // MIB} if share.facades else {}
    assert look(share) == Seen(1024, used // MIB, named)


def test_nvml_names_the_card_and_its_process(sim, hold, client, request):
    """By the simulated NVML alone: no library of ours in front."""
    sim.configure(gpus=2, memory="4GiB", model="a100")
    process, used = hold(0, 300 * MIB)
    seen = sim.run([client("nvidia-ml-py"), request.path.parent / "programs/nvml.py"]).json
    assert seen["count"] == 2 and seen["same"] == 0 and seen["cuda"] == 13000
    assert seen["name"] == "NVIDIA A100-SXM4-80GB" and seen["capability"] == [8, 0]
    assert seen["memory"] == [4096 * MIB, used, 4096 * MIB - used]
    assert seen["memory_v2"] == [4096 * MIB, used, 4096 * MIB - used, 0]
    assert seen["processes"] == [[process.pid, used]] and seen["graphics"] == 0
    assert seen["commands"][0].endswith("/hold") and seen["after"] == "uninitialized"
