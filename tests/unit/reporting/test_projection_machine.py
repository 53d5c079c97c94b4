"""Whatever happens to events between a topic and the tables, the read models equal a recount, byte for byte."""

import asyncio

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from services.reporting.model.flaky import FlakyRules
from services.reporting.model.projection import Rules
from services.reporting.model.tables import Tables
from services.reporting.ports import Projections
from tests.examples import examples
from tests.fakes.reporting_projection_machine import ProjectionMachine
from tests.fakes.reporting_read_models import FakeProjections
from tests.fakes.reporting_stored_bytes import Contents, contents

RULES = Rules(flaky=FlakyRules(window=3))
EXAMPLES = settings(
    max_examples=examples(150),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class Memory:
    """Tables in memory, as the machine wants them."""

    def __init__(self) -> None:
        self.kept = FakeProjections()

    @property
    def folds(self) -> Projections:
        return self.kept

    async def contents(self) -> Contents:
        return contents(self.kept.tables)

    async def clear(self) -> None:
        self.kept.tables = Tables()


def test_read_models_always_equal_a_recount() -> None:
    with asyncio.Runner() as runner:
        run_state_machine_as_test(lambda: ProjectionMachine(Memory(), runner, RULES), settings=EXAMPLES)  # type: ignore[no-untyped-call]
