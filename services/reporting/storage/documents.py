"""Rows of the tables as documents. The `_id` is the row's key, and every document has its organisation.

Cells, groups and histories have a subject as `test_id`: the test, or the test in a variant.

Equal rows are equal documents byte by byte: unordered values are written in the order of their keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Generic, TypeVar

from services.chassis.text_search import fold_case
from services.reporting.model.app_failures import AppFailure
from services.reporting.model.attempts import BuildRef
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Outcome,
    Quarantine,
    RunResult,
    Status,
    TestSnapshot,
)
from services.reporting.model.sources import (
    BranchBuild,
    BranchKey,
    BranchRow,
    BranchRun,
    BuildSource,
    BuildSourceKey,
    NamedText,
)
from services.reporting.model.tables import (
    Cell,
    CellKey,
    EndedRun,
    ExecutionRow,
    FailureKey,
    Group,
    GroupKey,
    History,
    HistoryKey,
    RunRow,
)
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import is_variant, test_of
from services.reporting.storage.failure_documents import (
    decode_failure,
    decode_group,
    decode_group_fields,
    decode_triage,
    encode_failure,
    encode_group,
    encode_triage,
)
from services.reporting.storage.subdocuments import (
    Document,
    decode_active,
    decode_assessment,
    decode_attempts,
    decode_fields,
    decode_last_run,
    decode_named_verdict,
    decode_optional,
    decode_source_revision,
    encode_active,
    encode_assessment,
    encode_attempts,
    encode_fields,
    encode_optional,
)

# `$lt` this selects every document that has the field; the indexes of run lists contain only these.
END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
# The indexes by which runs with a result are found.
RESULTS_OF_BUILD, RESULTS_OF_TEST = "results_of_build", "results_of_test"
# What the newest run of a branch that says it says.
_BRANCH_TEXTS = ("commit", "repository", "ci_system", "head")

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
    """An expired run has no `listed_at` and no result, so that it is in no index of a list, and no list item."""
    document = encode_fields(row)
    if not row.variant:
        del document["variant"]
    if row.result is None:
        del document["result"]
    if row.expired:
        del document["listed_at"], document["list_item"]
    return document


def _decode_run(document: Document) -> tuple[str, RunRow]:
    item = {"listed_at": document.get("listed_at"), "list_item": document.get("list_item", b"")}
    item["variant"] = document.get("variant", "")
    item["result"] = RunResult(document["result"]) if "result" in document else None
    return document["_id"], decode_fields(RunRow, document, status=Status(document["status"]), **item)


def _encode_execution(_: str, row: ExecutionRow) -> Document:
    ended = sorted(row.ended_runs.items())
    return encode_fields(row) | {
        "ended_runs": [[run_id, run.app_id, run.subject, run.verdict, run.fingerprint] for run_id, run in ended],
        "last_days": {app_id: day.isoformat() for app_id, day in sorted(row.last_days.items())},
    }


def _decode_execution(document: Document) -> tuple[str, ExecutionRow]:
    ended = {run_id: EndedRun(*run) for run_id, *run in document["ended_runs"]}
    days = {app_id: date.fromisoformat(day) for app_id, day in document["last_days"].items()}
    return document["_id"], decode_fields(ExecutionRow, document, ended_runs=ended, last_days=days)


def _encode_cell(key: CellKey, cell: Cell) -> Document:
    app_id, subject, build_id = key
    return encode_fields(cell) | {
        "app_id": app_id,
        "test_id": subject,
        "build_id": build_id,
        "last_run": encode_optional(cell.last_run),
        "verdict": encode_optional(cell.verdict),
        "source_revision": encode_optional(cell.source_revision),
        "named_verdict": encode_optional(cell.named_verdict),
        "active_runs": encode_active(cell.active_runs),
        "active_run_count": len(cell.active_runs),
        "groups": list(map(encode_fields, cell.groups)),
    }


def decode_cell(document: Document) -> tuple[CellKey, Cell]:
    """The inverse of `_encode_cell`; fields that a projection left out are empty.

    Without `decode_fields`, which takes twice as long, because a matrix has thousands of cells.
    """
    groups = document.get("groups")
    cell = Cell(
        document["org_id"],
        document["uploaded_at"],
        document["passed"],
        document["failed"],
        document["infra_failed"],
        document["cancelled"],
        document["test_version"],
        document["test_name"],
        decode_last_run(document["last_run"]),
        decode_last_run(document["verdict"]),
        decode_source_revision(document["source_revision"]),
        decode_named_verdict(document.get("named_verdict")),
        decode_active(document["active_runs"]) if "active_runs" in document else {},
        tuple(map(decode_group_fields, groups)) if groups else (),
        *(document.get(name, 0) for name in ("passed_ms", "failed_ms", "retried_ms")),
    )
    return (document["app_id"], document["test_id"], document["build_id"]), cell


def _encode_history(key: HistoryKey, history: History) -> Document:
    return {
        "org_id": history.org_id,
        "app_id": key[0],
        "test_id": key[1],
        "attempts": encode_attempts(history.attempts),
        "last_observed_build": encode_optional(history.last_observed_build),
        **encode_assessment(history.assessment),
        **(
            {"variant_of": test_of(key[1]), "values": dict(sorted(history.values.items()))}
            if is_variant(key[1])
            else {}
        ),
    }


def _decode_history(document: Document) -> tuple[HistoryKey, History]:
    return (document["app_id"], document["test_id"]), History(
        org_id=document["org_id"],
        attempts=decode_attempts(document["attempts"]),
        last_observed_build=decode_optional(BuildRef, document["last_observed_build"]),
        assessment=decode_assessment(document),
        values=document.get("values", {}),
    )


def _encode_copy(_: Any, row: Any) -> Document:
    return encode_fields(row)


def decode_app(document: Document) -> tuple[str, AppSnapshot]:
    return document["_id"], decode_fields(AppSnapshot, document)


def decode_build_copy(document: Document) -> tuple[str, BuildSnapshot]:
    return document["_id"], decode_fields(BuildSnapshot, document)


def _encode_test(_: str, test: TestSnapshot) -> Document:
    quarantine = encode_optional(test.quarantine)
    return encode_fields(test) | {"quarantine": quarantine, "name_folded": fold_case(test.name)}


def decode_test(document: Document) -> tuple[str, TestSnapshot]:
    """Without `decode_fields`, because a gate may read thousands of tests."""
    test = TestSnapshot(
        document["test_id"],
        document["org_id"],
        document["revision"],
        document["deleted"],
        document["name"],
        document["platform"],
        tuple(document["tags"]),
        document["version"],
        document["created_at"],
        decode_optional(Quarantine, document["quarantine"]),
    )
    return document["_id"], test


def decode_attachment(document: Document) -> tuple[tuple[str, str], AttachmentSnapshot]:
    """Without `decode_fields`, because an app may have thousands of tests."""
    attachment = AttachmentSnapshot(
        document["app_id"],
        document["test_id"],
        document["org_id"],
        document["revision"],
        document["attached"],
        document["pinned_version"],
        document["test_name"],
    )
    return (attachment.app_id, attachment.test_id), attachment


def _encode_source(key: BuildSourceKey, source: BuildSource) -> Document:
    return {
        "org_id": source.org_id,
        "app_id": key[0],
        "build_id": key[1],
        "revision": encode_optional(source.revision),
        "repository": encode_optional(source.repository),
    }


def decode_build_source(document: Document) -> tuple[BuildSourceKey, BuildSource]:
    repository = decode_optional(NamedText, document["repository"])
    source = BuildSource(document["org_id"], decode_source_revision(document["revision"]), repository)
    return (document["app_id"], document["build_id"]), source


def _encode_branch(key: BranchKey, branch: BranchRow) -> Document:
    """`last_run_at` and `name_folded` are what lists are sorted and searched by."""
    app_id, kind, name = key
    return {
        "org_id": branch.org_id,
        "app_id": app_id,
        "kind": kind,
        "name": name,
        "name_folded": fold_case(name),
        "last_run_at": branch.last_run.ended_at,
        "last_run": encode_fields(branch.last_run),
        **{text: encode_optional(getattr(branch, text)) for text in _BRANCH_TEXTS},
        "builds": [encode_fields(build) | {"commit": encode_optional(build.commit)} for build in branch.builds],
    }


def decode_branch(document: Document) -> tuple[BranchKey, BranchRow]:
    """The inverse of `_encode_branch`."""
    last = decode_fields(BranchRun, document["last_run"], outcome=Outcome(document["last_run"]["outcome"]))
    texts = {text: decode_optional(NamedText, document[text]) for text in _BRANCH_TEXTS}
    builds = tuple(
        BranchBuild(build["build_id"], build["uploaded_at"], decode_optional(NamedText, build["commit"]))
        for build in document["builds"]
    )
    key = (document["app_id"], document["kind"], document["name"])
    return key, BranchRow(document["org_id"], last, builds=builds, **texts)


RUNS: TableCodec[str, RunRow] = TableCodec("runs", "runs", _encode_run, _decode_run)
EXECUTIONS: TableCodec[str, ExecutionRow] = TableCodec("executions", "executions", _encode_execution, _decode_execution)
CELLS: TableCodec[CellKey, Cell] = TableCodec("cells", "cells", _encode_cell, decode_cell)
GROUPS: TableCodec[GroupKey, Group] = TableCodec("groups", "failure_groups", encode_group, decode_group)
HISTORIES: TableCodec[HistoryKey, History] = TableCodec("histories", "histories", _encode_history, _decode_history)
APPS: TableCodec[str, AppSnapshot] = TableCodec("apps", "apps", _encode_copy, decode_app)
BUILDS: TableCodec[str, BuildSnapshot] = TableCodec("builds", "builds", _encode_copy, decode_build_copy)
TESTS: TableCodec[str, TestSnapshot] = TableCodec("tests", "tests", _encode_test, decode_test)
ATTACHMENTS: TableCodec[tuple[str, str], AttachmentSnapshot] = TableCodec(
    "attachments", "attachments", _encode_copy, decode_attachment
)
BUILD_SOURCES: TableCodec[BuildSourceKey, BuildSource] = TableCodec(
    "build_sources", "build_sources", _encode_source, decode_build_source
)
BRANCHES: TableCodec[BranchKey, BranchRow] = TableCodec("branches", "branches", _encode_branch, decode_branch)
FAILURES: TableCodec[FailureKey, AppFailure] = TableCodec("failures", "failures", encode_failure, decode_failure)
TRIAGES: TableCodec[FailureKey, TriageSnapshot] = TableCodec("triages", "triages", encode_triage, decode_triage)
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
    BUILD_SOURCES,
    BRANCHES,
    FAILURES,
    TRIAGES,
)
COUNTERS = "counters"


def counter_id(org_id: str, name: str) -> str:
    """The `_id` of a counter; it has the organisation, so that no event can change another one's."""
    return f"{org_id}:{name}"
