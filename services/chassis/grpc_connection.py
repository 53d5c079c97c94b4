"""The connections of a gRPC channel, which are dialled again when the certificates of this process change."""

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc

from services.chassis.tls import Reloaded, TlsFiles, channel_credentials

# How often calls look for new certificates, at most.
LOOK_SECONDS = 5.0
# How long the streams of former connections may go on.
STREAM_SECONDS = 3600.0


class Connection:
    """grpc.aio's own channel to an address."""

    def __init__(
        self,
        address: str,
        options: Sequence[tuple[str, Any]],
        tls: TlsFiles | None,
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """Read the certificates, if the connection is to be encrypted.

        Raises:
            OSError: the certificates cannot be used.
            ssl.SSLError: the certificates cannot be used.
        """
        self._certified: Reloaded[grpc.aio.Channel] | None = None
        self._look_seconds = look_seconds
        self._look_at = 0.0
        self._closing: dict[asyncio.Task[None], grpc.aio.Channel] = {}
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address, options=options)
        else:
            self._certified = Reloaded(
                tls, lambda files: grpc.aio.secure_channel(address, channel_credentials(files), options=options)
            )
            self._channel = self._certified.current

    def channel(self, now: float) -> grpc.aio.Channel:
        """The channel for new calls; `now` in seconds."""
        if self._certified is not None and now >= self._look_at:
            self._look_at = now + self._look_seconds
            if self._certified.reload():
                self._replace(self._certified.current)
        return self._channel

    async def close(self) -> None:
        """End all calls."""
        for task in self._closing:
            task.cancel()
        for channel in (*self._closing.values(), self._channel):
            await channel.close()

    def _replace(self, channel: grpc.aio.Channel) -> None:
        former, self._channel = self._channel, channel
        task = asyncio.create_task(former.close(STREAM_SECONDS))
        self._closing[task] = former
        task.add_done_callback(self._closing.pop)
