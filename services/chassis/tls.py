"""The certificates of this process, read again when their files change."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import grpc

from services.chassis import logs

T = TypeVar("T")

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: certificate (with its chain) and key of this process, and the authorities that sign those of others.

    Without a certificate a client shows none; without authorities the system's are trusted.
    """

    certificate: Path | None = None
    key: Path | None = None
    authorities: Path | None = None

    def state(self) -> tuple[tuple[int, int], ...]:
        """Differs when a file has changed: Kubernetes replaces mounted Secrets by new files.

        Raises:
            OSError: it cannot be read.
        """
        stats = (path.stat() for path in (self.certificate, self.key, self.authorities) if path is not None)
        return tuple((each.st_mtime_ns, each.st_ino) for each in stats)


NO_FILES = TlsFiles()


class Reloaded(Generic[T]):
    """What `make` makes of the files, made again after they changed. Files that cannot be used change nothing."""

    def __init__(self, files: TlsFiles, make: Callable[[TlsFiles], T]) -> None:
        """Read the files.

        Raises:
            OSError: the files cannot be used.
            ssl.SSLError: the files cannot be used.
        """
        self._files = files
        self._make = make
        self._state = files.state()
        self.current = make(files)

    def reload(self) -> bool:
        """Look at the files; whether `current` is a new one."""
        try:
            state = self._files.state()
            if state == self._state:
                return False
            self.current = self._make(self._files)
        except (OSError, ssl.SSLError) as error:
            log.warning("certificates_not_reloaded", error=repr(error))
            return False
        self._state = state
        log.info("certificates_reloaded")
        return True


def server_credentials(files: TlsFiles, *, verify_clients: bool) -> grpc.ServerCredentials:
    """Credentials that follow the files: gRPC asks for them before each handshake.

    Raises:
        OSError: the certificates cannot be read.
        ssl.SSLError: the certificates cannot be used.
    """
    configuration = Reloaded(files, _server_configuration)
    return grpc.dynamic_ssl_server_credentials(
        configuration.current,
        lambda: configuration.current if configuration.reload() else None,  # type: ignore[arg-type, return-value] # None: no change
        require_client_authentication=verify_clients,
    )


def channel_credentials(files: TlsFiles) -> grpc.ChannelCredentials:
    """Credentials of the files as they are.

    Raises:
        OSError: the certificates cannot be read.
        ssl.SSLError: the certificates cannot be used.
    """
    _check(files)
    return grpc.ssl_channel_credentials(_read(files.authorities), _read(files.key), _read(files.certificate))


def client_context(files: TlsFiles) -> ssl.SSLContext:
    """A context for clients that follows the files.

    Raises:
        OSError: the certificates cannot be read.
        ssl.SSLError: the certificates cannot be used.
    """
    return _ClientContext.following(files)


class _ClientContext(ssl.SSLContext):
    """Looks at its files before each handshake."""

    _loaded: Reloaded[None]

    @classmethod
    def following(cls, files: TlsFiles) -> "_ClientContext":
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context._loaded = Reloaded(files, context._load)
        return context

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        self._loaded.reload()
        return super().wrap_bio(*arguments, **options)

    def _load(self, files: TlsFiles) -> None:
        if files.authorities is None:
            self.load_default_certs()
        else:
            self.load_verify_locations(files.authorities)
        if files.certificate is not None:
            self.load_cert_chain(files.certificate, files.key)


def _server_configuration(files: TlsFiles) -> Any:
    _check(files)
    return grpc.ssl_server_certificate_configuration(
        [(_read(files.key), _read(files.certificate))], _read(files.authorities)
    )


def _check(files: TlsFiles) -> None:
    """A certificate and a key that do not belong together: gRPC itself would only refuse all connections."""
    if files.certificate is not None:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)


def _read(path: Path | None) -> Any:
    """The content; None without a file."""
    return None if path is None else path.read_bytes()
