"""Everything here needs Docker and our image."""

import pytest

from tests.images.docker import need_image


@pytest.fixture(scope="session", autouse=True)
def image() -> None:
    need_image()
