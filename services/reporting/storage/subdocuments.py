"""Values embedded in several kinds of documents."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import orjson

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.flaky import Assessment, Classification, Evidence
from services.reporting.model.reports.breakage import AttemptQuery, BuildVerdict
from services.reporting.model.snapshots import Outcome, Simulation, Status
from services.reporting.model.sources import SourceRevision
from services.reporting.model.tables import EPOCH, Active, LastRun, NamedVerdict

Document = dict[str, Any]

_MILLISECOND = timedelta(milliseconds=1)
_STATUSES = {status.value: status for status in Status}
_SIMULATIONS: dict[str | None, Simulation | None] = {None: None, **{each.value: each for each in Simulation}}
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_EVIDENCE_BUILDS = ("since_build", "last_passed_build", "last_failed_build")

T = TypeVar("T")


def encode_fields(value: Any) -> Document:
    """The fields of a dataclass as they are; PyMongo writes the members of a StrEnum as texts."""
    kind: Any = type(value)
    names, read = _field_reader(kind)
    return dict(zip(names, read(value), strict=True))


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


@cache
def _field_reader(kind: Any) -> "tuple[tuple[str, ...], attrgetter[Any]]":
    """The names, and what gives their values as a tuple: that takes half as long as asking for one after the other."""
    names = tuple(_field_names(kind))
    return names, attrgetter(*names)


def decode_last_run(document: Document | None) -> LastRun | None:
    """Of each cell one or two are read, so that it takes a third of what `decode_fields` does."""
    if not document:
        return None
    return LastRun(
        document["ended_at"],
        document["run_id"],
        document["execution_id"],
        _OUTCOMES[document["outcome"]],
        document["seconds"],
        _SIMULATIONS[document.get("simulation")],
        document.get("bindings_changed", False),
    )


def decode_source_revision(document: Document | None) -> SourceRevision | None:
    if document is None:
        return None
    return SourceRevision(document["ended_at"], document["run_id"], document["branch"], document["commit_sha"])


def decode_named_verdict(document: Document | None) -> NamedVerdict | None:
    if not document:
        return None
    return NamedVerdict(
        document["ended_at"],
        document["run_id"],
        document["execution_id"],
        _OUTCOMES[document["outcome"]],
        document["seconds"],
        document["branch"],
        document["commit_sha"],
    )


def decode_build_verdict(document: Document) -> BuildVerdict:
    """The named verdict of a cell that has one."""
    key = (document["app_id"], document["test_id"], document["build_id"])
    named = decode_named_verdict(document["named_verdict"])
    if named is None:
        raise LookupError(f"the cell {key} was selected by its verdict and has none")
    counts = document["passed"], document["failed"]
    return BuildVerdict(key, document["uploaded_at"], named.run, named.source_revision, *counts)


def encode_assessment(assessment: Assessment) -> Document:
    evidence = encode_fields(assessment.evidence)
    evidence |= {name: encode_optional(evidence[name]) for name in _EVIDENCE_BUILDS}
    return {"flaky_score": assessment.score, "classification": assessment.classification, "evidence": evidence}


def decode_assessment(document: Document) -> Assessment:
    """The inverse of `encode_assessment`."""
    stored = document["evidence"]
    builds = {name: decode_optional(BuildRef, stored[name]) for name in _EVIDENCE_BUILDS}
    evidence = decode_fields(Evidence, stored, **builds)
    return Assessment(document["flaky_score"], Classification(document["classification"]), evidence)


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
    builds = [BuildRef(from_ms(at), build_id, version) for build_id, at, version in packed["builds"]]
    return tuple(
        Attempt(run_id, number, execution_id, from_ms(at), builds[build], version, passed, branch, storm)
        for run_id, number, execution_id, at, build, version, passed, branch, storm in packed["attempts"]
    )


def holds_attempt(text: str, sought: AttemptQuery) -> bool:
    """Whether one of the encoded attempts fits, decided without decoding them.

    Most histories have no newer build, or no pass on this branch at all. An outcome is followed by its branch, and a
    quote inside of a text is escaped, so nothing else looks like it.
    """
    newer = _builds_after(text[: text.index(_ATTEMPTS)], sought.after)
    outcomes = ("true",) if sought.only_passed else ("true", "false")
    branch = orjson.dumps(sought.branch).decode()
    if not newer or not any(f",{outcome},{branch}," in text for outcome in outcomes):
        return False
    return any(
        (passed or not sought.only_passed) and build in newer and named == sought.branch
        for _, _, _, _, build, _, passed, named, _ in orjson.loads(text)["attempts"]
    )


# Ends the builds of an encoded history: in a text the quotes would be escaped.
_ATTEMPTS = '],"attempts":['


@lru_cache(maxsize=256)
def _builds_after(beginning: str, after: tuple[datetime, str]) -> frozenset[int]:
    """The numbers of the later builds; thousands of tests may have the same builds in their histories."""
    place = (_to_ms(after[0]), after[1])
    builds = orjson.loads(f"{beginning}]}}")["builds"]
    return frozenset(number for number, (other, at, _) in enumerate(builds) if (at, other) > place)


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


def decode_active(text: str) -> dict[str, Active]:
    """The inverse of `encode_active`."""
    return {
        run_id: Active(_STATUSES[status], from_ms(at), execution_id)
        for run_id, status, at, execution_id in orjson.loads(text)
    }


@lru_cache(maxsize=8192)
def _to_ms(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND


@lru_cache(maxsize=8192)
def from_ms(milliseconds: int) -> datetime:
    """The moment; with few distinct ones, as most lists have, in a third of the time of a datetime of the driver."""
    return EPOCH + milliseconds * _MILLISECOND
