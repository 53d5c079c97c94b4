"""The filter for the results of runs as it stands in the addresses of their lists."""

from collections.abc import Mapping

RESULTS = ("passed", "failed", "no_verdict", "flaky", "cancelled")


def read_result(query: Mapping[str, str]) -> dict[str, str]:
    """The parameter `result` of an address and of the operation that lists runs; empty without one."""
    result = query.get("result", "").strip()
    return {"result": result} if result else {}
