"""The environment variables that every process reads; each service adds its own in a subclass."""

import os
import socket
import sys
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.chassis.kafka_cluster import KafkaCluster, SaslMechanism, SecurityProtocol
from services.chassis.process_isolation import deny_inspection
from services.chassis.service_token import Callers, parse_callers
from services.chassis.tls import NO_FILES, TlsFiles
from services.chassis.version import VERSION

PREFIX = "MOBILETEST_"


class KafkaSettings(BaseSettings):
    """How to reach Kafka."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True)

    kafka_bootstrap: str = "127.0.0.1:9092"
    """host:port of one or more Kafka brokers, separated by commas."""
    kafka_idempotence: bool = True
    """Whether producers are idempotent; only a broker that does not support it needs false."""
    kafka_security_protocol: SecurityProtocol = "PLAINTEXT"
    """Whether connections use TLS (SSL) and users (SASL)."""
    kafka_authorities_file: Path | None = None
    """PEM file with the authorities that sign the brokers' certificates; by default the system's."""
    kafka_certificate_file: Path | None = None
    """PEM file with the certificate that this process shows to the brokers, if they ask for one."""
    kafka_key_file: Path | None = None
    """PEM file with the key of that certificate."""
    kafka_sasl_mechanism: SaslMechanism = "SCRAM-SHA-512"
    """How this process proves who it is."""
    kafka_user: str | None = None
    """The user that broker ACLs know this process by."""
    kafka_password: SecretStr | None = None
    """The password of that user."""

    @property
    def kafka(self) -> KafkaCluster:
        return KafkaCluster(
            self.kafka_bootstrap,
            self.kafka_security_protocol,
            TlsFiles(self.kafka_certificate_file, self.kafka_key_file, self.kafka_authorities_file),
            self.kafka_sasl_mechanism,
            self.kafka_user,
            self.kafka_password,
        )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        _check_pair("KAFKA_CERTIFICATE_FILE", self.kafka_certificate_file, "KAFKA_KEY_FILE", self.kafka_key_file)
        if self.kafka_security_protocol.startswith("SASL") and not (self.kafka_user and self.kafka_password):
            raise ValueError(f"{self.kafka_security_protocol} needs {PREFIX}KAFKA_USER and {PREFIX}KAFKA_PASSWORD")
        return self


class ProcessSettings(KafkaSettings):
    """Read once at start from the environment (prefix MOBILETEST_)."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe level that is logged."""
    log_format: Literal["json", "console"] = "json"
    """One JSON object per line, or lines for people."""
    grpc_listen: str = "127.0.0.1:0"
    """host:port of the gRPC server; port 0 chooses a free one."""
    grpc_connection_age_seconds: float = Field(default=300.0, gt=0)
    """How long a server takes new calls on a connection. Clients then connect again and so find new replicas; streams
    go on to their own end."""
    admin_listen: str = "127.0.0.1:0"
    """host:port of /healthz, /readyz and /metrics; port 0 chooses a free one."""
    mongo_uri: str = "mongodb://127.0.0.1:27017"
    """The MongoDB replica set."""
    mongo_driver: Literal["motor", "pymongo"] = "motor"
    """The MongoDB driver; measurements are of motor."""
    kafka_session_seconds: float = Field(default=30.0, gt=0)
    """After this long without a heartbeat the partitions of a consumer go to the others."""
    kafka_instance_id: str | None = Field(default=None, min_length=1)
    """A name that a replica's successor has too, as in a StatefulSet: a restart within the session is no
    rebalance then. A Deployment's pods change their names, so the partitions of a replaced pod would idle for the
    session; without this setting a replica that stops leaves its groups at once."""
    tls_certificate_file: Path | None = None
    """PEM file with the certificate (and its chain) of this process, for its gRPC server and its calls to others. Files
    are read again when they change."""
    tls_key_file: Path | None = None
    """PEM file with the key of that certificate."""
    tls_authorities_file: Path | None = None
    """PEM file with the authorities that sign the certificates of the services. With it, or a certificate, gRPC uses
    TLS."""
    tls_verify_clients: bool = True
    """Whether the gRPC server demands a certificate of those authorities from its clients (mutual TLS)."""
    service_token: SecretStr = Field(min_length=16)
    """Says to other services which one this is."""
    callers: str = ""
    """The services that may call this one: NAME=DIGEST entries, the hexadecimal SHA-256 of each one's token, separated
    by commas. The protos say which methods each may call. What follows a digest of `operator` restricts that token:
    `:org=ID` to one organisation, `:scopes=read` to reading (several scopes with `+`)."""
    shutdown_grace_seconds: float = Field(default=10.0, ge=0)
    """How long calls, and runs of a worker, may continue after SIGTERM."""
    reflection: bool = False
    """Whether the gRPC server offers reflection."""
    instance: str = Field(default_factory=socket.gethostname, min_length=1)
    """The name of this process in leases and logs; unique among running processes, by default the host's name."""
    version: str = VERSION
    """The version that /metrics and the OpenAPI document show; images set it."""
    commit: str = "unknown"
    """The commit that /metrics shows; images set it."""

    @field_validator("callers")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_callers(value)
        return value

    @model_validator(mode="after")
    def _trusts(self) -> Self:
        _check_pair("TLS_CERTIFICATE_FILE", self.tls_certificate_file, "TLS_KEY_FILE", self.tls_key_file)
        if self.tls_certificate_file and self.tls_verify_clients and not self.tls_authorities_file:
            raise ValueError(f"{PREFIX}TLS_AUTHORITIES_FILE is missing, without which no client can be verified")
        return self

    @property
    def tls(self) -> TlsFiles | None:
        """None: gRPC without TLS."""
        files = TlsFiles(self.tls_certificate_file, self.tls_key_file, self.tls_authorities_file)
        return None if files == NO_FILES else files

    @property
    def accepted_callers(self) -> Callers:
        return parse_callers(self.callers)

    @property
    def token(self) -> str:
        """The service token as text."""
        return self.service_token.get_secret_value()

    def group_instance_id(self, suffix: str) -> str | None:
        """The id of this replica's static membership in one of its consumer groups; None: dynamic membership."""
        return f"{self.kafka_instance_id}-{suffix}" if self.kafka_instance_id is not None else None


def _check_pair(first: str, certificate: Path | None, second: str, key: Path | None) -> None:
    if (certificate is None) != (key is None):
        raise ValueError(f"{PREFIX}{first} and {PREFIX}{second} belong together")


S = TypeVar("S", bound=BaseSettings)


def load(cls: type[S]) -> S:
    """The settings from the environment; on errors prints each with the name of its variable and exits with 2.

    A variable may also be a file of its name in the folder MOBILETEST_SECRETS_FOLDER, such as a mounted Secret. No
    other process of this user can read them from this one.
    """
    deny_inspection()
    try:
        return cls(_secrets_dir=os.environ.get(f"{PREFIX}SECRETS_FOLDER"))
    except ValidationError as error:
        sys.stderr.write("".join(f"{line}\n" for line in _explain(error)))
        raise SystemExit(2) from None


def _explain(error: ValidationError) -> list[str]:
    return [
        f"{_variable(str(item['loc'][0]))}: {item['msg']}" if item["loc"] else item["msg"] for item in error.errors()
    ]


def _variable(name: str) -> str:
    return name if name.startswith(PREFIX) else PREFIX + name.upper()
