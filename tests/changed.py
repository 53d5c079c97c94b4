"""Which suites a change can touch, for `.ci/run --changed`: a make target a line, after a tab the tests of `make test`.

    python -m tests.changed [REVISION]     what differs from REVISION (origin/main if there is one, else main)

Python is followed along its imports. What imports do not show stands in TABLE: files of data, and services that tests
start as processes. A file that nothing here knows touches everything.
"""

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = ("services", "mobiletest_automation", "tests", "deploy", "examples", "benchmarks", "mobiletest_cli")
LEVELS = ("tests/unit", "tests/contract", "tests/integration", "tests/e2e")
SUITES = (
    "drivers",
    "properties",
    "maestro",
    "api",
    "devices",
    "dashboard",
    "deploy-check",
    "attack",
    "fault",
    "containers",
)
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"services/.*", ("tests/e2e", "tests/integration/local", "tests/integration/test_idle_imports.py")),
    (r"services/.*\.py", ("tests/unit/test_dependency_rule.py", "tests/unit/executor/test_no_commands.py")),
    (r"(services|automation)/.*\.py", ("tests/unit/test_class_names.py",)),
    (r"services/chassis/.*", ("fault", "attack")),
    (r"services/(catalog|executor|reporting)/storage/.*|services/chassis/m(ongo|igrations).*", ("drivers", "fault")),
    (r"services/executor/(worker|maintenance|usecases)/.*|services/reporting/(rebuild|consumer).*", ("fault",)),
    (r"automation/.*", ("devices", "maestro", "tests/e2e", "tests/unit/test_dependency_rule.py")),
    (r"docs/maestro\.md|examples/flows/.*|deploy/deploy\.mk", ("maestro",)),
    (r"deploy/deploy\.mk", ("api",)),
    (r"services/gateway/.*", ("api", "attack", "tests/integration/test_api_types.py")),
    (r"services/gateway/(dashboard|http|handlers)/.*", ("dashboard",)),
    (r"services/\w+/(grpc/.*|servicer\.py)", ("api",)),
    (r"services/\w+/settings\.py", ("deploy-check",)),
    (r"protos/.*", (*LEVELS, "api", "dashboard")),
    (r"deploy/local/.*", (*LEVELS, "fault", "api")),
    (r"deploy/(k8s|kafka)/.*|examples/ci/.*|cli/pyproject\.toml|docs/runbooks/.*", ("deploy-check",)),
    (r"deploy/(images|compose)/.*|Dockerfile|\.dockerignore", ("deploy-check", "containers")),
    (r"deploy/(devices/.*|deploy\.mk)", ("devices", "dashboard", "deploy-check")),
    (r"deploy/[a-z_]+\.py|benchmarks/.*", ()),
    (r"examples/.*", ("tests/unit/examples", "tests/integration/executor/test_examples.py", "tests/e2e")),
    (r"examples/.*", ("tests/unit/automation/screen/test_fingerprint.py",)),
    (r"cli/.*", ("tests/unit/cli", "tests/integration/test_api_types.py", "tests/e2e/cli")),
    (r"(docs/.*|[A-Za-z]+)\.md", ("tests/unit/test_documentation.py", "tests/e2e/test_documents.py")),
    (r"docs/.*\.md", ("tests/unit/test_settings_reference.py", "tests/unit/automation/flows/test_steps_reference.py")),
    (r"docs/.*\.md", ("tests/unit/reporting/test_flaky.py",)),
    (r"docs/.*\.md|.*/device-pools\.yaml", ("tests/unit/executor/pools/test_config.py",)),
    (r"tests/maestro/.*", ("maestro",)),
    (r"tests/(maestro|devices|plugins)/.*", ("devices", "tests/unit/automation")),
    (r"tests/(api|dashboard|attack|fault)/.*", (r"\1",)),
    (r"tests/deploy/.*", ("deploy-check",)),
    (r"tests/images/.*|tests/containers\.py", ("containers",)),
    (r"tests/.*\.py", ()),
    (r"\.(editorconfig|pre-commit-config\.yaml|gitignore|importlinter)|\.vscode/.*|redocly\.yaml|buf\.yaml", ()),
)
EVERYTHING = (*LEVELS, *SUITES)


def suites(paths: Iterable[str], graph: grimp.ImportGraph) -> list[tuple[str, list[str]]]:
    """The make targets for changed files, each with its tests (only `test` has any), in the order of the gate."""
    touched = {part for path in paths for part in (*_by_table(path), *_by_imports(path, graph))}
    tests = _without_parts(part for part in touched if part.startswith(LEVELS))
    selected: list[tuple[str, list[str]]] = [("check", [])]
    if tests:
        selected.append(("test", tests))
    if any(_uses_hypothesis(test) for test in tests):
        touched.add("properties")
    return selected + [(suite, []) for suite in SUITES if suite in touched]


def _by_table(path: str) -> Collection[str]:
    matches = [(match, parts) for pattern, parts in TABLE if (match := re.fullmatch(pattern, path))]
    if not matches and not path.startswith(LEVELS):
        return EVERYTHING
    return {match.expand(part) for match, parts in matches for part in parts}


def _by_imports(path: str, graph: grimp.ImportGraph) -> Iterator[str]:
    """The test files that import a module, or what is beside a file of data, directly or not."""
    module = _module(path)
    name = module if module in graph.modules else module.rpartition(".")[0]
    while name and name not in graph.modules:
        name = name.rpartition(".")[0]
    if "." in name:
        importers = graph.find_downstream_modules(name, as_package=name != module) | {name}
        yield from filter(None, map(_test_path, importers))


def _module(path: str) -> str:
    parts = PurePosixPath(path.removeprefix("cli/").removeprefix("automation/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] in ("__init__", "__main__") else parts)


def _test_path(module: str) -> str | None:
    """The file of a test module, the folder of a conftest or of test data; None for what is no test of `make test`."""
    path = module.replace(".", "/")
    if not path.startswith(LEVELS):
        return None
    folder, _, name = path.rpartition("/")
    if name.startswith("test_"):
        return f"{path}.py"
    return path if (ROOT / path).is_dir() else folder


def _without_parts(paths: Iterable[str]) -> list[str]:
    """Existing paths, without those inside of others."""
    existing = {path for path in paths if (ROOT / path).exists()}
    return sorted(path for path in existing if not any(str(parent) in existing for parent in Path(path).parents))


def _uses_hypothesis(test: str) -> bool:
    path = ROOT / test
    return any("hypothesis" in file.read_text() for file in (path.rglob("test_*.py") if path.is_dir() else [path]))


def changed_files(revision: str | None) -> list[str]:
    """What differs from the common ancestor with a revision, what is not committed included."""
    if revision is None:
        known = _git("for-each-ref", "--format=%(refname:short)", "refs/remotes/origin/main")
        revision = known[0] if known else "main"
    (ancestor,) = _git("merge-base", revision, "HEAD")
    return sorted({*_git("diff", "--name-only", ancestor), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def main(revision: str | None = None) -> None:
    sys.path[:0] = [str(ROOT / "automation"), str(ROOT / "cli")]
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for target, tests in suites(changed_files(revision), graph):
        print(target, " ".join(tests), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:2])
