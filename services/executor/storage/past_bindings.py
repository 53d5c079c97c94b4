"""What the steps of tests have bound: a document for each test on a platform and app, in a variant."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from mobiletest_automation.stored_screens.past_bindings import StepPast
from services.chassis.mongo import Mongo
from services.executor.ports.screens import BindingsKey
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import PAST_BINDINGS


class MongoPastBindings:
    """The port `PastBindings`."""

    def __init__(self, mongo: Mongo) -> None:
        self._bindings = mongo.collection(PAST_BINDINGS)

    async def load(self, key: BindingsKey) -> tuple[StepPast, ...]:
        document = await self._bindings.find_one({"_id": _id(key)})
        return tuple(from_document(StepPast, step) for step in document["steps"]) if document is not None else ()

    async def save(self, key: BindingsKey, steps: Sequence[StepPast], day: date) -> None:
        document = {
            "org_id": key.org_id,
            "used_on": datetime.combine(day, time(), UTC),
            "steps": [to_document(step) for step in steps],
        }
        await self._bindings.replace_one({"_id": _id(key)}, document, upsert=True)


def _id(key: BindingsKey) -> str:
    return f"{key.org_id}/{key.test_id}/{key.platform}/{key.app_id}/{key.variant_id}"
