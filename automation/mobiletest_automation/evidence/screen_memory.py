"""Keeps the screen that each step found: its elements and its picture before the action, and the element it chose.

What fails here is noted in the step and ignored: it changes no verdict. A picture takes longer than most else that a
step does, so the device is asked for one only if there is none of this build on this device with these elements; of a
step that fails there always is its own. Everything else happens beside the steps that follow.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, cast

import orjson

from mobiletest_automation import logs
from mobiletest_automation.devices.port import Device, DeviceFailure, View
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.kept_pictures import HASH_BYTES, KeptPicture, stable_state
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.model.results import TREE, WEBP, StepScreen
from mobiletest_automation.model.run_config import Screens
from mobiletest_automation.ports import NoScreenStore, ScreenStore
from mobiletest_automation.screen.elements import Bounds, Element, walk
from mobiletest_automation.screen.fingerprint import fingerprint_of, hash_text
from mobiletest_automation.screen.identity import as_bound, identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.pictures import UnreadablePicture
from mobiletest_automation.screen.stored_trees import UnreadableTree, encode_tree
from mobiletest_automation.secret_texts import SecretTexts

# How long a picture may take; a device that takes longer is not asked again.
PICTURE_SECONDS = 3.0
# How long the end of an attempt waits for what is still being stored.
FINISH_SECONDS = 5.0
# Screens of steps that have ended and are not stored yet; the next step waits until there are fewer.
WAITING_LIMIT = 4
# Bytes that wait for the verdict where only the screens of failed attempts are kept; the oldest are left out.
HELD_BYTES_LIMIT = 32 * 1024 * 1024

NO_ANSWER = "the device does not answer"
NOT_IN_TIME = "it was not stored in time"
_ACTIONS = frozenset(
    ("tap", "long_press", "type", "clear", "swipe", "back", "press_key", "hide_keyboard"),
)

log = logs.get(__name__)


@dataclass(slots=True)
class _ScreenPicture:
    """A picture of a screen in a `state` and, once it is kept, its hash; `lost` says why it is not.

    Several steps may have the same.
    """

    state: str
    screenshot: bytes = b""
    hash: str = ""
    lost: str = ""


@dataclass(slots=True)
class _Step:
    """A step under way: the last screen that was read before it, and the one that it found."""

    index: int
    read_before: Outline | None
    outline: Outline | None = None
    picture: _ScreenPicture = field(default_factory=lambda: _ScreenPicture(""))
    # Whether the picture was taken for another step.
    reused: bool = False
    # An action, or a step inside it, has taken what there is to take.
    done: bool = False


@dataclass(frozen=True, slots=True)
class _Stored:
    """What is stored, at once or when the verdict is known; `state` is that of the screen of a picture."""

    hash: str
    content: bytes
    content_type: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class _Form:
    """What is to be stored of a screen; `no_tree` and `no_picture` say why a part of it is not."""

    tree: bytes = b""
    tree_hash: str = ""
    picture: KeptPicture | None = None
    picture_hash: str = ""
    no_tree: str = ""
    no_picture: str = ""


class ScreenMemory:
    """Of one attempt, from `watch` on. Steps may be inside others; those inside have screens of their own."""

    def __init__(self, recorder: StepRecorder, store: ScreenStore | None, screens: Screens) -> None:
        """Without a `store` nothing is kept."""
        self._recorder = recorder
        self._store = store or NoScreenStore()
        self._screens = Screens.OFF if store is None else screens
        self._device: Device | None = None
        self._watcher: Watcher | None = None
        self._steps: list[_Step] = []
        self._pictures: dict[str, _ScreenPicture] = {}
        self._no_pictures = ""
        self._known: set[str] = set()
        # What is being stored, with the steps and their screens.
        self._jobs: dict[asyncio.Task[None], tuple[int, StepScreen]] = {}
        self._turn = asyncio.Lock()
        self._held: list[_Stored] = []
        self._lost: dict[str, str] = {}

    def watch(self, device: Device, watcher: Watcher) -> Device:
        """The device for the steps, whose screens the watcher reads: before an action, the screen is kept."""
        if self._screens is Screens.OFF:
            return device
        self._device, self._watcher = device, watcher
        return cast(Device, _WatchedDevice(device, cast(View, _WatchedView(device.view, self._before_action))))

    def begin(self, index: int) -> None:
        if self._watcher is not None:
            if self._steps:
                self._steps[-1].done = True
            self._steps.append(_Step(index, self._watcher.seen))

    async def end(self, index: int, element: Element | None, found_by: str, screenshot: bytes | None = None) -> None:
        """Keep the screen of the step. `screenshot` is the one that was taken because it failed."""
        while self._steps and self._steps[-1].index > index:
            self._steps.pop()  # of a step that was interrupted
        if self._watcher is None or not self._steps or self._steps[-1].index != index:
            return
        step = self._steps.pop()
        read = self._watcher.seen
        if not step.done and read is not None and read is not step.read_before:
            await self._take(step, read, screenshot)
        if step.outline is not None:
            await self._keep(step, step.outline, element, found_by)

    async def _before_action(self) -> None:
        """Called before each action on the screen; the first one of a step counts."""
        step = self._steps[-1] if self._steps else None
        if self._watcher is None or step is None or step.done:
            return
        step.done = True
        outline = self._watcher.seen
        if outline is None or outline is step.read_before:
            try:
                outline = await self._watcher.look()
            except DeviceFailure:
                return  # the action says what is wrong
        await self._take(step, outline)

    async def _take(self, step: _Step, outline: Outline, screenshot: bytes | None = None) -> None:
        step.done, step.outline = True, outline
        state = self._state_of(outline)
        known = None if screenshot else await self._known_picture(state)
        step.reused = known is not None
        step.picture = known or _ScreenPicture(state, screenshot or await self._take_picture(), lost=self._no_pictures)
        self._pictures[state] = step.picture

    def _state_of(self, outline: Outline) -> str:
        """What a picture depends on, also on what is painted over in it: a run may know secrets that others do not."""
        name = self._device.info.name if self._device is not None and not self._is_drawn else ""
        root, secrets = outline.root, self._recorder.secrets
        state = orjson.dumps((name, stable_state(root, secrets.mask), _secret_areas(root, secrets)))
        return blake2b(state, digest_size=HASH_BYTES).hexdigest()

    async def _known_picture(self, state: str) -> _ScreenPicture | None:
        """The picture of a screen in this state, of this attempt or of an earlier run of the build."""
        picture = self._pictures.get(state)
        if picture is not None and not picture.lost:
            return picture
        if self._is_drawn:
            return _ScreenPicture(state, hash=state) if await self._has(state) else None
        if self._screens is Screens.FAILED:
            return None
        try:
            hash_ = await self._store.picture_of(state)
        except Exception as error:
            log.warning("screens_not_asked", error=repr(error))
            return None
        return _ScreenPicture(state, hash=hash_) if hash_ else None

    async def _take_picture(self) -> bytes:
        if self._device is None or self._no_pictures:
            return b""
        try:
            async with asyncio.timeout(PICTURE_SECONDS):
                return await self._device.view.screenshot()
        except TimeoutError:
            self._no_pictures = NO_ANSWER
        except DeviceFailure as failure:
            self._no_pictures = failure.message
        return b""

    async def _keep(self, step: _Step, outline: Outline, element: Element | None, found_by: str) -> None:
        fingerprint = fingerprint_of(outline.root)
        screen = StepScreen(
            fingerprint=hash_text("\n".join((fingerprint.fixed, *fingerprint.flowing)), HASH_BYTES),
            element=as_bound(identity_of(element, outline, found_by), outline.root.bounds) if element else None,
            picture_reused=step.reused,
        )
        form = None
        if self._is_drawn and not step.picture.screenshot:
            # A simulated device never waits: beside its steps this would take longer.
            form = _stored_form(outline.root, b"", self._recorder.secrets, phone=False)
            if form.tree_hash and step.picture.hash and await self._has(form.tree_hash):
                self._recorder.set_screen(step.index, replace(screen, tree=form.tree_hash, picture=step.picture.hash))
                return
        while len(self._jobs) >= WAITING_LIMIT:
            await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
        job = asyncio.create_task(self._store_screen(step.index, screen, outline.root, step.picture, form))
        self._jobs[job] = step.index, screen
        job.add_done_callback(self._jobs.pop)

    async def _store_screen(
        self, index: int, screen: StepScreen, root: Element, picture: _ScreenPicture, form: _Form | None
    ) -> None:
        async with self._turn:
            screenshot, picture.screenshot = picture.screenshot, b""
            lost: list[str] = []
            tree = ""
            try:
                if form is None:
                    secrets = self._recorder.secrets
                    form = await asyncio.to_thread(_stored_form, root, screenshot, secrets, phone=self._is_phone)
                if form.no_tree:
                    lost.append(form.no_tree)
                else:
                    tree = await self._put(_Stored(form.tree_hash, form.tree, TREE), lost)
                if form.picture is not None:
                    hash_ = picture.state if self._is_drawn else form.picture_hash
                    await self._store_picture(picture, form.picture, hash_)
                picture.lost = picture.lost or form.no_picture
            except Exception as error:
                log.warning("screen_not_kept", exc_info=error)
                lost.append(type(error).__name__)
            lost += filter(None, [picture.lost])
            screen = replace(screen, tree=tree, picture=picture.hash, lost="; ".join(dict.fromkeys(lost)))
            self._recorder.set_screen(index, screen)

    async def _store_picture(self, picture: _ScreenPicture, kept: KeptPicture, hash_: str) -> None:
        lost: list[str] = []
        if not await self._has(hash_, picture.state):
            content = await asyncio.to_thread(kept.as_webp)
            hash_ = await self._put(_Stored(hash_, content, WEBP, picture.state), lost)
        picture.hash, picture.lost = hash_, "; ".join(lost)

    @property
    def _is_drawn(self) -> bool:
        """Whether pictures are drawn from the elements, whose hash then is that of the picture: a simulated device."""
        return self._device is not None and self._device.info.simulated

    @property
    def _is_phone(self) -> bool:
        return self._device is not None and self._device.info.keeps_apps

    async def _has(self, hash_: str, state: str = "") -> bool:
        """Whether it need not be sent; where the verdict decides what is stored, only whether it is held."""
        if hash_ not in self._known and self._screens is Screens.ALL:
            try:
                if await self._store.has(hash_, state):
                    self._known.add(hash_)
            except Exception as error:
                log.warning("screens_not_asked", error=repr(error))
        return hash_ in self._known

    async def _put(self, stored: _Stored, lost: list[str]) -> str:
        """The hash, once it is stored or waits for the verdict; else "", and then `lost` says why."""
        if not stored.state and await self._has(stored.hash):
            return stored.hash
        if self._screens is Screens.FAILED:
            self._hold(stored)
        elif why := await self._send(stored):
            lost.append(why)
            return ""
        self._known.add(stored.hash)
        return stored.hash

    async def _send(self, stored: _Stored) -> str:
        try:
            return await self._store.keep(stored.hash, stored.content, stored.content_type, stored.state)
        except Exception as error:
            log.warning("screen_not_stored", error=repr(error))
            return "it could not be stored"

    def _hold(self, stored: _Stored) -> None:
        self._held.append(stored)
        while sum(len(each.content) for each in self._held) > HELD_BYTES_LIMIT:
            dropped = self._held.pop(0).hash
            self._known.discard(dropped)
            self._lost[dropped] = "the attempt had too many screens"

    async def finish(self, *, failed: bool) -> None:
        """Wait for what is being stored; what waits for the verdict is stored if the attempt has `failed`."""
        until = asyncio.get_running_loop().time() + FINISH_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                if self._jobs:
                    await asyncio.wait(self._jobs)
        late = list(self._jobs.values())
        self.close()
        for index, screen in late:
            self._recorder.set_screen(index, replace(screen, lost=NOT_IN_TIME))
        if self._screens is Screens.FAILED:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._settle(failed=failed)

    async def _settle(self, *, failed: bool) -> None:
        """Store what was held, and name in the steps only what is stored."""
        stored = set[str]()
        try:
            for each in self._held if failed else ():
                if why := await self._send(each):
                    self._lost[each.hash] = why
                else:
                    stored.add(each.hash)
        finally:
            late = {each.hash: NOT_IN_TIME for each in self._held}
            self._recorder.settle_screens(stored, {**late, **self._lost} if failed else {})

    def close(self) -> None:
        """Give up what is still being stored."""
        for job in self._jobs:
            job.cancel()


def _stored_form(root: Element, screenshot: bytes, secrets: SecretTexts, *, phone: bool) -> _Form:
    """Takes up to a second for large screens: call it in a thread."""
    form = _Form()
    try:
        tree, tree_hash = _encode(root, secrets)
        form = replace(form, tree=tree, tree_hash=tree_hash)
    except UnreadableTree as error:
        form = replace(form, no_tree=str(error))
    if not screenshot:
        return form
    try:
        picture = KeptPicture(screenshot, root.bounds, _secret_areas(root, secrets))
    except UnreadablePicture as error:
        return replace(form, no_picture=str(error))
    return replace(form, picture=picture, picture_hash=picture.hash(root, phone=phone))


def _encode(root: Element, secrets: SecretTexts) -> tuple[bytes, str]:
    """The stored form without secrets, and its hash."""
    content = encode_tree(root, _masking(secrets))
    return content, blake2b(content, digest_size=HASH_BYTES).hexdigest()


def _masking(secrets: SecretTexts) -> Callable[[Element], Mapping[str, Any]]:
    """What elements are stored with: without secrets, and without what password fields hold."""
    mask = secrets.mask

    def change(each: Element) -> Mapping[str, Any]:
        if not len(secrets) and not each.secret:
            return {}
        fields = {name: mask(getattr(each, name)) for name in ("text", "label", "hint", "id")}
        attributes = {name: mask(value) for name, value in each.attributes.items()}
        if each.secret:
            fields["text"] = ""
            attributes = {name: value for name, value in attributes.items() if value != each.text}
        return {**fields, "attributes": attributes}

    return change


def _secret_areas(root: Element, secrets: SecretTexts) -> list[Bounds]:
    """Where password fields and texts with secrets are."""

    def is_masked(text: str) -> bool:
        return bool(text) and secrets.mask(text) != text

    return [
        each.bounds
        for each in walk(root)
        if each.secret or (len(secrets) and any(map(is_masked, (each.text, each.label, each.hint))))
    ]


class _WatchedDevice:
    """The device with another view."""

    def __init__(self, device: Device, view: View) -> None:
        self._device = device
        self.view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)


class _WatchedView:
    """The view, with a call before each action."""

    def __init__(self, view: View, before: Callable[[], Awaitable[None]]) -> None:
        self._view = view
        self._before = before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._view, name)
        if name not in _ACTIONS:
            return method

        async def act(*arguments: object, **named: object) -> None:
            await self._before()
            await method(*arguments, **named)

        return act
