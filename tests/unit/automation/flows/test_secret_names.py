"""Names of variables whose values are secret, and names that look alike."""

import pytest

from mobiletest_automation.flows.environment import is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        *("PASSWORD", "userPassword", "DB_PASSWD", "DB_PASS", "PWD", "ADMIN_PWD", "PASSCODE", "SSH_PASSPHRASE", "PIN"),
        *("SECRET", "CLIENT_SECRET", "clientSecret", "SECRETKEY", "TOKEN", "ACCESSTOKEN", "TOKENS", "CREDENTIALS"),
        *("KEY", "API_KEY", "apikey", "STRIPE_KEY", "STRIPE_KEY_PROD", "sshKey", "SIGNING_KEY", "AWS_ACCESS_KEY_ID"),
        *(
            "PRIVATE_KEY",
            "PRIVATE",
            "KEY_BASE64",
            "LICENSE_KEY_2",
            "AUTH",
            "BASIC_AUTH",
            "AUTH_HEADER",
            "Authorization",
        ),
        *(
            "BEARER",
            "BEARER_VALUE",
            "JWT",
            "COOKIE",
            "SESSION_COOKIE",
            "SESSION",
            "SESSION_ID",
            "sessionId",
            "SESSIONID",
        ),
        *("SIGNATURE", "REQUEST_SIGNATURE", "GITHUB_PAT", "PAT", "SENTRY_DSN", "DSN", "CONNECTION_STRING", "CONN_STR"),
        *(
            "DATABASE_URL",
            "MONGODB_URI",
            "REDIS_URL",
            "OTP",
            "otp_1",
            "TOTP",
            "XSRF",
            "HASH_SALT",
            "CVV",
            "AZURE_CREDS",
        ),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("KEYBOARD", "MONKEY", "MONKEYS", "KEYWORD", "KEYCODE", "KEY_CODE", "TURKEY", "PUBLIC_KEY", "SSH_PUBLIC_KEY"),
        *(
            "AUTHOR",
            "AUTHORS",
            "AUTHORITY",
            "AUTH_URL",
            "AUTH_MODE",
            "TOKENIZE",
            "TOKENIZER",
            "TOKENISATION",
            "SECRETARY",
        ),
        *("PATH", "PATTERN", "PATIENT", "SPAT", "PASSENGER", "COMPASS", "BYPASS", "PASS_COUNT", "PINBALL", "SHOPPING"),
        *("SESSION_TIMEOUT", "SESSIONS", "COOKIE_BANNER", "DESIGN", "SIGN_IN", "ENTER_KEY", "SORT_KEY", "PRIVACY"),
        *(
            "IS_PRIVATE",
            "REQUIRES_AUTH",
            "URL",
            "BASE_URL",
            "SERVER",
            "USER",
            "EMAIL",
            "LOCALE",
            "ID",
            "PROD",
            "CONNECTION",
        ),
    ],
)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)
