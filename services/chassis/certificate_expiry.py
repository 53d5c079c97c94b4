"""When the certificates of this process expire, as a metric that reads their files at each scrape."""

import ssl
from functools import partial
from math import nan
from pathlib import Path

from services.chassis import metrics
from services.chassis.settings import PREFIX, ProcessSettings

_expires_at = metrics.gauge(
    "mobiletest_certificate_expires_at_seconds", "Unix time at which a certificate expires", ["certificate"]
)


def show_certificate_expiry(settings: ProcessSettings) -> None:
    """Show the certificates whose files the settings name, by the variable that names them."""
    for name in type(settings).model_fields:
        path = getattr(settings, name)
        if name.endswith("_certificate_file") and path is not None:
            _expires_at.labels(PREFIX + name.upper()).set_function(partial(expires_at, path))


def expires_at(path: Path) -> float:
    """The Unix time at which the first certificate of a PEM file expires; NaN when it cannot be read."""
    try:
        found = ssl._ssl._test_decode_cert(str(path))  # type: ignore[attr-defined] # the library's only reader of files
    except (OSError, ssl.SSLError):
        return nan
    return float(ssl.cert_time_to_seconds(found["notAfter"]))
