# SPDX-License-Identifier: Apache-2.0
"""FILE: a context on the GPU, and then execve() with that file open, whose closing is never answered (still.py)."""
import os
import sys

from gpu import make_context

os.open(sys.argv[1], os.O_RDWR)  # first: what is opened later, the driver's too, is closed after it
make_context()
os.execv("/bin/sleep", ["sleep", "1000"])
