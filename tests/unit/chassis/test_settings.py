from pathlib import Path

import pytest

from services.chassis.kafka_cluster import client_options
from services.chassis.service_token import Grant
from services.chassis.settings import ProcessSettings, load


class Settings(ProcessSettings):
    workers: int
    nickname: str = "none"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("MOBILETEST_SERVICE_TOKEN", "0123456789abcdef")
    monkeypatch.setenv("MOBILETEST_WORKERS", "3")
    return monkeypatch


def test_unknown_variables_are_ignored(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MOBILETEST_NICKNAME", "n")
    environment.setenv("MOBILETEST_OF_ANOTHER_SERVICE", "x")
    settings = load(Settings)
    assert (settings.workers, settings.nickname) == (3, "n")


def test_callers_are_known_by_the_digests_of_their_tokens(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MOBILETEST_CALLERS", f"gateway={'a' * 64}, gateway={'b' * 64}")
    assert load(Settings).accepted_callers == {each * 64: Grant(frozenset({"gateway"})) for each in "ab"}


def test_unreadable_callers_are_named(environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    environment.setenv("MOBILETEST_CALLERS", "gateway=a-token-by-mistake")
    with pytest.raises(SystemExit):
        load(Settings)
    printed = capsys.readouterr().err
    assert "MOBILETEST_CALLERS: " in printed
    assert "a-token-by-mistake" not in printed


def test_tokens_are_hidden_in_repr(environment: pytest.MonkeyPatch) -> None:
    assert "0123456789abcdef" not in repr(load(Settings))


def test_memberships_are_static_only_under_a_name_that_was_given_for_that(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MOBILETEST_INSTANCE", "mobiletest-reporting-7d4b9c-x2x4z")
    assert load(Settings).group_instance_id("reporting") is None
    environment.setenv("MOBILETEST_KAFKA_INSTANCE_ID", "reporting-0")
    assert load(Settings).group_instance_id("reporting") == "reporting-0-reporting"


def test_errors_name_their_variables_and_exit_with_2(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("MOBILETEST_WORKERS", "many")
    environment.setenv("MOBILETEST_LOG_LEVEL", "loud")
    environment.setenv("MOBILETEST_SERVICE_TOKEN", "too-short-token")
    with pytest.raises(SystemExit) as exit_:
        load(Settings)
    assert exit_.value.code == 2
    printed = capsys.readouterr().err
    for variable in ("MOBILETEST_WORKERS", "MOBILETEST_LOG_LEVEL", "MOBILETEST_SERVICE_TOKEN"):
        assert f"{variable}: " in printed
    assert "too-short-token" not in printed


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"TLS_CERTIFICATE_FILE": "a.pem"},
            "TLS_CERTIFICATE_FILE and MOBILETEST_TLS_KEY_FILE belong together",
        ),
        ({"TLS_CERTIFICATE_FILE": "a.pem", "TLS_KEY_FILE": "a.key"}, "MOBILETEST_TLS_AUTHORITIES_FILE is missing"),
        (
            {"KAFKA_KEY_FILE": "a.key"},
            "KAFKA_CERTIFICATE_FILE and MOBILETEST_KAFKA_KEY_FILE belong together",
        ),
        (
            {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_USER": "me"},
            "needs MOBILETEST_KAFKA_USER and MOBILETEST",
        ),
    ],
)
def test_settings_that_belong_together_are_checked(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        environment.setenv(f"MOBILETEST_{name}", value)
    with pytest.raises(SystemExit):
        load(Settings)
    assert message in capsys.readouterr().err


def test_kafka_gets_user_and_password(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MOBILETEST_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    environment.setenv("MOBILETEST_KAFKA_SASL_MECHANISM", "SCRAM-SHA-256")
    environment.setenv("MOBILETEST_KAFKA_USER", "mobiletest-catalog")
    environment.setenv("MOBILETEST_KAFKA_PASSWORD", "a secret of ours")
    settings = load(Settings)
    assert client_options(settings.kafka) == {
        "bootstrap_servers": "127.0.0.1:9092",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "mobiletest-catalog",
        "sasl_plain_password": "a secret of ours",
    }
    assert "a secret of ours" not in repr(settings) + repr(settings.kafka) + str(settings.kafka)


def test_secrets_may_be_files_in_a_folder(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.delenv("MOBILETEST_SERVICE_TOKEN")
    environment.setenv("MOBILETEST_SECRETS_FOLDER", str(tmp_path))
    (tmp_path / "MOBILETEST_SERVICE_TOKEN").write_text("a-token-from-a-file\n")
    (tmp_path / "MOBILETEST_MONGO_URI").write_text("mongodb://user:secret@mongo/?tls=true\n")
    settings = load(Settings)
    assert (settings.token, settings.mongo_uri) == ("a-token-from-a-file", "mongodb://user:secret@mongo/?tls=true")
