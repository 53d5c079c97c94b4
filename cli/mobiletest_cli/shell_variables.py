"""The variables of the shell that reach flows, as in Maestro: MAESTRO_* that are not empty and that a flow reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mobiletest_automation.flows.environment import BUILT_IN_NAMES
from mobiletest_automation.flows.variables import variables_read
from mobiletest_cli.workspace import Workspace

PREFIX = "MAESTRO_"
# What configures Maestro itself; so do those that begin with MAESTRO_CLI_.
OWN_SETTINGS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("API_URL", "API_KEY", "CLOUD_API_KEY", "CLOUD_API_URL", "OPTS", "HOME", "VERSION", "JVM_ARGS"),
        *("DRIVER_STARTUP_TIMEOUT", "DISABLE_UPDATE_CHECK", "USE_GRAALJS", "EXAMPLES"),
    )
)


def shell_variables(files: Workspace, environ: Mapping[str, str]) -> dict[str, str]:
    """Those that the flows of a folder read, with their values."""
    offered = {name: value for name, value in environ.items() if value and _may_be_sent(name)}
    found_workspace = files.find_flows() if offered else None
    if found_workspace is None:
        return {}
    read = [variables_read(json.loads(flow.steps), offered) for flow in found_workspace.flows]
    return {name: offered[name] for name in sorted(frozenset[str]().union(*read))}


def _may_be_sent(name: str) -> bool:
    is_setting = name in OWN_SETTINGS or name.startswith(f"{PREFIX}CLI_")
    return name.startswith(PREFIX) and name not in BUILT_IN_NAMES and not is_setting
