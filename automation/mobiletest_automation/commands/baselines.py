"""The baselines of an attempt: accepted ones, files of the flow's folder, and screenshots of the test itself."""

from mobiletest_automation.ports import AcceptedBaselines, FlowFiles

# Screenshots of an attempt that can be baselines; earlier ones are forgotten.
TAKEN_LIMIT = 20


class TakenPictures:
    """An accepted baseline comes before the file of the folder, and this before a screenshot of the same name."""

    def __init__(self, accepted: AcceptedBaselines, files: FlowFiles) -> None:
        self._accepted = accepted
        self._files = files
        self._taken: dict[str, bytes] = {}

    def add(self, name: str, picture: bytes) -> None:
        self._taken.pop(name, None)
        self._taken[name] = picture
        if len(self._taken) > TAKEN_LIMIT:
            del self._taken[next(iter(self._taken))]

    async def load(self, name: str, form: str, file: str | None) -> bytes | None:
        """`file` is the path of the file, if the folder has one."""
        accepted = await self._accepted.load(name, form)
        if accepted is not None or file is None:
            return accepted or self._taken.get(name)
        return await self._files.read(file)
