"""Names of apps as pages show them: with the platform, and told apart where two of a platform have one name."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from services.gateway.dashboard.pages import Load, Values, with_session
from services.gateway.dashboard.resources import read, read_part

# Apps that are read, which are also the choices of a page. With more apps it is not known which names occur once.
APPS = 200
SHORT_ID = 8

Json = Mapping[str, Any]


class AppNames:
    """The newest apps of the organisation, and how each app is called among all of its `total` apps."""

    def __init__(self, apps: Sequence[Json], total: int) -> None:
        self.apps = apps
        self.total = total
        self._platforms = {app["id"]: str(app["platform"]) for app in apps}
        self._named = Counter((app["name"], app["platform"]) for app in apps)
        self._are_all = total <= len(apps)

    def platform(self, app_id: str) -> str:
        """Empty for an app that was deleted or is not among the newest ones."""
        return self._platforms.get(app_id, "")

    def is_shared(self, app_id: str, name: str) -> bool:
        """Whether another app may have this name and platform; a deleted app shares the name of any that is left."""
        if not self._are_all:
            return True
        platform = self.platform(app_id)
        if platform:
            return self._named[name, platform] > 1
        return any(name == each for each, _ in self._named)

    def text(self, app_id: str, name: str, *, of_platform: bool = False) -> str:
        """For a choice: "Courier (Android)", or "Courier (Android, 29647356)" where there are two of it; without the
        platform among choices `of_platform`.
        """
        platform = "" if of_platform else self.platform(app_id)
        marks = (platform, app_id[:SHORT_ID] if self.is_shared(app_id, name) else "")
        marked = ", ".join(filter(None, marks))
        return f"{name} ({marked})" if marked else name


def with_apps(load: Load) -> Load:
    """As `with_session`, and with `app_names`; without their list no name is known to occur once."""

    async def load_both(request: web.Request) -> Values:
        part, values = await asyncio.gather(read_part("apps", read(request, "ListApps", page_size=APPS)), load(request))
        listed = part["apps"] or {"items": [], "total": 1}
        return {"app_names": AppNames(listed["items"], listed["total"]), **values}

    return with_session(load_both)
