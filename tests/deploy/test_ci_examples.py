"""The examples for CI systems, held against each system's own schema or linter; each of them refuses a broken file."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci_examples import CI, github_steps, gitlab_configuration, gitlab_documents, load, scripts

TOOLS = Path(__file__).parents[2] / "build" / "tools"
SCHEMAS = {
    "github/action.yml": "vendor.github-actions",
    "github/workflow.yml": "vendor.github-workflows",
    "gitlab/.gitlab-ci.yml": "vendor.gitlab-ci",
    "circleci/config.yml": "vendor.circle-ci",
}
PARSE = "new GroovyShell().parse(new File(args[0]))"

Ended = subprocess.CompletedProcess[str]


def tool(name: str) -> str:
    """A program or a file in build/tools, or a program from the PATH; else the test is skipped, in CI it fails."""
    found = TOOLS / name if (TOOLS / name).exists() else shutil.which(name)
    if found is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(f"no {name}: `make deploy-check` puts it into build/tools")
    return str(found)


def run(*arguments: str | Path, folder: Path | None = None, stdin: str | None = None) -> Ended:
    return subprocess.run(arguments, cwd=folder, input=stdin, capture_output=True, text=True, check=False)


def check_schema(document: Any, schema: str, folder: Path) -> Ended:
    """Check a document against a schema that check-jsonschema contains."""
    file = folder / "document.yml"
    file.write_text(yaml.safe_dump(document))
    program = Path(sys.executable).with_name("check-jsonschema")
    return run(program, "--builtin-schema", schema, file)


def without_boolean_on(document: Any) -> Any:
    """YAML 1.1, which our parser reads, takes the `on` of a workflow as true."""
    return {("on" if key is True else key): value for key, value in document.items()}


@pytest.mark.parametrize("path", SCHEMAS)
def test_each_file_is_valid_against_the_schema_of_its_system(path: str, tmp_path: Path) -> None:
    checked = check_schema(without_boolean_on(load(path)), SCHEMAS[path], tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_the_gitlab_component_is_valid_with_its_header(tmp_path: Path) -> None:
    for document in (gitlab_documents()[0], gitlab_configuration({"app": "app.apk", "shards": 3})):
        checked = check_schema(document, "vendor.gitlab-ci", tmp_path)
        assert checked.returncode == 0, checked.stdout


BROKEN: dict[str, tuple[str, Any]] = {
    "an action without steps": ("vendor.github-actions", {"name": "a", "description": "a", "runs": {}}),
    "a workflow without jobs": ("vendor.github-workflows", {"on": "push"}),
    "a job with a wrong number of copies": ("vendor.gitlab-ci", {"a": {"script": "true", "parallel": "three"}}),
    "an input of an unknown type": ("vendor.gitlab-ci", {"spec": {"inputs": {"a": {"type": "float"}}}}),
    "an unknown step": ("vendor.circle-ci", {"version": 2.1, "jobs": {"a": {"steps": [{"stor_artifacts": 1}]}}}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_schemas_refuse(name: str, tmp_path: Path) -> None:
    schema, document = BROKEN[name]
    assert check_schema(document, schema, tmp_path).returncode == 1


def actionlint(folder: Path, workflow: str) -> Ended:
    """Check a workflow in a repository that has the action, whose inputs are then known."""
    github = folder / ".github"
    shutil.rmtree(github, ignore_errors=True)
    (github / "workflows").mkdir(parents=True)
    (github / "workflows" / "mobiletest.yml").write_text(workflow)
    (github / "actions" / "mobiletest").mkdir(parents=True)
    shutil.copy(CI / "github" / "action.yml", github / "actions" / "mobiletest")
    run("git", "init", "--quiet", folder)
    return run(tool("actionlint"), "-shellcheck", tool("shellcheck"), folder=folder)


def test_actionlint_accepts_the_workflow_and_refuses_mistakes(tmp_path: Path) -> None:
    workflow = (CI / "github" / "workflow.yml").read_text()
    checked = actionlint(tmp_path, workflow)
    assert checked.returncode == 0, checked.stdout
    for right, wrong, message in (
        ("flows: .maestro", "flow: .maestro", 'input "flow" is not defined'),
        ("outputs.junit", "outputs.xml", 'property "xml" is not defined'),
        ("run: ./gradlew", "run: echo $HOME; ./gradlew", "SC2086"),
    ):
        assert right in workflow
        refused = actionlint(tmp_path, workflow.replace(right, wrong))
        assert (refused.returncode, message in refused.stdout) == (1, True), refused.stdout


def shellcheck(shell: str, script: str) -> Ended:
    return run(tool("shellcheck"), "--shell", shell, "-", stdin=script)


@pytest.mark.parametrize("name", scripts())
def test_scripts_are_accepted_by_shellcheck(name: str) -> None:
    checked = shellcheck(*scripts()[name])
    assert checked.returncode == 0, checked.stdout
    assert shellcheck("sh", "rm $1").returncode == 1


def test_no_text_of_a_script_comes_from_an_input() -> None:
    """What a system puts into the text of a script can be a command; what it puts into the environment cannot."""
    for _, script in scripts().values():
        assert not re.search(r"\$\{\{|\$\[\[|<<\s|env\.", script.replace("<<<", "")), script
    assert all("${{" not in str(step["env"]) for step in github_steps({}))


def test_the_key_comes_from_the_store_of_the_system_only() -> None:
    """It is in no script, and nowhere in plain text."""
    key = "MOBILETEST_API_KEY"
    assert not [name for name, (_, script) in scripts().items() if key in script or "api-key" in script]
    assert f"{key} = credentials('mobiletest-api-key')" in (CI / "jenkins" / "Jenkinsfile").read_text()
    assert load("circleci/config.yml")["workflows"]["app"]["jobs"][1]["test"]["context"] == "mobiletest"
    assert "api-key: ${{ secrets.MOBILETEST_API_KEY }}" in (CI / "github" / "workflow.yml").read_text()


def groovy(file: Path) -> Ended:
    return run("java", "-cp", tool("groovy.jar"), "groovy.ui.GroovyMain", "-e", PARSE, file)


def test_groovy_parses_the_jenkinsfile(tmp_path: Path) -> None:
    jenkinsfile = CI / "jenkins" / "Jenkinsfile"
    parsed = groovy(jenkinsfile)
    assert parsed.returncode == 0, parsed.stderr
    broken = tmp_path / "Jenkinsfile"
    broken.write_text(jenkinsfile.read_text().rstrip().removesuffix("}"))
    assert "expecting '}'" in groovy(broken).stderr


def test_jenkins_keeps_the_results_of_failed_tests() -> None:
    text = (CI / "jenkins" / "Jenkinsfile").read_text()
    always = re.search(r"post \{\s+always \{([^}]+)\}", text)
    assert always is not None
    assert "junit testResults: 'mobiletest-*.xml'" in always[1]
    assert "archiveArtifacts artifacts: 'mobiletest-*'" in always[1]
    values = re.search(r"name 'SHARD'\s+values (.+)", text)
    assert values is not None
    assert f"SHARDS = '{len(values[1].split(','))}'" in text


def test_the_pipeline_of_gitlab_uses_inputs_that_the_component_has() -> None:
    [included] = load("gitlab/.gitlab-ci.yml")["include"]
    assert set(included["inputs"]) <= set(gitlab_documents()[0]["spec"]["inputs"])


def test_bitrise_has_the_workflows_of_its_pipeline_and_deploys_the_results_of_failed_tests() -> None:
    """Bitrise's own validator cannot be installed from a registry, so this is the structure only."""
    document = load("bitrise/bitrise.yml")
    in_pipeline = document["pipelines"]["test"]["workflows"]
    assert set(in_pipeline) <= set(document["workflows"])
    assert set(in_pipeline["mobiletest"]["depends_on"]) <= set(in_pipeline)
    assert document["workflows"]["mobiletest"]["steps"][-1] == {"deploy-to-bitrise-io@2": {"is_always_run": True}}
