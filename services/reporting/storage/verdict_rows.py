"""Verdicts of many cells in few documents: MongoDB groups the cells by what they share, and sends a row for each.

A row takes the driver a twentieth of the time that it needs for a document with its subdocuments and moments.
"""

from collections.abc import Sequence

from services.reporting.model.reports.breakage import BuildVerdict
from services.reporting.model.snapshots import Outcome
from services.reporting.model.tables import LastRun, SourceRevision
from services.reporting.storage.subdocuments import Document, from_ms

CELLS_AT_ONCE = 1000
"""Bounds the documents of MongoDB, and what is decoded without a pause for others."""
VERDICT_FIELDS = ("app_id", "test_id", "build_id", "uploaded_at", "verdict", "source_revision", "passed", "failed")
_SHARED = {
    "app_id": "$app_id",
    "build_id": "$build_id",
    "uploaded_at": "$uploaded_at",
    "outcome": "$verdict.outcome",
    "branch": "$source_revision.branch",
    "commit_sha": "$source_revision.commit_sha",
}
_ROW = [
    "$test_id",
    {"$toLong": "$verdict.ended_at"},
    "$verdict.run_id",
    "$verdict.execution_id",
    "$verdict.seconds",
    {"$toLong": "$source_revision.ended_at"},
    "$source_revision.run_id",
    "$passed",
    "$failed",
]
VERDICT_ROWS: Document = {"$group": {"_id": _SHARED, "rows": {"$push": {"$concatArrays": [_ROW]}}}}
"""The last stage of a pipeline whose documents have `VERDICT_FIELDS`, with a verdict. It pushes no array as it is."""


def decode_verdict_rows(group: Document) -> Sequence[BuildVerdict]:
    """The verdicts of a document of `VERDICT_ROWS`, which are all on one build."""
    shared = group["_id"]
    app_id, build_id, uploaded_at = shared["app_id"], shared["build_id"], shared["uploaded_at"]
    outcome, branch, commit_sha = Outcome(shared["outcome"]), shared.get("branch"), shared.get("commit_sha")
    return [
        BuildVerdict(
            (app_id, test_id, build_id),
            uploaded_at,
            LastRun(from_ms(ended), run_id, execution_id, outcome, seconds),
            None if named is None else SourceRevision(from_ms(named), named_by, branch, commit_sha),
            passed,
            failed,
        )
        for test_id, ended, run_id, execution_id, seconds, named, named_by, passed, failed in group["rows"]
    ]
