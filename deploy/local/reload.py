"""Restarts the services of a stack whose files change: Python, templates, CSS and JS."""

from collections.abc import Iterable
from pathlib import Path

from watchfiles import awatch

from deploy.local.child import ChildDied, run_together
from deploy.local.layout import GRPC_SERVICES, ROOT
from deploy.local.service import Service
from deploy.local.stack import Report, Stack


async def reload_on_change(stack: Stack, report: Report) -> None:
    """Restart services until cancelled. One that does not start, because of a mistake, waits for the next change."""
    async for changes in awatch(ROOT / "services", ROOT / "automation", ROOT / "gen"):
        files = sorted(Path(path).relative_to(ROOT) for _, path in changes)
        if names := _affected(stack, files):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            report(f"{files[0]}{more} changed: restarting {', '.join(names)}")
            await run_together(*(_reload(stack, name, report) for name in names))


def _affected(stack: Stack, files: Iterable[Path]) -> list[str]:
    """The services whose package has changed; all of them if it is a package that they share."""
    changed = {".".join(file.parts[:2]) for file in files}
    shared = bool(changed - {f"services.{name}" for name in (*GRPC_SERVICES, "gateway")})
    services = [part for part in stack.parts.values() if isinstance(part, Service)]
    return [service.spec.name for service in services if shared or service.spec.module in changed]


async def _reload(stack: Stack, name: str, report: Report) -> None:
    child = stack.parts[name].child
    async with child.changing:
        try:
            await stack.restart(name)
        except TimeoutError as late:  # it may wait for a service that is being debugged
            report(str(late).splitlines()[0])
        except ChildDied as death:
            await child.kill()
            report(f"{death}\n{name} starts again at the next change")
        else:
            report(f"{name} is ready")
