import pytest

from services.chassis.errors import InvalidArgument
from services.chassis.ids import derive_ids, new_id, parse_uuid


def ids(org_id: str, method: str, key: str) -> list[str]:
    with derive_ids(org_id, method, key):
        return [new_id(), new_id()]


def test_ids_are_random_without_an_idempotency_key() -> None:
    assert new_id() != new_id()


def test_a_repeated_key_derives_the_same_ids() -> None:
    first = ids("org", "/s/Create", "k")
    assert first == ids("org", "/s/Create", "k")
    assert first[0] != first[1]


@pytest.mark.parametrize("other", [("org2", "/s/Create", "k"), ("org", "/s/Other", "k"), ("org", "/s/Create", "k2")])
def test_derived_ids_depend_on_organisation_method_and_key(other: tuple[str, str, str]) -> None:
    assert set(ids("org", "/s/Create", "k")).isdisjoint(ids(*other))


def test_uuids_become_lower_case() -> None:
    assert parse_uuid("6F1B1F0E-5B0F-4D3E-9D1C-6D1F2A7C9B10", "id") == "6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"


def test_an_invalid_uuid_names_its_field() -> None:
    with pytest.raises(InvalidArgument) as error:
        parse_uuid("nope", "app_id")
    assert error.value.violations[0].field == "app_id"
