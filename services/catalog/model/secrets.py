"""Secrets of an organisation: a name, and a value that is only stored encrypted."""

from dataclasses import dataclass, field
from datetime import datetime

# The maximum number of secrets of one organisation.
SECRETS_LIMIT = 1000
VALUE_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class EncryptedValue:
    """A value that was encrypted with the key of this id."""

    key_id: str
    nonce: bytes
    ciphertext: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret; its name is unique in its organisation."""

    org_id: str
    name: str
    value: EncryptedValue
    updated_at: datetime
