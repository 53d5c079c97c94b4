"""When the certificates of this process expire, as a metric that reads their files at each scrape."""

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
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
    except (OSError, ValueError):
        return nan
