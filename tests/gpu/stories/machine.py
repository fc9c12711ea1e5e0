# SPDX-License-Identifier: Apache-2.0
"""What the machine is, and whether the doors lead where they should with this driver."""
import ctypes
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time

from story import story

PACKAGES = ("torch", "triton", "cupy", "cupy-cuda12x", "cupy-cuda13x", "numba", "numba-cuda", "jax",
            "nvidia-ml-py", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12",
            "nvidia-cudnn-cu13", "nvidia-cublas")


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@story("machine", "what the machine is: card, driver, versions, who else is on it", priority=1)
def the_machine(t):
    nvml = t.books.nvml
    cuda = ctypes.c_int()
    nvml.call("nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(cuda))
    memory = nvml.memory()
    t.fact("card", nvml.text("nvmlDeviceGetName", nvml.device))
    t.fact("driver", nvml.text("nvmlSystemGetDriverVersion"))
    t.fact("cuda", f"{cuda.value // 1000}.{cuda.value % 1000 // 10}")
    t.fact("memory", {"total": memory.total, "free": memory.free, "used": memory.used})
    t.fact("processes", nvml.processes())
    t.fact("kernel", platform.release())
    t.fact("libc", " ".join(platform.libc_ver()))
    t.fact("cpus", os.cpu_count())
    t.fact("python", f"{platform.python_version()} {sys.executable}")
    t.fact("packages", {name: version(name) for name in PACKAGES if version(name)})
    t.fact("capacity", t.capacity)
    t.claim("the card has room for twice the capacity", memory.free >= 2 * t.capacity, memory.free)


@story("doctor", "aliquot doctor on this driver: what the table lacks, whether the doors lead to us",
       priority=1)
def what_the_doctor_says(t):
    done = subprocess.run([t.aliquot, "doctor", "--json", "--long"], capture_output=True, text=True,
                          timeout=60, check=False)
    findings = json.loads(done.stdout)
    t.fact("findings", findings)
    for finding in findings:
        if finding["verdict"] != "note":
            t.claim(f"{finding['about']}: {finding['text']}", finding["verdict"] == "ok")
        else:
            t.note(f"{finding['about']}: {finding['text']}")


@story("lookups", "cuGetProcAddress and dlsym give the same function, with Aliquot and without", priority=1)
def lookups_agree(t):
    alone, ours = t.both("lookups.py", limit=t.capacity)
    first, second = alone.get("lookups"), ours.get("lookups")
    t.claim("the same names are found", first["found"] == second["found"],
            set(map(tuple, first["found"])) ^ set(map(tuple, second["found"])))
    t.figure("names found", len(second["found"]))
    t.figure("of these equal to the export, without Aliquot", first["equal"])
    t.figure("of these equal to the export, with Aliquot", second["equal"])
    t.fact("not equal to the export without Aliquot", first["unequal"])
    t.fact("not equal to the export with Aliquot", second["unequal"])
    t.claim("whatever is an export without Aliquot is one with Aliquot",
            set(second["unequal"]) <= set(first["unequal"]),
            set(second["unequal"]) - set(first["unequal"]))


@story("contracts", "what our code assumes of the driver, asked of the driver without Aliquot", priority=0, seconds=90)
def what_the_driver_answers(t):
    done = t.run("contracts.py")
    answers = {}
    for said in done.said:
        if said["at"] == "answer":
            answers.setdefault(said["section"], {})[said["what"]] = said["value"]
        elif said["at"] == "broke" or said.get("ended"):
            t.note(f"{said['section']}: {said.get('error', said.get('ended'))}")
    t.fact("answers", answers)
    ends = {said["section"]: said["ended"] for said in done.said if said["at"] == "section"}
    t.claim("every section is asked to its end, and answered", answers and set(ends) == set(answers) and
            not any(ends.values()), (ends, done.stderr))
    for section, found in answers.items():
        t.figure(f"{section}: questions answered", len(found))
    nvml, card = t.books.nvml, t.books.nvml.memory()
    t.fact("memory", {"total": card.total, "free": card.free, "used": card.used})
    t.fact("nvml, ms: a list of processes, init and shutdown", [cost(nvml.processes), cost(again)])
    t.fact("totals of CUDA, with a block of 64 MiB", t.run("limits.py", "bytes").get("report"))


def cost(call):
    began = time.perf_counter()
    for _ in range(20):
        call()
    return round((time.perf_counter() - began) / 20 * 1e3, 4)


def again():
    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.nvmlInit_v2()
    library.nvmlShutdown()
