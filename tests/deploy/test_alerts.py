"""Alerts: each has a runbook, and cases for promtool in which it fires and in which it is silent (`alerts/`)."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.chassis.consumer import MAX_POLL_AGE_SECONDS
from services.chassis.group_member import COMMIT_SECONDS, JOIN_SECONDS
from services.chassis.retry import backoff_seconds
from tests.deploy.kustomize import ROOT, TREE, of_kind, tool

CASES = Path(__file__).parent / "alerts"
SOURCE = yaml.safe_load((TREE / "components" / "monitoring" / "prometheus-rules.yaml").read_text())
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in SOURCE["spec"]["groups"] for rule in group["rules"]
}


def rendered_groups() -> list[dict[str, Any]]:
    (rules,) = of_kind("overlays/prod", "PrometheusRule")
    groups: list[dict[str, Any]] = rules["spec"]["groups"]
    return groups


def without_annotations(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """So that a case need not repeat the texts."""
    return [
        {**group, "rules": [{k: v for k, v in rule.items() if k != "annotations"} for rule in group["rules"]]}
        for group in groups
    ]


def promtool(*arguments: str | Path) -> None:
    ended = subprocess.run([tool("promtool"), *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_rules_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": rendered_groups()}))
    promtool("check", "rules", file)


@pytest.mark.parametrize("alert", ALERTS)
def test_the_alert_fires_when_it_should_and_only_then(alert: str, tmp_path: Path) -> None:
    rules = {"groups": without_annotations(rendered_groups())}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    cases = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": load_cases(alert)}
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(cases))
    promtool("test", "rules", tmp_path / "cases.yaml")


@pytest.mark.parametrize("alert", ALERTS)
def test_the_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent(alert: str) -> None:
    checks = [check for case in load_cases(alert) for check in case["alert_rule_test"]]
    assert {check["alertname"] for check in checks} == {alert}
    assert {bool(check.get("exp_alerts")) for check in checks} == {True, False}


def load_cases(alert: str) -> list[dict[str, Any]]:
    """The `tests` of promtool, each with its `name`."""
    cases: list[dict[str, Any]] = yaml.safe_load((CASES / f"{alert}.yaml").read_text())
    return cases


def test_there_are_no_cases_and_runbooks_of_other_alerts() -> None:
    assert {path.stem for path in CASES.glob("*.yaml")} == ALERTS.keys()
    assert {path.stem for path in (ROOT / "docs" / "runbooks").glob("Mobiletest*.md")} == ALERTS.keys()


@pytest.mark.parametrize("alert", ALERTS)
def test_the_alert_has_a_severity_and_a_runbook(alert: str) -> None:
    path = ROOT / ALERTS[alert]["annotations"]["runbook_url"]
    assert path.stem == alert
    assert ALERTS[alert]["labels"]["severity"] in ("page", "ticket")
    headings = re.findall(r"^## (.+)$", path.read_text(), re.M)
    assert headings == ["First look", "What to do", "It is over when"]


@pytest.mark.parametrize("alert", ALERTS)
def test_metrics_and_labels_exist(alert: str) -> None:
    rule = ALERTS[alert]
    sources = "".join(
        path.read_text() for folder in ("services", "automation") for path in (ROOT / folder).rglob("*.py")
    )
    metrics = set(re.findall(r"mobiletest_\w+", rule["expr"]))
    assert metrics
    assert all(f'"{re.sub("_(bucket|count)$", "", metric)}"' in sources for metric in metrics)
    grouped = [set(each.split(", ")) for each in re.findall(r"by \((.*?)\)", rule["expr"])]
    assert all("namespace" in labels for labels in grouped)
    named = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
    assert "namespace" in named
    assert named <= set.union(*grouped)


def test_the_stuck_consumer_alert_fires_before_liveness_and_not_in_broker_outages() -> None:
    stuck = ALERTS["MobiletestConsumerStuck"]
    threshold = float(stuck["expr"].rpartition(">")[2])
    assert JOIN_SECONDS + COMMIT_SECONDS + backoff_seconds(50, most=2.0) < threshold < MAX_POLL_AGE_SECONDS
    assert "for" not in stuck
