# SPDX-License-Identifier: Apache-2.0
"""How long a program may print nothing before it counts as hung: a bound, never a measure of speed.
"""
import os

SLOWER = 2
IS_SLOW = os.environ.get("ALIQUOT_SANITIZER") or os.environ.get("ALIQUOT_EMULATOR")
HANG_SECONDS = int(os.environ.get("ALIQUOT_HANG_SECONDS", 300)) * (SLOWER if IS_SLOW else 1)
LONG_HANG_SECONDS = 2 * HANG_SECONDS  # stories of several programs
STORY_SECONDS = 1200  # any story (conftest.py)
LOOKED_SECONDS = 0.2  # NVML is read every 20 ms, or less often if that takes long
