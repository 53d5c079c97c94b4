"""The examples for CI systems, as these systems read them: their documents, and the scripts that they run."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).parents[1] / "examples" / "ci"
_GITHUB_INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")
_GITLAB_INPUT = re.compile(r"\$\[\[ inputs\.([a-z-]+) \]\]")
_JENKINS_SCRIPT = re.compile(r"\bsh '''(.*?)'''", re.DOTALL)

Document = dict[str, Any]


def load(path: str) -> Document:
    """The only document of an example."""
    document: Document = yaml.safe_load((CI / path).read_text())
    return document


def github_steps(inputs: Mapping[str, str]) -> list[Document]:
    """The steps of the composite action; their `env` has the inputs and the defaults."""
    action = load("github/action.yml")
    values = {name: inputs.get(name, declared.get("default", "")) for name, declared in action["inputs"].items()}
    steps: list[Document] = action["runs"]["steps"]
    return [
        step | {"env": {name: _GITHUB_INPUT.sub(lambda m: values[m[1]], text) for name, text in step["env"].items()}}
        for step in steps
    ]


def gitlab_documents() -> tuple[Document, Document]:
    """The header of the component with its inputs, and the configuration behind it."""
    header, configuration = yaml.safe_load_all((CI / "gitlab/template.yml").read_text())
    return header, configuration


def gitlab_configuration(inputs: Mapping[str, Any]) -> Document:
    """The configuration of the component with these inputs, and with the defaults of the others."""
    header, configuration = gitlab_documents()
    values = {name: inputs.get(name, declared.get("default")) for name, declared in header["spec"]["inputs"].items()}
    interpolated: Document = _interpolate(configuration, values)
    return interpolated


def _interpolate(node: Any, values: Mapping[str, Any]) -> Any:
    """As GitLab does it, after it has read the YAML; a text that is one input only gets its type."""
    if isinstance(node, dict):
        return {_interpolate(key, values): _interpolate(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_interpolate(item, values) for item in node]
    if not isinstance(node, str):
        return node
    if whole := _GITLAB_INPUT.fullmatch(node):
        return values[whole[1]]
    return _GITLAB_INPUT.sub(lambda match: str(values[match[1]]), node)


def jenkins_script() -> str:
    """The script of the only long `sh` step, with the escapes of Groovy resolved."""
    [script] = _JENKINS_SCRIPT.findall((CI / "jenkins/Jenkinsfile").read_text())
    return str(script).replace("\\\\", "\\")


def circleci_job() -> tuple[list[str], dict[str, str]]:
    """The commands of the job that tests, and its environment."""
    job = load("circleci/config.yml")["jobs"]["test"]
    return [step["run"]["command"] for step in job["steps"] if "run" in step], job["environment"]


def bitrise_script() -> tuple[str, dict[str, str]]:
    """The content of the only script step, and the environment of the app."""
    document = load("bitrise/bitrise.yml")
    steps = document["workflows"]["mobiletest"]["steps"]
    [content] = [step["script@1"]["inputs"][0]["content"] for step in steps if "script@1" in step]
    return content, {name: value for each in document["app"]["envs"] for name, value in each.items()}


def scripts() -> dict[str, tuple[str, str]]:
    """Shell and script of each example, by its name."""
    github = {f"github {step['name']}": ("bash", step["run"]) for step in github_steps({})}
    [job] = gitlab_configuration({}).values()
    return {
        **github,
        "gitlab": ("sh", "\n".join(job["script"])),
        "jenkins": ("sh", jenkins_script()),
        "circleci": ("bash", "\n".join(circleci_job()[0])),
        "bitrise": ("bash", bitrise_script()[0]),
    }
