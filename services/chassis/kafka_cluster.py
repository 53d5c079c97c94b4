"""How Kafka is reached: what all clients of this process have in common."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from aiokafka.protocol.metadata import MetadataRequest
from pydantic import SecretStr

from services.chassis.tls import NO_FILES, TlsFiles, client_context

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """The brokers, and who this process is to them."""

    bootstrap: str
    protocol: SecurityProtocol = "PLAINTEXT"
    tls: TlsFiles = NO_FILES
    mechanism: SaslMechanism = "SCRAM-SHA-512"
    user: str | None = None
    password: SecretStr | None = None

    def __str__(self) -> str:
        return self.bootstrap


# An address alone is that of a cluster without TLS and users.
Kafka = str | KafkaCluster


@cache
def client_options(kafka: Kafka) -> dict[str, Any]:
    """The options of every aiokafka client.

    Raises:
        OSError: the certificates cannot be used.
        ssl.SSLError: the certificates cannot be used.
    """
    _leave_topics_alone()
    if isinstance(kafka, str):
        return {"bootstrap_servers": kafka}
    options: dict[str, Any] = {"bootstrap_servers": kafka.bootstrap, "security_protocol": kafka.protocol}
    if kafka.protocol.endswith("SSL"):
        options["ssl_context"] = client_context(kafka.tls)
    if kafka.protocol.startswith("SASL"):
        options["sasl_mechanism"] = kafka.mechanism
        options["sasl_plain_username"] = kafka.user
        options["sasl_plain_password"] = kafka.password.get_secret_value() if kafka.password else ""
    return options


def _leave_topics_alone() -> None:
    """Let no client create a topic by asking for it: aiokafka has no option for this, so the request's default changes.

    The broker would choose the partitions. One that has lost its topics would have them back before `ensure_topics` can
    create them, and Tansu loses records when both happen at once.
    """
    topics, allow_auto_topic_creation = None, False
    MetadataRequest.__init__.__defaults__ = (topics, allow_auto_topic_creation)
