"""`.ci/run --changed` runs what a change can touch."""

from pathlib import Path

import grimp
import pytest

from tests.changed import EVERYTHING, PACKAGES, ROOT, TABLE, suites

E2E = ["tests/e2e", "tests/integration/local"]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


@pytest.mark.parametrize(
    ("path", "targets", "some_tests", "not_tests"),
    [
        ("services/reporting/model/flaky.py", ["properties"], ["tests/unit/reporting", *E2E], ["tests/unit/gateway"]),
        (
            "services/catalog/storage/apps.py",
            ["drivers", "fault"],
            ["tests/contract/catalog", *E2E],
            ["tests/unit/cli"],
        ),
        (
            "automation/mobiletest_automation/flows/gone.py",
            ["maestro", "devices"],
            ["tests/unit/automation/flows", "tests/unit/cli"],
            ["tests/unit/reporting"],
        ),
        ("services/gateway/dashboard/templates/new.html", ["dashboard"], ["tests/integration/gateway"], []),
        ("cli/mobiletest_cli/progress.py", [], ["tests/unit/cli", "tests/e2e/cli"], ["tests/e2e", "tests/contract"]),
        ("cli/mobiletest_cli/api_types.py", [], ["tests/integration/test_api_types.py"], ["tests/e2e"]),
        ("examples/shop-android/1.0.0.yaml", [], ["tests/integration/executor/test_examples.py"], ["tests/unit"]),
        (
            "services/catalog/app.py",
            [],
            ["tests/integration/test_idle_imports.py", "tests/unit/test_dependency_rule.py"],
            [],
        ),
        ("docs/settings.md", [], ["tests/unit/test_settings_reference.py"], ["tests/unit"]),
        ("docs/gate.md", [], ["tests/e2e/test_documents.py"], ["tests/e2e", "tests/unit"]),
        ("tests/unit/automation/flows/maestro/new.yaml", [], ["tests/unit/automation/flows"], ["tests/unit"]),
        ("tests/integration/reporting/conftest.py", [], ["tests/integration/reporting"], ["tests/integration"]),
        ("tests/unit/test_changed.py", [], ["tests/unit/test_changed.py"], ["tests/unit"]),
        ("deploy/k8s/base/kustomization.yaml", ["deploy-check"], [], ["tests/unit"]),
        ("a/file/that/nothing/knows", list(EVERYTHING[4:]), list(EVERYTHING[:4]), []),
    ],
)
def test_a_change_selects_what_it_can_touch(
    graph: grimp.ImportGraph, path: str, targets: list[str], some_tests: list[str], not_tests: list[str]
) -> None:
    selected = dict(suites([path], graph))
    tests = selected.get("test", [])
    assert "check" in selected
    assert set(targets) <= set(selected)
    assert {wanted for wanted in some_tests if not _covers(tests, wanted)} == set()
    assert [test for test in not_tests if test in tests] == []


def _covers(tests: list[str], wanted: str) -> bool:
    """Whether the wanted path, or something below it, is among the tests."""
    return any(Path(wanted).is_relative_to(test) or Path(test).is_relative_to(wanted) for test in tests)


def test_the_table_names_suites_and_tests_that_exist() -> None:
    named = {part for _, parts in TABLE for part in parts} - {r"\1"}
    assert {part for part in named if part not in EVERYTHING and not (ROOT / part).exists()} == set()
