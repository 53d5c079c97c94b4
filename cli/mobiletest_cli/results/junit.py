"""JUnit XML of the server, with quarantine added, and reduced to what strict schemas allow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from mobiletest_automation.flows.printable import printable
from mobiletest_cli.errors import NO_VERDICT, CliError
from mobiletest_cli.presentation import place, positions
from mobiletest_cli.results.report import repository_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from xml.etree.ElementTree import Element

    from mobiletest_cli.api_types import Run
    from mobiletest_cli.results.report import Report

_RESULTS = ("skipped", "error", "failure")
_INTERIM = ("rerunFailure", "rerunError", "flakyFailure", "flakyError")
_WITH_PLACES = ("error", "failure", "stackTrace")
_PLACE = re.compile(r"^(?P<before>  run from |)(?P<place>.+?:\d+:\d+)(?P<after>: |$)", re.ASCII)
_COUNTS = frozenset({"name", "tests", "failures", "errors", "time"})
# What both jenkins-junit.xsd (JUnit's own copy) and junit-10.xsd (the xUnit plugin) allow; "skipped" has none.
_ATTRIBUTES = {
    "testsuites": _COUNTS,
    "testsuite": _COUNTS | {"skipped", "timestamp", "hostname", "id", "package"},
    "testcase": frozenset({"name", "classname", "time"}),
    "error": frozenset({"type", "message"}),
    "failure": frozenset({"type", "message"}),
}


class _Builder(ElementTree.TreeBuilder):
    """Builds a tree from a document without a DOCTYPE, so that there are no entities to expand."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise _unreadable("it has a DOCTYPE")


def complete(junit: bytes, report: Report) -> bytes:
    """The document with what the executor, which writes it, does not know.

    That is where the files of the flows are here (attribute and property `file`, and positions of failures), and for
    each quarantined test that did not pass the reason (property `quarantine`).

    Raises:
        CliError: it cannot be read.
    """
    root, quarantined = _parse(junit), report.quarantined
    if not (_make_printable(root) or quarantined or report.paths):
        return junit
    runs = {run["id"]: run for run in report.runs}
    for case in root.iterfind(".//testcase"):
        properties = {each.get("name", ""): each for each in case.iterfind("properties/property")}
        test_id = properties["test_id"].get("value", "") if "test_id" in properties else ""
        if path := report.paths.get(test_id):
            here = repository_path(path)
            case.attrib.update(file=here, line=case.get("line", "1"))
            _set_property(case, properties, "file", here)
            if "run_id" in properties and (run := runs.get(properties["run_id"].get("value", ""))):
                _show_places(case, _places(report, run))
        if test_id in quarantined:
            _set_property(case, properties, "quarantine", quarantined[test_id] or "in quarantine")
    return _render(root)


def _places(report: Report, run: Run) -> Mapping[str, str]:
    """The positions in the failures of a run: as the executor writes them, and with the paths of the files here."""
    failures = [run["failure"], *(attempt["failure"] for attempt in run["attempts"])]
    return {
        place(written): place({**shown, "file": repository_path(shown["file"])})
        for failure in failures
        for written, shown in zip(positions(failure), report.positions(run, failure), strict=True)
    }


def _show_places(case: Element, places: Mapping[str, str]) -> None:
    """Replace the positions at which the texts of failures begin, and those that their files are run from."""
    for element in case.iter():
        if element.tag in _WITH_PLACES and element.text:
            lines = element.text.split("\n")
            element.text = "\n".join(_PLACE.sub(lambda match: _shown(match, places), line) for line in lines)


def _shown(match: re.Match[str], places: Mapping[str, str]) -> str:
    return f"{match['before']}{places.get(match['place'], match['place'])}{match['after']}"


def _set_property(case: Element, properties: Mapping[str, Element], name: str, value: str) -> None:
    parent = case.find("properties")
    if name in properties:
        properties[name].set("value", value)
    elif parent is not None:
        ElementTree.SubElement(parent, "property", {"name": name, "value": value})


def empty(name: str) -> bytes:
    """The document of an execution without tests."""
    counts = {"tests": "0", "failures": "0", "errors": "0", "time": "0.0"}
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    ElementTree.SubElement(root, "testsuite", {"name": name, **counts, "skipped": "0"})
    return _render(root)


def strict(junit: bytes) -> bytes:
    """The document as the schemas for Jenkins allow it.

    What they do not know (properties of a testcase, earlier attempts) becomes text in `system-out`.

    Raises:
        CliError: for a document that cannot be read.
    """
    root = _parse(junit)
    for case in root.iter("testcase"):
        _move_into_output(case)
    for element in root.iter():
        _restrict(element)
    return _render(root)


def _move_into_output(case: Element) -> None:
    """Replace the children of a testcase by those that are allowed, in the order of the schema."""
    lines = [f"{each.get('name')}: {each.get('value')}" for each in case.iterfind("properties/property")]
    lines += [f"{each.tag}: {each.get('message', '')}" for tag in _INTERIM for each in case.iterfind(tag)]
    outputs = [case.findtext("system-out")] if case.findtext("system-out") else []
    text = "\n\n".join(filter(None, ["\n".join(lines), *outputs]))
    kept = [each for tag in _RESULTS for each in case.iterfind(tag)]
    errors = case.findall("system-err")
    for child in list(case):
        case.remove(child)
    case.extend(kept)
    if text:
        ElementTree.SubElement(case, "system-out").text = text
    case.extend(errors)


def _restrict(element: Element) -> None:
    """Remove attributes that are not allowed; the message of a skipped test becomes its text."""
    if element.tag == "skipped":
        element.text = "\n".join(filter(None, [element.get("message"), element.text]))
        element.attrib.clear()
    allowed = _ATTRIBUTES.get(element.tag)
    for name in element.attrib.keys() - allowed if allowed is not None else ():
        del element.attrib[name]


def _parse(junit: bytes) -> Element:
    parser = ElementTree.XMLParser(target=_Builder())  # noqa: S314 (a document with a DOCTYPE is refused)
    try:
        parser.feed(junit)
        root: Element = parser.close()
    except ElementTree.ParseError as error:
        raise _unreadable(str(error)) from None
    if root.tag not in ("testsuites", "testsuite"):
        raise _unreadable(f"it begins with <{root.tag}>")
    return root


def _make_printable(root: Element) -> bool:
    """Make the texts harmless for the logs and pages that show them; whether one was not."""
    changed = False
    for element in root.iter():
        before = (element.text, element.tail, dict(element.attrib))
        element.attrib.update({name: printable(value) for name, value in element.attrib.items()})
        element.text, element.tail = (text and printable(text) for text in before[:2])
        changed = changed or before != (element.text, element.tail, element.attrib)
    return changed


def _render(root: Element) -> bytes:
    """ASCII without a declaration, as the server writes it, and with printable texts."""
    _make_printable(root)
    return ElementTree.tostring(root, encoding="unicode").encode("ascii", "xmlcharrefreplace")


def _unreadable(problem: str) -> CliError:
    return CliError(f"The server's JUnit document cannot be used: {problem}", NO_VERDICT)
