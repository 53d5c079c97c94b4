"""Which environment variables the services read, from their settings classes themselves."""

from collections.abc import Mapping

import pytest
from pydantic_settings import BaseSettings

from deploy.settings_reference import SERVICES, settings_of, variable
from services.chassis.settings import PREFIX

# Every process has these, but the gateway has no database, and it and the workers serve no gRPC.
NOT_NEEDED = {
    ("gateway", f"{PREFIX}MONGO_URI"),
    ("gateway", f"{PREFIX}GRPC_LISTEN"),
    ("executor", f"{PREFIX}GRPC_LISTEN"),
}


def variables(service: str) -> dict[str, object]:
    """Variable -> its default as text, or None where there is none."""
    return {
        variable(name, field): None if field.is_required() else str(field.default)
        for name, field in settings_of(service).model_fields.items()
    }


def known() -> set[str]:
    """All variables that some service reads."""
    return {name for service in SERVICES for name in variables(service)}


def needed(service: str) -> set[str]:
    """Those that a container must set: without a default, or with one that fits a single machine only."""
    local = {name for name, default in variables(service).items() if default is None or is_local(str(default))}
    return {name for name in local if (service, name) not in NOT_NEEDED}


def is_local(default: str) -> bool:
    return "127.0.0.1" in default or default.startswith("file://")


def loaded(service: str, environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> BaseSettings:
    """The settings as a process with this environment alone reads them. ValidationError when it would not start."""
    for name in known():
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return settings_of(service)()
