"""Values that the tests of the chassis start from."""

from datetime import UTC, datetime
from uuid import uuid4

from services.chassis.events import Event
from services.chassis.settings import ProcessSettings
from tests.callers import callers

TOKEN = "a-token-of-the-services"


def an_event(topic: str = "t", *, id_: str | None = None, key: str = "k", sequence: int = 0) -> Event:
    return Event(
        topic=topic,
        key=key,
        type="mobiletest.catalog.v1.App",
        source="tests",
        id=id_ or str(uuid4()),
        time=datetime(2026, 1, 1, tzinfo=UTC),
        payload=b"\x0a\x01x",
        sequence=sequence,
    )


def process_settings(**values: object) -> ProcessSettings:
    return ProcessSettings.model_validate({"service_token": TOKEN, "callers": callers(TOKEN, "operator"), **values})
