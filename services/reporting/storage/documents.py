"""Rows of the tables as documents. Every `_id` names the row, every document its organisation.

Equal rows are equal documents byte by byte: what has no order of its own is written in that of its keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Status,
    TestSnapshot,
)
from services.reporting.model.tables import (
    Cell,
    CellKey,
    EndedRun,
    ExecutionRow,
    Group,
    GroupKey,
    History,
    HistoryKey,
    RunRow,
)
from services.reporting.model.text import folded
from services.reporting.storage.values import (
    Document,
    active_document,
    active_of,
    assessment_document,
    assessment_of,
    attempts_of,
    attempts_text,
    build_document,
    build_of,
    group_document,
    group_of,
    last_run_document,
    last_run_of,
    named_document,
    named_of,
    quarantine_document,
    quarantine_of,
)

K = TypeVar("K")
V = TypeVar("V")


def joined(key: str | tuple[str, ...]) -> str:
    """The `_id` of a key: ids have no colon."""
    return key if isinstance(key, str) else ":".join(key)


@dataclass(frozen=True, slots=True)
class Kind(Generic[K, V]):
    """A table's collection, and its rows as documents (without `_id`) and back."""

    table: str
    collection: str
    encode: Callable[[K, V], Document]
    decode: Callable[[Document], tuple[K, V]]


def _run(_: str, row: RunRow) -> Document:
    """An expired run has no `listed_at`, so that it is in no index of a list, and is small."""
    names = _RUN_FIELDS if row.listed_at else _EXPIRED_FIELDS
    return {name: getattr(row, name) for name in names} | {"status": row.status.value}


def _run_of(document: Document) -> tuple[str, RunRow]:
    values = {name: document[name] for name in _EXPIRED_FIELDS} | {"status": Status(document["status"])}
    return document["_id"], RunRow(**values, listed_at=document.get("listed_at"), shown=document.get("shown", b""))


_RUN_FIELDS = tuple(RunRow.__dataclass_fields__)
_EXPIRED_FIELDS = tuple(name for name in _RUN_FIELDS if name not in ("listed_at", "shown"))


def _execution(_: str, row: ExecutionRow) -> Document:
    ended = [(run_id, row.tested[run_id]) for run_id in sorted(row.tested)]
    tested = [[run_id, run.app_id, run.test_id, run.verdict, run.fingerprint] for run_id, run in ended]
    return {
        "org_id": row.org_id,
        "revision": row.revision,
        "total": row.total,
        "finished": row.finished,
        "tested": tested,
        "days": {app_id: day.isoformat() for app_id, day in sorted(row.days.items())},
        "storm": row.storm,
    }


def _execution_of(document: Document) -> tuple[str, ExecutionRow]:
    return document["_id"], ExecutionRow(
        org_id=document["org_id"],
        revision=document["revision"],
        total=document["total"],
        finished=document["finished"],
        tested={run_id: EndedRun(*run) for run_id, *run in document["tested"]},
        days={app_id: date.fromisoformat(day) for app_id, day in document["days"].items()},
        storm=document["storm"],
    )


def _cell(key: CellKey, cell: Cell) -> Document:
    app_id, test_id, build_id = key
    return {
        "org_id": cell.org_id,
        "uploaded_at": cell.uploaded_at,
        "app_id": app_id,
        "test_id": test_id,
        "build_id": build_id,
        "passed": cell.passed,
        "failed": cell.failed,
        "infra_failed": cell.infra_failed,
        "cancelled": cell.cancelled,
        "test_version": cell.test_version,
        "test_name": cell.test_name,
        "last": last_run_document(cell.last),
        "verdict": last_run_document(cell.verdict),
        "named": named_document(cell.named),
        "active": {run_id: active_document(cell.active[run_id]) for run_id in sorted(cell.active)},
        "groups": [group_document(group) for group in cell.groups],
    }


def cell_of(document: Document) -> tuple[CellKey, Cell]:
    """The inverse of what is stored; fields that a projection left out are empty."""
    return (document["app_id"], document["test_id"], document["build_id"]), Cell(
        org_id=document["org_id"],
        uploaded_at=document["uploaded_at"],
        passed=document["passed"],
        failed=document["failed"],
        infra_failed=document["infra_failed"],
        cancelled=document["cancelled"],
        test_version=document["test_version"],
        test_name=document["test_name"],
        last=last_run_of(document["last"]),
        verdict=last_run_of(document["verdict"]),
        named=named_of(document["named"]),
        active={run_id: active_of(active) for run_id, active in document.get("active", {}).items()},
        groups=tuple(group_of(group) for group in document.get("groups", ())),
    )


def _group(key: GroupKey, group: Group) -> Document:
    return group_document(group)


def _group_of(document: Document) -> tuple[GroupKey, Group]:
    app_id, test_id, build_id, fingerprint = document["_id"].split(":")
    return (app_id, test_id, build_id, fingerprint), group_of(document)


def _history(key: HistoryKey, history: History) -> Document:
    return {
        "org_id": history.org_id,
        "app_id": key[0],
        "test_id": key[1],
        "attempts": attempts_text(history.attempts),
        "observed": build_document(history.observed),
        **assessment_document(history.assessment),
    }


def _history_of(document: Document) -> tuple[HistoryKey, History]:
    return (document["app_id"], document["test_id"]), History(
        org_id=document["org_id"],
        attempts=attempts_of(document["attempts"]),
        observed=build_of(document["observed"]),
        assessment=assessment_of(document),
    )


def _copy(_: Any, row: Any) -> Document:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def app_of(document: Document) -> tuple[str, AppSnapshot]:
    return document["_id"], AppSnapshot(**{name: document[name] for name in AppSnapshot.__dataclass_fields__})


def build_copy_of(document: Document) -> tuple[str, BuildSnapshot]:
    return document["_id"], BuildSnapshot(**{name: document[name] for name in BuildSnapshot.__dataclass_fields__})


def _test(_: str, test: TestSnapshot) -> Document:
    kept = {"tags": list(test.tags), "quarantine": quarantine_document(test.quarantine)}
    return _copy(_, test) | kept | {"name_folded": folded(test.name)}


def test_of(document: Document) -> tuple[str, TestSnapshot]:
    values = {name: document[name] for name in TestSnapshot.__dataclass_fields__}
    values |= {"tags": tuple(document["tags"]), "quarantine": quarantine_of(document["quarantine"])}
    return document["_id"], TestSnapshot(**values)


def attachment_of(document: Document) -> tuple[tuple[str, str], AttachmentSnapshot]:
    row = AttachmentSnapshot(**{name: document[name] for name in AttachmentSnapshot.__dataclass_fields__})
    return row.key, row


RUNS: Kind[str, RunRow] = Kind("runs", "runs", _run, _run_of)
EXECUTIONS: Kind[str, ExecutionRow] = Kind("executions", "executions", _execution, _execution_of)
CELLS: Kind[CellKey, Cell] = Kind("cells", "cells", _cell, cell_of)
GROUPS: Kind[GroupKey, Group] = Kind("groups", "failure_groups", _group, _group_of)
HISTORIES: Kind[HistoryKey, History] = Kind("histories", "histories", _history, _history_of)
APPS: Kind[str, AppSnapshot] = Kind("apps", "apps", _copy, app_of)
BUILDS: Kind[str, BuildSnapshot] = Kind("builds", "builds", _copy, build_copy_of)
TESTS: Kind[str, TestSnapshot] = Kind("tests", "tests", _test, test_of)
ATTACHMENTS: Kind[tuple[str, str], AttachmentSnapshot] = Kind("attachments", "attachments", _copy, attachment_of)
KINDS: tuple[Kind[Any, Any], ...] = (
    RUNS,
    EXECUTIONS,
    CELLS,
    GROUPS,
    HISTORIES,
    APPS,
    BUILDS,
    TESTS,
    ATTACHMENTS,
)
COUNTERS = "counters"


def counter_id(org_id: str, name: str) -> str:
    """The `_id` of a counter; with the organisation, so that no event can touch another's."""
    return f"{org_id}:{name}"
