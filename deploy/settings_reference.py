"""docs/settings.md, made from the settings classes: `make settings` writes it, a unit test compares it."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from textwrap import dedent
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from services.chassis.settings import PREFIX, ProcessSettings

SERVICES = ("gateway", "catalog", "executor", "reporting")
HEADER = """\
# Settings

All environment variables that the services read; `make settings` writes this page from the settings classes. A process
that starts with an invalid value says which variable is wrong and exits with code 2. Those of `make run` are in the
[README](../README.md).
"""
_BOUNDS = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))


def settings_of(service: str) -> type[BaseSettings]:
    """The settings class of a service ("catalog")."""
    settings: type[BaseSettings] = import_module(f"services.{service}.settings").Settings
    return settings


def variable(name: str, field: FieldInfo) -> str:
    """The environment variable of a field."""
    return str(field.validation_alias or PREFIX + name.upper())


def reference() -> str:
    """The whole page."""
    common = descriptions(ProcessSettings)
    sections = [HEADER, _section("Every service", ProcessSettings.model_fields, common)]
    for name in SERVICES:
        settings = settings_of(name)
        texts = descriptions(settings)
        own = {key: field for key, field in settings.model_fields.items() if texts[key] != common.get(key)}
        sections.append(_section(name.capitalize(), own, texts))
    return "\n".join(sections)


def descriptions(settings: type[BaseSettings]) -> dict[str, str]:
    """The docstring of each setting, also of those of its base classes; empty without one.

    Pydantic could read them, but would parse the source at each start of a service: a twentieth of a second.
    """
    ours = ("services", "mobiletest_automation")
    bases = [base for base in reversed(settings.__mro__) if base.__module__.startswith(ours)]
    texts = {name: text for base in bases for name, text in _docstrings(base).items()}
    return {name: texts.get(name, "") for name in settings.model_fields}


@cache
def _docstrings(settings: type[BaseSettings]) -> dict[str, str]:
    """Those in the body of the class itself."""
    docstrings = {}
    body = ast.parse(dedent(inspect.getsource(settings))).body[0].body  # type: ignore[attr-defined]
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as docstring)):
                docstrings[name] = docstring
    return docstrings


def _section(title: str, fields: Mapping[str, FieldInfo], texts: Mapping[str, str]) -> str:
    rows = "\n".join(
        f"| `{variable(name, field)}` | {_default(field)} | {_description(texts[name], field)} |"
        for name, field in fields.items()
    )
    return f"## {title}\n\n| Variable | Default | |\n| --- | --- | --- |\n{rows}\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.default:
        case bool() as value:
            return f"`{str(value).lower()}`"
        case float() as value:
            return f"`{value:g}`"
        case int() | str() as value if value != "":
            return f"`{value}`"
    return ""


def _description(docstring: str, field: FieldInfo) -> str:
    text = " ".join(docstring.split()).replace("|", "\\|")
    values = ", ".join(_values(field))
    return f"{text} ({values})" if values else text


def _values(field: FieldInfo) -> Iterator[str]:
    """What may be given: the bounds of a number, or the values of a choice."""
    for choice in _choices(field.annotation):
        yield f"`{choice}`"
    for bound in field.metadata:
        for name, sign in _BOUNDS:
            if (limit := getattr(bound, name, None)) is not None:
                yield f"{sign} {limit:g}" if isinstance(limit, float) else f"{sign} {limit}"


def _choices(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) is UnionType:
        return tuple(choice for each in get_args(annotation) for choice in _choices(each))
    return ()


if __name__ == "__main__":
    sys.stdout.write(reference())
