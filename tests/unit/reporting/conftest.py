import pytest

from tests.fakes.reporting_story import Story


@pytest.fixture
def story() -> Story:
    return Story()
