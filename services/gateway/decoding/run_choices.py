"""Unknown fields that are not ignored: their names say that they would choose what runs."""

import re

_CHOICES = frozenset(
    (
        *("app", "apk", "ipa", "package", "bundle", "build", "version", "platform", "os", "ios", "android"),
        *("test", "suite", "flow", "workflow", "tag", "shard", "env", "variable"),
        *("branch", "commit", "sha", "device", "emulator", "simulator"),
    )
)
_NAMES = frozenset(("runs", "runids", "failed", "onlyfailed"))
_MANNERS = frozenset(("timeout", "retry", "retries", "wait", "delay", "seconds", "interval"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDING = re.compile(r"(?:ids?|names?|s)$")
# Characters of a name that are read; a longer one is no name.
_READ = 200


def chooses_runs(name: str) -> bool:
    """Whether a field of this name would choose an app, a build, a test, a platform, a device or a commit.

    "app_id", "buildVersion" and "device-names" do; "location_config" does not, and neither does "test_timeout", which
    would only change how something runs.
    """
    words = [word.lower() for word in _WORD.findall(name[:_READ])]
    if not _MANNERS.isdisjoint(words):
        return False
    return "".join(words) in _NAMES or any(word in _CHOICES or _ENDING.sub("", word) in _CHOICES for word in words)
