"""`mobiletest keys` and `mobiletest secrets`: what gives access, to the server and to the apps under test."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from mobiletest_cli.context import Context, command, read_text
from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError

# What `mobiletest run` needs: it uploads builds, imports flows, starts them and reads results.
CI_SCOPES = ["read", "write", "execute"]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add both groups."""
    keys = typer.Typer(help="List, create and delete API keys.", no_args_is_help=True, rich_markup_mode=None)
    command(keys, "list")(list_keys)
    command(keys, "create")(create_key)
    command(keys, "delete")(delete_key)
    app.add_typer(keys, name="keys")
    secrets = typer.Typer(help="List, set and delete secrets of tests.", no_args_is_help=True, rich_markup_mode=None)
    command(secrets, "list")(list_secrets)
    command(secrets, "set")(set_secret)
    command(secrets, "delete")(delete_secret)
    app.add_typer(secrets, name="secrets")


def list_keys(context: Context) -> None:
    """List the API keys, without their values."""
    from mobiletest_cli.output import ago, local_time

    context.output.list(
        list(context.api.pages("settings/api-keys")),
        ("Name", "Key", "Scopes", "Expires", "Last used", "Id"),
        lambda key: [
            key["name"],
            f"{key['prefix']}...",
            ", ".join(key["scopes"]),
            local_time(key["expires_at"]),
            ago(key["last_used_at"]),
            key["id"],
        ],
        empty="There are no API keys.",
    )


def create_key(
    context: Context,
    name: Annotated[str, typer.Argument(help="A name by which it is recognised.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, write, execute or admin; may be repeated. What a CI job needs without it: not admin."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="Day or time of its end, such as 2027-01-31.")] = None,
) -> None:
    """Create an API key, and print its value: it is shown this once."""
    from mobiletest_cli.output import utc_time

    body = {"name": name, "scopes": scope or CI_SCOPES, **({"expires_at": utc_time(expires)} if expires else {})}
    key = context.api.post("settings/api-keys", body)
    if not context.output.as_json:
        context.output.say(f"Scopes: {', '.join(key['scopes'])}.{'' if scope else ' Others: --scope, once for each.'}")
    context.output.item(key, key["key"])


def delete_key(context: Context, key: Annotated[str, typer.Argument(help="Name or id.")], yes: Yes = False) -> None:
    """Delete an API key: it stops working within seconds."""
    keys = [each for each in context.api.pages("settings/api-keys") if key in (each["id"], each["name"])]
    if len(keys) != 1:
        what = f"{len(keys)} API keys are" if keys else "no API key is"
        ids = ", ".join(f"{each['id']} ({each['prefix']}...)" for each in keys[:5])
        hint = f"Give an id: {ids}" if keys else "mobiletest keys list"
        raise CliError(f'{what} called "{key}"', USAGE if keys else NOT_FOUND, hint)
    context.confirm(f'Delete the API key "{keys[0]["name"]}"?', yes=yes)
    context.api.delete(f"settings/api-keys/{keys[0]['id']}")
    context.output.done(f'Deleted the API key "{keys[0]["name"]}".', id=keys[0]["id"])


def list_secrets(context: Context) -> None:
    """List the names of the secrets."""
    from mobiletest_cli.output import ago

    context.output.list(
        list(context.api.pages("secrets")),
        ("Secret", "Changed"),
        lambda secret: [secret["name"], ago(secret["updated_at"])],
        empty="There are no secrets: mobiletest secrets set NAME",
    )


def set_secret(context: Context, name: Annotated[str, typer.Argument(help="Name, such as SHOP_PASSWORD.")]) -> None:
    """Set a secret to what stdin has, or to what is typed without being shown."""
    if sys.stdin.isatty():
        value = context.output.ask(f"Value of {name}", hidden=True)
    else:
        value = read_text(sys.stdin.read).rstrip("\r\n")
    if not value:
        raise CliError(f"the value of {name} is empty", USAGE, f'printf %s "$VALUE" | mobiletest secrets set {name}')
    context.api.put(_secret(name), {"value": value})
    context.output.done(f"Set {name}.", name=name)


def delete_secret(context: Context, name: Annotated[str, typer.Argument(help="Name.")], yes: Yes = False) -> None:
    """Delete a secret."""
    context.confirm(f"Delete the secret {name}?", yes=yes)
    context.api.delete(_secret(name))
    context.output.done(f"Deleted {name}.", name=name)


def _secret(name: str) -> str:
    """The path of a secret. CliError if no secret can have this name, which would lead to another path."""
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise CliError(f'no secret can be called "{name}"', USAGE, 'Letters, digits, "_", "." and "-"')
    return f"secrets/{name}"
