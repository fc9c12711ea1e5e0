# SPDX-License-Identifier: Apache-2.0
"""The front door: what `make demo` shows, to its end. It checks each of its steps itself."""
import os
import pathlib
import subprocess

from hang import HANG_SECONDS

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_the_demo_comes_to_its_end(build):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("ALIQUOT_")}
    shown = subprocess.run([SOURCE / "tools/demo"], env=variables | {"ALIQUOT_BUILD": str(build.folder)}, check=False,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert shown.returncode == 0, shown.stdout[-3000:] + shown.stderr[-1000:]
    assert "Next: README.md" in shown.stdout
