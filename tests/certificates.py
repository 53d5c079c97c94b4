"""Certificates of an authority that a test makes up."""

from dataclasses import dataclass
from pathlib import Path

import trustme

from services.chassis.tls import TlsFiles


@dataclass(frozen=True)
class Authority:
    """Signs certificates and writes them to a folder, as a Secret is mounted."""

    folder: Path
    ca: trustme.CA

    @classmethod
    def new(cls, folder: Path) -> "Authority":
        folder.mkdir(exist_ok=True)
        return cls(folder, trustme.CA())

    @property
    def file(self) -> Path:
        """The authority's own certificate."""
        path = self.folder / "ca.pem"
        self.ca.cert_pem.write_to_path(str(path))
        return path

    def issue(self, name: str, *hosts: str) -> TlsFiles:
        """A certificate for these hosts, in files that replace those of the same name."""
        return self.write(name, self.ca.issue_cert(*(hosts or ("127.0.0.1", "localhost"))))

    def write(self, name: str, issued: trustme.LeafCert) -> TlsFiles:
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        for path, content in (
            (key, issued.private_key_pem.bytes()),
            (certificate, b"".join(each.bytes() for each in issued.cert_chain_pems)),
        ):
            new = path.with_suffix(".new")
            new.write_bytes(content)
            new.replace(path)
        return TlsFiles(certificate, key, self.file)
