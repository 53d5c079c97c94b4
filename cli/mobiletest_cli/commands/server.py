"""Commands about the server and this command: login, logout, whoami, doctor, completion."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mobiletest_cli.configuration import DEFAULT_PROFILE, Server, check_url
from mobiletest_cli.context import Context, command
from mobiletest_cli.errors import OK, USAGE, CliError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for function in (login, logout, whoami, doctor, completion):
        command(app, function.__name__)(function)


def login(context: Context) -> None:
    """Store address and API key of a server in a profile, after a try."""
    from mobiletest_cli.api import Api

    flags = context.flags
    url = flags.url or context.environ.get("MOBILETEST_URL") or _ask(context, "Address of the server")
    key = flags.api_key or _ask(context, "API key", hidden=True)
    server = Server(check_url(url), key, flags.ca_file or context.environ.get("MOBILETEST_CA_FILE"))
    api = Api(server, patience=context.patience)
    try:
        current_key = api.get("settings/api-keys/current")
    finally:
        api.close()
    name = flags.profile or context.environ.get("MOBILETEST_PROFILE") or DEFAULT_PROFILE
    context.profiles.write(name, server.url, key)
    context.output.done(
        f'Logged in to {server.url} with the key "{current_key["name"]}".', profile=name, url=server.url
    )


def _ask(context: Context, question: str, *, hidden: bool = False) -> str:
    if not sys.stdin.isatty():
        hint = "mobiletest login --url URL --api-key-stdin < key.txt"
        raise CliError(f"cannot ask without a terminal: {question}", USAGE, hint)
    return context.output.ask(question, hidden=hidden).strip()


def logout(context: Context) -> None:
    """Forget the profile; the key stays valid until it is deleted."""
    name = context.flags.profile or context.environ.get("MOBILETEST_PROFILE") or DEFAULT_PROFILE
    if not context.profiles.delete(name):
        raise CliError(f'no profile "{name}" in {context.profiles.path}', USAGE)
    context.output.done(f'Deleted the profile "{name}".', profile=name)


def whoami(context: Context) -> None:
    """Show the server, and the API key with its scopes."""
    from mobiletest_cli.output import local_time

    key = context.api.get("settings/api-keys/current")
    server = context.server
    if context.output.as_json:
        context.output.document({"url": server.url, "key_source": server.key_source, **key})
        return
    organisation = key.get("org_name") or key["org_id"]
    context.output.result(f'{server.url}: organisation {organisation}, key "{key["name"]}" ({key["prefix"]}...)')
    until = f"until {local_time(key['expires_at'])}" if key["expires_at"] else "without end"
    context.output.result(f"scopes {', '.join(key['scopes'])}, valid {until}, from {server.key_source}")


def doctor(context: Context) -> int:
    """Say what is wrong with address, proxy, TLS, clock, version or key."""
    from mobiletest_cli.doctor import diagnose

    return diagnose(context)


def completion(
    context: Context,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")],
) -> int:
    """Print the script that completes this command: eval "$(mobiletest completion bash)"."""
    from mobiletest_cli.completion import script

    context.output.text(script(shell))
    return OK
