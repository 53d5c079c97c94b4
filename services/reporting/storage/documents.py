"""Rows of the tables as documents. The `_id` is the row's key, and every document has its organisation.

Equal rows are equal documents byte by byte: unordered values are written in the order of their keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
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
from services.reporting.model.text_search import fold_case
from services.reporting.storage.subdocuments import (
    Document,
    decode_active,
    decode_assessment,
    decode_attempts,
    decode_build,
    decode_group,
    decode_last_run,
    decode_quarantine,
    decode_source_revision,
    encode_active,
    encode_assessment,
    encode_attempts,
    encode_build,
    encode_group,
    encode_last_run,
    encode_quarantine,
    encode_source_revision,
)

END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
"""`$lt` this selects every document that has the field; the indexes of run lists contain only these."""

K = TypeVar("K")
V = TypeVar("V")


def document_id(key: str | tuple[str, ...]) -> str:
    """The `_id` of a key; ids contain no colon."""
    return key if isinstance(key, str) else ":".join(key)


@dataclass(frozen=True, slots=True)
class TableCodec(Generic[K, V]):
    """The collection of a table, and the conversion of its rows to documents (without `_id`) and back."""

    table: str
    collection: str
    encode: Callable[[K, V], Document]
    decode: Callable[[Document], tuple[K, V]]


def _encode_run(_: str, row: RunRow) -> Document:
    """An expired run has no `listed_at`, so that it is in no index of a list, and no list item."""
    names = _RUN_FIELDS if row.listed_at else _EXPIRED_FIELDS
    return {name: getattr(row, name) for name in names} | {"status": row.status.value}


def _decode_run(document: Document) -> tuple[str, RunRow]:
    values = {name: document[name] for name in _EXPIRED_FIELDS} | {"status": Status(document["status"])}
    return document["_id"], RunRow(
        **values, listed_at=document.get("listed_at"), list_item=document.get("list_item", b"")
    )


_RUN_FIELDS = tuple(RunRow.__dataclass_fields__)
_EXPIRED_FIELDS = tuple(name for name in _RUN_FIELDS if name not in ("listed_at", "list_item"))


def _encode_execution(_: str, row: ExecutionRow) -> Document:
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


def _decode_execution(document: Document) -> tuple[str, ExecutionRow]:
    return document["_id"], ExecutionRow(
        org_id=document["org_id"],
        revision=document["revision"],
        total=document["total"],
        finished=document["finished"],
        tested={run_id: EndedRun(*run) for run_id, *run in document["tested"]},
        days={app_id: date.fromisoformat(day) for app_id, day in document["days"].items()},
        storm=document["storm"],
    )


def _encode_cell(key: CellKey, cell: Cell) -> Document:
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
        "last": encode_last_run(cell.last),
        "verdict": encode_last_run(cell.verdict),
        "named": encode_source_revision(cell.named),
        "active": {run_id: encode_active(cell.active[run_id]) for run_id in sorted(cell.active)},
        "groups": [encode_group(group) for group in cell.groups],
    }


def decode_cell(document: Document) -> tuple[CellKey, Cell]:
    """The inverse of `_encode_cell`; fields that a projection left out are empty."""
    return (document["app_id"], document["test_id"], document["build_id"]), Cell(
        org_id=document["org_id"],
        uploaded_at=document["uploaded_at"],
        passed=document["passed"],
        failed=document["failed"],
        infra_failed=document["infra_failed"],
        cancelled=document["cancelled"],
        test_version=document["test_version"],
        test_name=document["test_name"],
        last=decode_last_run(document["last"]),
        verdict=decode_last_run(document["verdict"]),
        named=decode_source_revision(document["named"]),
        active={run_id: decode_active(active) for run_id, active in document.get("active", {}).items()},
        groups=tuple(decode_group(group) for group in document.get("groups", ())),
    )


def _encode_group(key: GroupKey, group: Group) -> Document:
    return encode_group(group)


def _decode_group(document: Document) -> tuple[GroupKey, Group]:
    app_id, test_id, build_id, fingerprint = document["_id"].split(":")
    return (app_id, test_id, build_id, fingerprint), decode_group(document)


def _encode_history(key: HistoryKey, history: History) -> Document:
    return {
        "org_id": history.org_id,
        "app_id": key[0],
        "test_id": key[1],
        "attempts": encode_attempts(history.attempts),
        "observed": encode_build(history.observed),
        **encode_assessment(history.assessment),
    }


def _decode_history(document: Document) -> tuple[HistoryKey, History]:
    return (document["app_id"], document["test_id"]), History(
        org_id=document["org_id"],
        attempts=decode_attempts(document["attempts"]),
        observed=decode_build(document["observed"]),
        assessment=decode_assessment(document),
    )


def _encode_copy(_: Any, row: Any) -> Document:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def decode_app(document: Document) -> tuple[str, AppSnapshot]:
    return document["_id"], AppSnapshot(**{name: document[name] for name in AppSnapshot.__dataclass_fields__})


def decode_build_copy(document: Document) -> tuple[str, BuildSnapshot]:
    return document["_id"], BuildSnapshot(**{name: document[name] for name in BuildSnapshot.__dataclass_fields__})


def _encode_test(_: str, test: TestSnapshot) -> Document:
    kept = {"tags": list(test.tags), "quarantine": encode_quarantine(test.quarantine)}
    return _encode_copy(_, test) | kept | {"name_folded": fold_case(test.name)}


def decode_test(document: Document) -> tuple[str, TestSnapshot]:
    values = {name: document[name] for name in TestSnapshot.__dataclass_fields__}
    values |= {"tags": tuple(document["tags"]), "quarantine": decode_quarantine(document["quarantine"])}
    return document["_id"], TestSnapshot(**values)


def decode_attachment(document: Document) -> tuple[tuple[str, str], AttachmentSnapshot]:
    row = AttachmentSnapshot(**{name: document[name] for name in AttachmentSnapshot.__dataclass_fields__})
    return row.key, row


RUNS: TableCodec[str, RunRow] = TableCodec("runs", "runs", _encode_run, _decode_run)
EXECUTIONS: TableCodec[str, ExecutionRow] = TableCodec("executions", "executions", _encode_execution, _decode_execution)
CELLS: TableCodec[CellKey, Cell] = TableCodec("cells", "cells", _encode_cell, decode_cell)
GROUPS: TableCodec[GroupKey, Group] = TableCodec("groups", "failure_groups", _encode_group, _decode_group)
HISTORIES: TableCodec[HistoryKey, History] = TableCodec("histories", "histories", _encode_history, _decode_history)
APPS: TableCodec[str, AppSnapshot] = TableCodec("apps", "apps", _encode_copy, decode_app)
BUILDS: TableCodec[str, BuildSnapshot] = TableCodec("builds", "builds", _encode_copy, decode_build_copy)
TESTS: TableCodec[str, TestSnapshot] = TableCodec("tests", "tests", _encode_test, decode_test)
ATTACHMENTS: TableCodec[tuple[str, str], AttachmentSnapshot] = TableCodec(
    "attachments", "attachments", _encode_copy, decode_attachment
)
TABLE_CODECS: tuple[TableCodec[Any, Any], ...] = (
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
    """The `_id` of a counter; it has the organisation, so that no event can change another one's."""
    return f"{org_id}:{name}"
