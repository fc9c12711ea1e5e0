# SPDX-License-Identifier: Apache-2.0
"""Whatever cannot be honoured is refused before the program starts.

Exit 125 and one line that names the flag or variable, the value and what was expected; nothing was
made, nothing ran. A program that could not be limited is refused in the same way.
"""
import os
import pathlib
import shutil
import stat
import struct
import subprocess

import pytest

import place
from cli import AWAY, UNSET
from daemon import Daemon
from tenant import Tenant

MIB = 1 << 20


@pytest.fixture
def refused(cli, tmp_path):
    """Runs what must not run: a command that would leave a file."""
    def run(*flags, words, **options):
        ran = tmp_path / "ran"
        result = cli.run(*flags, "--", "touch", ran, **options)
        expect_refused(result, words)
        assert not ran.exists() and cli.sessions() == [], (flags, cli.sessions())
        return result
    return run


def expect_refused(result, words, status=125):
    assert result.rc == status, result
    assert result.stdout == "", result
    line = result.stderr.splitlines()[-1]
    if line.startswith("Try "):  # argp's hint behind the line that counts
        line = result.stderr.splitlines()[-2]
    assert line.startswith("aliquot run: "), result
    for word in words:
        assert word in line, (word, result)


# flags, and what the line must say: the flag, the value, what was expected
FLAGS = [
    (["--memory", "lots"], ["--memory", "lots", "expected a size"]),
    (["--memory", "4Gib2"], ["--memory", "4Gib2", "expected a size"]),
    (["--memory", ""], ["--memory", "empty", "expected a size"]),
    (["--memory", "0"], ["--memory", "0", "is zero", "expected a size"]),
    (["--memory", "0=0GiB"], ["--memory", "0=0GiB", "is zero"]),
    (["--memory", "-1GiB"], ["--memory", "-1GiB", "is negative", "expected a size"]),
    (["--memory", "18446744073709551616"], ["--memory", "18446744073709551616", "64 bits"]),
    (["--memory", "17179869184GiB"], ["--memory", "17179869184GiB", "64 bits"]),
    (["--memory", "0.5"], ["--memory", "0.5", "fraction of a byte"]),
    (["--memory", "4"], ["--memory 4:", "without a unit is so many bytes", "such as 4GiB", "or B behind it"]),
    (["--memory", "64MiB,0=1048575 "], ["'1048575 ' without a unit", "less than 1 MiB"]),
    (["--memory", "2GiB"], ["--memory", "2 GiB", "more than the card has"]),
    (["--memory", "1=2GiB"], ["--memory", "2 GiB", "more than the card has"]),
    (["--memory", "101%"], ["--memory", "101%", "part of the card"]),
    (["--memory", "0%"], ["--memory", "0%"]),
    (["--memory", "0=1MiB,0=2MiB"], ["--memory", "named twice"]),
    (["--memory", "1MiB,2MiB"], ["--memory", "1MiB,2MiB", "two limits"]),
    (["--memory", "0=1MiB,"], ["--memory", "expected a size"]),
    (["--memory", "=1MiB"], ["--memory", "=1MiB", "expected GPU=SIZE"]),
    (["--memory", "2=1MiB"], ["--memory", "'2'", "no GPU", "0 = GPU-"]),
    (["--memory", "GPU-zz=1MiB"], ["--memory", "GPU-zz", "UUID"]),
    (["--memory", "1MiB", "--memory", "2MiB"], ["--memory 2MiB", "second time", "1MiB"]),
    (["--gpu", "2"], ["--gpu", "'2'", "no GPU", "0 = GPU-"]),
    (["--gpu", "0,0"], ["--gpu", "0,0", "named twice"]),
    (["--gpu", ""], ["--gpu", "expected"]),
    (["--gpu", "all"], ["--gpu", "all", "index"]),
    (["--gpu", "1", "--memory", "0=64MiB"], ["--memory 0=64MiB", "chosen GPUs (1)", "physical", "expected"]),
    (["--context", "maybe"], ["--context", "maybe", "charge or free"]),
    (["--device-name", ""], ["--device-name", "expected a name"]),
    (["--device-name", "a\nb"], ["--device-name", "control characters"]),
    (["--session", "../up"], ["--session", "../up", "expected a session name"]),
    (["--session", ""], ["--session", "expected a session name"]),
    (["--session", "-x", "--memory", "1MiB"], ["--session=-x", "no dot or dash first"]),
    (["--session", "--memory", "1MiB"], ["--session=--memory", "no dot or dash first"]),
    (["--session", ".x", "--memory", "1MiB"], ["--session=.x", "no dot or dash first"]),
    (["--session", "x" * 64], ["--session", "expected a session name"]),
    (["--session", "nobody-made-it"], ["nobody-made-it", "does not exist", "--memory"]),
    (["--session", "run-0123456789abcdef", "--memory", "1MiB"], ["run-0123456789abcdef", "another"]),
    (["--compute", "101"], ["--compute", "101", "0.1 to 100"]),
    (["--compute", "nan"], ["--compute", "nan", "0.1 to 100"]),
    (["--compute", "fast"], ["--compute", "fast", "percentage"]),
    *((["--compute", value], [f"--compute {value}:", f"'{value}' is no share", "0.1 to 100", "or none"])
      for value in ("0", "30%%", "-5", " 30 ", "1e2", "0.05", "100.1", "inf", "0x10", "")),
    (["--compute", "33.3333"], ["--compute", "33.3333", "3 decimals"]),
    (["--guarantee", "33.3333"], ["--guarantee", "33.3333", "3 decimals"]),
    (["--compute", "30,5"], ["--compute 30,5", "two limits", "a point before decimals"]),
    *((["--guarantee", value], [f"--guarantee {value}:", "0.1 to 100"])
      for value in ("30%%", "nan", "-5", " 30 ", "1e2", "0.05", "")),
    *((["--weight", value], [f"--weight {value}:", "1 to 10000"]) for value in ("10001", "nan", "-5", " 5", "1e2", "2.5", "")),
    *((["--priority", value], [f"--priority {value}:", "rt, normal or batch"]) for value in ("", " rt", "1", "rt,batch")),
    *((["--memory", value], [f"--memory {value}:", "expected a size"])
      for value in ("nan", "1e9", "+1GiB", " 1GiB", "25%%", "1PiB", "0x10", "GiB")),
    (["--memory", "1,5GiB"], ["--memory 1,5GiB", "two limits", "a point before decimals"]),
    (["--guarantee", "101"], ["--guarantee", "101", "0.1 to 100"]),
    (["--weight", "0"], ["--weight", "0", "1 to 10000"]),
    (["--priority", "high"], ["--priority", "high", "rt, normal or batch"]),
    (["--gang", "a b"], ["--gang", "a b", "a name as sessions have"]),
    (["--gang", "ranks"], ["--gang", "how much memory"]),
    (["--weight", "2"], ["--weight", "how much memory"]),
    (["--oversubscribe=maybe"], ["--oversubscribe maybe", "as in 8GiB"]),
    (["--oversubscribe=1.5"], ["--oversubscribe 1.5", "as in 8GiB"]),
    (["--memory", "-GiB"], ["--memory -GiB", "is not a number"]),
    *(([flag, "--"], [f"{flag}: its value is missing before --"]) for flag in ("--memory", "--compute", "--session", "--gpu")),
    (["--guarantee", "0=30"], ["--guarantee 0=30", "expected none, or a percentage"]),
    (["--ttl", "soon"], ["--ttl", "soon", "duration"]),
    (["--no-such-flag"], ["--no-such-flag", "unrecognized"]),
    (["--memory=1MiB", "--sim=gpus=none"], ["--sim", "gpus=none", "expected"]),
    (["--memory=1MiB", "--sim=colour=red"], ["--sim", "colour=red", "expected"]),
]


@pytest.mark.parametrize("flags,words", FLAGS, ids=lambda v: " ".join(v)[:40])
def test_flags(refused, flags, words):
    refused(*flags, words=words)


VARIABLES = [
    ({"ALIQUOT_MEMORY": ""}, ["ALIQUOT_MEMORY", "empty"]),
    ({"ALIQUOT_MEMORY": "lots"}, ["ALIQUOT_MEMORY=lots", "expected a size"]),
    ({"ALIQUOT_MEMORY": "2GiB"}, ["ALIQUOT_MEMORY", "more than the card has"]),
    ({"ALIQUOT_LOG_FIL": "/tmp/log"}, ["ALIQUOT_LOG_FIL", "did you mean ALIQUOT_LOG_FILE"]),
    ({"ALIQUOT_RUNTIMEDIR": "/tmp/here"}, ["ALIQUOT_RUNTIMEDIR", "did you mean ALIQUOT_RUNTIME_DIR"]),
    ({"ALIQUOT_SIMM": "gpus=1"}, ["ALIQUOT_SIMM", "did you mean ALIQUOT_SIM"]),
    ({"ALIQUOT_MEMROY": "1MiB"}, ["ALIQUOT_MEMROY", "did you mean ALIQUOT_MEMORY"]),
    ({"ALIQUOT_SESSION": "a b"}, ["ALIQUOT_SESSION", "a b", "session name"]),
    ({"ALIQUOT_SESSION": "-x"}, ["ALIQUOT_SESSION=-x", "no dot or dash first"]),
    ({"ALIQUOT_SESSION": "nobody-made-it"}, ["nobody-made-it", "does not exist"]),
    ({"ALIQUOT_GPU": "7"}, ["7", "no GPU"]),
    ({"ALIQUOT_GPU": "1", "ALIQUOT_MEMORY": "0=64MiB"}, ["ALIQUOT_MEMORY 0=64MiB", "chosen GPUs (1)"]),
    ({"ALIQUOT_GPU": "1", "TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": 67108864}'}, ["TENSOR_FUSION_CUDA_MEM_LIMIT", "64MiB"]),
    ({"ALIQUOT_COMPUTE": "0"}, ["ALIQUOT_COMPUTE=0", "0.1 to 100"]),
    ({"ALIQUOT_RUNTIME_DIR": "relative"}, ["ALIQUOT_RUNTIME_DIR=relative", "absolute"]),
    ({"ALIQUOT_LOG": "loud"}, ["ALIQUOT_LOG=loud", "expected error, warn"]),
    ({"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": 1048576'}, ["TENSOR_FUSION_CUDA_MEM_LIMIT", "JSON"]),
    ({"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": "1g"}'}, ["TENSOR_FUSION_CUDA_MEM_LIMIT", "whole"]),
    ({"TENSOR_FUSION_CUDA_UP_LIMIT": '{"0": 0}'}, ["TENSOR_FUSION_CUDA_UP_LIMIT", "no share"]),
    ({"VCUDA_MEMORY_LIMIT": "1.5g"}, ["VCUDA_MEMORY_LIMIT=1.5g", "whole number"]),
    ({"VCUDA_MEMORY_LIMIT": "1m", "CUDA_DEVICE_MEMORY_LIMIT": "2m"}, ["different memory limits"]),
    ({"CUDA_DEVICE_MEMORY_LIMIT_x": "1m"}, ["CUDA_DEVICE_MEMORY_LIMIT_x", "index"]),
    ({"CUDA_DEVICE_MEMORY_LIMIT_5": "1m"}, ["CUDA_DEVICE_MEMORY_LIMIT_5", "no GPU '5'"]),
    ({"CUDA_DEVICE_SM_LIMIT": "half"}, ["CUDA_DEVICE_SM_LIMIT=half", "whole percentage"]),
    ({"CUDA_MEM_RATIO": "1.5"}, ["CUDA_MEM_RATIO=1.5", "not supported"]),
    ({"GPUSLICE_SESSION": "nobody-made-it"}, ["nobody-made-it", "does not exist"]),
    ({"GPUSLICE_IPC_SOCK": "/run/gpuslice.sock", "ALIQUOT_RUNTIME_DIR": None},
     ["GPUSLICE_IPC_SOCK=/run/gpuslice.sock", "aliquotd.sock"]),
]


@pytest.mark.parametrize("variables,words", VARIABLES, ids=lambda v: str(v)[:50])
def test_variables(refused, variables, words):
    refused(words=words, **variables)


def test_limits_for_gpus_that_are_left_out_are_refused_by_everybody(cli, sim, build):
    """Indices are physical, not positions among those chosen: this would limit nothing."""
    result = cli("env", "--gpu", "1", "--memory", "0=64MiB")
    assert result.rc == 125 and "chosen GPUs (1)" in result.stderr and result.stdout == "", result
    assert "--memory 0=64MiB: limits none" in result.stderr, result
    result = sim.run([build.program("sim/hold"), 0, MIB], preload=True, CUDA_VISIBLE_DEVICES="1", ALIQUOT_GPU="1",
                     ALIQUOT_MEMORY="0=64MiB")
    assert result.rc == 1 and "limits none of the chosen GPUs" in result.stderr, result
    assert cli.run("--gpu", "1", "--memory", "0=64MiB,1=32MiB", "--", "true").rc == 0


def test_an_ambiguous_gpu(cli, refused):
    """Sixteen cards: two must begin with the same digit, or every digit names one."""
    cli.sim.configure(gpus=16)
    uuids = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    heads = [uuid[:5] for uuid in uuids]
    head = next((h for h in heads if heads.count(h) > 1), "GPU")
    refused("--gpu", head, words=["--gpu", head, "could be", "write more of it"] if head != "GPU"
            else ["--gpu"])


def test_a_flag_against_the_environment(refused, cli):
    """What is visible was decided by whoever started us; we may narrow it, not widen it."""
    first, second = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    for visible in ("0", first, "", "nonsense"):
        refused("--gpu", "1", words=["--gpu 1", f"CUDA_VISIBLE_DEVICES={visible}", "unset it"],
                CUDA_VISIBLE_DEVICES=visible)
    refused("--gpu", f"{second},0", words=["--gpu", "CUDA_VISIBLE_DEVICES"],
            CUDA_VISIBLE_DEVICES=second)


def test_no_command(cli):
    for arguments in ([], ["--"], ["--memory", "1MiB"]):
        expect_refused(cli.run(*arguments), ["no command", "aliquot run"])


def test_a_simulator_that_cannot_start_says_why(cli, build, tmp_path):
    """It is not the spec that is wrong: there is no descriptor left, or no place for its state."""
    few = cli.sim.run(["sh", "-c", 'ulimit -n 5; exec "$@"', "sh", *cli.words("run", "--memory", "1MiB", "--", "true")])
    expect_refused(few, ["--sim=", "see above"])
    assert f"{cli.sim.state}: Too many open files" in few.stderr, few
    cli.sim.state = tmp_path / "nowhere/state"
    result = cli.run("--memory", "1MiB", "--", "true")
    expect_refused(result, ["--sim=", "see above"])
    assert f"{cli.sim.state}: No such file" in result.stderr, result


def test_a_wrong_word_for_the_simulator_is_said_once(cli):
    """By whichever of its libraries is asked first, and not by each."""
    for words in (["run", "--memory", "1MiB", "--sim=colour=red", "--", "true"], ["gpus", "--sim=colour=red"]):
        result = cli(*words, sim=False)
        assert result.rc != 0 and result.stderr.count("colour: no such key") == 1, result


def test_no_driver(refused):
    refused("--memory", "1MiB", sim=False, words=["no NVIDIA driver", "libnvidia-ml.so.1", "--sim"])


def test_a_driver_that_is_none(refused, compile_c):
    broken = compile_c("libnvidia-ml.so.1", "int nothing;", "-shared", "-fPIC")
    refused("--memory", "1MiB", sim=False, ALIQUOT_REAL_LIBNVML=broken,
            words=[str(broken), "no NVML"])


# State that others left

def test_a_folder_that_cannot_be_made(refused, tmp_path):
    (tmp_path / "file").write_text("")
    refused(words=["runtime folder", str(tmp_path / "file")],
            ALIQUOT_RUNTIME_DIR=tmp_path / "file" / "below")


def test_a_folder_that_is_used_for_other_things(refused, cli, sim, build):
    """By the command and by a program alike, and nothing is made in it."""
    folder = sim.folder / "etc"
    folder.mkdir(mode=0o755)
    (folder / "passwd").write_text("")
    words = ["runtime folder", f"{folder} is in use", f"{folder}/aliquot"]
    refused(words=words, ALIQUOT_RUNTIME_DIR=folder)
    result = cli("ls", ALIQUOT_RUNTIME_DIR=folder)
    assert result.rc != 0 and all(word in result.stderr for word in words), result
    result = sim.run([build.program("sim/hold"), 0, MIB], preload=True, ALIQUOT_MEMORY="64MiB",
                     ALIQUOT_RUNTIME_DIR=folder)
    assert result.rc == 1 and all(word in result.stderr for word in words), result
    assert [entry.name for entry in folder.iterdir()] == ["passwd"]


def test_a_folder_that_others_can_write(refused, sim):
    sim.runtime.chmod(0o777)
    refused(words=["runtime folder", str(sim.runtime)])


def test_a_folder_of_somebody_else(refused, sim):
    place.need("chown")
    os.chown(sim.runtime, 65534, 65534)
    refused(words=["runtime folder", f"{sim.runtime} belongs to user 65534", "your own with ALIQUOT_RUNTIME_DIR"])


@pytest.mark.needs("a build folder for other users")
@pytest.mark.parametrize("is_served", [True, False], ids=["a daemon's that is away", "nobody's"])
def test_a_folder_of_root_that_others_cannot_write(cli, sim, is_served):
    """It is said whose it is, and what to do: by a command that would make something, and by doctor."""
    sim.folder.chmod(0o711)
    sim.runtime.chmod(0o755)
    if is_served:
        (sim.runtime / "sessions").mkdir(mode=0o711)
    for path in (sim.state, *sim.state.rglob("*")):
        path.chmod(0o777)
    tenant = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups"]
    for words in (["create", "s", "--memory", "1MiB"], ["run", "--memory", "1MiB", "--", "true"]):
        result = sim.run([*tenant, *cli.words(*words)], **UNSET)
        assert result.rc in (1, 125) and result.stdout == "", result
        assert f"{sim.runtime} belongs to user 0, and user 1234 cannot make sessions there; start aliquotd as user 0" in result.stderr
    said = sim.run([*tenant, *cli.words("doctor")], **UNSET).stdout
    assert f"{sim.runtime}, of user 0, mode 755: this user cannot make sessions there" in said, said


def test_a_read_only_folder(cli, sim, tmp_path):
    if not place.lacks("mount namespaces"):
        script = f"mount -t tmpfs -o ro,mode=700 x {sim.runtime} && exec \"$@\""
        result = sim.run(["unshare", "-m", "sh", "-c", script, "sh",
                          *cli.words("run", "--memory", "1MiB", "--", "true")])
    elif os.geteuid() != 0:
        sim.runtime.chmod(0o500)
        result = cli.run("--memory", "1MiB", "--", "true")
    else:
        place.need("mount namespaces")  # without, nothing is read-only to root
    expect_refused(result, [str(sim.runtime)])


def test_a_folder_without_room_for_one_more(sim):
    """The program sees only that there is no memory: the reason is said, once."""
    place.need("mount namespaces")
    script = f"mount -t tmpfs -o size=8k,mode=700 x {sim.runtime} && exec \"$@\""
    result = sim.run(["unshare", "-m", "sh", "-c", script, "sh", sim.build.program("hooks/script")],
                     preload=True, stdin="init\ncontext 0 0\ncontext 1 0\n", ALIQUOT_MEMORY="256MiB")
    assert result.stdout.split() == ["0", "2", "2"], result
    line, = result.stderr.splitlines()
    assert str(sim.runtime) in line and "full" in line, line


@pytest.mark.parametrize("pages", range(3, 9))
def test_a_folder_with_hardly_any_room_ends_no_program(sim, pages):
    """It has memory, or is refused it; whatever part of the session's pages finds no room."""
    place.need("mount namespaces")
    script = f"mount -t tmpfs -o size={4 * pages}k,mode=700 x {sim.runtime} && exec \"$@\""
    result = sim.run(["unshare", "-m", "sh", "-c", script, "sh", sim.build.program("hooks/script")],
                     preload=True, stdin="init\ncontext 0 0\n", ALIQUOT_MEMORY="256MiB")
    assert result.rc == 0 and result.stdout.split() in (["0", "0"], ["0", "2"]), result


def truncated(folder):
    os.truncate(folder / "limits", 100)


def empty(folder):
    os.truncate(folder / "slots", 0)


def stale(folder):
    with open(folder / "limits", "r+b") as page:
        page.seek(8)
        page.write(struct.pack("<I", 99))


def garbled(folder):
    with open(folder / "slots", "r+b") as page:
        page.write(b"\xff" * 64)


def of_another_session(folder):
    with open(folder / "limits", "r+b") as page:
        page.seek(16)
        page.write(b"\xaa" * 16)


def writable_by_all(folder):
    (folder / "slots").chmod(0o666)


def a_link(folder):
    shutil.move(folder / "limits", folder.parent.parent / "limits")
    (folder / "limits").symlink_to(folder.parent.parent / "limits")


def a_pipe(folder):
    (folder / "limits").unlink()
    os.mkfifo(folder / "limits")


def a_folder(folder):
    (folder / "slots").unlink()
    (folder / "slots").mkdir()


def missing(folder):
    (folder / "slots").unlink()


HOSTILE = [truncated, empty, stale, garbled, of_another_session, writable_by_all, a_link, a_pipe,
           a_folder, missing]


@pytest.mark.parametrize("change", HOSTILE, ids=lambda f: f.__name__)
def test_state_that_is_not_as_it_should_be(cli, sim, change, tmp_path):
    assert cli("create", "s", "--memory", "64MiB").rc == 0
    change(sim.runtime / "sessions" / "s")
    expect_refused(cli.run("--session", "s", "--", "touch", tmp_path / "ran"), [])
    assert not (tmp_path / "ran").exists()
    # It is listed as what it is, harms no other session, and can be got rid of.
    listed, = cli("ls", "--json").json
    assert listed["name"] == "s" and listed["error"], listed
    assert cli("show", "s").rc == 1
    assert cli.run("--memory", "1MiB", "--", "true").rc == 0
    kept = cli("rm", "s")
    assert kept.rc == 1 and "session s" in kept.stderr and "--force" in kept.stderr, kept
    removed = cli("rm", "--force", "s")
    assert cli("ls", "--json").json == [] and cli.run("--session", "s", "--", "true").rc == 125
    # All that is in it goes with it, and leaves no trace under another name.
    assert removed.rc == 0 and not list((sim.runtime / "sessions").iterdir()), removed


# Programs that could not be limited

STATUS_LINE = "int main(void) { return 0; }"


def test_a_static_program(cli, compile_c):
    expect_refused(cli.run("--", compile_c("static", STATUS_LINE, "-static")),
                   ["static", "statically linked", "dynamically"])
    expect_refused(cli.run("--", compile_c("static-pie", STATUS_LINE, "-static-pie")),
                   ["statically linked"])


def test_a_setuid_program(cli, compile_c):
    program = compile_c("setuid", STATUS_LINE)
    place.need("chown")
    os.chown(program, 65534, 65534)
    for mode in (stat.S_ISUID, stat.S_ISGID):
        program.chmod(0o755 | mode)
        expect_refused(cli.run("--", program), ["setuid", "privileges"])
    program.chmod(0o755)
    assert cli.run("--", program).rc == 0


def test_a_setuid_program_of_ones_own_raises_nothing(cli, compile_c):
    program = compile_c("setuid", STATUS_LINE)
    program.chmod(0o4755)
    assert cli.run("--", program).rc == 0


def test_a_program_for_another_machine(cli, tmp_path, compile_c):
    program = tmp_path / "foreign"
    native = compile_c("native", STATUS_LINE).read_bytes()
    program.write_bytes(native[:18] + struct.pack("<H", 243) + native[20:])  # RISC-V
    program.chmod(0o755)
    expect_refused(cli.run("--", program), ["foreign", "another kind of machine"])
    program.write_bytes(native[:4] + b"\x01" + native[5:])
    expect_refused(cli.run("--", program), ["foreign", "32-bit"])


def test_a_damaged_program(cli, tmp_path, compile_c):
    program = tmp_path / "damaged"
    program.write_bytes(compile_c("whole", STATUS_LINE).read_bytes()[:80])
    program.chmod(0o755)
    expect_refused(cli.run("--", program), ["damaged"])


def test_a_musl_program(cli, tmp_path, compile_c):
    compiler = shutil.which("musl-gcc")
    program = tmp_path / "musl"
    if compiler:
        subprocess.run([compiler, "-o", program, compile_c("a", STATUS_LINE).with_suffix(".c")],
                       check=True)
    else:  # the loader's name is what tells it
        native = compile_c("native", STATUS_LINE).read_bytes()
        loader = native[native.index(b"/lib64/ld-linux"):].split(b"\0", 1)[0]
        program.write_bytes(native.replace(loader, b"/lib/ld-musl-x86_64.so.1".ljust(len(loader), b"\0")))
        program.chmod(0o755)
    expect_refused(cli.run("--", program), ["musl", "a glibc build"])


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_scripts_are_followed_to_what_runs(cli, tmp_path, compile_c):
    static = compile_c("static", STATUS_LINE, "-static")
    for line in (f"#!{static}", f"#!/usr/bin/env {static}", f"#!/usr/bin/env -S A=1 {static} -x"):
        expect_refused(cli.run("--", script(tmp_path / "a", line + "\n")), ["statically linked"])
    inner = script(tmp_path / "inner", f"#!{static}\n")
    expect_refused(cli.run("--", script(tmp_path / "outer", f"#!{inner}\n")), ["statically linked"])
    loop = tmp_path / "loop"
    expect_refused(cli.run("--", script(loop, f"#!{loop}\n")), ["deeper"])
    for text in ("#!/bin/sh\necho hello\n", "#!/usr/bin/env sh\necho hello\n", "echo hello\n"):
        result = cli.run("--", script(tmp_path / "good", text))
        assert result.rc == 0 and result.stdout == "hello\n", (text, result)


def test_programs_that_cannot_be_run_at_all(cli, tmp_path):
    def expect(status, command, *words, **options):
        expect_refused(cli.run("--", command, **options), words, status)

    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    expect(127, "no-such-program", "no-such-program", "PATH")
    expect(127, tmp_path / "none", "none")
    expect(127, "", "check the name")
    expect(126, plain, "plain", "cannot be executed")
    expect(126, tmp_path, "cannot be executed")
    expect(126, "plain", "cannot be executed", PATH=f"{tmp_path}:/usr/bin:/bin")
    expect(126, script(tmp_path / "lost", "#!/no/such/interpreter\n"), "interpreter")


def test_a_library_that_is_not_there(cli, build, tmp_path):
    """The loader would ignore it silently; we must not."""
    alone = tmp_path / "bin" / "aliquot"
    alone.parent.mkdir()
    shutil.copy(build.aliquot, alone)
    result = cli.sim.run([alone, "run", "--memory", "1MiB", "--", "true"])
    expect_refused(result, ["libaliquot.so", "install it again"])
    # One that is there and no library.
    (tmp_path / "lib" / "aliquot").mkdir(parents=True)
    (tmp_path / "lib" / "aliquot" / "libaliquot.so").write_text("not a library")
    result = cli.sim.run([alone, "run", "--memory", "1MiB", "--", "true"])
    expect_refused(result, ["does not load"])


def test_a_library_in_a_place_that_cannot_be_preloaded(cli, build, tmp_path):
    tree = pathlib.Path(tmp_path / "has space")
    for artefact, place in ((build.aliquot, "bin/aliquot"),
                            (build.library, "lib/aliquot/libaliquot.so")):
        (tree / place).parent.mkdir(parents=True)
        shutil.copy(artefact, tree / place)
    result = cli.sim.run([tree / "bin/aliquot", "run", "--memory", "1MiB", "--", "true"])
    expect_refused(result, ["has space", "install it elsewhere"])


# -- Slips of the keyboard -------------------------------------------------------------------------

@pytest.mark.parametrize("words, rc, meant", [
    (["run", "--memmory", "1GiB", "--", "true"], 125, "there is no option --memmory; did you mean --memory"),
    (["run", "--memory", "1GiB", "--sesion=a", "true"], 125, "there is no option --sesion; did you mean --session"),
    (["ls", "--jsno"], 2, "there is no option --jsno; did you mean --json"),
    (["run", "--sim", "gpus=2", "true"], 127, "gpus=2: there is no such program; did you mean --sim=gpus=2"),
], ids=["long", "with =", "of ls", "sim"])
def test_a_slip_is_told_with_what_was_meant(cli, words, rc, meant):
    result = cli(*words, sim=False)
    assert (result.rc, result.stdout, result.stderr) == (rc, "", f"aliquot {words[0]}: {meant}\n"), result


def test_what_only_looks_like_a_slip_is_left_alone(cli):
    """A program's own options, a value, and the beginning of an option."""
    assert cli.run("--quiet", "echo", "--memmory").stdout == "--memmory\n"
    assert cli.run("--quiet", "--device-name", "--memmory", "--", "true").rc == 0
    assert cli("ls", "--js").json == []
    unlike = cli("ls", "--nonsense")
    assert unlike.rc == 2 and "did you mean" not in unlike.stderr, unlike
    missing = cli.run("a=b")
    assert missing.rc == 127 and "did you mean" not in missing.stderr, missing


def test_create_without_a_limit_says_that_it_takes_one(cli):
    result = cli("create", "foo")
    assert result.rc == 1 and result.stderr == "aliquot create: say how much session foo may use, as in --memory 4GiB\n", result
    assert cli.sessions() == []


def test_a_session_is_named_by_the_variable_that_named_it(sim, build):
    result = sim.run([build.program("sim/hold"), 0, MIB], preload=True, GPUSLICE_SESSION="none")
    assert result.rc == 1 and "GPUSLICE_SESSION=none: there is no such session" in result.stderr, result


@pytest.mark.needs("other users")
def test_a_folder_that_is_closed_is_not_called_a_daemons(sim):
    tenant = Tenant(Daemon(sim), 1234)
    theirs = sim.folder / "theirs"
    theirs.mkdir(mode=0o700)
    result = tenant.run([sim.build.aliquot, "create", "s", f"--sim={sim.spec}", "--memory", "1MiB"], ALIQUOT_RUNTIME_DIR=theirs, **UNSET)
    assert result.rc in (1, AWAY) and f"{theirs} belongs to user 0, and no daemon serves it" in result.stderr, result
