"""Values embedded in documents."""

from datetime import UTC, datetime

from services.reporting.model.attempts import BuildRef
from services.reporting.model.evidence import Evidence
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.storage.subdocuments import decode_assessment, encode_assessment

BUILD = BuildRef(datetime(2026, 1, 1, tzinfo=UTC), "b1", "1.0.0")
ASSESSMENT = Assessment(0.5, Classification.BROKEN, Evidence(streak=3, last_failed_build=BUILD))


def test_an_assessment_survives_its_document() -> None:
    assert decode_assessment(encode_assessment(ASSESSMENT)) == ASSESSMENT


def test_evidence_that_an_earlier_version_did_not_store_has_its_default() -> None:
    document = encode_assessment(ASSESSMENT)
    del document["evidence"]["last_failed_build"], document["evidence"]["failed_builds"]
    document["evidence"]["unknown"] = 1
    assert decode_assessment(document).evidence == Evidence(streak=3)
