"""Expiry of certificates as a metric."""

from datetime import UTC, datetime
from math import isnan
from pathlib import Path

import pytest
import trustme

from services.chassis import metrics
from services.chassis.certificate_expiry import expires_at, show_certificate_expiry
from services.chassis.settings import ProcessSettings

UNTIL = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def issued(tmp_path: Path) -> Path:
    """A certificate with its chain, and its key."""
    leaf = trustme.CA().issue_cert("catalog", not_after=UNTIL)
    for blob in leaf.cert_chain_pems:
        blob.write_to_path(tmp_path / "tls.crt", append=True)
    leaf.private_key_pem.write_to_path(tmp_path / "tls.key")
    return tmp_path


def test_the_expiry_of_each_certificate_is_shown(issued: Path) -> None:
    settings = ProcessSettings(
        service_token="0123456789abcdef",
        tls_certificate_file=issued / "tls.crt",
        tls_key_file=issued / "tls.key",
        tls_verify_clients=False,
    )
    show_certificate_expiry(settings)
    labels = {"certificate": "MOBILETEST_TLS_CERTIFICATE_FILE"}
    name = "mobiletest_certificate_expires_at_seconds"
    assert metrics.REGISTRY.get_sample_value(name, labels) == UNTIL.timestamp()
    (issued / "tls.crt").unlink()  # while Kubernetes replaces it, say
    shown = metrics.REGISTRY.get_sample_value(name, labels)
    assert shown is not None
    assert isnan(shown)


def test_a_file_without_a_certificate_has_no_expiry(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    assert isnan(expires_at(tmp_path / "tls.crt"))
