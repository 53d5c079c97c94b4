"""A caller for tests without a store."""

from collections.abc import Iterator

import pytest

from services.chassis import context
from services.chassis.context import Caller
from tests.fakes.catalog_samples import ORG


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of ORG."""
    with context.bind(Caller(org_id=ORG)) as caller:
        yield caller
