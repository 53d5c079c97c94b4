"""A name turns no sentence around: its controls of direction become visible, as they do on terminals."""

from datetime import UTC, datetime

from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.reports.gate import GateRun
from services.reporting.model.reports.gate_sentences import build_coverage, execution_coverage
from services.reporting.model.reports.matrix import with_label
from services.reporting.model.snapshots import Status
from tests.fakes.reporting_attempts import assess, attempts_from_letters, build_ref

REVERSED = "\u202egnp.exe\u2067"
SHOWN = "\ufffdgnp.exe\ufffd"


def _run(name: str, version: str) -> GateRun:
    moment = datetime(2026, 11, 29, tzinfo=UTC)
    return GateRun("r", "e", "t", name, None, None, version, Status.COMPLETED, success=True, ended_at=moment)


def test_names_of_tests_and_versions_keep_the_direction_of_a_sentence() -> None:
    covers = execution_coverage([_run(REVERSED, REVERSED)], 1)
    assert covers == f'Covers 1 test on build {SHOWN}: "{SHOWN}".'
    assert build_coverage(REVERSED, 1, 1, 0).endswith(f"on build {SHOWN}.")
    versions = {build_ref(number).id: REVERSED for number in range(1, 9)}
    assert SHOWN in classification_detail(assess(attempts_from_letters("P/P/F/F/F")), versions)
    assert with_label(f"LOCALE={REVERSED}", "Fails.") == f"LOCALE={SHOWN}: Fails."


def test_names_in_letters_that_run_from_the_right_stay() -> None:
    assert execution_coverage([_run("אב", "1")], 1) == 'Covers 1 test on build 1: "אב".'
