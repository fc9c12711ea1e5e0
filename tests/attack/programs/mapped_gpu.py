# SPDX-License-Identifier: Apache-2.0
"""FOLDER: some 60,000 mappings, and then a context on the GPU."""
import sys

from gpu import make_context
from long_mappings import map_many

map_many(sys.argv[1])
make_context()
print("ready", flush=True)
sys.stdin.readline()
