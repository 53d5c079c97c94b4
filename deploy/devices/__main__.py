"""Starts both hubs until Ctrl-C and writes a pools file for them: `python -m deploy.devices pools.yaml`."""

import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import yaml

from deploy.devices.hubs import Hub, HubMissing, appium, chromedriver, chromium_capabilities

BROWSERS = 2


def main(arguments: list[str]) -> int:
    """0 after Ctrl-C or SIGTERM, 2 when something is not installed."""
    path = Path(arguments[0]) if arguments else None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            browsers, phones = stack.enter_context(chromedriver()), stack.enter_context(appium())
            written = pools(browsers, phones)
            if path is not None:
                path.write_text(written, encoding="utf-8")
            print(f"{written}\nMOBILETEST_DEVICE_POOLS={path or 'FILE'} gives workers these devices; Ctrl-C ends.")
            signal.pause()
    except HubMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


def pools(browsers: Hub, phones: Hub) -> str:
    """A pools file: web builds run in Chromium (as Android), others on simulated devices and the fake driver (iOS)."""
    fake = {"platformName": "Fake", "appium:automationName": "Fake", "appium:deviceName": "Fake"}
    listed = [
        {
            "name": "chromium",
            "platform": "android",
            "kind": "webdriver",
            "url": browsers.url,
            "slots": BROWSERS,
            "capabilities": chromium_capabilities(),
        },
        {
            "name": "appium-fake",
            "platform": "ios",
            "kind": "webdriver",
            "url": phones.url,
            "slots": 1,
            "capabilities": fake,
        },
        *({"platform": platform, "kind": "simulated", "slots": 4} for platform in ("android", "ios")),
    ]
    return yaml.safe_dump({"pools": listed}, sort_keys=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
