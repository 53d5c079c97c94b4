"""The state folder: what survives a restart, and who is using it now."""

import fcntl
import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


class AlreadyRunning(Exception):
    """Another stack uses the folder; the message says which."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """An organisation and an API key of it with every scope."""

    org_id: str
    api_key: str


class State:
    """Paths and small files in the state folder. Secrets are readable by their owner only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.mongod = self.folder / "mongod"
        self.logs = self.folder / "logs"
        self.objects = self.folder / "objects"
        self.spool = self.folder / "spool"
        self.environments = self.folder / "env"
        self._ready = self.folder / "ready.json"
        self._organisation = self.folder / "organisation.json"
        self._token = self.folder / "service_token"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process; the system lets go of it when the process ends, however it does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRunning(self._who_runs(lock.name)) from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def prepare(self) -> None:
        """Make the folders; forget that an earlier run was ready; keep one older log of each child."""
        for folder in (self.mongod, self.logs, self.objects, self.environments):
            folder.mkdir(parents=True, exist_ok=True)
        self.forget_ready()
        for log in self.logs.glob("*.log"):
            log.replace(log.with_suffix(".log.1"))

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def write_environment(self, name: str, variables: Mapping[str, str]) -> None:
        """Keep the variables of a service, for a shell that runs one of its commands beside it."""
        lines = (f"export {variable}={shlex.quote(value)}\n" for variable, value in sorted(variables.items()))
        _write(self.environments / f"{name}.env", "".join(lines))

    def service_token(self) -> str:
        """The token by which the services know each other; made once."""
        if not self._token.exists():
            _write(self._token, secrets.token_urlsafe(32))
        return self._token.read_text()

    def organisation(self) -> Organisation | None:
        """The organisation that an earlier run made, with its key."""
        if not self._organisation.exists():
            return None
        return Organisation(**json.loads(self._organisation.read_text()))

    def save_organisation(self, organisation: Organisation) -> None:
        _write(self._organisation, json.dumps(asdict(organisation)))

    def write_ready(self, document: Mapping[str, object]) -> None:
        """Tell other programs where the stack is: `url`, `api_key`, `grpc` {service: address}, `pid`."""
        _write(self._ready, json.dumps(document, indent=2) + "\n")

    def forget_ready(self) -> None:
        self._ready.unlink(missing_ok=True)

    def _who_runs(self, lock: str) -> str:
        pid = Path(lock).read_text() or "unknown"
        url = json.loads(self._ready.read_text())["url"] if self._ready.exists() else "not ready yet"
        return f"mobiletest is already running on {self.folder} (pid {pid}, {url})"


def _write(path: Path, text: str) -> None:
    """Replace the file in one step; mode 0600 from the beginning."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)
