"""The plan of a team's data, and moving times."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from examples.large.app_model import BROKEN_FILE
from examples.large.backdating import Ages, backdate
from examples.large.builds import broken_place, fates
from examples.large.embedded import EmbeddedStack, Organisation, Unusable
from examples.large.shifted_times import shifted, shifted_run
from examples.large.team import LARGE, OTHER_ORGANISATION, Size, plan_team

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def runs(size: Size) -> list[int]:
    """How many runs each execution has: a start without builds runs on both platforms."""
    return [len(start.tests) * (len(start.builds) or 2) for start in plan_team(size).starts()]


def test_the_team_is_as_large_as_it_is_said_to_be() -> None:
    team = plan_team(LARGE)
    names = Counter((app.name, app.platform) for app in team.apps)
    assert (len(team.apps), len(team.attached[0]), len(team.builds[0])) == (40, 121, 33)
    assert set(names.values()) == {1, 2}
    assert len({app.name for app in team.apps}) == 38
    assert 3_550 <= sum(runs(LARGE)) <= 3_750
    assert max(runs(LARGE)) == 350
    assert team.builds[0] == plan_team(LARGE).builds[0]


@pytest.mark.parametrize("size", [LARGE, OTHER_ORGANISATION])
def test_every_build_has_a_whole_commit_and_a_file_that_says_what_happens_on_it(size: Size) -> None:
    builds = plan_team(size).builds
    everything = [build for of_app in builds.values() for build in of_app]
    assert {len(build.commit_sha) for build in everything} == {40}
    assert [build.days_ago for build in builds[0]] == sorted((build.days_ago for build in builds[0]), reverse=True)
    for build in everything:
        if build.file != BROKEN_FILE:
            assert yaml.safe_load(build.file)["app"]["version"] == build.version
    assert [build.file == BROKEN_FILE for build in builds[0]].index(True) == broken_place(size.builds)
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(BROKEN_FILE)


def test_the_newest_build_breaks_six_tests() -> None:
    keys = [test.key for test in plan_team(LARGE).tests[: LARGE.tests]]
    newest, before = fates(32, 33, keys), fates(31, 33, keys)
    assert len(set(newest.failing) - set(before.failing)) == 6


def test_two_smoke_tests_fail_on_three_builds_of_ios_and_recover_on_as_many() -> None:
    team = plan_team(LARGE)
    keys = " ".join(team.tests[place].key for place in (8, 10))
    assert {8, 10} <= set(team.workflows["Smoke"])
    assert [f'failing: "{keys}"' in build.file for build in team.builds[1]] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_all_times_of_a_document_move_and_nothing_else_does() -> None:
    document = {"_id": "a", "at": NOON, "count": 3, "attempts": [{"started_at": NOON, "steps": [{"note": "12:00"}]}]}
    assert shifted(document, DAY) == {
        "_id": "a",
        "at": NOON - DAY,
        "count": 3,
        "attempts": [{"started_at": NOON - DAY, "steps": [{"note": "12:00"}]}],
    }


def test_a_run_names_the_upload_of_its_build_where_that_has_moved_to() -> None:
    run = {"_id": "r", "created_at": NOON, "target": {"build_id": "b", "build_uploaded_at": NOON}}
    moved = shifted_run(run, DAY, {"b": NOON - 2 * DAY})
    assert (moved["created_at"], moved["target"]["build_uploaded_at"]) == (NOON - DAY, NOON - 2 * DAY)
    assert "build_uploaded_at" not in shifted_run({"target": {}}, DAY, {})["target"]


async def test_only_an_organisation_that_is_being_filled_is_moved(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path, "http://127.0.0.1:1")
    stack.keep(Organisation("Whole", "whole", "key", complete=True))
    for org_id in ("whole", "of somebody else"):
        with pytest.raises(Unusable, match="its times are not changed"):
            await backdate(stack, Ages(org_id, {}, {}))


def test_a_stack_with_a_database_elsewhere_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="no stack runs"):
        EmbeddedStack.find(tmp_path)
    for folder in ("env", "mongod"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mongod" / "WiredTiger").touch()
    (tmp_path / "ready.json").write_text('{"url": "http://127.0.0.1:8080"}')
    (tmp_path / "env" / "catalog.env").write_text(
        "MOBILETEST_MONGO_URI='mongodb://db.example.com:27017/?replicaSet=rs0'\n"
    )
    with pytest.raises(Unusable, match="MongoDB of somebody else"):
        EmbeddedStack.find(tmp_path)
