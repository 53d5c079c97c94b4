"""Values embedded in several kinds of documents."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.evidence import Evidence
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.snapshots import Outcome, Status
from services.reporting.model.tables import EPOCH, Active, LastRun

Document = dict[str, Any]

_MILLISECOND = timedelta(milliseconds=1)


_STATUSES = {status.value: status for status in Status}
_EVIDENCE_BUILDS = ("since_build", "last_passed_build", "last_failed_build")

T = TypeVar("T")


def encode_fields(value: Any) -> Document:
    """The fields of a dataclass as they are; PyMongo writes the members of a StrEnum as texts."""
    return {name: getattr(value, name) for name in _field_names(value)}


def decode_fields(kind: type[T], document: Document, **decoded: Any) -> T:
    """The inverse of `encode_fields`; `decoded` are those fields that are not stored as they are."""
    stored = {name: document[name] for name in _field_names(kind) if name not in decoded}
    return kind(**stored, **decoded)


def encode_optional(value: Any) -> Document | None:
    """See `encode_fields`; None stays None."""
    return None if value is None else encode_fields(value)


def decode_optional(kind: type[T], document: Document | None) -> T | None:
    """See `decode_fields`; None stays None."""
    return None if document is None else decode_fields(kind, document)


def _field_names(kind: Any) -> Iterable[str]:
    names: Iterable[str] = kind.__dataclass_fields__
    return names


def decode_last_run(document: Document | None) -> LastRun | None:
    return decode_fields(LastRun, document, outcome=Outcome(document["outcome"])) if document else None


def encode_assessment(assessment: Assessment) -> Document:
    evidence = encode_fields(assessment.evidence)
    evidence |= {name: encode_optional(evidence[name]) for name in _EVIDENCE_BUILDS}
    return {"flaky_score": assessment.score, "classification": assessment.classification, "evidence": evidence}


def decode_assessment(document: Document) -> Assessment:
    """Evidence that an earlier version did not store gets its default."""
    stored = {name: value for name, value in document["evidence"].items() if name in _field_names(Evidence)}
    stored |= {name: decode_optional(BuildRef, stored[name]) for name in _EVIDENCE_BUILDS if name in stored}
    return Assessment(document["flaky_score"], Classification(document["classification"]), Evidence(**stored))


def encode_attempts(attempts: tuple[Attempt, ...]) -> str:
    """The attempts of a history as one JSON text: {"builds": [[id, ms, version]], "attempts": [[...]]}.

    They are always read and written together; as subdocuments they take the driver
    15 times as long to write and 6 times as long to read.
    """
    positions: dict[BuildRef, int] = {}
    packed = [_packed(attempt, positions.setdefault(attempt.build, len(positions))) for attempt in attempts]
    builds = [[build.id, _to_ms(build.uploaded_at), build.version] for build in positions]
    return orjson.dumps({"builds": builds, "attempts": packed}).decode()


def decode_attempts(text: str) -> tuple[Attempt, ...]:
    """The inverse of `encode_attempts`."""
    packed = orjson.loads(text)
    builds = [BuildRef(_from_ms(at), build_id, version) for build_id, at, version in packed["builds"]]
    return tuple(
        Attempt(run_id, number, execution_id, _from_ms(at), builds[build], version, passed, branch, storm)
        for run_id, number, execution_id, at, build, version, passed, branch, storm in packed["attempts"]
    )


def _packed(attempt: Attempt, build: int) -> list[object]:
    return [
        attempt.run_id,
        attempt.number,
        attempt.execution_id,
        _to_ms(attempt.started_at),
        build,
        attempt.test_version,
        attempt.passed,
        attempt.branch,
        attempt.storm,
    ]


def encode_active(active: Mapping[str, Active]) -> str:
    """The active runs of a cell as one JSON text, for the same reason: [[run id, status, ms, execution id], ...]."""
    runs = [(run_id, status, _to_ms(since), by) for run_id, (status, since, by) in sorted(active.items())]
    return orjson.dumps(runs).decode()


def decode_active(stored: str | Document) -> dict[str, Active]:
    """The inverse of `encode_active`. Earlier versions stored subdocuments."""
    if not isinstance(stored, str):
        return {i: Active(Status(run["status"]), run["since"], run["execution_id"]) for i, run in stored.items()}
    return {
        run_id: Active(_STATUSES[status], _from_ms(at), execution_id)
        for run_id, status, at, execution_id in orjson.loads(stored)
    }


@lru_cache(maxsize=8192)
def _to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND


@lru_cache(maxsize=8192)
def _from_ms(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * _MILLISECOND
