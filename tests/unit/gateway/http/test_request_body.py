"""The memory of the bodies that are being received."""

import pytest

from services.chassis import metrics
from services.gateway.http.json_responses import HttpError
from services.gateway.http.request_body import BodyMemory


def refusals() -> float:
    return metrics.REGISTRY.get_sample_value("mobiletest_limit_refusals_total", {"limit": "body_bytes"}) or 0


def test_the_bodies_of_one_organisation_leave_room_to_others() -> None:
    memory = BodyMemory(organisation_bytes=10, process_bytes=15)
    memory.take("a", 10)
    before = refusals()
    with pytest.raises(HttpError) as refused:
        memory.take("a", 1)
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    memory.take("b", 5)
    with pytest.raises(HttpError) as full:
        memory.take("c", 1)
    assert full.value.status == 503
    assert refusals() == before + 2
    memory.give("a", 10)
    memory.take("c", 10)
