"""The examples for CI systems, held against each system's own schema or linter."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci_examples import CI, github_steps, gitlab_configuration, gitlab_documents, load, scripts
from tests.deploy.kustomize import tool

SCHEMAS = {
    "github/action.yml": "vendor.github-actions",
    "github/workflow.yml": "vendor.github-workflows",
    "gitlab/.gitlab-ci.yml": "vendor.gitlab-ci",
    "circleci/config.yml": "vendor.circle-ci",
}
PARSE = "new GroovyShell().parse(new File(args[0]))"

Ended = subprocess.CompletedProcess[str]


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
    for document in (gitlab_documents()[0], gitlab_configuration({"file": "app.apk", "shards": 3})):
        checked = check_schema(document, "vendor.gitlab-ci", tmp_path)
        assert checked.returncode == 0, checked.stdout


def test_actionlint_accepts_the_workflow(tmp_path: Path) -> None:
    """In a repository that has the action, whose inputs are then known."""
    for source, name in (("workflow.yml", "workflows/mobiletest.yml"), ("action.yml", "actions/mobiletest/action.yml")):
        copy = tmp_path / ".github" / name
        copy.parent.mkdir(parents=True)
        shutil.copy(CI / "github" / source, copy)
    run("git", "init", "--quiet", tmp_path)
    checked = run(tool("actionlint"), "-shellcheck", tool("shellcheck"), folder=tmp_path)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", scripts())
def test_scripts_are_accepted_by_shellcheck(name: str) -> None:
    shell, script = scripts()[name]
    checked = run(tool("shellcheck"), "--shell", shell, "-", stdin=script)
    assert checked.returncode == 0, checked.stdout


def test_no_text_of_a_script_comes_from_an_input() -> None:
    """What a system puts into the text of a script can be a command; what it puts into the environment cannot."""
    for _, script in scripts().values():
        assert not re.search(r"\$\{\{|\$\[\[|<<\s|env\.", script.replace("<<<", "")), script
    assert all("${{" not in str(step["env"]) for step in github_steps({}))


def test_the_key_comes_from_the_store_of_the_system_only() -> None:
    key = "MOBILETEST_API_KEY"
    assert not [name for name, (_, script) in scripts().items() if key in script or "api-key" in script]
    assert f"{key} = credentials('mobiletest-api-key')" in (CI / "jenkins" / "Jenkinsfile").read_text()
    assert load("circleci/config.yml")["workflows"]["app"]["jobs"][1]["test"]["context"] == "mobiletest"
    assert "api-key: ${{ secrets.MOBILETEST_API_KEY }}" in (CI / "github" / "workflow.yml").read_text()


def test_groovy_parses_the_jenkinsfile() -> None:
    groovy = ("java", "-cp", tool("groovy.jar"), "groovy.ui.GroovyMain")
    parsed = run(*groovy, "-e", PARSE, CI / "jenkins" / "Jenkinsfile")
    assert parsed.returncode == 0, parsed.stderr


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
