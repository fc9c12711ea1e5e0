# SPDX-License-Identifier: Apache-2.0
"""What the driver does not tell is refused, never free.

Every question that the library asks the driver about whose memory it is, or how much, is made to
fail, at every moment, in front of every family of allocations that asks it: whatever the program is
told, no card ever holds more than is charged for it.
"""
import pytest

from hang import IS_SLOW
from script import INVALID_CONTEXT, MIB, NOT_PERMITTED, SUCCESS, Script

GPUS = 2
CONTEXT = 16 * MIB
FAR = 1000000

# Some 1,800 programs; a build in which each takes seven times as long looks at what fails, not at when.
MOMENTS = ((1, FAR), (3, 1)) if IS_SLOW else ((1, FAR), (2, FAR), (5, FAR), (1, 1), (2, 1), (3, 1))
CODES = (1, 201) if IS_SLOW else (1, 2, 3, 101, 201, 400, 709, 801)

QUERIES = """cuDeviceGetUuid cuDeviceTotalMem cuDeviceGetCount cuDeviceGetName cuCtxGetCurrent
    cuCtxGetDevice cuCtxPushCurrent cuCtxPopCurrent cuCtxGetApiVersion cuStreamGetCtx
    cuStreamGetDevice cuStreamIsCapturing cuStreamGetCaptureInfo cuDeviceGetMemPool cuDeviceGetDefaultMemPool
    cuMemPoolGetAttribute cuDeviceGetGraphMemAttribute cuPointerGetAttribute cuMemGetAddressRange
    cuMemGetAllocationPropertiesFromHandle cuDevicePrimaryCtxGetState cuGraphGetNodes
    cuGraphNodeGetType cuGraphMemAllocNodeGetParams cuArrayGetMemoryRequirements
    cuMipmappedArrayGetMemoryRequirements cuGetProcAddress nvmlInit nvmlDeviceGetCount
    nvmlDeviceGetHandleByIndex nvmlDeviceGetUUID nvmlDeviceGetMemoryInfo""".split()
UNCOUNTED = ("nvml", "cuGetProcAddress")  # so they begin; the simulator does not tell who asks

# On the second card, so that what is charged to the wrong one is seen too.
FAMILIES = {
    "alloc": ["alloc 1 8388608"],
    "managed": ["managed 1 8388608"],
    "pitch": ["pitch 1 5000 1000"],
    "array": ["array 1 1024 512 4"],
    "mipmap": ["mipmap 1 1024 512 4"],
    "async": ["async 1 8388608 0", "async 2 8388608 1"],
    "async-ptsz": ["async-ptsz 1 8388608 0"],
    "pool": ["pool 1 1", "from-pool 1 8388608 1 1", "default-pool 2 1", "from-pool 2 40000000 2 1"],
    "vmm": ["create 1 8388608 1", "create 2 8388608 0"],
    "import": ["create 1 8388608 1", "export 1 1", "import 2 1", "release-handle 1",
               "map 1 2 8388608"],
    "graph": ["graph 1 8388608 1", "graph 2 8388608 0", "launch 1 1", "launch 2 1"],
    "upload": ["graph 1 8388608 1 upload", "graph 2 8388608 0 upload", "launch 1 0", "launch 2 0"],
    "far": ["context 5 0", "async 1 8388608 1", "pool 1 1", "from-pool 2 8388608 1 1",
            "current 0"],
    "far pool": ["context 5 0", "pool 1 1", "from-pool 2 8388608 1 0", "current 0"],
    "module": ["module 1"],
    "library": ["library 1"],
    "context": ["context 2 1", "context-gl 3 1", "context-vdpau 4 1"],
    "primary": ["retain 2 1", "retain 3 1", "alloc 1 8388608", "release 1", "alloc 2 8388608"],
}


# NVML alone tells when code that is loaded lazily is taken: later where a question takes long (a busy machine), and
# nobody does where it has told once, and no more.
UNTOLD_CODE = 64


def covered(gpu, what, slack=0):
    for device in range(GPUS):
        charged, granted, _, _ = gpu.values(f"books {device}")
        assert granted <= charged + slack, (what, device, charged, granted)


def answers(sim, rule, family):
    """Those to everything of a family with `rule` in force; the program goes on when refused."""
    sim.configure(gpus=GPUS, fail=rule)
    given = []
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        for line in ["init", "context 0 1", "stream 1", *FAMILIES[family], "sync", "info"]:
            given.append(gpu.code(line))
            covered(gpu, (rule, line, given[-1]), UNTOLD_CODE if family == "library" else 0)
    return given


_asked = {}  # {family: its questions}, learned once in each process


def families_that_ask(sim, query, families=FAMILIES):
    """A question that a family does not ask is not asked either where it would be refused. A slow build tries one."""
    for family in FAMILIES.keys() - _asked.keys():
        sim.configure(calls="on")
        assert set(answers(sim, "cuGetErrorName:1:999", family)) == {SUCCESS}
        calls = [call for by_session in sim.oracle()["calls"].values() for call in by_session]
        _asked[family] = {call.removesuffix("_ptsz").partition("_v")[0] for call in calls}
        assert {"cuDeviceGetUuid", "cuCtxGetCurrent"} <= _asked[family], _asked[family]
    asking = [family for family in families if query.startswith(UNCOUNTED) or query in _asked[family]]
    return asking[:1] if IS_SLOW else asking


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_told_is_granted(sim, family):
    """Nothing below is refused for another reason than the one meant."""
    assert set(answers(sim, "cuGetErrorName:1:999", family)) == {SUCCESS}


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_not_told_is_not_free(sim, query):
    """From the first time on, from some later one on, and just once."""
    for family in families_that_ask(sim, query):
        for first, times in MOMENTS:
            answers(sim, f"{query}:{first}:999:{times}", family)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("query", QUERIES)
def test_whatever_the_driver_says_instead(sim, query, code):
    """Not even an answer that would be true of another device, context or stream."""
    for family in families_that_ask(sim, query, ("alloc", "far", "vmm", "upload", "primary")):
        answers(sim, f"{query}:3:{code}:{FAR}", family)


def test_a_card_without_a_name_gives_nothing(sim):
    """The driver's own word is passed on, and the card it does not identify is not permitted."""
    sim.configure(fail=f"cuDeviceGetUuid:1:999:{FAR}")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init")
        assert gpu.code("context 0 0") == NOT_PERMITTED
        assert gpu.code("create 1 4194304 0") == NOT_PERMITTED
        assert gpu.code("context 0 9") == 101
        assert gpu.code("create 1 4194304 9") == 101
        assert gpu.code("alloc 1 4096") == INVALID_CONTEXT


def test_contexts_for_graphics_are_contexts(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init", "context-gl 1 0", "context-vdpau 2 0", "alloc 1 4096")
        assert gpu.look().charged == gpu.look().granted == 2 * CONTEXT + 4096
        gpu.do("destroy 2", "destroy 1")
        assert gpu.look()[:2] == (0, 0)


def test_a_refusal_ends_with_its_cause(sim):
    """A card that was not told once is found at the next call."""
    sim.configure(gpus=GPUS, fail="cuDeviceGetUuid:1:999:2")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init")
        assert gpu.code("context 0 1") == NOT_PERMITTED
        gpu.do("context 0 1", "alloc 1 4096")
        covered(gpu, "after")


@pytest.fixture
def handle(sim):
    """Of a block of 100 MiB that a process outside the session has."""
    with Script(sim, preload=False) as other:
        other.ready().do(f"alloc 1 {100 * MIB}", "ipc-get 1 1")
        yield other.say("ipc-print 1")[0]


@pytest.mark.parametrize("query", ("cuMemGetAddressRange", "cuPointerGetAttribute"))
def test_an_opened_block_of_unknown_size_or_place_is_closed(sim, handle, query):
    sim.configure(fail=f"{query}:1:999")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"ipc-parse 1 {handle}")
        assert gpu.code("ipc-open 2 1") == NOT_PERMITTED
        assert gpu.look().charged == CONTEXT
        gpu.do("ipc-open 2 1")
        assert gpu.look().charged == CONTEXT + 100 * MIB
        gpu.do("ipc-close 2")
        assert gpu.look().charged == CONTEXT


def test_threads_that_open_the_same_block(sim, handle):
    """No thread gets for nothing what another one is refused meanwhile; with room, all get it."""
    program = sim.build.program("hooks/imports")
    result = sim.run([program, 500, handle], preload=True, ALIQUOT_MEMORY="64MiB")
    assert (result.rc, result.stdout) == (0, "0 2000\n"), result
    result = sim.run([program, 500, handle], preload=True, ALIQUOT_MEMORY="128MiB",
                     ALIQUOT_SESSION="roomy")
    assert (result.rc, result.stdout) == (0, "2000 0\n"), result
