"""The state folder: what survives a restart, and a lock against a second stack."""

import errno
import fcntl
import json
import os
import pwd
import re
import secrets
import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import disk_usage

from services.chassis.version import VERSION

# What a start needs on the disk: MongoDB writes some 300 MB before its first document.
FIRST_BYTES = 500_000_000
FULL_BYTES = 20_000_000
_OTHER_FOLDER = "or choose another folder by MOBILETEST_STATE_DIR"
_AS_OWNER = f"start it as the owner, {_OTHER_FOLDER}"


class AlreadyRunning(Exception):
    """Another stack uses the folder; the message says which."""


class UnusableState(Exception):
    """The folder cannot hold the state; the message says why, and what to do."""


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
        self._version = self.folder / "version"

    def check(self) -> None:
        """Check that the folder can be used.

        Raises:
            UnusableState: the folder is a file, belongs to somebody else, is of a newer version, or its disk is full.
        """
        nearest = next(folder for folder in (self.folder, *self.folder.parents) if folder.exists())
        if not nearest.is_dir():
            raise UnusableState(f"{nearest} is a file, not a folder: remove it, {_OTHER_FOLDER}")
        if nearest == self.folder and (owner := nearest.stat().st_uid) != os.geteuid():
            raise UnusableState(f"{nearest} belongs to {_user(owner)}, not to {_user(os.geteuid())}: {_AS_OWNER}")
        if not os.access(nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise UnusableState(f"{nearest} cannot be written: change its permissions, {_OTHER_FOLDER}")
        if _numbers(version := self._stored_version()) > _numbers(VERSION):
            what = f"{self.folder} was used by mobiletest {version}, which is newer than this one ({VERSION})"
            raise UnusableState(f"{what}: start that version, {_OTHER_FOLDER}")
        if (free := disk_usage(nearest).free) < FIRST_BYTES and not self.mongod.exists():
            raise UnusableState(
                f"{free // 1_000_000} MB are free on the disk of {nearest}, and a new state folder needs "
                f"{FIRST_BYTES // 1_000_000} MB: free some, {_OTHER_FOLDER}"
            )
        if full := full_disk(nearest):
            raise full

    def _stored_version(self) -> str:
        return self._version.read_text() if self._version.exists() else ""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; the system releases the lock when this process ends in any way.

        Raises:
            AlreadyRunning: another stack uses the folder.
        """
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
        _write(self._version, VERSION)
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


def full_disk(folder: Path) -> UnusableState | None:
    """What to say if the disk of the folder is full."""
    with suppress(OSError):
        if (free := disk_usage(folder).free) < FULL_BYTES:
            what = f"the disk of {folder} is full ({free // 1_000_000} MB are free)"
            return UnusableState(f"{what}: free some space, {_OTHER_FOLDER}")
    return None


def explain(folder: Path, error: OSError) -> UnusableState:
    """What an error of the system means for the state folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UnusableState(f"the disk of {folder} is full: free some space, {_OTHER_FOLDER}")
    place = error.filename or folder
    return UnusableState(f"{place} cannot be used ({error.strerror or error}): repair it, {_OTHER_FOLDER}")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version, re.ASCII))


def _write(path: Path, text: str) -> None:
    """Replace the file atomically, with mode 0600 from the beginning."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)
