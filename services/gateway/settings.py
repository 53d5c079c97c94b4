"""The variables that the gateway reads."""

from pydantic import Field

from services.chassis.settings import ProcessSettings

MEBIBYTE = 1024 * 1024


class Settings(ProcessSettings):
    """Sizes are in bytes, times in seconds.

    `keepalive_timeout_seconds` also ends a connection that sends nothing or half a header, and
    `max_request_timeout_seconds` one whose client does not read its response.
    """

    http_listen: str = "127.0.0.1:8080"
    catalog_address: str = "127.0.0.1:50051"
    executor_address: str = "127.0.0.1:50052"
    reporting_address: str = "127.0.0.1:50053"
    request_timeout_seconds: float = Field(default=10, gt=0)
    max_request_timeout_seconds: float = Field(default=60, gt=0)
    stream_timeout_seconds: float = Field(default=3600, gt=0)
    stats_timeout_seconds: float = Field(default=1, gt=0)
    keepalive_timeout_seconds: float = Field(default=75, gt=0)
    body_timeout_seconds: float = Field(default=15, gt=0)
    idle_timeout_seconds: float = Field(default=30, gt=0)
    heartbeat_seconds: float = Field(default=15, gt=0)
    max_body_bytes: int = Field(default=MEBIBYTE, gt=0)
    max_upload_bytes: int = Field(default=2 * 1024 * MEBIBYTE, gt=0)
    max_connections: int = Field(default=10_000, gt=0)
