# SPDX-License-Identifier: Apache-2.0
"""aliquot doctor: what it finds is so, and what is wrong it says is wrong."""
import os
import shutil

import pytest

MIB = 1 << 20


def findings(result, about):
    return [(f["verdict"], f["text"]) for f in result.json if f["about"] == about]


def test_a_machine_where_all_is_well(cli, sim, build):
    result = cli("doctor", "--json")
    assert result.rc == 0 and not [f for f in result.json if f["verdict"] == "bad"], result
    assert findings(result, "library") == [("ok", f"{build.library} loads")]
    assert findings(result, "cuda")[0] == ("ok", f"the driver's is {build.driver}/libcuda.so.1")
    assert findings(result, "nvml")[0] == ("ok", f"the driver's is {build.driver}/libnvidia-ml.so.1")
    assert findings(result, "gpus")[0][1].startswith("2, driver ")
    assert str(sim.runtime) in findings(result, "folder")[0][1]
    doors = " ".join(text for verdict, text in findings(result, "preload") if verdict == "ok")
    for door in ("dlopen", "dlsym", "symbol", "dlopen(libcuda.so.1)", "dlopen(libcuda.so)",
                 "dlopen(libnvidia-ml.so.1)", "cuGetProcAddress"):
        assert f"{door} leads to us" in doors, (door, doors)
    assert ("ok", "dlopen(libcuda.so.1) leads to us") in findings(result, "shims")
    assert "against accident" in findings(result, "protection")[0][1]
    people = cli("doctor")
    assert people.rc == 0 and len(people.stdout.splitlines()) == len(result.json)


def test_no_driver(cli):
    result = cli("doctor", "--json", sim=False)
    assert result.rc == 1 and findings(result, "cuda")[0][0] == "bad", result
    assert "--sim" in findings(result, "cuda")[0][1]
    # Then programs find none either, as without Aliquot.
    assert {verdict for verdict, text in findings(result, "preload") if "lib" in text} == {"note"}


def test_a_driver_that_is_newer_and_older_than_our_table(cli, compile_c, build):
    """It has functions that we do not know, and lacks some that we do: both are named. Its variables are no
    functions."""
    source = "\n".join(f"int cuNew{i}(void) {{ return 0; }}" for i in range(7)) + \
             "\nint cuInit(unsigned flags) { return flags ? 1 : 0; }\nint cudbgNewWord = 1;"
    other = compile_c("libcuda.so.1", source, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    result = cli("doctor", "--json", sim=False, ALIQUOT_REAL_LIBCUDA=other,
                 ALIQUOT_REAL_LIBNVML=build.driver / "libnvidia-ml.so.1", ALIQUOT_SIM=cli.sim.spec)
    verdict, text = findings(result, "cuda")[1]
    assert verdict == "note" and "Aliquot does not know" in text and ": 7: " in text and "cuNew0" in text
    assert "--long" in text and "cuNew6" not in text
    verdict, text = findings(result, "cuda")[2]
    assert verdict == "note" and "this driver does not have" in text
    every = cli("doctor", "--long", "--json", sim=False, ALIQUOT_REAL_LIBCUDA=other)
    assert "cuNew6" in findings(every, "cuda")[1][1]


@pytest.mark.parametrize("driver, is_known", ((13050, True), (13060, False), (13990, False)))
def test_a_driver_of_a_version_beyond_our_table(cli, sim, driver, is_known):
    """What it may have that we do not count is said, also where it exports no name that we lack."""
    sim.configure(driver=driver)
    result = cli("doctor", "--json")
    said = [text for verdict, text in findings(result, "cuda") if verdict == "note" and "our table of 13.5" in text]
    assert result.rc == 0 and len(said) == (0 if is_known else 1), result
    if said:
        assert f"the driver is of CUDA 13.{driver % 1000 // 10}," in said[0] and "are not counted" in said[0]


def test_shims_that_lead_past_us(cli, build, tmp_path):
    """A door that does not work is found to be so, not believed: here the driver is in its place."""
    tree = tmp_path / "tree"
    for artefact, place in ((build.aliquot, "bin/aliquot"),
                            (build.library, "lib/aliquot/libaliquot.so"),
                            (build.driver / "libcuda.so.1", "lib/aliquot/shims/libcuda.so.1")):
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(artefact, tree / place)
    result = cli.sim.run([tree / "bin/aliquot", "doctor", "--json"], LD_LIBRARY_PATH=None)
    past = [text for verdict, text in findings(result, "shims") if verdict == "bad"]
    assert result.rc == 1 and past and "leads past us" in past[0], result


def test_a_process_in_a_session(cli, build):
    process = cli.start("run", "--session", "s", "--memory", "256MiB", "--",
                        build.program("sim/hold"), 0, 64 * MIB)
    process.stdout.readline()
    result = cli("doctor", process.pid, "--json", sim=False)
    assert result.rc == 0, result
    assert findings(result, "process")[0] == ("ok", f"interposed, by {build.library}")
    assert f"{build.driver}/libcuda.so.1" in findings(result, "process")[1][1]
    assert findings(result, "session")[0][1].startswith("s in ")
    assert "80 MiB" in findings(result, "session")[1][1]


def test_a_process_that_is_not_limited(cli, sim, build):
    process = sim.start([build.program("sim/hold"), 0, MIB])
    process.stdout.readline()
    result = cli("doctor", process.pid, "--json", sim=False)
    assert result.rc == 1, result
    verdict, text = findings(result, "process")[0]
    assert verdict == "bad" and "nothing before it" in text and "aliquot run" in text
    result = cli("doctor", os.getpid(), "--json", sim=False)
    assert result.rc == 1 and "not interposed" in findings(result, "process")[0][1]


def test_a_process_that_is_not(cli):
    result = cli("doctor", 2 ** 22 + 1, sim=False)
    assert result.rc == 1 and "does it run" in result.stdout, result


def test_it_knows_where_it_is(cli, build):
    inside = cli.run("--session", "s", "--memory", "64MiB", "--", build.aliquot, "doctor", "--json")
    assert ("ok", "this very process is interposed, session s") in findings(inside, "here")
