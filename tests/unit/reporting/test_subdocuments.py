"""Values embedded in documents."""

from datetime import UTC, datetime

from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Assessment, Classification, Evidence
from services.reporting.model.snapshots import Status
from services.reporting.model.tables import Active
from services.reporting.storage.subdocuments import (
    decode_active,
    decode_assessment,
    encode_active,
    encode_assessment,
)

BUILD = BuildRef(datetime(2026, 1, 1, tzinfo=UTC), "b1", "1.0.0")
ASSESSMENT = Assessment(0.5, Classification.BROKEN, Evidence(streak=3, last_failed_build=BUILD))


def test_an_assessment_survives_its_document() -> None:
    assert decode_assessment(encode_assessment(ASSESSMENT)) == ASSESSMENT


ACTIVE = {"r1": Active(Status.QUEUED, BUILD.uploaded_at, "e1"), "r2": Active(Status.RUNNING, BUILD.uploaded_at, "e2")}


def test_active_runs_survive_their_text_in_any_order() -> None:
    text = encode_active(ACTIVE)
    assert decode_active(text) == ACTIVE
    assert encode_active(dict(reversed(ACTIVE.items()))) == text
