"""The whole stack on one machine, whose parts can be stopped, killed and started again."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from math import inf
from pathlib import Path

from deploy.local import commands
from deploy.local.broker import Broker
from deploy.local.child import run_together
from deploy.local.layout import CALLERS, OPERATOR, Layout, plan_layout
from deploy.local.ports import Ports
from deploy.local.servers import Part, Servers
from deploy.local.service import READY_SECONDS, Service, ServiceSpec, is_ready, status
from deploy.local.state import Organisation, State

_UNAUTHORIZED = 401
_WATCH_SECONDS = 0.2

# Takes a line for people.
Report = Callable[[str], None]


class Stack:
    """A running stack. Parts have names: mongod, broker, catalog, executor, reporting, gateway, worker-1, ..."""

    def __init__(self, state: State, layout: Layout, closing: AsyncExitStack) -> None:
        self.url = layout.url
        self.grpc = layout.grpc
        self.tokens = layout.tokens
        self.parts: dict[str, Part] = {}
        self.organisation = Organisation("", "")
        self._state = state
        self._layout = layout
        self._closing = closing

    @property
    def api_key(self) -> str:
        return self.organisation.api_key

    @property
    def grpc_token(self) -> str:
        """The operator's token, for direct gRPC calls."""
        return self.tokens[OPERATOR]

    @property
    def mongo_uri(self) -> str:
        return self._layout.shared["MOBILETEST_MONGO_URI"]

    @property
    def kafka_bootstrap(self) -> str:
        return self._layout.shared["MOBILETEST_KAFKA_BOOTSTRAP"]

    def pid_of(self, name: str) -> int:
        return self.parts[name].child.pid

    def check(self) -> None:
        """Check that all parts run.

        Raises:
            ChildDied: a part ended unexpectedly.
        """
        for part in self.parts.values():
            part.child.check()

    async def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a part; SIGKILL goes to its process group, and this waits for its end."""
        child = self.parts[name].child
        if number is signal.SIGKILL:
            await child.kill()
        else:
            child.send(number)

    async def stop(self, name: str) -> None:
        await self.parts[name].stop()

    async def start(self, name: str) -> None:
        """Start a part again, at the same addresses, and wait until it is ready; a broker is given its events again."""
        await self.parts[name].start()
        if isinstance(self.parts[name], Broker):
            await self.republish()

    async def republish(self) -> None:
        """Publish again what the outboxes retain, to a broker that has lost its topics."""
        await commands.republish(self._layout)

    async def restart(self, name: str) -> None:
        await self.stop(name)
        await self.start(name)

    async def start_worker(self) -> str:
        """Start one more worker and return its name."""
        number = 1 + sum(name.startswith("worker-") for name in self.parts)
        service = self._add_service(self._layout.worker(number))
        await service.start()
        return service.spec.name

    async def new_organisation(self, name: str) -> Organisation:
        """Create another organisation with an API key that has all scopes."""
        return await commands.new_organisation(name, self._layout)

    async def start_all(self, servers: Servers, workers: int, without: Collection[str], report: Report) -> None:
        """Start the servers, then all services at once, then make sure that there is a valid API key.

        For the services in `without` it waits, however long it takes somebody to start them.
        """
        for name, server in servers.parts.items():
            self._add(name, server)
        await run_together(*(server.start() for server in servers.parts.values()))
        within = inf if without else READY_SECONDS  # a service may wait for one in `without`
        services = [
            self._wait_for(spec, report) if spec.name in without else self._add_service(spec).start(within=within)
            for spec in self._layout.services(workers)
        ]
        await run_together(*services, *([self.republish()] if servers.lost_topics else []))
        await self._ensure_organisation()

    async def _wait_for(self, spec: ServiceSpec, report: Report) -> None:
        """Wait until somebody has started the service. ChildDied if another part ends meanwhile."""
        self._state.write_environment(spec.name, spec.env)
        file = self._state.environment(spec.name)
        report(f"waiting for {spec.name}: start {spec.module} in your IDE with the variables of {file}, or run")
        report(f"    (set -a; . {file}; {sys.executable} -m {spec.module})")
        while not await is_ready(spec):
            self.check()
            await asyncio.sleep(_WATCH_SECONDS)
        report(f"{spec.name} is ready")

    async def _ensure_organisation(self) -> None:
        """Use the key of an earlier run, if this MongoDB has it."""
        kept = self._state.organisation()
        if kept is None or not await self._accepts(kept):
            kept = await self.new_organisation("Local")
            self._state.save_organisation(kept)
        self.organisation = kept

    async def _accepts(self, organisation: Organisation) -> bool:
        headers = {"Authorization": f"Bearer {organisation.api_key}"}
        return await status(f"{self.url}/api/v1/apps?page_size=1", headers) != _UNAUTHORIZED

    def _add(self, name: str, part: Part) -> None:
        """Parts stop in reverse order."""
        self.parts[name] = part
        self._closing.push_async_callback(part.stop)

    def _add_service(self, spec: ServiceSpec) -> Service:
        service = Service(spec, self._state.log(spec.name))
        self._state.write_environment(spec.name, spec.env)
        self._add(spec.name, service)
        return service


@asynccontextmanager
async def run_stack(
    state_dir: Path,
    *,
    port: int = 0,
    next_port: bool = True,
    workers: int = 1,
    mongo_uri: str | None = None,
    kafka_bootstrap: str | None = None,
    extra_env: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    report: Report = print,
    package: str = "services",
) -> AsyncIterator[Stack]:
    """A stack with its state in `state_dir`, which serves inside the block and is stopped at its end.

    `port` is that of the gateway (0: any), or with `next_port` the first to try. Without addresses, mongod and the
    broker are embedded. It waits for the services in `without`, which somebody else starts as `report` is told.
    `package` is the Python package of the services.

    Raises:
        AlreadyRunning: another stack uses the folder.
        UnusableState: the folder cannot be used.
        PortTaken: another process has the port.
        ChildDied: it does not start.
        TimeoutError: it does not start.
        CommandFailed: it does not start.
    """
    state = State(state_dir)
    state.check()
    with state.locked(), Ports() as ports:
        state.prepare()
        async with AsyncExitStack() as closing:
            servers = Servers.choose(state, ports, mongo_uri, kafka_bootstrap)
            environment = {**_environment(state), **servers.environment, **(extra_env or {})}
            tokens = {caller: state.token(caller) for caller in CALLERS}
            http_port = ports.first_from(port) if next_port else ports.exactly(port)
            layout = plan_layout(ports, http_port, environment, tokens, package, secret_keys=state.secret_keys())
            stack = Stack(state, layout, closing)
            await stack.start_all(servers, workers, without, report)
            _announce(stack, state, closing)
            yield stack


def _environment(state: State) -> dict[str, str]:
    """Variables that the services get unless the user's environment has them."""
    defaults = {
        "MOBILETEST_OBJECT_STORE": state.objects.as_uri(),
        "MOBILETEST_ARTIFACT_SPOOL": str(state.spool),
        "MOBILETEST_EXECUTOR_FILES_FOLDER": str(state.files),
        "MOBILETEST_SIMULATED_DEVICES": "true",
    }
    return {name: os.environ.get(name, value) for name, value in defaults.items()}


def _announce(stack: Stack, state: State, closing: AsyncExitStack) -> None:
    document = {
        "url": stack.url,
        "api_key": stack.api_key,
        "grpc": dict(stack.grpc),
        "grpc_token": stack.grpc_token,
        "pid": os.getpid(),
    }
    closing.callback(state.forget_ready)
    state.write_ready(document)
