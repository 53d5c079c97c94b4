"""Values embedded in several kinds of documents."""

from datetime import datetime, timedelta
from typing import Any

import orjson

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.evidence import Evidence
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.snapshots import Outcome, Quarantine, Status
from services.reporting.model.tables import EPOCH, Active, Group, LastRun, SourceRevision

Document = dict[str, Any]

_MILLISECOND = timedelta(milliseconds=1)


def encode_build(build: BuildRef | None) -> Document | None:
    return {"id": build.id, "uploaded_at": build.uploaded_at, "version": build.version} if build else None


def decode_build(document: Document | None) -> BuildRef | None:
    return BuildRef(document["uploaded_at"], document["id"], document["version"]) if document else None


def encode_last_run(last: LastRun | None) -> Document | None:
    if last is None:
        return None
    return {
        "ended_at": last.ended_at,
        "run_id": last.run_id,
        "execution_id": last.execution_id,
        "outcome": last.outcome.value,
        "seconds": last.seconds,
    }


def decode_last_run(document: Document | None) -> LastRun | None:
    if document is None:
        return None
    return LastRun(
        ended_at=document["ended_at"],
        run_id=document["run_id"],
        execution_id=document["execution_id"],
        outcome=Outcome(document["outcome"]),
        seconds=document["seconds"],
    )


def encode_source_revision(named: SourceRevision | None) -> Document | None:
    return {name: getattr(named, name) for name in _NAMED_FIELDS} if named else None


def decode_source_revision(document: Document | None) -> SourceRevision | None:
    return SourceRevision(**{name: document[name] for name in _NAMED_FIELDS}) if document else None


_NAMED_FIELDS = tuple(SourceRevision.__dataclass_fields__)


def encode_quarantine(quarantine: Quarantine | None) -> Document | None:
    return {name: getattr(quarantine, name) for name in _QUARANTINE_FIELDS} if quarantine else None


def decode_quarantine(document: Document | None) -> Quarantine | None:
    return Quarantine(**{name: document[name] for name in _QUARANTINE_FIELDS}) if document else None


_QUARANTINE_FIELDS = tuple(Quarantine.__dataclass_fields__)


def encode_active(active: Active) -> Document:
    return {"status": active.status.value, "since": active.since, "execution_id": active.execution_id}


def decode_active(document: Document) -> Active:
    return Active(Status(document["status"]), document["since"], document["execution_id"])


def encode_group(group: Group) -> Document:
    return {name: getattr(group, name) for name in _GROUP_FIELDS}


def decode_group(document: Document) -> Group:
    return Group(**{name: document[name] for name in _GROUP_FIELDS})


_GROUP_FIELDS = tuple(Group.__dataclass_fields__)


def encode_assessment(assessment: Assessment) -> Document:
    evidence = {name: getattr(assessment.evidence, name) for name in _EVIDENCE_FIELDS}
    for name in _EVIDENCE_BUILDS:
        evidence[name] = encode_build(evidence[name])
    return {
        "flaky_score": assessment.score,
        "classification": assessment.classification.value,
        "evidence": evidence,
    }


def decode_assessment(document: Document) -> Assessment:
    evidence = {name: document["evidence"][name] for name in _EVIDENCE_FIELDS if name in document["evidence"]}
    for name in evidence.keys() & _EVIDENCE_BUILDS:
        evidence[name] = decode_build(evidence[name])
    classification = Classification(document["classification"])
    return Assessment(document["flaky_score"], classification, Evidence(**evidence))


_EVIDENCE_FIELDS = tuple(Evidence.__dataclass_fields__)
_EVIDENCE_BUILDS = ("since_build", "last_passed_build", "last_failed_build")


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


def _to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND


def _from_ms(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * _MILLISECOND
