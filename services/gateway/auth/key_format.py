"""The format of API keys: `mt_<12>_<32><6>`, base62; the last six are the CRC32 of everything before them.

A typo or a guess is rejected here, without a call to the catalog.
"""

import re
import string
import zlib
from hashlib import sha256

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
CHECKSUM_LENGTH = 6
_FORMAT = re.compile(r"mt_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", re.ASCII)


def is_well_formed(key: str) -> bool:
    """Whether the text has the format of a key and the right checksum."""
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
    """Identifies a key in the cache; the key itself is not stored."""
    return sha256(key.encode(errors="surrogateescape")).digest()
