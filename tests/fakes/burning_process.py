"""A process of attempts that computes and never listens."""

import socket
from multiprocessing.connection import Connection

from services.executor.worker.processes.messages import RunAttempt, decode
from services.executor.worker.processes.process_limits import CpuLimit


def burn(worker: socket.socket) -> None:
    """Take an attempt and compute until the process is killed."""
    connection = Connection(worker.detach())
    order = decode(connection.recv_bytes()).parse(RunAttempt)
    CpuLimit(order.cpu).extend()
    while True:
        pass
