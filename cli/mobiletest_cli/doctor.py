"""Finds out what is wrong between this command and its server."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from mobiletest_cli import __version__
from mobiletest_cli.api import CERTIFICATES, CONNECT_SECONDS, make_client, tls_advice
from mobiletest_cli.ci import describe, detect, missing_branch
from mobiletest_cli.errors import OK, UNREACHABLE, USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.context import Context

CLOCK_SECONDS = 60
# Operations without which commands fail, and what they are for.
NEEDED = {"StartTests": "run a folder", "ImportTests": "import flows", "GetCurrentApiKey": "show the key"}
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")


@dataclass(frozen=True)
class Finding:
    """One check: whether it is as it should be, and what to do if not."""

    name: str
    passed: bool
    detail: str
    hint: str | None = None
    exit_code: int = OK


def diagnose(context: Context) -> int:
    """Show each check until one fails that makes the others pointless; the exit code of the first that failed."""
    findings = [Finding("command", True, f"mobiletest {__version__}, Python {platform.python_version()}")]
    for check in (_configuration, _connection, _key):
        more = check(context)
        findings += more
        if any(not finding.passed and finding.exit_code for finding in more):
            break
    failed = [finding for finding in findings if not finding.passed]
    if context.output.as_json:
        context.output.document({"items": [vars(finding) for finding in findings]})
    for finding in findings:
        context.output.result(f"{'ok     ' if finding.passed else 'PROBLEM'}  {finding.name}: {finding.detail}")
        if finding.hint and not finding.passed:
            context.output.result(f"         {finding.hint}")
    return next((finding.exit_code for finding in failed if finding.exit_code), OK)


def _guarded(name: str, check: Callable[[], str]) -> Finding:
    """What a check says, or why it failed."""
    try:
        return Finding(name, True, check())
    except CliError as error:
        return Finding(name, False, error.message, error.hint, error.exit_code)


def _configuration(context: Context) -> list[Finding]:
    proxies = {name.upper(): os.environ[name] for name in _PROXIES if os.environ.get(name)}
    shown = ", ".join(f"{name}={_without_password(value)}" for name, value in proxies.items())
    return [
        _guarded("address", lambda: f"{context.server.url} (key from {context.server.key_source})"),
        _guarded("project", lambda: str(context.project.path or "no mobiletest.yaml")),
        Finding("proxy", True, shown or "none"),
        _ci(),
    ]


def _ci() -> Finding:
    """Which change a run would be of."""
    attribution = detect(os.environ, Path.cwd())
    _, hint = missing_branch(attribution) or ("", None)
    return Finding("ci", hint is None, describe(attribution), hint)


def _without_password(address: str) -> str:
    return f"...@{address.rpartition('@')[2]}" if "@" in address else address


def _connection(context: Context) -> list[Finding]:
    server = context.server
    try:
        with make_client(server, timeout=httpx.Timeout(30, connect=CONNECT_SECONDS)) as client:
            response = client.get(f"{server.url}/api/v1/openapi.json")
            document = response.json() if response.is_success else None
    except CliError as error:
        return [Finding("connection", False, error.message, error.hint, error.exit_code)]
    except (httpx.InvalidURL, UnicodeError) as error:
        return [Finding("connection", False, f"{server.url} is not an address: {error}", None, USAGE)]
    except httpx.RequestError as error:
        return [Finding("connection", False, str(error) or type(error).__name__, _advice(error), UNREACHABLE)]
    except ValueError:
        document = None
    if not isinstance(document, dict) or "paths" not in document:
        hint = "MOBILETEST_URL must be the address of the gateway, without /api/v1"
        detail = f"HTTP {response.status_code}, and not from mobiletest"
        return [Finding("connection", False, detail, hint, UNREACHABLE)]
    return [Finding("connection", True, f"{response.http_version}"), _version(document), _clock(response)]


def _advice(error: httpx.RequestError) -> str:
    """What to do about a connection that failed."""
    text = str(error).lower()
    if "certificate" in text or "ssl" in text:
        return tls_advice(text) or CERTIFICATES
    if "name or service not known" in text or "nodename" in text or "temporary failure in name" in text:
        return "The name of the host is not known: check MOBILETEST_URL, DNS and VPN"
    if isinstance(error, httpx.ProxyError):
        return "The proxy refuses: check HTTPS_PROXY and NO_PROXY"
    if isinstance(error, httpx.TimeoutException):
        return "Nothing answers: check firewall, VPN and proxy"
    return "Is the server running, and the port right?"


def _version(document: Any) -> Finding:
    """Whether the server has what the commands need."""
    known = {operation.get("operationId") for path in document["paths"].values() for operation in path.values()}
    missing = [purpose for name, purpose in NEEDED.items() if name not in known]
    version = document.get("info", {}).get("version", "?")
    if missing:
        detail = f"server {version} is older than this command: it cannot {', '.join(missing)}"
        hint = f"Update the server, or install mobiletest-cli=={version}"
        return Finding("version", False, detail, hint, UNREACHABLE)
    return Finding("version", True, f"server {version}")


def _clock(response: httpx.Response) -> Finding:
    """Whether this machine's clock agrees with the server's: TLS and expiry depend on it."""
    try:
        ahead = (datetime.now(UTC) - parsedate_to_datetime(response.headers["Date"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return Finding("clock", True, "the server does not say its time")
    if abs(ahead) > CLOCK_SECONDS:
        direction = "ahead of" if ahead > 0 else "behind"
        return Finding("clock", False, f"{abs(ahead):.0f} s {direction} the server", "Set the clock of this machine")
    return Finding("clock", True, "as the server's")


def _key(context: Context) -> list[Finding]:
    def check() -> str:
        key = context.api.impatient().get("settings/api-keys/current")
        lacking = [scope for scope in ("read", "write", "execute") if scope not in key["scopes"]]
        without = f"; without {', '.join(lacking)}, which `run` needs" if lacking else ""
        return f'"{key["name"]}" with {", ".join(key["scopes"])}{without}'

    return [_guarded("key", check)]
