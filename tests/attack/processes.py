"""The memory of a stack's processes, with the children that work for them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.local.stack import Stack

MIB = 1024**2


def memory_of(stack: Stack) -> Mapping[str, int]:
    """The proportional set size in MiB of each service with all its descendants, by its name."""
    parents = _parents()
    return {
        name: sum(_pss(pid) for pid in _tree(stack.pid_of(name), parents)) // MIB
        for name in stack.parts
        if name not in ("mongod", "broker")
    }


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, directly or through others."""
    return list(_tree(pid, _parents()))[1:]


def _parents() -> Mapping[int, int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # it has just ended
            continue
    return parents


def _tree(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    yield pid
    for child, parent in parents.items():
        if parent == pid:
            yield from _tree(child, parents)


def _pss(pid: int) -> int:
    """Of services only root may read it: anybody else gets PermissionError."""
    try:
        lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
