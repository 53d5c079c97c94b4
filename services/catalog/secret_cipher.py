"""Encrypts the values of secrets with AES-256-GCM, each bound to its organisation and name."""

import binascii
import re
import secrets
from base64 import b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING

from services.catalog.model.secrets import EncryptedValue
from services.chassis.errors import FailedPrecondition

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
NONCE_BYTES = 12
NO_KEY = (
    "This deployment cannot store secrets, because it has no key to encrypt them with: an operator sets "
    "MOBILETEST_SECRET_KEYS for the catalog"
)
_KEY_ID = re.compile(r"[A-Za-z0-9_.-]{1,50}")


def parse_keys(text: str) -> dict[str, bytes]:
    """The keys in "id=base64,id=base64", in their order.

    Raises:
        ValueError: it is malformed; the message says what is wrong, without the keys.
    """
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(filter(None, (each.strip() for each in text.split(","))), start=1):
        key_id, _, encoded = entry.partition("=")
        try:
            key = b64decode(encoded, validate=True)
        except binascii.Error:
            key = b""
        if not _KEY_ID.fullmatch(key_id) or len(key) != KEY_BYTES or key_id in keys:
            raise ValueError(f"key {number} must be ID=KEY, with an id of its own and {KEY_BYTES} bytes in base64")
        keys[key_id] = key
    return keys


class SecretCipher:
    """Encrypts with the first key, and decrypts with that with which a value was encrypted."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = keys

    @property
    def key_id(self) -> str:
        """The key with which values are encrypted.

        Raises:
            FailedPrecondition: without one.
        """
        if not self._keys:
            raise FailedPrecondition(NO_KEY, reason="SECRETS_NOT_CONFIGURED")
        return next(iter(self._keys))

    def encrypt(self, value: str, org_id: str, name: str) -> EncryptedValue:
        """The value, encrypted with the first key.

        Raises:
            FailedPrecondition: without a key.
        """
        key_id, nonce = self.key_id, secrets.token_bytes(NONCE_BYTES)
        encrypted = _cipher(self._keys[key_id]).encrypt(nonce, value.encode(), _context(org_id, name))
        return EncryptedValue(key_id, nonce, encrypted)

    def decrypt(self, value: EncryptedValue, org_id: str, name: str) -> str:
        """The value of this secret.

        Raises:
            FailedPrecondition: its key is gone, or it is not the value of this secret.
        """
        key = self._keys.get(value.key_id)
        decrypted = _decrypt(key, value, _context(org_id, name)) if key is not None else None
        if decrypted is not None:
            return decrypted
        message = f'the secret "{name}" cannot be decrypted with the keys of this deployment; set its value again'
        raise FailedPrecondition(message, reason="SECRET_NOT_READABLE")


def _decrypt(key: bytes, value: EncryptedValue, context: bytes) -> str | None:
    """None: the value was encrypted with another key or in another context."""
    from cryptography.exceptions import InvalidTag

    try:
        return _cipher(key).decrypt(value.nonce, value.ciphertext, context).decode()
    except InvalidTag:
        return None


def _cipher(key: bytes) -> "AESGCM":
    """Imported for the first secret, because it takes 7 MiB."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _context(org_id: str, name: str) -> bytes:
    """What a value is bound to: a copy of it in another document cannot be decrypted."""
    return f"{org_id}/{name}".encode()
