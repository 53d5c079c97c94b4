"""The gateway names the variables without which it does not start."""

import pytest

from services.chassis.settings import load
from services.gateway.settings import Settings
from tests.fakes.gateway import TOKEN


def test_the_object_store_has_to_be_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MOBILETEST_SERVICE_TOKEN", TOKEN)
    monkeypatch.delenv("MOBILETEST_OBJECT_STORE", raising=False)
    with pytest.raises(SystemExit) as exit_:
        load(Settings)
    assert (exit_.value.code, capsys.readouterr().err) == (2, "MOBILETEST_OBJECT_STORE: Field required\n")
