# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Numba in rehearsals: its arrays and errors over the driver's calls."""
from . import cuda

__all__ = ["cuda"]
