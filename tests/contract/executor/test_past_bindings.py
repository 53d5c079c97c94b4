"""The store of what steps have bound."""

from datetime import date
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import BoundElement
from mobiletest_automation.stored_screens.past_bindings import BoundInPasses, StepPast
from services.chassis.mongo import Mongo
from services.executor.ports.screens import BindingsKey
from services.executor.storage.past_bindings import MongoPastBindings

TODAY = date(2026, 3, 4)


async def test_what_was_saved_last_is_loaded(mongo: Mongo) -> None:
    store, key = MongoPastBindings(mongo), BindingsKey("org", uuid4().hex, Platform.IOS, "app", "")
    element = BoundElement(role="button", id="pay", text="Pay", path="list[0]/button[1]", ancestors=("footer",))
    steps = [
        StepPast("a1", TODAY.toordinal(), (BoundInPasses(element, 3), BoundInPasses(BoundElement(role="link"), 1))),
        StepPast("b2", TODAY.toordinal(), (BoundInPasses(element, 1),)),
    ]
    assert await store.load(key) == ()
    for saved in (steps[:1], steps):
        await store.save(key, saved, TODAY)
    assert await store.load(key) == tuple(steps)
    assert await store.load(BindingsKey("other", *(key.test_id, key.platform, key.app_id, key.variant_id))) == ()
