"""What the children of the tests do."""

import os
import socket
import sys
import time

from services.chassis.child_process import BlockingMessages


def obey(parent: socket.socket) -> None:
    """Reply to every message."""
    channel = BlockingMessages(parent)
    while True:
        try:
            message = channel.receive()
        except EOFError:
            return
        channel.send(reply(message))


def reply(message: bytes) -> bytes:
    """The message itself, unless it is one of the commands below."""
    match message.split():
        case [b"pid"]:
            return b"%d" % os.getpid()
        case [b"exit", code]:
            sys.exit(int(code))
        case [b"burn"]:
            while True:
                pass
        case [b"work", seconds]:
            end = time.process_time() + float(seconds)
            while time.process_time() < end:
                pass
            return b"done"
        case [b"bytes", count]:
            return bytes(int(count))
        case [b"grow", count]:
            return b"%d" % len(b"x" * int(count))
        case _:
            return message
