# SPDX-License-Identifier: Apache-2.0
"""Has a file mapped beyond some 60,000 mappings whose names are as long as a name can be: FILE FOLDER."""
import os
import sys

from long_mappings import map_many, map_page

slots = os.open(sys.argv[1], os.O_RDWR)
map_page(slots)  # the highest, and so the last that /proc/PID/maps tells of
map_many(sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
