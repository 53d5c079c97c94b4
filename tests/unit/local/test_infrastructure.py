"""Which source the tests' servers come from, and that a missing one is not looked for twice."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.infrastructure import Infrastructure, Unavailable, describe, remove_left_over_folders, source_name

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


def test_servers_are_embedded_by_default() -> None:
    assert source_name("kafka", {"MOBILETEST_MONGO_URI": "mongodb://db"}) == "embedded"


async def test_given_addresses_are_returned() -> None:
    async with Infrastructure(GIVEN) as infrastructure:
        assert await infrastructure.mongo() == "mongodb://db"
        assert await infrastructure.kafka() == "kafka:9092"


@pytest.mark.parametrize(
    ("source", "reason"),
    [("given", "MOBILETEST_MONGO_URI is not set"), ("moon", "not one of given, containers, embedded")],
)
async def test_an_unavailable_server_gives_its_reason_each_time(source: str, reason: str) -> None:
    async with Infrastructure({"MOBILETEST_TEST_SOURCE": source}) as infrastructure:
        for _ in range(2):
            with pytest.raises(Unavailable, match=reason):
                await infrastructure.mongo()


def test_the_report_header_shows_the_sources() -> None:
    assert describe(GIVEN) == "mongo given, kafka given"


def test_only_folders_of_dead_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    live, dead = tmp_path / f"mobiletest-test-{os.getpid()}-a", tmp_path / "mobiletest-test-99999999-b"
    live.mkdir()
    dead.mkdir()
    remove_left_over_folders()
    assert (live.exists(), dead.exists()) == (True, False)
