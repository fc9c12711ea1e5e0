# SPDX-License-Identifier: Apache-2.0
"""What a program can do to its own limit, and what comes of it (docs/threat-model-gaps.md).

Without a daemon the user owns the state, so some of these succeed: they are here so that what the
document says stays true, and so that none of them crashes, hangs or disturbs another program.
"""
import os
import shutil

import pytest

from hang import HANG_SECONDS

MIB = 1 << 20
GIB = 1 << 30
OUT_OF_MEMORY = "cuMemAlloc: 2"
NOT_PERMITTED = "cuInit: 800"
LIMIT_OF_ROW_0 = 1344 + 16  # src/proto/page.h


@pytest.fixture
def node(sim):
    return sim.configure(gpus=1, memory="4GiB")


@pytest.fixture
def program(build):
    return build.program("sim/hold")


@pytest.fixture
def hold(node, program):
    def start(size, preload=True, **variables):
        return node.run([program, 0, size], preload=preload, **variables)
    return start


@pytest.fixture
def folder(node, hold):
    """Of a session of 1 GiB, called s, that a program has used."""
    assert hold(MIB, ALIQUOT_SESSION="s", ALIQUOT_MEMORY="1GiB").rc == 0
    return node.runtime / "sessions" / "s"


@pytest.fixture
def running(node, program, folder):
    """A program of that session that has 512 MiB and runs on until it is told to end."""
    process = node.start([program, 0, 512 * MIB], preload=True, ALIQUOT_SESSION="s")
    assert process.stdout.readline().startswith("ready")
    return process


def end(process):
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0 and err == "", (out, err)


def test_writing_the_limit_works_without_a_daemon(hold, folder):
    with open(folder / "limits", "r+b") as file:
        file.seek(LIMIT_OF_ROW_0)
        file.write((2 * GIB).to_bytes(8, "little"))
    result = hold(GIB, ALIQUOT_SESSION="s")
    assert result.rc == 0 and result.stdout.split()[2] == str(2 * GIB), result


def test_a_forged_ledger_frees_nothing_of_others(hold, folder, running):
    with open(folder / "slots", "r+b") as file:
        file.seek(128)
        file.write(bytes(16))  # used and tag of device 0
    # What was forged away may be charged again; who was running ends as if nothing had happened.
    assert hold(MIB, ALIQUOT_SESSION="s").rc == 0
    end(running)


def test_noise_in_the_slots_harms_nobody_else(hold, folder, running):
    with open(folder / "slots", "r+b") as file:
        file.seek(64)
        file.write(os.urandom((folder / "slots").stat().st_size - 64))
    result = hold(MIB, ALIQUOT_SESSION="s")
    assert result.rc in (0, 1), result  # refused or not: but it ends by itself
    end(running)
    assert hold(512 * MIB, ALIQUOT_SESSION="other", ALIQUOT_MEMORY="1GiB").rc == 0


def test_deleting_the_state_locks_newcomers_out(hold, node, folder, running):
    shutil.rmtree(node.runtime / "sessions")
    result = hold(MIB, ALIQUOT_SESSION="s")
    assert result.rc == 1 and NOT_PERMITTED in result.stderr, result
    assert "no such session" in result.stderr, result
    end(running)


def test_a_session_made_again_is_another(hold, node, folder, running):
    shutil.rmtree(folder)
    result = hold(GIB * 3 // 4, ALIQUOT_SESSION="s", ALIQUOT_MEMORY="1GiB")
    assert result.rc == 0, result  # beside the 512 MiB of the first: what only a daemon bars
    end(running)


def test_a_child_may_be_given_another_environment(hold, folder):
    # Less, or nothing: its own affair, and what only a daemon or a facade over the driver bars.
    assert hold(GIB, ALIQUOT_MEMORY="2GiB").rc == 0
    result = hold(GIB)
    assert result.rc == 0 and result.stdout.split()[2] == str(4 * GIB), result
    # But not more under the same name.
    result = hold(MIB, ALIQUOT_SESSION="s", ALIQUOT_MEMORY="2GiB")
    assert result.rc == 1 and "other limits" in result.stderr, result


def test_another_environment_after_the_start_changes_nothing(run_python, folder):
    result = run_python("""
        import ctypes, os
        cuda = ctypes.CDLL("libcuda.so.1")
        context, total, free = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        assert cuda.cuInit(0) == 0
        os.environ["ALIQUOT_MEMORY"] = "4GiB"
        os.environ.pop("ALIQUOT_SESSION")
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
        print(total.value)
        """, ALIQUOT_SESSION="s")
    assert result.rc == 0 and result.stdout.split() == [str(GIB)], result


# More than anybody sets, and before the one that counts: none may push it out.
OTHERS = {f"VCUDA_OTHER_{i}": "x" for i in range(300)}


@pytest.mark.parametrize("others", [{}, OTHERS], ids=["alone", "behind many"])
def test_an_environment_tidied_before_the_first_call(run_python, folder, others):
    result = run_python("""
        import ctypes, os
        del os.environ["ALIQUOT_SESSION"], os.environ["ALIQUOT_RUNTIME_DIR"]
        cuda = ctypes.CDLL("libcuda.so.1")
        context, total, free = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        assert cuda.cuInit(0) == 0
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
        print(total.value)
        """, **others, ALIQUOT_SESSION="s")
    assert result.rc == 0 and result.stdout.split() == [str(GIB)], result


@pytest.mark.parametrize("change", ['ALIQUOT_MEMORY="4GiB"', 'ALIQUOT_SESSION="other", ALIQUOT_MEMORY="4GiB"',
                                    'ALIQUOT_RUNTIME_DIR="/nowhere"'])
def test_an_environment_changed_before_the_first_call(run_python, folder, change):
    result = run_python(f"""
        import ctypes, os
        os.environ.update({change})
        cuda = ctypes.CDLL("libcuda.so.1")
        context, total, free = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        assert cuda.cuInit(0) == 0
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
        print(total.value)
        """, ALIQUOT_SESSION="s")
    assert result.rc == 0 and result.stdout.split() == [str(GIB)], result


def test_closed_and_reused_descriptors_change_nothing(run_python, folder):
    result = run_python("""
        import ctypes, os
        cuda = ctypes.CDLL("libcuda.so.1")
        context, address = ctypes.c_void_p(), ctypes.c_uint64()
        assert cuda.cuInit(0) == 0
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        allocate = lambda mib: cuda.cuMemAlloc_v2(ctypes.byref(address),
                                                  ctypes.c_size_t(mib << 20))
        assert allocate(100) == 0
        os.closerange(3, 4096)
        # Whatever number we might have had is now a file of the program's.
        files = [os.open("/dev/zero", os.O_RDWR) for _ in range(600)]
        assert allocate(100) == 0
        print(allocate(900), len(os.listdir("/proc/self/fd")) - len(files))
        """, ALIQUOT_SESSION="s")
    assert result.rc == 0, result
    refused, others = result.stdout.split()
    assert refused == "2" and int(others) <= 4, result


@pytest.fixture
def run_python(node):
    def start(text, **variables):
        lines = [line[8:] for line in text.splitlines()]
        return node.run(["/usr/bin/python3", "-c", "\n".join(lines)], preload=True, **variables)
    return start
