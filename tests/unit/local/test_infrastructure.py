"""Which source the tests' servers come from, and what a missing one means."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.infrastructure import Infrastructure, Unavailable, remove_left_over_folders, source_name

GIVEN = {"MOBILETEST_MONGO_URI": "mongodb://db", "MOBILETEST_KAFKA_BOOTSTRAP": "kafka:9092"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "embedded"),
        (GIVEN, "given"),
        ({"MOBILETEST_TEST_SOURCE": ""}, "embedded"),
        ({"MOBILETEST_TEST_SOURCE": "containers"}, "containers"),
        ({"MOBILETEST_TEST_SOURCE": "embedded", **GIVEN}, "embedded"),
    ],
)
def test_the_source_is_named_or_follows_from_the_addresses(environ: dict[str, str], expected: str) -> None:
    assert source_name("mongo", environ) == expected


async def test_an_unavailable_server_gives_its_reason() -> None:
    async with Infrastructure({"MOBILETEST_TEST_SOURCE": "given"}) as infrastructure:
        with pytest.raises(Unavailable, match="MOBILETEST_MONGO_URI is not set"):
            await infrastructure.mongo()


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_infrastructure_skips_with_the_reason_and_in_ci_fails(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no broker"):
        skip_or_fail("no broker")


def test_only_folders_of_dead_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    live, dead = tmp_path / f"mobiletest-test-{os.getpid()}-a", tmp_path / "mobiletest-test-99999999-b"
    live.mkdir()
    dead.mkdir()
    remove_left_over_folders()
    assert (live.exists(), dead.exists()) == (True, False)
