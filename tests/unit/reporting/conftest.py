"""Everybody here is of one organisation."""

from collections.abc import Iterator

import pytest

from services.chassis.context import Caller, bind
from tests.fakes.reporting_story import ORG, Story


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(Caller(ORG)) as caller:
        yield caller


@pytest.fixture
def story() -> Story:
    return Story()
