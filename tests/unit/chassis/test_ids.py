from uuid import RFC_4122, UUID

import pytest

from services.chassis.ids import derive_ids, new_id, random_id


def ids(org_id: str, method: str, key: str) -> list[str]:
    with derive_ids(org_id, method, key):
        return [new_id(), new_id()]


def test_ids_are_random_without_an_idempotency_key() -> None:
    assert new_id() != new_id()


def test_random_ids_are_uuids_of_version_4() -> None:
    uuids = [UUID(random_id()) for _ in range(50)]
    assert {(each.version, each.variant) for each in uuids} == {(4, RFC_4122)}
    assert len(set(uuids)) == 50


def test_a_repeated_key_derives_the_same_ids() -> None:
    first = ids("org", "/s/Create", "k")
    assert first == ids("org", "/s/Create", "k")
    assert first[0] != first[1]


@pytest.mark.parametrize("other", [("org2", "/s/Create", "k"), ("org", "/s/Other", "k"), ("org", "/s/Create", "k2")])
def test_derived_ids_depend_on_organisation_method_and_key(other: tuple[str, str, str]) -> None:
    assert set(ids("org", "/s/Create", "k")).isdisjoint(ids(*other))
