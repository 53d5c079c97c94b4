"""Which source the tests' servers come from, and that a missing one is not looked for twice."""

import pytest

from tests.infrastructure import Infrastructure, Unavailable, describe, source_name

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
def test_the_named_source_wins_then_a_given_address(environ: dict[str, str], expected: str) -> None:
    assert source_name("mongo", environ) == expected


def test_what_is_not_given_is_embedded() -> None:
    assert source_name("kafka", {"MOBILETEST_MONGO_URI": "mongodb://db"}) == "embedded"


async def test_given_addresses_are_handed_out_as_they_are() -> None:
    async with Infrastructure(GIVEN) as infrastructure:
        assert await infrastructure.mongo() == "mongodb://db"
        assert await infrastructure.kafka() == "kafka:9092"


@pytest.mark.parametrize(
    ("source", "reason"),
    [("given", "MOBILETEST_MONGO_URI is not set"), ("moon", "none of given, containers, embedded")],
)
async def test_what_cannot_be_had_says_why_each_time(source: str, reason: str) -> None:
    async with Infrastructure({"MOBILETEST_TEST_SOURCE": source}) as infrastructure:
        for _ in range(2):
            with pytest.raises(Unavailable, match=reason):
                await infrastructure.mongo()


def test_the_report_says_where_each_server_comes_from() -> None:
    assert describe(GIVEN) == "mongo given, kafka given"
