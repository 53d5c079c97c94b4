"""Where the server is and what a project wants: order of the sources, and what is refused."""

import stat
from pathlib import Path

import pytest

from mobiletest_cli.configuration import Profiles, ServerFlags, check_url, find_server, parse_project, read_project
from mobiletest_cli.errors import AUTHENTICATION, INVALID_FILE, USAGE, CliError

ENVIRONMENT = {"MOBILETEST_URL": "https://env.example", "MOBILETEST_API_KEY": "mt_env"}


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    stored = Profiles(tmp_path / "config" / "profiles.json")
    stored.write("default", "https://home.example", "mt_home")
    stored.write("work", "https://work.example", "mt_work")
    return stored


def test_flags_precede_the_environment_and_that_the_profile(profiles: Profiles) -> None:
    flags = ServerFlags("https://flag.example/", "mt_flag")
    assert _found(flags, ENVIRONMENT, profiles) == ("https://flag.example", "mt_flag")
    assert _found(ServerFlags(), ENVIRONMENT, profiles) == ("https://env.example", "mt_env")
    assert _found(ServerFlags(), {}, profiles) == ("https://home.example", "mt_home")
    assert _found(ServerFlags(profile="work"), ENVIRONMENT, profiles) == ("https://work.example", "mt_work")
    assert _found(ServerFlags(), {"MOBILETEST_PROFILE": "work"}, profiles) == ("https://work.example", "mt_work")


def _found(flags: ServerFlags, environ: dict[str, str], profiles: Profiles) -> tuple[str, str]:
    server = find_server(flags, environ, profiles)
    return server.url, server.api_key


def test_the_key_of_a_profile_is_not_sent_elsewhere(profiles: Profiles) -> None:
    for flags, environ in [
        (ServerFlags("https://other.example"), {}),
        (ServerFlags(), {"MOBILETEST_URL": "https://other.example"}),
        (ServerFlags("https://other.example", profile="work"), {}),
    ]:
        with pytest.raises(CliError, match="no API key for https://other") as refused:
            find_server(flags, environ, profiles)
        assert refused.value.exit_code == AUTHENTICATION


def test_an_unknown_server_or_profile_is_said(tmp_path: Path) -> None:
    empty = Profiles(tmp_path / "profiles.json")
    with pytest.raises(CliError, match="no server is configured") as refused:
        find_server(ServerFlags(), {}, empty)
    assert refused.value.hint == "Set MOBILETEST_URL, run `mobiletest login`, or go without: mobiletest run --local"
    with pytest.raises(CliError, match='no profile "work"'):
        find_server(ServerFlags(profile="work"), {}, empty)


def test_profiles_are_for_their_owner_only(profiles: Profiles) -> None:
    assert stat.S_IMODE(profiles.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(profiles.path.parent.stat().st_mode) == 0o700
    assert profiles.delete("work")
    assert not profiles.delete("work")
    assert list(profiles.read()) == ["default"]


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": 1}', "\ufffd\ufffe"])
def test_a_broken_file_of_profiles_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "profiles.json"
    path.write_text(content, "utf-16" if "\ufffe" in content else "utf-8")
    with pytest.raises(CliError, match=r"profiles\.json") as refused:
        Profiles(path).read()
    assert refused.value.exit_code == INVALID_FILE


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.example", "https://a.example"),
        ("http://a.example:8080/", "http://a.example:8080"),
        ("https://a.example/tests/api/v1/", "https://a.example/tests"),
    ],
)
def test_addresses_are_normalised(text: str, url: str) -> None:
    assert check_url(text) == url


@pytest.mark.parametrize(
    "text",
    ["a.example", "ftp://a.example", "https://", "https://a:99999", "https://u:secret@a.example", "https://a/?x=1"],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(CliError) as refused:
        check_url(text)
    assert refused.value.exit_code == USAGE
    assert "secret" not in refused.value.message


def test_a_project_says_what_to_run(tmp_path: Path) -> None:
    path = tmp_path / "mobiletest.yaml"
    path.write_text(
        "app: Shop\nfolder: .maestro\ntags: [smoke]\nenv: {USER: ada, N: 1.10, ON: yes}\nretries: 1\ngate: false\n"
    )
    (tmp_path / "app" / "src").mkdir(parents=True)
    project = read_project(tmp_path / "app" / "src")
    assert (project.path, project.app, project.folder, project.tags) == (path, "Shop", ".maestro", ("smoke",))
    assert (project.env, project.retries, project.gate) == ({"USER": "ada", "N": "1.10", "ON": "yes"}, 1, False)


def test_a_project_declares_secrets() -> None:
    text = b"env: {A: {value: on, secret: true}, B: {secret: staging}, C: {value: 1.10, variant: false}}\n"
    assert parse_project(Path("mobiletest.yaml"), text).env == {
        "A": {"value": "on", "secret": True},
        "B": {"secret": "staging"},
        "C": {"value": "1.10", "variant": False},
    }


@pytest.mark.parametrize("content", [b"# nothing yet\n", b"app:\n"])
def test_an_empty_project_is_one(content: bytes) -> None:
    assert parse_project(Path("mobiletest.yaml"), content).app is None


def test_the_project_of_another_repository_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "mobiletest.yaml").write_text("app: Other\n")
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    assert read_project(tmp_path / "mine").path is None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("app: Shop\nfoldr: x\n", ':2: unknown key "foldr"', 'Did you mean "folder"?'),
        ("url: https://evil.example\n", ":1: mobiletest.yaml must not name a server", None),
        ("\napi_key: mt_x\n", ":2: mobiletest.yaml must not name an API key", None),
        ("retries: two\n", ":1: retries must be a whole number", None),
        ("retries: true\n", ":1: retries must be a whole number", None),
        ("tags: smoke\n", ":1: tags must be a list of texts", None),
        ("retries: 6\n", ":1: retries must be 0 to 5", None),
        ("timeout: 0\n", ":1: timeout must be 1 to 604800", None),
        ("env: {A: [1]}\n", ":1: env must be names with values", None),
        ("env: {A: {value: x, hidden: true}}\n", ":1: env must be names with values", None),
        ("tags: [[a], 1]\n", ":1: tags must be a list of texts", None),
        ("app: Shop\napp: Bank\n", ":1: duplicate key 'app'", None),
        ("env: &e {A: 1, B: *e}\n", ":1: env must be names with values", None),
        ("- a\n", ":1: must have names with values", None),
        ("app: [\n", ":2:1:", None),
        ("app: *x\n", ":1:6:", None),
    ],
)
def test_mistakes_in_a_project_are_named_with_their_line(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(CliError) as refused:
        parse_project(Path("mobiletest.yaml"), text.encode())
    assert refused.value.message.startswith(f"mobiletest.yaml{message}")
    assert refused.value.exit_code == INVALID_FILE
    if hint:
        assert refused.value.hint == hint
