# SPDX-License-Identifier: Apache-2.0
"""How far what we charge is from what the driver granted, over every way to device memory."""
import pathlib
import subprocess
import tempfile

from report import Report
from stage import BUILD, LIBRARY

DRIVER = BUILD / "src/sim/driver"
PROGRAM = BUILD / "tests/programs/hooks/families"

report = Report("accuracy", "bytes charged less bytes granted by the simulated driver's own books, at each "
                            "step of a program that takes and gives back memory of every family. Of a "
                            "graph with memory nodes the step between instantiation and the first "
                            "launch is left out: it is charged ahead")


def steps(folder):
    env = {"LD_PRELOAD": str(LIBRARY), "ALIQUOT_MEMORY": "768MiB", "ALIQUOT_RUNTIME_DIR": str(folder),
           "ALIQUOT_REAL_LIBCUDA": str(DRIVER / "libcuda.so.1"),
           "ALIQUOT_REAL_LIBNVML": str(DRIVER / "libnvidia-ml.so.1"),
           "ALIQUOT_SIM": f"gpus=1,memory=1GiB,state={folder}/sim"}
    done = subprocess.run([PROGRAM], env=env, check=True, capture_output=True, text=True, timeout=300)
    for line in done.stdout.splitlines():
        family, *moment, charged, granted = line.split()
        if (family, moment) != ("graph", ["instantiated"]):
            yield family, " ".join(moment), int(charged), int(granted)


with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
    seen = list(steps(pathlib.Path(runtime)))
report.row(f"largest difference, {len({family for family, *_ in seen})} families, {len(seen)} steps",
           max(abs(charged - granted) for *_, charged, granted in seen), "B", 0,
           "vgpu.rs: NVML, 100 ms late; HAMi-core misses six families", seen)
report.row("charged when all is given back", seen[-1][2], "B", 0)
report.finish()
