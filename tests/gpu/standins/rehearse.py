# SPDX-License-Identifier: Apache-2.0
"""rehearse.py BUILD STAGE [ARGUMENT...]: the bundle in STAGE on the simulated GPU of BUILD.

The folder of this file comes first in PYTHONPATH, and bin/ in PATH: what is found there under the
name of a framework or tool makes the driver calls that the real one makes.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import broken

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


def main():
    build, stage = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    driver, state = build / "src/sim/driver", stage / "sim"
    state.mkdir()
    shutil.copytree(driver, stage / "aliquot-gpu-check/lib/aliquot/sim", symlinks=True)  # for aliquotd --sim
    env = {key: value for key, value in os.environ.items()
           if key in ("HOME", "USER", "LANG", "LC_ALL", "TMPDIR")}
    env |= {"PATH": f"{HERE / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(HERE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_LIBRARY_PATH": str(driver), "GPU_CHECK_CAPACITY": str(512 * MIB),
            "ALIQUOT_REAL_LIBCUDA": str(driver / "libcuda.so.1"),
            "ALIQUOT_REAL_LIBNVML": str(driver / "libnvidia-ml.so.1"),
            "ALIQUOT_SIM": f"gpus=2,memory=2GiB,model=h200,context=16MiB,ptx=noop,"
                           f"kernels={build / 'tests/gpu/gpu_kernels.so'},state={state}"}
    env |= {key: value for key, value in os.environ.items()
            if key in ("GPU_CHECK_STORIES", "GPU_CHECK_BREAK", "CUDA_VISIBLE_DEVICES")}
    if "GPU_CHECK_BREAK" in env:
        env |= broken.break_bundle(stage / "aliquot-gpu-check", env["GPU_CHECK_BREAK"], build / "tests/gpu/gpu_kernels.so",
                                   driver / "libcuda.so.1")
    arguments = sys.argv[3:]
    if "--out" not in arguments:
        arguments += ["--out", str(build / "gpu-check/rehearsal")]
    check = stage / "aliquot-gpu-check/check/check.py"
    return subprocess.run([sys.executable, "-B", check, "--rehearsal", *arguments], env=env,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
