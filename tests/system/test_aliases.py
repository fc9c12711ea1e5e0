# SPDX-License-Identifier: Apache-2.0
"""What the documents of other systems tell their users to type, with the library's path changed.

test_settings.py has each variable against a program of ours; here are the commands themselves:
their tools (nvidia-smi), their containers (one file, alone), and the same environment behind
`aliquot run`, which refuses before anything starts what the library would refuse inside.
"""
import re
import shutil

import pytest

from cli import Command

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture
def cli(sim):
    sim.configure(gpus=2, memory="16GiB")
    return Command(sim)


@pytest.fixture
def typed(sim, build, cli):
    """Types a text into a shell, LIBRARY being ours; the driver is where a machine has it."""
    def shell(text, library=build.library, **options):
        return sim.run(["sh", "-e", "-c", text.replace("LIBRARY", str(library))], **options)
    return shell


def totals(result):
    """The limits of the cards in a table of nvidia-smi: 12MiB / 1024MiB."""
    assert result.rc == 0, result
    return [int(total) for total in re.findall(r"\d+MiB / +(\d+)MiB", result.stdout)]


def test_vgpu_rs_quick_start(typed, nvidia_smi, cli):
    """`nvidia-smi` under the preload shows the limited card: 0MiB / 1024MiB."""
    assert totals(typed(f"""
        export TENSOR_FUSION_CUDA_MEM_LIMIT='{{"0": 1073741824}}'
        LD_PRELOAD=LIBRARY {nvidia_smi}""")) == [1024, 16384]
    second = cli("gpus", "--json").json[1]["uuid"]
    assert totals(typed(f"""
        export TENSOR_FUSION_CUDA_MEM_LIMIT='{{"{second.lower()}": 2147483648}}'
        LD_PRELOAD=LIBRARY {nvidia_smi}""")) == [16384, 2048]


def test_vgpu_rs_compute_limits_are_honoured(typed, build, cli, sim):
    """Its own example, whose documented quick start does not throttle; the session shows the cap."""
    result = typed(f"""
        export TENSOR_FUSION_CUDA_UP_LIMIT='{{"0": 10}}'
        export TENSOR_FUSION_CUDA_MEM_LIMIT='{{"0": 2147483648}}'
        LD_PRELOAD=LIBRARY {build.folder}/examples/tenant app work 64 1""")
    assert result.rc == 0, result
    assert caps(cli) == [10, None]


def caps(cli):
    session, = cli("ls", "--json").json
    return [d["compute_percent"] for d in cli("show", session["name"], "--json").json["devices"]]


@pytest.mark.parametrize("variables,expected", [
    ({"CUDA_DEVICE_SM_LIMIT": "50"}, [50, 50]),
    ({"CUDA_DEVICE_SM_LIMIT": "50", "CUDA_DEVICE_SM_LIMIT_1": "0"}, [50, None]),
    ({"CUDA_DEVICE_SM_LIMIT_0": "30"}, [30, None]),
    ({"CUDA_CORE_LIMIT": "50", "CUDA_CORE_LIMIT_1": "20"}, [50, 20]),
    ({"CUDA_CORE_LIMIT_1": "30", "CUDA_CORE_SOFT_LIMIT_1": "30"}, [None, 30]),
])
def test_compute_limits_of_hami_core_and_vgpu_manager_are_honoured(cli, build, variables, expected):
    result = cli.run("--session", "s", "--memory", "1GiB", "--", build.program("sim/hold"), 0, MIB, **variables)
    assert result.rc == 0, result
    assert caps(cli) == expected


def test_vcuda_hook_in_a_container(typed, nvidia_smi, build, tmp_path):
    """docker run -v libvcuda-hook.so:/usr/lib64/libvcuda-hook.so -e LD_PRELOAD=... nvidia-smi"""
    alone = tmp_path / "usr" / "lib64"
    alone.mkdir(parents=True)
    shutil.copy(build.library, alone / "libvcuda-hook.so")
    assert totals(typed(f"""
        export LD_PRELOAD=LIBRARY
        export VCUDA_MEMORY_LIMIT='(1024 * 1024 * 1024 * 10)' # limit 10G
        {nvidia_smi}""", library=alone / "libvcuda-hook.so")) == [10240, 10240]
    assert [f.name for f in alone.iterdir()] == ["libvcuda-hook.so"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_vcuda_hooks_line_without_quotes_is_no_silence(sim, build, nvidia_smi, cli, tmp_path):
    """Its document's lines, letter by letter: bash makes an array, which no program is given. The log level of the
    line before brings the reason."""
    result = sim.run(["bash", "-c", f"""
        export LD_PRELOAD={build.library}
        export VCUDA_LOG_LEVEL=debug
        export VCUDA_MEMORY_LIMIT=(1024 * 1024 * 1024 * 10) // limit 10G
        {nvidia_smi}"""], cwd=tmp_path)
    assert totals(result) == [16384, 16384]
    assert "the environment asks for no limit" in result.stderr, result


def test_a_program_that_never_asks_for_a_gpu_is_left_alone(typed):
    """ENV LD_PRELOAD in an image stands before every program of it, also with nonsense around."""
    result = typed("export LD_PRELOAD=LIBRARY VCUDA_MEMORY_LIMIT=nonsense\nls / >/dev/null; echo ok")
    assert result.rc == 0 and result.stdout == "ok\n" and result.stderr == "", result


HONOURED = [
    ({"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": 2147483648}'}, 2 * GIB),
    ({"VCUDA_MEMORY_LIMIT": "10*1024*1024*1024"}, 10 * GIB),
    ({"VCUDA_MEMORY_LIMIT": "10g"}, 10 * GIB),
    ({"VCUDA_MEMORY_LIMIT": "(1024 * 1024 * 1024 * 10) // limit 10G"}, 10 * GIB),
    ({"VCUDA_MEMORY_LIMIT": "(1024 * 1024 * 1024 * 10)", "VCUDA_LOG_LEVEL": "debug"}, 10 * GIB),
    ({"CUDA_DEVICE_MEMORY_LIMIT": "1g"}, GIB),
    ({"CUDA_DEVICE_MEMORY_LIMIT_0": "1024m", "CUDA_DEVICE_MEMORY_LIMIT_1": "2g"}, GIB),
    ({"CUDA_DEVICE_MEMORY_LIMIT": "1g", "CUDA_DEVICE_SM_LIMIT": "100"}, GIB),
    ({"XPUSHARE_GPU_MEMORY_LIMIT": "4Gi"}, 4 * GIB),
    ({"CUDA_MEM_LIMIT": "2048m", "CUDA_CORE_LIMIT": "", "CUDA_MEM_RATIO": "1.00"}, 2 * GIB),
    ({"CUDA_MEM_LIMIT_0": "1.5g", "CUDA_MEM_LIMIT": "", "CUDA_MEM_OVERSOLD": "FALSE"}, 3 * GIB // 2),
    ({"CUDA_DEVICE_MEMORY_LIMIT": "1g", "CUDA_TASK_PRIORITY": "1", "ACTIVE_OOM_KILLER": "true"}, GIB),
    ({"CUDA_DEVICE_MEMORY_LIMIT": "1g", "CUDA_DISABLE_CONTROL": "false"}, GIB),
    ({"ALIQUOT_MEMORY": "1GiB", "VCUDA_MEMORY_LIMIT": "2g"}, GIB),
]


@pytest.mark.parametrize("variables,limit", HONOURED, ids=lambda v: str(v)[:60])
def test_behind_the_command_they_mean_the_same(cli, build, variables, limit):
    result = cli.run("--", build.program("sim/hold"), 0, MIB, **variables)
    assert result.rc == 0 and int(result.stdout.split()[2]) == limit, result
    # And again in what that program starts.
    inner = [build.aliquot, "run", "--", build.program("sim/hold"), 0, MIB]
    result = cli.run("--", *inner, **variables)
    assert result.rc == 0 and int(result.stdout.split()[2]) == limit, result


REFUSED = [
    {"CUDA_MEM_RATIO": "1.50"},
    {"CUDA_CORE_SOFT_LIMIT": "100", "CUDA_CORE_LIMIT": "30"},
]


@pytest.mark.parametrize("variables", REFUSED, ids=lambda v: str(v)[:60])
def test_what_waits_for_a_feature_is_refused_not_ignored(cli, variables):
    result = cli.run("--memory", "1GiB", "--", "true", **variables)
    assert result.rc == 125 and next(iter(variables)) in result.stderr, result
    assert "not supported" in result.stderr, result


@pytest.mark.parametrize("name", ["CUDA_DISABLE_CONTROL", "DISABLE_VGPU_CONTROL", "DISABLE_GPU_LIMITER"])
def test_a_switch_that_lifts_limits_lifts_none(cli, build, sim, name):
    """Refused beside a limit, by the command and by the library; without any there is nothing to lift."""
    hold = [build.program("sim/hold"), 0, MIB]
    result = cli.run("--memory", "1GiB", "--", *hold, **{name: "true"})
    assert result.rc == 125 and f"{name}=true" in result.stderr, result
    result = sim.run(hold, preload=True, ALIQUOT_MEMORY="1GiB", **{name: "true"})
    assert result.rc == 1 and f"{name}=true" in result.stderr, result
    result = sim.run(hold, preload=True, **{name: "true"})
    assert result.rc == 0 and result.stderr == "", result
