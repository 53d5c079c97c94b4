"""The state folder: what survives a restart, and a lock against a second stack."""

import fcntl
import json
import os
import secrets
import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


class AlreadyRunning(Exception):
    """Another stack uses the folder; the message says which."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """An organisation, with an API key that has all scopes."""

    org_id: str
    api_key: str


class State:
    """Paths and small files in the state folder, which is its owner's only. So are, once more, files with secrets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.mongod = self.folder / "mongod"
        self.logs = self.folder / "logs"
        self.objects = self.folder / "objects"
        self.spool = self.folder / "spool"
        self.files = self.folder / "files"
        self.environments = self.folder / "env"
        self._ready = self.folder / "ready.json"
        self._organisation = self.folder / "organisation.json"
        self._tokens = self.folder / "tokens"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; the system releases the lock when this process ends in any way. AlreadyRunning."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
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
        """Create the folders, delete ready.json, and keep one older log of each child."""
        for folder in (self.mongod, self.logs, self.objects, self.environments):
            folder.mkdir(parents=True, exist_ok=True)
        self.forget_ready()
        for log in self.logs.glob("*.log"):
            log.replace(log.with_suffix(".log.1")).chmod(0o600)

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def write_environment(self, name: str, variables: Mapping[str, str]) -> None:
        """Write the variables of a service to a file for `set -a; . FILE` in a shell and for an IDE."""
        lines = (f"{variable}={shlex.quote(value)}\n" for variable, value in sorted(variables.items()))
        _write(self.environment(name), "".join(lines))

    def environment(self, name: str) -> Path:
        return self.environments / f"{name}.env"

    def token(self, caller: str) -> str:
        """The token with which this caller calls services; created once."""
        return self._create_once(caller, secrets.token_urlsafe(32))

    def secret_keys(self) -> str:
        """The key with which the catalog encrypts secrets; created once."""
        return self._create_once("secret-keys", f"local={b64encode(secrets.token_bytes(32)).decode()}")

    def _create_once(self, name: str, text: str) -> str:
        file = self._tokens / name
        if not file.exists():
            self._tokens.mkdir(exist_ok=True)
            _write(file, text)
        return file.read_text()

    def organisation(self) -> Organisation | None:
        """The organisation that an earlier run created."""
        if not self._organisation.exists():
            return None
        return Organisation(**json.loads(self._organisation.read_text()))

    def save_organisation(self, organisation: Organisation) -> None:
        _write(self._organisation, json.dumps(asdict(organisation)))

    def write_ready(self, document: Mapping[str, object]) -> None:
        """Write ready.json for other programs: `url`, `api_key`, `grpc` {service: address}, `grpc_token`, `pid`."""
        _write(self._ready, json.dumps(document, indent=2) + "\n")

    def forget_ready(self) -> None:
        self._ready.unlink(missing_ok=True)

    def _who_runs(self, lock: str) -> str:
        pid = Path(lock).read_text() or "unknown"
        url = json.loads(self._ready.read_text())["url"] if self._ready.exists() else "not ready yet"
        return f"mobiletest is already running on {self.folder} (pid {pid}, {url})"


def _write(path: Path, text: str) -> None:
    """Replace the file atomically, with mode 0600 from the beginning."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)
