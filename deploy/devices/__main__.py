"""Starts a chromedriver until Ctrl-C and writes a pools file for it: `python -m deploy.devices pools.yaml`."""

import signal
import sys
from pathlib import Path

import yaml

from deploy.devices.hubs import Hub, HubMissing, chromedriver, chromium_capabilities

BROWSERS = 2


def main(arguments: list[str]) -> int:
    """Returns 0 after Ctrl-C or SIGTERM, 2 when a program is not installed."""
    path = Path(arguments[0]) if arguments else None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with chromedriver() as browsers:
            written = pools(browsers)
            if path is not None:
                path.write_text(written, encoding="utf-8")
            print(f"{written}\nMOBILETEST_DEVICE_POOLS={path or 'FILE'} gives workers these devices. Stop with Ctrl-C.")
            signal.pause()
    except HubMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


def pools(browsers: Hub) -> str:
    """A pools file: web builds run in Chromium (as Android), other builds on simulated devices."""
    chromium = {
        "name": "chromium",
        "platform": "android",
        "kind": "webdriver",
        "url": browsers.url,
        "slots": BROWSERS,
        "capabilities": chromium_capabilities(),
    }
    simulated = [{"platform": platform, "kind": "simulated", "slots": 4} for platform in ("android", "ios")]
    return yaml.safe_dump({"pools": [chromium, *simulated]}, sort_keys=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
