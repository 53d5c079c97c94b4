"""Starts the process of attempts, which the worker names without importing what attempts need: 6 MiB."""

import socket
from dataclasses import dataclass

# The fork server imports it for all processes of attempts.
ATTEMPT_PROCESS = "services.executor.worker.processes.attempt_process"


@dataclass(frozen=True, slots=True)
class LogFormat:
    """The worker's settings of logs."""

    log_level: str
    log_format: str


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """What the new process calls with its socket."""

    log_format: LogFormat

    def __call__(self, worker: socket.socket) -> None:
        from services.executor.worker.processes.attempt_process import AttemptProcess

        AttemptProcess(self.log_format)(worker)
