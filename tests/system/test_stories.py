# SPDX-License-Identifier: Apache-2.0
"""The rules that hold for each story, whatever it is about (conftest.py)."""
import os
import subprocess
import sys

from hang import HANG_SECONDS

HANGS = """
import time
import hang
hang.STORY_SECONDS = 2
def test_waits_for_nothing():
    time.sleep(100_000)
def test_ends():
    pass
"""


def test_a_story_that_hangs_fails_where_it_stands_and_the_next_one_runs(build, tmp_path):
    """Or the sum of all would never come."""
    (tmp_path / "test_two.py").write_text(HANGS)
    tests = build.source / "tests"
    ended = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", tmp_path],
                           env={**os.environ, "PYTHONPATH": f"{tests}:{tests / 'lib'}", "PYTHONDONTWRITEBYTECODE": "1"},
                           cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert ended.returncode == 1 and "1 failed, 1 passed" in ended.stdout, ended
    assert "time.sleep(100_000)" in ended.stdout and "hung" in ended.stdout, ended
