"""Readers of the commands that run JavaScript. What is wrong in a script shows when it runs."""

from collections.abc import Callable, Mapping

from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.configuration import read_env
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.script_commands import EvalScript, RunScript
from mobiletest_automation.flows.selectors import ALWAYS, COMMON_FIELDS, VALUE_LIMIT, read_condition
from mobiletest_automation.flows.variables import check_template

SCRIPT_LIMIT = 256 * 1024
# The argument that may be written directly after the command.
ARGUMENTS: Mapping[str, str] = {"evalScript": "script", "runScript": "file"}


def with_named_argument(name: str, node: Node) -> Node:
    """The arguments as a mapping, also where only one is written."""
    if name not in ARGUMENTS or node.is_mapping or node.is_null:
        return node
    return Node({ARGUMENTS[name]: node}, node.location, key_location=node.key_location)


def _read_eval_script(node: Node) -> BaseCommand:
    script = node.fields(("script", *COMMON_FIELDS), required=("script",))["script"]
    text = script.string(limit=VALUE_LIMIT)
    check_template(script)
    return EvalScript(text)


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


SCRIPT_READERS: Mapping[str, Callable[[Node], BaseCommand]] = {
    "evalScript": _read_eval_script,
    "runScript": _read_run_script,
}
