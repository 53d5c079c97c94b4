"""A process of attempts that computes and never listens."""

import socket
from multiprocessing.connection import Connection

from services.executor.worker.processes.limits import CpuLimit
from services.executor.worker.processes.messages import RunAttempt, decode


def burn(worker: socket.socket) -> None:
    """Take an attempt and compute until the process is killed."""
    connection = Connection(worker.detach())
    order = decode(connection.recv_bytes()).parse(RunAttempt)
    CpuLimit(order.cpu).extend()
    while True:
        pass
