"""Where the server is and what a project wants: flags, environment, mobiletest.yaml and the user's profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobiletest_cli.errors import AUTHENTICATION, INVALID_FILE, USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_automation.flows.environment import VariableValue

PROJECT_FILE = "mobiletest.yaml"
DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class Server:
    """An address without /api/v1, a key, a file with certificates of a private CA, and where the key comes from."""

    url: str
    api_key: str
    ca_file: str | None = None
    key_source: str = ""


@dataclass(frozen=True)
class ServerFlags:
    """What the command line says about the server."""

    url: str | None = None
    api_key: str | None = None
    profile: str | None = None
    ca_file: str | None = None


class Profiles:
    """Addresses and keys of the user's servers, in a file that only the user can read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, str]]:
        """Address and key by the name of the profile.

        Raises:
            CliError: the file is not one of profiles.
        """
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise CliError(f"{self.path}: cannot be read: {error}", INVALID_FILE) from None
        try:
            return {name: dict(profile) for name, profile in json.loads(text).items()}
        except (ValueError, AttributeError, TypeError):
            raise CliError(
                f"{self.path}: is not a file of profiles", INVALID_FILE, "Delete it and log in again"
            ) from None

    def write(self, name: str, url: str, api_key: str) -> None:
        """Add or replace a profile."""
        self._store({**self.read(), name: {"url": url, "api_key": api_key}})

    def delete(self, name: str) -> bool:
        """Whether there was a profile of this name."""
        profiles = self.read()
        if profiles.pop(name, None) is None:
            return False
        self._store(profiles)
        return True

    def _store(self, profiles: Mapping[str, Mapping[str, str]]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.path.with_suffix(f".{os.getpid()}.part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(profiles, file, indent=2)
        part.replace(self.path)


def profiles_of(environ: Mapping[str, str]) -> Profiles:
    """The profiles of the user, in MOBILETEST_CONFIG_DIR or the user's directory for configuration."""
    import typer

    folder = environ.get("MOBILETEST_CONFIG_DIR") or typer.get_app_dir("mobiletest", force_posix=False)
    return Profiles(Path(folder) / "profiles.json")


def find_server(flags: ServerFlags, environ: Mapping[str, str], profiles: Profiles) -> Server:
    """The server of flags, environment or profile, in this order.

    The key of a profile is sent only to the address of that profile.

    Raises:
        CliError: none is known, or no key for it.
    """
    name = flags.profile or environ.get("MOBILETEST_PROFILE")
    stored = profiles.read().get(name or DEFAULT_PROFILE)
    if name and stored is None:
        raise CliError(f'no profile "{name}" in {profiles.path}', USAGE, f"mobiletest login --profile {name}")
    given = flags.url or (None if flags.profile else environ.get("MOBILETEST_URL"))
    url = check_url(given or (stored or {}).get("url") or "")
    key, source = _find_key(flags, environ, stored, url, given)
    if not key:
        raise CliError(f"no API key for {url}", AUTHENTICATION, "Set MOBILETEST_API_KEY, or run: mobiletest login")
    ca_file = flags.ca_file or environ.get("MOBILETEST_CA_FILE") or None
    return Server(url, key, ca_file, source)


def _find_key(
    flags: ServerFlags, environ: Mapping[str, str], stored: Mapping[str, str] | None, url: str, given: str | None
) -> tuple[str, str]:
    """The key, and where it comes from."""
    if flags.api_key:
        return flags.api_key.strip(), "--api-key-stdin"
    if not flags.profile and (key := environ.get("MOBILETEST_API_KEY", "").strip()):
        return key, "MOBILETEST_API_KEY"
    if stored is not None and (given is None or stored.get("url") == url):
        return stored.get("api_key", ""), "profile"
    return "", ""


def check_url(text: str) -> str:
    """The address without a trailing slash and without /api/v1.

    Raises:
        CliError: it is no address of a server.
    """
    from urllib.parse import urlsplit

    if not text:
        hint = "Set MOBILETEST_URL, run `mobiletest login`, or go without: mobiletest run --local"
        raise CliError("no server is configured", USAGE, hint)
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise CliError(
            f'"{text}" is not an address of a server', USAGE, "Give one such as https://mobiletest.example.com"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise CliError(f"the address of the server has more than host and path: {parts.hostname}", USAGE)
    return text.rstrip("/").removesuffix("/api/v1").rstrip("/")


@dataclass(frozen=True)
class Project:
    """What mobiletest.yaml says; each value None where it says nothing. `path` is None without a file."""

    path: Path | None = None
    app: str | None = None
    folder: str | None = None
    workspace: str | None = None
    workflow: str | None = None
    platform: str | None = None
    tags: tuple[str, ...] | None = None
    env: Mapping[str, VariableValue] | None = None
    retries: int | None = None
    timeout: int | None = None
    gate: bool | None = None
    base_branch: str | None = None


_KINDS: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "app": ("a name or an id", str),
    "folder": ("a path", str),
    "workspace": ("a name", str),
    "workflow": ("a name or an id", str),
    "platform": ("Android or iOS", str),
    "tags": ("a list of texts", list),
    "env": ("names with values, which are texts or {value: TEXT, secret: true}", dict),
    "retries": ("a whole number", int),
    "timeout": ("seconds", int),
    "gate": ("true or false", bool),
    "base_branch": ("a branch", str),
}

_LEAST, _MOST = {"retries": 0, "timeout": 1}, {"retries": 5, "timeout": 7 * 86_400}


def read_project(start: Path) -> Project:
    """The project file of the folder, or of the nearest one above it up to the root of the repository.

    Raises:
        CliError: it cannot be used; it names file, line and key.
    """
    for folder in (start, *start.parents):
        path = folder / PROJECT_FILE
        if path.is_file():
            return parse_project(path, path.read_bytes())
        if (folder / ".git").exists():
            break
    return Project()


def parse_project(path: Path, content: bytes) -> Project:
    """The values of a project file.

    Raises:
        CliError: it cannot be used; it names file, line and key.
    """
    import yaml

    try:
        node = yaml.compose(content, Loader=yaml.SafeLoader)
        values = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else f"{path}"
        raise CliError(f"{place}: {getattr(error, 'problem', None) or error}", INVALID_FILE) from None
    if values is None:
        return Project(path)
    if not isinstance(values, dict):
        raise CliError(f"{path}:1: must have names with values, such as app: Shop", INVALID_FILE)
    assert node is not None  # noqa: S101 - otherwise there are no values
    names = [key_node.value for key_node, _ in node.value]
    for key_node, _ in node.value:
        if names.count(key_node.value) > 1:
            raise CliError(f"{path}:{key_node.start_mark.line + 1}: duplicate key '{key_node.value}'", INVALID_FILE)
        _check_entry(f"{path}:{key_node.start_mark.line + 1}", key_node.value, values.get(key_node.value))
    given = {name: value for name, value in values.items() if value is not None}
    if "tags" in given:
        given["tags"] = tuple(str(tag) for tag in given["tags"])
    if "env" in given:
        texts = yaml.load(content, yaml.BaseLoader)["env"]  # noqa: S506 - makes texts only: ON stays ON, 1.10 stays 1.10
        given["env"] = {name: _variable(value, given["env"].get(name)) for name, value in texts.items()}
    return Project(path, **given)


def _variable(text: Any, value: Any) -> VariableValue:
    """A variable of env, whose scalars are texts, but for the declarations that are true or false."""
    if not isinstance(text, dict):
        return str(text)
    return {name: value[name] if isinstance(value[name], bool) and name != "value" else text[name] for name in text}


def _is_variable(value: Any) -> bool:
    """Whether a value of env is an object: {value: x, secret: true, variant: false}, or {secret: NAME}."""
    return (
        isinstance(value, dict)
        and value.keys() <= {"value", "secret", "variant"}
        and not any(isinstance(each, dict | list) for each in value.values())
    )


def _check_entry(place: str, name: str, value: Any) -> None:
    if name in ("url", "api_key", "key"):
        what = "a server" if name == "url" else "an API key"
        hint = "Use MOBILETEST_URL and MOBILETEST_API_KEY, or mobiletest login"
        raise CliError(
            f"{place}: {PROJECT_FILE} must not name {what}: everyone can read and change it", INVALID_FILE, hint
        )
    if name not in _KINDS:
        from difflib import get_close_matches

        near = get_close_matches(name, _KINDS, 1)
        hint = f'Did you mean "{near[0]}"?' if near else f"Known keys: {', '.join(_KINDS)}"
        raise CliError(f'{place}: unknown key "{name}"', INVALID_FILE, hint)
    what, kind = _KINDS[name]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_nested = any(isinstance(each, dict | list) and not (name == "env" and _is_variable(each)) for each in items)
    is_wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    if value is not None and (is_wrong or is_nested):
        raise CliError(f"{place}: {name} must be {what}", INVALID_FILE)
    if name in _LEAST and value is not None and not _LEAST[name] <= value <= _MOST[name]:
        raise CliError(f"{place}: {name} must be {_LEAST[name]} to {_MOST[name]}", INVALID_FILE)
