# SPDX-License-Identifier: Apache-2.0
"""The stories, a file for each subject. A new file is a line here."""
from . import (machine, limits, charges, host, swap, torch_memory, torch_work, frameworks, views, tools,  # noqa: F401
               deaths, daemon, unknowns, costs, compute)
