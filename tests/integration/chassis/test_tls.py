"""TLS between services: who is refused, and what happens when certificates change."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc, builds_pb2, builds_pb2_grpc

from services.chassis import grpc_server
from services.chassis.context import bind
from services.chassis.grpc_channel import Channel, Connection
from services.chassis.tls import TlsFiles
from tests.certificates import Authority
from tests.eventually import eventually
from tests.integration.chassis.probe import APPS, Probe, serving
from tests.integration.chassis.test_grpc import CALLER, VERSION
from tests.unit.chassis.samples import TOKEN, process_settings


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.new(tmp_path / "authority")


def server_settings(files: TlsFiles, **more: object) -> Any:
    return process_settings(
        tls_certificate_file=files.certificate, tls_key_file=files.key, tls_authorities_file=files.authorities, **more
    )


@asynccontextmanager
async def served(files: TlsFiles, **more: object) -> AsyncIterator[Probe]:
    async with serving(server_settings(files, **more), tls=files) as probe:
        with bind(CALLER):
            yield probe


async def call(address: str, tls: TlsFiles | None) -> None:
    """One call on a connection of its own. AioRpcError."""
    async with grpc_server.open_channel(address, TOKEN, services=[APPS], tls=tls) as channel:
        stub: Any = apps_pb2_grpc.AppsStub(channel)  # type: ignore[no-untyped-call]
        await stub.ListApps(apps_pb2.ListAppsRequest(), timeout=5)


async def refused(address: str, tls: TlsFiles | None) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call(address, tls)
    assert error.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


async def test_only_clients_with_a_certificate_of_the_authority_are_served(
    authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority.new(tmp_path / "stranger")
    foreign = stranger.issue("client")
    async with served(authority.issue("server")) as probe:
        await call(probe.address, authority.issue("client"))
        await refused(probe.address, None)
        await refused(probe.address, TlsFiles(authorities=authority.file))
        await refused(probe.address, TlsFiles(foreign.certificate, foreign.key, authority.file))


async def test_a_server_of_another_authority_or_name_is_refused(authority: Authority, tmp_path: Path) -> None:
    files = authority.issue("client")
    stranger = Authority.new(tmp_path / "stranger")
    async with served(stranger.issue("server"), tls_verify_clients=False) as probe:
        await refused(probe.address, files)
    async with served(authority.issue("other", "elsewhere.test"), tls_verify_clients=False) as probe:
        await refused(probe.address, files)


async def test_without_verification_clients_need_no_certificate(authority: Authority) -> None:
    async with served(authority.issue("server"), tls_verify_clients=False) as probe:
        await call(probe.address, TlsFiles(authorities=authority.file))
        await refused(probe.address, None)


async def test_a_server_shows_its_new_certificate_once_it_is_usable(authority: Authority) -> None:
    files = authority.issue("server")
    assert files.key is not None
    async with served(files, tls_verify_clients=False) as probe:
        before = await shown_certificate(probe.address)
        files.key.write_text("half a key")
        assert await shown_certificate(probe.address) == before
        authority.issue("server")
        assert await shown_certificate(probe.address) != before


async def test_clients_change_to_new_certificates_and_their_streams_continue(authority: Authority) -> None:
    turn = asyncio.Event()
    files = authority.issue("shared")
    async with served(files) as probe:
        probe.builds.pieces, probe.builds.between = 2, turn.wait
        connection = Connection(f"dns:///{probe.address}", [], files, look_seconds=0)
        async with Channel(connection, TOKEN, timeout=5) as channel:
            builds: Any = builds_pb2_grpc.BuildsStub(channel)  # type: ignore[no-untyped-call]
            apps: Any = apps_pb2_grpc.AppsStub(channel)  # type: ignore[no-untyped-call]
            stream = builds.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id=VERSION))
            await anext(aiter(stream))
            for _ in range(3):
                await apps.ListApps(apps_pb2.ListAppsRequest())
            assert len(set(probe.apps.peers)) == 1
            authority.issue("shared")
            await apps.ListApps(apps_pb2.ListAppsRequest())
            assert len(set(probe.apps.peers)) == 2
            turn.set()
            assert [body.data async for body in stream] == [b"org-1\x01"]


async def test_a_readiness_check_works_over_tls(authority: Authority) -> None:
    async with served(authority.issue("server")) as probe:
        await eventually(probe.channel.is_ready)


async def test_a_server_without_a_certificate_does_not_start(authority: Authority) -> None:
    with pytest.raises(ValueError, match="MOBILETEST_TLS_CERTIFICATE_FILE is missing"):
        async with serving(process_settings(tls_authorities_file=authority.file)):
            pass


async def test_files_that_cannot_be_used_stop_the_start(authority: Authority) -> None:
    files = authority.issue("server")
    assert files.certificate is not None
    files.certificate.write_text("nothing")
    with pytest.raises(ssl.SSLError):
        async with serving(server_settings(files)):
            pass
    with pytest.raises(ssl.SSLError):
        grpc_server.open_channel("127.0.0.1:9", TOKEN, tls=files)


async def shown_certificate(address: str) -> bytes:
    """The certificate of a new connection."""
    host, _, port = address.rpartition(":")

    def fetch() -> bytes:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        with socket.create_connection((host, int(port)), timeout=10) as plain, context.wrap_socket(plain) as secure:
            return secure.getpeercert(binary_form=True) or b""

    return await asyncio.to_thread(fetch)
