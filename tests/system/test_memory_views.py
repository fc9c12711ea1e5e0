# SPDX-License-Identifier: Apache-2.0
"""What a program sees of its card: CUDA and NVML agree with the ledger, on the right device, and
nobody else's processes are there.
"""
import itertools
import json

import pytest

from script import INVALID_VALUE, MIB, OUT_OF_MEMORY, Script

LIMIT = 256 * MIB
CONTEXT = 16 * MIB
BUSY_TRIES = 100  # a bound on hangs: the first is enough on a machine that is not crowded


def cards(sim):
    """(index, uuid) as the driver itself says, in physical order."""
    with Script(sim, preload=False) as bare:
        bare.do("nvml")
        return [bare.say(f"card-uuid {index}")[1] for index in range(sim.settings["gpus"])]


def test_views_agree(sim):
    """A6: total is the limit, free what it leaves, used the rest, in every view."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("nvml", f"alloc 1 {100 * MIB}")
        left = LIMIT - CONTEXT - 100 * MIB
        assert gpu.values("info") == [left, LIMIT]
        assert gpu.values("total 0") == [LIMIT]
        assert gpu.values("card 0") == [left, LIMIT, LIMIT - left]
        assert gpu.values("card-v2 0") == [left, LIMIT, LIMIT - left, 0]
        gpu.do("free 1")
        assert gpu.values("info") == [LIMIT - CONTEXT, LIMIT]


def test_free_is_never_more_than_the_card_has(sim):
    """Another session's memory is really gone, whatever our limit leaves."""
    with Script(sim, preload=False) as other, Script(sim, ALIQUOT_MEMORY="768MiB") as gpu:
        other.ready().do(f"alloc 1 {700 * MIB}")
        gpu.ready().do("nvml")
        card = 1024 * MIB - 700 * MIB - 2 * CONTEXT
        assert gpu.values("info") == [card, 768 * MIB]
        assert gpu.values("card 0") == [card, 768 * MIB, 768 * MIB - card]


def test_without_a_limit_the_driver_speaks(sim):
    script = ["init", "context 0 0", "nvml", "alloc 1 1000000", "info", "total 0", "card 0",
              "card-v2 0", "name 0", "card-name 0"]
    sim.configure(draining="0")
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line) for line in script]
    with Script(sim) as gpu:
        assert [gpu.say(line) for line in script] == wanted


@pytest.mark.parametrize("which", (0, 1, 2))
def test_null_arguments(sim, which):
    """As the driver has it, with half the question unasked: what was asked is the session's."""
    unasked = 7
    with Script(sim, preload=False) as bare:
        assert bare.ready().values(f"info {which}")[1] == (1024 * MIB if which & 2 else unasked)
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert gpu.ready().values(f"info {which}") == [LIMIT - CONTEXT if which & 1 else unasked,
                                                       LIMIT if which & 2 else unasked]


def test_attributes_are_the_drivers(sim):
    """A9: pointer attributes bit for bit, of every kind of memory."""
    script = ["init", "context 0 0", "alloc 1 4096", "managed 2 4096", "pitch 3 100 100",
              "async 4 4096 0"] + [f"attributes {slot}" for slot in range(6)]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line) for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert [gpu.say(line) for line in script] == wanted


ORDERS = list(itertools.permutations(range(4))) + [
    order for length in (1, 2, 3) for order in itertools.permutations(range(4), length)]
FORMS = ("index", "uuid", "prefix", "bare", "upper")


def spell(uuid, index, form):
    if form == "index":
        return str(index)
    if form == "prefix":
        return uuid[:14]
    if form == "bare":
        return uuid[:12]
    if form == "upper":
        return uuid[:4] + uuid[4:].upper()
    return uuid


def as_bytes(uuid):
    return uuid.split("-", 1)[1].replace("-", "").lower()


@pytest.fixture
def four(sim):
    return sim.configure(gpus=4, memory="1GiB")


def limits(uuids):
    """A limit of its own for each card, so that a mix-up shows."""
    return ",".join(f"{uuid}={100 + 50 * index}MiB" for index, uuid in enumerate(uuids))


def check_order(sim, uuids, order, visible):
    with Script(sim, ALIQUOT_MEMORY=limits(uuids), CUDA_VISIBLE_DEVICES=visible) as gpu:
        gpu.do("init", "nvml")
        for ordinal, physical in enumerate(order):
            limit = (100 + 50 * physical) * MIB
            mine = (physical + 1) * MIB
            assert gpu.say(f"uuid {ordinal}")[1] == as_bytes(uuids[physical])
            assert gpu.values(f"total {ordinal}") == [limit]
            gpu.do(f"context {ordinal} {ordinal}", f"alloc {ordinal} {mine}")
            assert gpu.values("info") == [limit - CONTEXT - mine, limit]
            assert gpu.values(f"card {physical}")[1:] == [limit, CONTEXT + mine]
            assert gpu.look(ordinal)[:2] == (CONTEXT + mine, CONTEXT + mine)
            assert gpu.code(f"alloc 99 {limit - CONTEXT - mine + 1}") == OUT_OF_MEMORY
        for physical in set(range(4)) - set(order):
            assert gpu.values(f"card {physical}")[2] == 0
        for ordinal in range(len(order)):
            gpu.do(f"destroy {ordinal}")


@pytest.mark.parametrize("form", FORMS)
def test_every_order_of_four_cards(four, form):
    """A4: charge, limit and NVML stay on one physical card whatever CUDA_VISIBLE_DEVICES says."""
    uuids = cards(four)
    orders = ORDERS if form == "index" else ORDERS[:24:5] + ORDERS[24::9]
    for order in orders:
        check_order(four, uuids, order, ",".join(spell(uuids[i], i, form) for i in order))


def test_limits_by_index_and_prefix(four):
    uuids = cards(four)
    text = f"0=100MiB,{uuids[2][:14]}=200MiB"
    with Script(four, ALIQUOT_MEMORY=text, CUDA_VISIBLE_DEVICES="2,1,0") as gpu:
        gpu.do("init")
        assert gpu.values("total 0") == [200 * MIB]
        assert gpu.values("total 1") == [1024 * MIB]
        assert gpu.values("total 2") == [100 * MIB]


def test_instances(sim):
    """MIG: an instance is a device of its own, by its own UUID."""
    sim.configure(gpus=1, memory="2GiB", mig=4)
    with Script(sim, preload=False) as bare:
        bare.do("init")
        uuids = [bare.say(f"uuid {ordinal}") for ordinal in range(4)]
        seen = [words[1] for words in uuids if words[0] == "0"]
    assert seen
    text = seen[-1]
    uuid = "MIG-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    with Script(sim, ALIQUOT_MEMORY=f"{uuid}=64MiB", CUDA_VISIBLE_DEVICES=uuid) as gpu:
        gpu.ready().do(f"alloc 1 {MIB}")
        free, total = gpu.values("info")
        assert total == 64 * MIB
        assert gpu.values("total 0") == [64 * MIB]
        books = gpu.look()
        assert books.charged == books.granted == total - free


def test_count_and_order_are_the_drivers(four):
    script = ["init", "nvml"] + [f"uuid {i}" for i in range(5)] + [f"card-uuid {i}" for i in range(5)]
    with Script(four, preload=False, CUDA_VISIBLE_DEVICES="3,1") as bare:
        wanted = [bare.say(line) for line in script]
    with Script(four, ALIQUOT_MEMORY="256MiB", CUDA_VISIBLE_DEVICES="3,1") as gpu:
        assert [gpu.say(line) for line in script] == wanted


def test_device_name(sim):
    """A session may give its cards another name; CUDA and NVML say the same."""
    with Script(sim, ALIQUOT_MEMORY="256MiB", ALIQUOT_DEVICE_NAME="Aliquot One") as gpu:
        gpu.do("init", "nvml")
        assert gpu.say("name 0") == ["0", "Aliquot", "One"]
        assert gpu.say("name 0 5") == ["0", "Aliq"]
        assert gpu.say("card-name 0") == ["0", "Aliquot", "One"]
        assert gpu.code("card-name 0 5") == 7, "NVML: insufficient size"
        assert gpu.code("name 0 0") == INVALID_VALUE


def listed(words):
    return {int(pid): int(used) for pid, used in (word.split("=") for word in words[2:])}


@pytest.mark.parametrize("generation", (1, 2, 3))
def test_only_the_sessions_own_processes(sim, generation):
    """F2: each session sees its own, with what they are charged."""
    with Script(sim, preload=False) as stranger, \
            Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        stranger.ready().do(f"alloc 1 {MIB}")
        one.ready().do("nvml", f"alloc 1 {3 * MIB}")
        pids = [int(gpu.say("pid")[0]) for gpu in (one, two)]
        assert listed(one.say(f"processes 0 8 {generation}")) == {pids[0]: CONTEXT + 3 * MIB}
        two.ready().do(f"alloc 1 {5 * MIB}")
        assert listed(one.say(f"processes 0 8 {generation}")) == {
            pids[0]: CONTEXT + 3 * MIB, pids[1]: CONTEXT + 5 * MIB}
        assert one.say(f"processes 0 1 {generation}") == ["7", "2"], "too little room: how much"
        assert one.say(f"processes 0 0 {generation}") == ["7", "2"]
        two.kill()
        assert listed(one.say(f"processes 0 8 {generation}")) == {pids[0]: CONTEXT + 3 * MIB}


def test_an_empty_session_lists_nobody(sim):
    with Script(sim, preload=False) as stranger, Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        stranger.ready()
        gpu.do("nvml")
        assert gpu.say("processes 0 8") == ["0", "0"]
        assert gpu.say("processes 0 0") == ["0", "0"]


def busy(gpu):
    """Who kept the card busy in the last seconds: "not found" is nobody."""
    code, *pids = [int(word) for word in gpu.say("utilisation 0")]
    assert code in (0, 6)
    assert bool(pids) == (code == 0)
    return set(pids)


def test_who_keeps_the_card_busy(sim):
    """Utilisation samples are of the session's own processes; the strangers' are not shown.

    Samples are of the last seconds, in which a crowded machine may have given a process no turn: so
    each is made busy until it was seen. What must not be seen is never there."""
    with Script(sim, preload=False) as stranger, \
            Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        stranger.ready().do("nvml")
        one.ready().do("nvml")
        two.ready()
        strange, *pids = [int(gpu.say("pid")[0]) for gpu in (stranger, one, two)]
        seen, is_hidden = set(), False
        for _ in range(BUSY_TRIES):
            for gpu in (one, two, stranger):
                gpu.do("spin 110000000")
                before, shown, after = busy(stranger), busy(one), busy(stranger)
                assert shown <= set(pids)
                seen |= shown
                is_hidden = is_hidden or strange in before & after
            if seen == set(pids) and is_hidden:
                break
        assert (seen, is_hidden) == (set(pids), True)


def test_the_dead_are_not_in_any_view(sim):
    """What a process held is free for the others at their next look, whatever way it ended: for one
    that has charges of its own, and for a monitor that has none."""
    sim.configure(draining="0")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu, Script(sim, ALIQUOT_MEMORY="256MiB") as tool:
        gpu.ready().do("nvml")
        tool.do("nvml")
        everything = [LIMIT - CONTEXT, LIMIT]
        for question, survivor in (("info", gpu), ("card 0", gpu), ("card 0", tool),
                                   ("card-v2 0", tool)):
            with Script(sim, ALIQUOT_MEMORY="256MiB") as killed, \
                    Script(sim, ALIQUOT_MEMORY="256MiB") as ended:
                killed.ready().do(f"alloc 1 {100 * MIB}")
                ended.ready().do(f"alloc 1 {50 * MIB}")
                assert survivor.values(question)[0] == LIMIT - 3 * CONTEXT - 150 * MIB
                killed.kill()
                assert survivor.values(question)[0] == LIMIT - 2 * CONTEXT - 50 * MIB
            assert survivor.values(question)[:2] == everything


def test_graphics_and_mps_lists_answer_as_the_driver(sim):
    script = ["nvml", "graphics 0 0", "graphics 0 8", "mps 0 0", "mps 0 8", "graphics 9 8"]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line) for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert [gpu.say(line) for line in script] == wanted


@pytest.mark.needs("PID namespaces")
def test_another_pid_namespace(sim):
    """A reader in its own PID namespace names its own processes by its own pids."""
    program = sim.build.program("hooks/script")
    script = "nvml\ninit\ncontext 0 0\nalloc 1 1048576\npid\nprocesses 0 8\n"
    with Script(sim, ALIQUOT_MEMORY="256MiB") as outside:
        outside.ready()
        result = sim.run(["unshare", "--pid", "--fork", "--mount-proc", program], preload=True,
                         stdin=script, ALIQUOT_MEMORY="256MiB")
        *_, pid, processes = result.stdout.splitlines()
        assert listed(processes.split()) == {int(pid): CONTEXT + MIB}, result
        outside.do("nvml")
        assert len(listed(outside.say("processes 0 8"))) == 1


def test_limit_changes_show_at_once(sim):
    """A live change is in every view and in the next charge."""
    with Script(sim, ALIQUOT_MEMORY="256MiB", ALIQUOT_SESSION="views") as gpu:
        gpu.ready().do("nvml", f"alloc 1 {100 * MIB}")
        for limit in (512, 64):
            done = sim.aliquot("set", "views", "--memory", f"{limit}MiB")
            if done.rc != 0:
                pytest.skip(f"aliquot set: {done.stderr}")
            used = CONTEXT + 100 * MIB
            left = max(0, limit * MIB - used)
            assert gpu.values("info") == [left, limit * MIB]
            assert gpu.values("total 0") == [limit * MIB]
            assert gpu.values("card 0") == [left, limit * MIB, limit * MIB - left]
            assert gpu.code(f"alloc 2 {left + 1}") == OUT_OF_MEMORY


def test_oracle_and_views_for_a_tool(sim):
    """A monitor that makes no context sees the session as its members do."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu, Script(sim, ALIQUOT_MEMORY="256MiB") as tool:
        gpu.ready().do(f"alloc 1 {MIB}")
        tool.do("nvml")
        used = CONTEXT + MIB
        assert tool.values("card 0") == [LIMIT - used, LIMIT, used]
        assert json.dumps(listed(tool.say("processes 0 8"))) == json.dumps(
            {int(gpu.say("pid")[0]): used})


@pytest.mark.parametrize("door", ("preload", "shims"))
def test_nvidia_smi_shows_the_sessions_cards(sim, nvidia_smi, door):
    """NVIDIA's own tool, by the NVML facade alone or preloaded: each card as large as its limit,
    used what the session holds, and the card without a limit as the driver has it."""
    sim.configure(gpus=3, memory="1GiB", draining="0")
    session = {"ALIQUOT_MEMORY": "0=256MiB,2=512MiB"}
    with Script(sim, **session) as gpu, Script(sim, preload=False) as stranger:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        stranger.do("init", "context 0 1", f"alloc 1 {MIB}")
        result = sim.run([nvidia_smi, "--query-gpu=memory.total,memory.used,memory.free",
                          "--format=csv,noheader,nounits"], **{door: True}, **session)
        assert result.rc == 0, result
        rows = [[int(word) for word in line.split(",")] for line in result.stdout.splitlines()]
        assert rows == [[256, 116, 140], [1024, 17, 1007], [512, 0, 512]]
