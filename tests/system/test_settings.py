# SPDX-License-Identifier: Apache-2.0
"""Settings from the environment, on a real program with nothing but the library in front.

What the documents of other systems tell their users to type is typed here, with one path changed.
Whatever cannot be honoured fails closed: the program's GPU calls are refused, and one line on
standard error says which variable, which value, and what was expected.
"""
import os
import shutil
import stat

import pytest

MIB = 1 << 20
GIB = 1 << 30
OUT_OF_MEMORY = "cuMemAlloc: 2"
NOT_PERMITTED = "cuInit: 800"


@pytest.fixture
def node(sim):
    return sim.configure(gpus=2, memory="4GiB")


@pytest.fixture
def program(build):
    """An ordinary program: `hold GPU BYTES` takes them and says what cuMemGetInfo says."""
    return build.program("sim/hold")


@pytest.fixture
def hold(node, program):
    def start(size=MIB, preload=True, gpu=0, **variables):
        return node.run([program, gpu, size], preload=preload, **variables)
    return start


def total(result):
    assert result.rc == 0, result
    return int(result.stdout.split()[2])


def expect_limited(limit, start, **variables):
    """The card is the limit, and the limit holds: `start(bytes)` runs the program."""
    result = start(MIB, **variables)
    assert total(result) == limit and result.stderr == "", result
    assert start(limit * 3 // 4, **variables).rc == 0
    result = start(limit, **variables)  # its context counts too
    assert result.rc == 1 and OUT_OF_MEMORY in result.stderr, result


def expect_refused(result, *words):
    assert result.rc == 1 and NOT_PERMITTED in result.stderr, result
    line, of_the_program = result.stderr.splitlines()
    assert line.startswith("aliquot: ") and of_the_program.startswith("hold: "), result
    for word in words:
        assert word in line, result


def sessions(sim):
    folder = sim.runtime / "sessions"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def typed(node, build, program):
    """What a document says to type, with its library's path replaced by ours."""
    def start(text, size=MIB, library=build.library):
        script = text.replace("LIBRARY", str(library)).replace("your_application", '"$@"')
        return node.run(["sh", "-c", script, "sh", program, 0, size])
    return start


def test_nothing_asked_is_nothing_changed(hold, sim):
    result = hold()
    assert total(result) == 4 * GIB and result.stderr == "", result
    assert sessions(sim) == []


def test_memory(hold):
    expect_limited(GIB, hold, ALIQUOT_MEMORY="1GiB")
    expect_limited(GIB, hold, ALIQUOT_MEMORY="25%")
    expect_limited(GIB // 2, hold, ALIQUOT_MEMORY="2GiB,0=512MiB")
    expect_limited(2 * GIB, hold, gpu=1, ALIQUOT_MEMORY="2GiB,0=512MiB")
    assert total(hold(gpu=1, ALIQUOT_MEMORY="0=512MB")) == 4 * GIB
    assert total(hold(ALIQUOT_MEMORY="0=512MB")) == 512000000


def test_the_documents_of_vgpu_rs(typed, sim):
    def by_index(size):
        return typed("""
            export TENSOR_FUSION_CUDA_MEM_LIMIT='{"0": 2147483648}'
            LD_PRELOAD=LIBRARY your_application""", size)

    def by_uuid(size):
        return typed(f"""
            export TENSOR_FUSION_CUDA_MEM_LIMIT='{{"{uuid}": 1073741824}}'
            LD_PRELOAD=LIBRARY your_application""", size)

    expect_limited(2 * GIB, by_index)
    session, = sessions(sim)
    for uuid in spellings(read_uuid(sim.runtime / "sessions" / session / "limits")):
        expect_limited(GIB, by_uuid)

    # The other half of the same page of that document: compute (tests/system/test_aliases.py).
    expect_limited(2 * GIB, lambda size: typed("""
        export TENSOR_FUSION_CUDA_UP_LIMIT='{"0": 20}'
        export TENSOR_FUSION_CUDA_MEM_LIMIT='{"0": 2147483648}'
        LD_PRELOAD=LIBRARY your_application""", size))


def read_uuid(path):
    """Of row 0 of a limits page (src/proto/page.h)."""
    raw = path.read_bytes()[1344:1360].hex()
    return "gpu-" + "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def spellings(uuid):
    return uuid, uuid.upper(), uuid[:12]


def test_the_documents_of_vcuda_hook(typed, node, build, tmp_path):
    text = """
        export LD_PRELOAD=LIBRARY
        export VCUDA_LOG_LEVEL=debug
        export VCUDA_MEMORY_LIMIT='(1024 * 1024 * 1024 * 10)' # limit 10G
        your_application"""
    node.configure(memory="16GiB")
    result = typed(text)
    assert total(result) == 10 * GIB and "aliquot: " in result.stderr, result
    assert OUT_OF_MEMORY in typed(text, 10 * GIB).stderr

    # docker run -v libX.so:/usr/lib64/libX.so -e LD_PRELOAD=...: one file, with nothing beside it.
    alone = tmp_path / "usr-lib64"
    alone.mkdir()
    library = alone / "libvcuda-hook.so"
    shutil.copy(build.library, library)
    expect_limited(10 * GIB, lambda size: typed("""
        export LD_PRELOAD=LIBRARY VCUDA_MEMORY_LIMIT=10g
        your_application""", size, library))


def test_the_card_may_be_called_something_else(node, build):
    result = node.run([build.folder / "examples/tenant", "t", "work", 1, 1], preload=True,
                      VCUDA_DEVICE_NAME="Tesla Something")
    assert result.rc == 0 and "my card: Tesla Something, " in result.stdout, result


def test_the_documents_of_xpushare(typed):
    result = typed("""
        export NVSHARE_ENABLE_SINGLE_OVERSUB=1
        LD_PRELOAD=LIBRARY your_application""")
    assert result.rc == 0, result


def test_the_documents_of_gpu_slice(typed):
    result = typed("""
        unset ALIQUOT_RUNTIME_DIR
        GPUSLICE_SESSION=s1 GPUSLICE_IPC_SOCK=/run/gpuslice.sock GPUSLICE_IPC_TOKEN=change-me \\
        LD_PRELOAD=LIBRARY your_application""")
    expect_refused(result, "GPUSLICE_IPC_SOCK=/run/gpuslice.sock", "aliquotd.sock")
    assert "change-me" not in result.stderr, result


def test_the_documents_of_hami(hold):
    expect_limited(GIB, hold, CUDA_DEVICE_MEMORY_LIMIT="1g")
    both = {"CUDA_DEVICE_MEMORY_LIMIT_0": "1024m", "CUDA_DEVICE_MEMORY_LIMIT_1": "2g"}
    expect_limited(GIB, hold, **both)
    expect_limited(2 * GIB, hold, gpu=1, **both)
    expect_limited(GIB, hold, CUDA_DEVICE_MEMORY_LIMIT="1g", CUDA_DEVICE_SM_LIMIT="50")
    expect_refused(hold(CUDA_DEVICE_MEMORY_LIMIT="1g", CUDA_DEVICE_SM_LIMIT="half"),
                   "CUDA_DEVICE_SM_LIMIT=half", "whole percentage")


REFUSED = [
    ({"ALIQUOT_MEMORY": ""}, "is empty"),
    ({"ALIQUOT_MEMORY": "lots"}, "expected a size"),
    ({"ALIQUOT_MEMORY": "0"}, "is zero"),
    ({"ALIQUOT_MEMORY": "-1GiB"}, "is negative"),
    ({"ALIQUOT_MEMORY": "18446744073709551616"}, "64 bits"),
    ({"ALIQUOT_MEMORY": "99999999999999TiB"}, "64 bits"),
    ({"ALIQUOT_MEMORY": "5GiB"}, "more than the card has"),
    ({"ALIQUOT_MEMORY": "101%"}, "part of the card"),
    ({"ALIQUOT_MEMORY": "7=1GiB"}, "there is no GPU '7'"),
    ({"ALIQUOT_MEMORY": "GPU-zz=1GiB"}, "is no GPU"),
    ({"ALIQUOT_MEMORY": "0=1GiB,0=1GiB"}, "named twice"),
    ({"ALIQUOT_MEMROY": "1GiB"}, "did you mean ALIQUOT_MEMORY"),
    ({"TENSOR_FUSION_CUDA_MEM_LIMT": '{"0": 1073741824}'}, "did you mean TENSOR_FUSION_CUDA_MEM_LIMIT"),
    ({"CUDA_DEVICE_MEMORY_LIMITS": "1g"}, "did you mean CUDA_DEVICE_MEMORY_LIMIT"),
    ({"VCUDA_MEM_LIMIT": "1g"}, "did you mean VCUDA_MEMORY_LIMIT"),
    ({"ALIQUOT_SESSION": "../up"}, "session name"),
    ({"ALIQUOT_SESSION": "nobody-made-it"}, "no such session"),
    ({"ALIQUOT_COMPUTE": "101"}, "0.1 to 100"),
    ({"ALIQUOT_WEIGHT": "2"}, "need a daemon"),
    ({"ALIQUOT_GANG": "ranks"}, "need a daemon"),
    ({"ALIQUOT_OVERSUBSCRIBE": "half"}, "as in 8GiB"),
    ({"ALIQUOT_SWAP": "true"}, "no daemon shares a GPU this way"),
    ({"ALIQUOT_SWAP": "1", "ALIQUOT_MEMORY": "1GiB"}, "only aliquot run --swap can ask a daemon"),
    ({"ALIQUOT_SWAP": "maybe"}, "yes or no"),
    ({"CUDA_MEM_RATIO": "2"}, "not supported"),
    ({"CUDA_MEM_RATIO": "2", "ALIQUOT_MEMORY": "1GiB"}, "not supported"),  # no limit hides a wish
    ({"ALIQUOT_CONTEXT": "maybe"}, "charge or free"),
    ({"ALIQUOT_GPU": "1"}, "CUDA_VISIBLE_DEVICES"),
    ({"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": 1073741824'}, "ends too early"),
    ({"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": "1g"}'}, "whole number"),
    ({"VCUDA_MEMORY_LIMIT": "1.5g"}, "whole number"),
    ({"VCUDA_MEMORY_LIMIT": "1g", "CUDA_DEVICE_MEMORY_LIMIT": "2g"}, "different"),
]


@pytest.mark.parametrize("variables,word", REFUSED, ids=lambda v: str(v)[:50])
def test_what_cannot_be_honoured_fails_closed(hold, sim, variables, word):
    expect_refused(hold(**variables), next(iter(variables)), word)
    assert sessions(sim) == []


def test_an_unknown_gpu_is_answered_with_those_there_are(hold):
    result = hold(ALIQUOT_MEMORY="GPU-0000=1GiB")
    expect_refused(result, "0 = GPU-", "1 = GPU-")


def break_page(sim, change):
    """A session that was made and then spoiled; its programs are gone."""
    session, = sessions(sim)
    folder = sim.runtime / "sessions" / session
    change(folder)


def truncate(folder):
    os.truncate(folder / "slots", 4096)


def empty(folder):
    os.truncate(folder / "limits", 0)


def stale(folder):
    with open(folder / "limits", "r+b") as file:
        file.seek(8)
        file.write((99).to_bytes(4, "little"))


def noise(folder):
    (folder / "limits").write_bytes(os.urandom((folder / "limits").stat().st_size))


def link(folder):
    (folder / "slots").rename(folder / "elsewhere")
    (folder / "slots").symlink_to("elsewhere")


def others_may_write(folder):
    (folder / "limits").chmod(0o666)


def missing(folder):
    (folder / "slots").unlink()


def other_sessions_slots(folder):
    with open(folder / "slots", "r+b") as file:
        file.seek(24)
        file.write(b"12345678")


@pytest.mark.parametrize("change", [truncate, empty, stale, noise, link, others_may_write, missing,
                                    other_sessions_slots])
def test_state_that_is_not_as_it_should_be_fails_closed(hold, sim, change):
    expect_limited(GIB, hold, ALIQUOT_MEMORY="1GiB")
    break_page(sim, change)
    expect_refused(hold(ALIQUOT_MEMORY="1GiB"), sessions(sim)[0])


def test_a_folder_that_cannot_be_written_fails_closed(hold, sim):
    (sim.runtime / "sessions").write_text("in the way")
    expect_refused(hold(ALIQUOT_MEMORY="1GiB"), "sessions")
    expect_refused(hold(ALIQUOT_MEMORY="1GiB", ALIQUOT_RUNTIME_DIR="/proc/nowhere"),
                   "/proc/nowhere")


def test_what_it_leaves_is_private(hold, sim):
    hold(ALIQUOT_MEMORY="1GiB")
    session, = sessions(sim)
    for path, mode in (("", 0o700), ("limits", 0o600), ("slots", 0o600)):
        found = (sim.runtime / "sessions" / session / path).stat()
        assert stat.S_IMODE(found.st_mode) == mode, path


def test_equal_settings_share_and_others_do_not(hold, sim):
    hold(ALIQUOT_MEMORY="1GiB")
    hold(ALIQUOT_MEMORY="1024MiB")
    hold(VCUDA_MEMORY_LIMIT="1g")
    assert len(sessions(sim)) == 1
    hold(ALIQUOT_MEMORY="1025MiB")
    assert len(sessions(sim)) == 2


def test_joining_with_other_limits_is_refused(hold, sim):
    expect_limited(GIB, hold, ALIQUOT_SESSION="s", ALIQUOT_MEMORY="1GiB")
    expect_limited(GIB, hold, ALIQUOT_SESSION="s")
    expect_refused(hold(ALIQUOT_SESSION="s", ALIQUOT_MEMORY="2GiB"), "other limits",
                   "memory=1GiB,", "memory=2GiB;", "aliquot set")
    assert sessions(sim) == ["s"]


def test_the_log_goes_where_it_was_sent(hold, tmp_path):
    log = tmp_path / "log"
    expect_limited(GIB, hold, ALIQUOT_MEMORY="1GiB", ALIQUOT_LOG="info", ALIQUOT_LOG_FILE=log)
    assert "made as memory=1073741824" in log.read_text()


def test_a_log_that_cannot_be_opened_is_said_once(hold, tmp_path):
    """The program runs and is limited all the same."""
    (tmp_path / "link").symlink_to("elsewhere")
    for log in (tmp_path / "nowhere" / "log", tmp_path, tmp_path / "link"):
        result = hold(ALIQUOT_MEMORY="1GiB", ALIQUOT_LOG="debug", ALIQUOT_LOG_FILE=log)
        assert total(result) == GIB
        line, = result.stderr.splitlines()
        assert line.startswith("aliquot: ") and f"log file {log} cannot be opened: " in line
    assert "links are not followed" in line and not (tmp_path / "elsewhere").exists()
