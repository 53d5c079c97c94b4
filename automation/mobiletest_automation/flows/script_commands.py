"""The commands that run JavaScript. What is wrong in a script shows when it runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mobiletest_automation.flows.commands import BaseCommand, CommandSpec
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.selectors import ALWAYS, COMMON_FIELDS, VALUE_LIMIT, Condition, read_condition
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.flows.variables import check_template, read_env

SCRIPT_LIMIT = 256 * 1024
# The argument that may be written directly after the command.
_ARGUMENTS: Mapping[str, str] = {"evalScript": "script", "runScript": "file"}


def with_named_argument(name: str, node: Node) -> Node:
    """The arguments as a mapping, also where only one is written."""
    if name not in _ARGUMENTS or node.is_mapping or node.is_null:
        return node
    return Node({_ARGUMENTS[name]: node}, node.location, key_location=node.key_location)


@dataclass(frozen=True, slots=True)
class EvalScript(BaseCommand):
    """Evaluate the expressions of a template for what they do."""

    script: str

    @property
    def subject(self) -> str:
        return cut(" ".join(self.script.split()), 100)


def _read_eval_script(node: Node) -> BaseCommand:
    script = node.fields(("script", *COMMON_FIELDS), required=("script",))["script"]
    text = script.string(limit=VALUE_LIMIT)
    check_template(script)
    return EvalScript(text)


@dataclass(frozen=True, slots=True)
class RunScript(BaseCommand):
    """Run a script if `when` holds; `env` are additional variables for it. `file` is its name in messages."""

    script: str
    file: str
    env: tuple[tuple[str, str], ...] = ()
    when: Condition = ALWAYS

    @property
    def subject(self) -> str:
        return self.file


def _read_run_script(node: Node) -> BaseCommand:
    entries = node.fields(("file", "script", "env", "when", *COMMON_FIELDS))
    if "script" not in entries:
        raise node.error(
            "runScript with a file is not supported in steps: give its text as script, or send flow and flow_files"
        )
    return RunScript(
        script=entries["script"].string(limit=SCRIPT_LIMIT),
        file=read_optional(entries, "file", lambda value: value.string(limit=500).strip()) or "script",
        env=read_optional(entries, "env", read_env) or (),
        when=read_optional(entries, "when", read_condition) or ALWAYS,
    )


ScriptCommand: TypeAlias = EvalScript | RunScript
SCRIPT_COMMANDS = (
    CommandSpec(
        "evalScript",
        _read_eval_script,
        "both: [limits](variables.md#scripts) of time and memory; `http` only to allowed hosts",
    ),
    CommandSpec("runScript", _read_run_script),
)
