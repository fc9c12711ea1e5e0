# SPDX-License-Identifier: Apache-2.0
"""Names only: the kernel's text is never compiled here."""
constexpr = None
