"""The variables that the commands for dead letters read; any of our processes has them."""

from typing import Literal

from pydantic_settings import BaseSettings, SettingsConfigDict

from services.chassis.settings import PREFIX


class Settings(BaseSettings):
    """Where the broker is, and how to speak to it."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    log_format: Literal["json", "console"] = "console"
    kafka_bootstrap: str = "127.0.0.1:9092"
    kafka_idempotence: bool = True
