"""What a key looks like: `mt_<12>_<32><6>`, base62; the last six are the CRC32 of all before them.

A typo or a guess is refused here, without a call to the catalog.
"""

import re
import string
import zlib
from hashlib import sha256

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
CHECKSUM_LENGTH = 6
_FORMAT = re.compile(r"mt_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", re.ASCII)


def is_well_formed(key: str) -> bool:
    """Whether this can be a key at all."""
    return _FORMAT.fullmatch(key) is not None and checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]


def checksum(text: str) -> str:
    """The CRC32 of an ASCII text in base62, six characters with leading zeros."""
    number = zlib.crc32(text.encode("ascii"))
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def fingerprint(key: str) -> bytes:
    """What a key is remembered by; the key itself is kept nowhere."""
    return sha256(key.encode(errors="surrogateescape")).digest()
