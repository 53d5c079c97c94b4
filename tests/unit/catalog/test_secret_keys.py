"""The keys that encrypt secrets."""

import pytest

from services.catalog.secret_cipher import parse_keys


@pytest.mark.parametrize(
    "keys", ["v1", "v1=", "v1=AAAA", "=" + "A" * 43 + "=", "v1=%", f"a={'A' * 43}=,a={'B' * 42}A="]
)
def test_invalid_keys_are_refused_without_showing_them(keys: str) -> None:
    with pytest.raises(ValueError, match=r"^key \d must be ID=KEY"):
        parse_keys(keys)
