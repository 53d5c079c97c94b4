"""The steps of a test as the text in which people write them: YAML."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

# Texts that YAML 1.2 reads as numbers, which the writer follows only in part.
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|0[ox][\da-fA-F]+", re.ASCII)
_COMMAND = re.compile(r"[a-z][a-zA-Z]*", re.ASCII)
_TEXT = "tag:yaml.org,2002:str"


class _StepWriter(yaml.CSafeDumper):
    """Blocks without aliases, which steps may not have."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _represent_text(writer: _StepWriter, text: str) -> yaml.Node:
    style = "|" if "\n" in text else "'" if _NUMBER.fullmatch(text) else None
    return writer.represent_scalar(_TEXT, text, style)


_StepWriter.add_representer(str, _represent_text)


def _write_bare(value: Any) -> Any:
    """With `back` for each step `{"back": null}`: with a colon and nothing after it, it would be a mistake."""
    match value:
        case list():
            return [next(iter(each)) if _is_bare(each) else _write_bare(each) for each in value]
        case dict():
            return {name: _write_bare(each) for name, each in value.items()}
    return value


def _is_bare(step: Any) -> bool:
    return isinstance(step, dict) and list(step.values()) == [None] and bool(_COMMAND.fullmatch(*step))


def write_steps(steps: Sequence[Any]) -> str:
    """The YAML of steps; empty without any. Reading it gives the same steps; a command without arguments stands alone.

    The largest test takes a tenth of a second: write it in a thread.
    """
    if not steps:
        return ""
    return yaml.dump(
        _write_bare(list(steps)),
        Dumper=_StepWriter,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=1e6,
    )
