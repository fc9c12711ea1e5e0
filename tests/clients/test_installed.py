# SPDX-License-Identifier: Apache-2.0
"""How many of the clients are here: a suite that skips them all must not pass for one that ran."""
import os

import pytest

MAY_LACK = 2


def test_at_most_two_clients_cannot_be_installed(fetch):
    """Fails in CI; elsewhere (no network, another system) it is a skip with the same line."""
    missing = [f"{name} ({why})" for name, (path, why) in fetch().items() if not path]
    if len(missing) <= MAY_LACK:
        return
    line = f"{len(missing)} clients cannot be installed, at most {MAY_LACK} may lack: {'; '.join(missing)}"
    if os.environ.get("CI"):
        pytest.fail(line, pytrace=False)
    pytest.skip(line)
