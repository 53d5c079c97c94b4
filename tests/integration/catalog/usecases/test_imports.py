"""Importing workspaces: what is created, changed, left alone, refused and missing."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from mobiletest_automation.flows.workspace_files import ARCHIVE_BYTES
from services.catalog.model.tests import ImportReport, Test, TestFilter
from services.catalog.model.values import Page, Platform
from services.catalog.usecases.imports import NewImport
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument, NotFound
from tests.fakes.workspaces import FLOW, zip_files
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMED = "name: Log in\ntags: [smoke]\n---\n- launchApp\n- tapOn: Go\n"
WRONG = "appId: a\n---\n- tapOnn: Go\n"


async def chunks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 100):
        yield content[start : start + 100]


async def send(catalog: Catalog, files: Mapping[str, str | bytes], workspace: str = "w", **fields: Any) -> ImportReport:
    return await catalog.imports.run(NewImport(workspace, **fields), catalog.arriving(chunks(zip_files(files))))


def outcome(report: ImportReport) -> dict[str, list[str | None]]:
    """The paths of each list that is not empty."""
    kinds = {
        "created": report.created,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "missing": report.missing,
    }
    paths_by_kind: dict[str, list[str | None]] = {
        kind: [test.source_path for test in tests] for kind, tests in kinds.items()
    }
    paths_by_kind["refused"] = [path for path, _ in report.refused]
    return {kind: paths for kind, paths in paths_by_kind.items() if paths}


async def stored(catalog: Catalog) -> dict[str | None, Test]:
    tests = await catalog.store.tests.page(TestFilter(), Page(1, 100), with_steps=True)
    return {test.source_path: test for test in tests}


async def test_each_flow_becomes_a_test(catalog: Catalog) -> None:
    report = await send(catalog, {"a.yaml": NAMED, "b.yaml": FLOW, "notes.txt": "x"})
    assert outcome(report) == {"created": ["a.yaml", "b.yaml"]}
    tests = await stored(catalog)
    assert (tests["a.yaml"].name, tests["a.yaml"].tags, tests["a.yaml"].workspace) == ("Log in", ("smoke",), "w")
    assert (tests["b.yaml"].name, tests["b.yaml"].steps) == ("b", ({"appId": "com.example.notes"}, "launchApp"))
    assert (await catalog.store.counters.get()).tests == 2
    assert [fact.id for fact in catalog.store.facts] == [test.id for test in report.created]
    assert not any(test.steps for test in report.created)


async def test_second_import_changes_nothing(catalog: Catalog) -> None:
    first = await send(catalog, {"a.yaml": NAMED, "b.yaml": FLOW})
    facts = list(catalog.store.facts)
    second = await send(catalog, {"a.yaml": NAMED, "b.yaml": FLOW})
    assert outcome(second) == {"unchanged": ["a.yaml", "b.yaml"]}
    assert second.unchanged == first.created
    assert catalog.store.facts == facts


async def test_moved_steps_change_no_test_but_their_positions(catalog: Catalog) -> None:
    """Of the test and of its present version; an older version keeps its own."""
    await send(catalog, {"a.yaml": NAMED + "- back\n"})
    (created,) = (await send(catalog, {"a.yaml": NAMED})).changed
    facts = list(catalog.store.facts)
    moved = await send(catalog, {"a.yaml": NAMED.replace("- tapOn", "# taps\n- tapOn")})
    assert (outcome(moved), moved.unchanged) == ({"unchanged": ["a.yaml"]}, (created,))
    (test,), versions = (await stored(catalog)).values(), await catalog.store.tests.of_versions({created.id: 1})
    assert (test.positions, test.version_number) == ('[["a.yaml"],[[0,4,3],[0,6,3]],[]]', 2)
    assert [version.positions for version in versions] == ['[["a.yaml"],[[0,4,3],[0,5,3],[0,6,3]],[]]']
    (present,) = await catalog.store.tests.of_versions({created.id: 2})
    assert (present.positions, catalog.store.facts) == (test.positions, facts)


async def test_steps_from_elsewhere_have_no_positions_of_the_file(catalog: Catalog) -> None:
    (created,) = (await send(catalog, {"a.yaml": NAMED})).created
    for changes in ({"steps": ("back", "back")}, {"flow": "- back\n"}):
        await send(catalog, {"a.yaml": NAMED})
        await catalog.tests.update(created.id, changes)
        assert (await stored(catalog))["a.yaml"].positions == ""


async def test_changed_flow_changes_its_test(catalog: Catalog) -> None:
    """The configuration before the commands belongs to the steps, which have a new version."""
    await send(catalog, {"a.yaml": NAMED, "b.yaml": NAMED, "c.yaml": FLOW})
    changed = {"a.yaml": NAMED + "- back\n", "b.yaml": NAMED.replace("Log in", "Enter"), "c.yaml": FLOW}
    report = await send(catalog, changed)
    assert outcome(report) == {"changed": ["a.yaml", "b.yaml"], "unchanged": ["c.yaml"]}
    assert [(test.name, test.version_number) for test in report.changed] == [("Log in", 2), ("Enter", 2)]
    tests = await stored(catalog)
    assert report.changed == tuple(replace(tests[path], steps=()) for path in ("a.yaml", "b.yaml"))


async def test_a_part_that_changed_changes_the_flows_that_run_it(catalog: Catalog) -> None:
    files = {"a.yaml": "- runFlow: parts/x.yaml\n", "parts/x.yaml": "- tapOn: One\n"}
    await send(catalog, files)
    assert outcome(await send(catalog, files | {"parts/x.yaml": "- tapOn: Two\n"})) == {"changed": ["a.yaml"]}


async def test_description_platform_and_time_limit_are_kept(catalog: Catalog) -> None:
    (test,) = (await send(catalog, {"a.yaml": NAMED})).created
    kept = {"description": "by hand", "platform": Platform.IOS, "timeout_seconds": 9}
    await catalog.tests.update(test.id, kept)
    assert outcome(await send(catalog, {"a.yaml": NAMED})) == {"unchanged": ["a.yaml"]}
    (changed,) = (await send(catalog, {"a.yaml": NAMED + "- back\n"})).changed
    assert (changed.description, changed.platform, changed.timeout_seconds) == ("by hand", Platform.IOS, 9)


async def test_refused_flow_does_not_stop_the_others(catalog: Catalog) -> None:
    await send(catalog, {"b.yaml": FLOW})
    report = await send(catalog, {"a.yaml": FLOW, "b.yaml": WRONG})
    assert outcome(report) == {"created": ["a.yaml"], "refused": ["b.yaml"]}
    [(path, (problem,))] = report.refused
    assert (path, problem.file, problem.line, problem.column) == ("b.yaml", "b.yaml", 3, 3)
    assert "did you mean tapOn?" in problem.message
    assert (await stored(catalog))["b.yaml"].version_number == 1


async def test_name_that_no_test_can_have_is_refused(catalog: Catalog) -> None:
    report = await send(catalog, {"a.yaml": FLOW, f"{'x' * 201}.yaml": FLOW, "tag.yaml": "tags: ['']\n---\n- back\n"})
    assert [problem.message.partition(":")[0] for _, (problem,) in report.refused] == [
        "tags[0] of the flow",
        "name of the flow",
    ]


async def test_tests_without_a_flow_are_missing_and_kept(catalog: Catalog) -> None:
    first = await send(catalog, {"a.yaml": FLOW, "b.yaml": FLOW})
    report = await send(catalog, {"a.yaml": FLOW})
    assert outcome(report) == {"unchanged": ["a.yaml"], "missing": ["b.yaml"]}
    kept = (await catalog.tests.get(first.created[1].id)).test
    assert replace(kept, steps=()) == first.created[1]


async def test_deleted_test_is_created_again(catalog: Catalog) -> None:
    (test,) = (await send(catalog, {"a.yaml": FLOW})).created
    await catalog.tests.delete(test.id)
    (again,) = (await send(catalog, {"a.yaml": FLOW})).created
    assert again.id != test.id


async def test_workspaces_and_organisations_are_apart(catalog: Catalog) -> None:
    await send(catalog, {"a.yaml": FLOW})
    assert outcome(await send(catalog, {"a.yaml": FLOW}, "other")) == {"created": ["a.yaml"]}
    with context.bind(Caller(str(uuid4()))):
        assert outcome(await send(catalog, {"a.yaml": FLOW})) == {"created": ["a.yaml"]}


async def test_dry_run_changes_nothing(catalog: Catalog) -> None:
    await send(catalog, {"a.yaml": FLOW, "b.yaml": FLOW})
    before = await stored(catalog)
    report = await send(catalog, {"a.yaml": NAMED, "b.yaml": FLOW, "c.yaml": FLOW}, dry_run=True)
    assert outcome(report) == {"created": ["c.yaml"], "changed": ["a.yaml"], "unchanged": ["b.yaml"]}
    assert await stored(catalog) == before


async def test_tests_are_attached_once(catalog: Catalog) -> None:
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    (test,) = (await send(catalog, {"a.yaml": FLOW}, app_id=app.id)).created
    assert (await catalog.apps.get(app.id)).attached_tests == 1
    await catalog.attachments.attach(app.id, test.id, "1.0")
    report = await send(catalog, {"a.yaml": FLOW}, app_id=app.id)
    assert outcome(report) == {"unchanged": ["a.yaml"]}
    (attachment,) = (await catalog.attachments.list(app.id, Page(1, 10))).items
    assert attachment.attachment.pinned_version == "1.0"
    with pytest.raises(NotFound):
        await send(catalog, {"a.yaml": FLOW}, app_id="none")


async def test_test_for_another_platform_is_noticed(catalog: Catalog) -> None:
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    (test,) = (await send(catalog, {"a.yaml": FLOW})).created
    await catalog.tests.update(test.id, {"platform": Platform.IOS})
    (notice,) = (await send(catalog, {"a.yaml": FLOW}, app_id=app.id)).notices
    assert (notice.file, notice.message) == (
        "a.yaml",
        "not attached to the app: the test is for iOS, the app for Android",
    )


async def test_many_flows_take_several_transactions(catalog: Catalog) -> None:
    files = {f"{number:03}.yaml": FLOW for number in range(40)}
    assert len((await send(catalog, files)).created) == 40
    assert catalog.store.changes == 4  # the first reserves room for them
    assert len((await send(catalog, files)).unchanged) == 40


async def test_order_and_notices_are_reported(catalog: Catalog) -> None:
    config = "colour: red\nexecutionOrder: {continueOnFailure: false, flowsOrder: [b, a, x]}\n"
    report = await send(catalog, {"config.yaml": config, "a.yaml": FLOW, "b.yaml": FLOW})
    assert (report.contents.order, report.contents.continue_on_failure) == (("b.yaml", "a.yaml"), False)
    assert [(notice.file, notice.line) for notice in report.notices] == [("config.yaml", 1), ("config.yaml", 2)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.yaml": "flows: [", "a.yaml": FLOW}, "config.yaml, line 1, column 8: the [ that begins here"),
        ({"README.md": "x"}, "there is no flow"),
        ({"../a.yaml": FLOW}, "leads out of the folder"),
    ],
)
async def test_refused_archive_changes_nothing(catalog: Catalog, files: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await send(catalog, files)
    (violation,) = refused.value.violations
    assert violation.field == "file"
    assert message in violation.message
    assert not catalog.store.changes
    assert not list(catalog.spool_folder.iterdir())


async def test_archive_that_is_too_large_is_refused_at_once(catalog: Catalog) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await send(catalog, {"a.yaml": FLOW}, expected_bytes=ARCHIVE_BYTES + 1)
    assert refused.value.violations[0].type == "too_large"
