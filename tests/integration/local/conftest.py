"""What the supervisor's tests need: programs to start, wherever the other suites have their servers."""

import pytest

from deploy.local import binaries
from tests.conftest import skip_or_fail


@pytest.fixture
def programs() -> None:
    """A mongod and a broker on this machine."""
    try:
        binaries.mongod(), binaries.broker()
    except binaries.BinaryMissing as missing:
        skip_or_fail(str(missing))
