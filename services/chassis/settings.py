"""The environment variables that every process reads; each service adds its own in a subclass."""

import socket
import sys
from typing import Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "MOBILETEST_"


class ProcessSettings(BaseSettings):
    """Read once at start from the environment (prefix MOBILETEST_)."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True)

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    grpc_listen: str = "127.0.0.1:0"
    grpc_connection_age_seconds: float = Field(default=300.0, gt=0)
    """How long a server takes new calls on a connection. Clients then connect again and so find new replicas; streams
    go on to their own end."""
    admin_listen: str = "127.0.0.1:0"
    mongo_uri: str = "mongodb://127.0.0.1:27017"
    mongo_driver: Literal["motor", "pymongo"] = "motor"
    kafka_bootstrap: str = "127.0.0.1:9092"
    kafka_idempotence: bool = True
    kafka_session_seconds: float = Field(default=30.0, gt=0)
    service_tokens: SecretStr = Field(validation_alias=f"{PREFIX}SERVICE_TOKEN")
    shutdown_grace_seconds: float = Field(default=10.0, ge=0)
    reflection: bool = False
    instance: str = Field(default_factory=socket.gethostname, min_length=1)
    version: str = "dev"
    commit: str = "unknown"

    @field_validator("service_tokens")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        tokens = _split(value)
        if not tokens or any(len(token) < 16 for token in tokens):
            raise ValueError("needs at least one token; each must have 16 characters or more")
        return value

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that a server accepts; a client sends the first one."""
        return _split(self.service_tokens)


S = TypeVar("S", bound=BaseSettings)


def load(cls: type[S]) -> S:
    """The settings from the environment; on errors prints each with the name of its variable and exits with 2."""
    try:
        return cls()
    except ValidationError as error:
        sys.stderr.write("".join(f"{line}\n" for line in _explain(error)))
        raise SystemExit(2) from None


def _explain(error: ValidationError) -> list[str]:
    return [f"{_variable(str(item['loc'][0]))}: {item['msg']}" for item in error.errors() if item["loc"]]


def _variable(name: str) -> str:
    return name if name.startswith(PREFIX) else PREFIX + name.upper()


def _split(value: SecretStr) -> tuple[str, ...]:
    return tuple(token.strip() for token in value.get_secret_value().split(",") if token.strip())
