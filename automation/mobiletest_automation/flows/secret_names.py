"""Which names of variables say that their values are secret, as CI systems and loggers mask them."""

import re

_ANYWHERE = re.compile(
    r"passw(?:or)?d|passcode|passphrase|secret(?!ar)|token(?!i[sz])|credential|bearer|jwt"
    r"|(?:api|private|access|signing|encryption|client)_?key"
    r"|conn(?:ection)?_?str(?:ing)?(?![a-z])"
    r"|(?:database|db|mongo(?:db)?|postgres(?:ql)?|pg|mysql|redis|amqp|rabbitmq|jdbc)_?(?:url|uri|dsn)(?![a-z])"
    r"|(?:^|_)(?:pwd|pin|otp)(?:_|\d|$)",
    re.IGNORECASE | re.UNICODE,
)
# Words that say it at the end of a name, or before words that only say which one or in which form.
_LAST = frozenset(
    {
        *(
            "key",
            "keys",
            "auth",
            "authorization",
            "cookie",
            "cookies",
            "session",
            "sessionid",
            "sid",
            "signature",
            "sig",
        ),
        *("private", "pass", "pw", "pwd", "pin", "otp", "totp", "pat", "creds", "cred", "dsn", "salt", "csrf", "xsrf"),
        *("cvv", "cvc", "mnemonic"),
    }
)
_QUALIFIERS = frozenset(
    {
        *("id", "value", "header", "string", "b", "base", "hex", "json", "pem"),
        *("prod", "production", "staging", "stage", "dev", "test", "qa", "ci"),
    }
)
# A name that begins with one of these has a yes or no.
_FLAGS = frozenset(
    {"is", "has", "use", "uses", "with", "no", "needs", "requires", "require", "allow", "enable", "skip"}
)
# What is before "key" where it opens nothing.
_OTHER_KEYS = frozenset(
    {
        *("public", "primary", "foreign", "sort", "partition", "cache", "message", "translation", "feature", "flag"),
        *("press", "arrow", "enter", "return", "back", "home", "escape", "tab", "hot", "shortcut", "issue", "project"),
    }
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable says that its value is secret: PASSWORD, STRIPE_KEY, sessionCookie."""
    if _ANYWHERE.search(name):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1] in _QUALIFIERS:
        words.pop()
    if not words or words[-1] not in _LAST or words[0] in _FLAGS:
        return False
    return not (words[-1].startswith("key") and len(words) > 1 and words[-2] in _OTHER_KEYS)
