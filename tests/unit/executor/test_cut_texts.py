"""Texts of an attempt are read and cut by functions that make them well-formed, and split no secret."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
AUTOMATION = "automation"
OF_ATTEMPTS = (AUTOMATION, "services/executor/pools", "services/executor/worker", "services/executor/resolver_child.py")

# Slices of lists and tuples.
NO_TEXTS = {
    "automation/stored_screens/binding_alarm.py": {"past[:PASSES_LIMIT]"},
    "automation/stored_screens/healing.py": {"past[:HEALING_PASSES]"},
    "automation/stored_screens/report.py": {"list(screens)[:SCREENS_LIMIT]"},
    "automation/commands/selector_search.py": {
        "elements[:1 + _OTHERS_NAMED]",
        "pool[:_SIMILAR_AMONG]",
    },
    "automation/llm/chat_protocol.py": {"read[:CALLS_LIMIT]"},
    "automation/llm/element_list.py": {"shown[:ELEMENTS_LIMIT]"},
    "automation/model/baseline_keys.py": {  # of a name that is hashed
        "re.sub('[^a-z0-9]+', '-', PurePosixPath(name).stem.lower())[:16]",
        "sha256(name.encode()).hexdigest()[:12]",
    },
    "automation/outcome.py": {"named[:limit]"},
    "automation/screen/fingerprint.py": {"hashed[:FLOWING_LIMIT]"},
    "automation/scripting/fake_values.py": {
        "[*map(faker.random.choice, used), *faker.random.choices(''.join(used), k=LENGTH_LIMIT)][:length]"
    },
    "automation/scripting/templates.py": {"known[:20]"},
    "automation/sentences/grounding.py": {"elements[:CANDIDATES_LIMIT]"},
    "automation/sentences/state_checks.py": {"partial[:CANDIDATES_LIMIT]"},
    "automation/steps/human_help.py": {"grounding.candidates[:CHOICES_LIMIT]"},
    "services/executor/worker/processes/messages.py": {"wrong[:10]"},
    "automation/flows/configuration.py": {"unknown[:NOTICES_LIMIT]", "written[:NOTICES_LIMIT]"},
    "automation/flows/workspace.py": {
        "(*notices, *repeated_names(names), *missing)[:NOTICES_LIMIT]",
        "flow.problems[:PROBLEMS_LIMIT]",
        "flow.unparsed[:NOTICES_LIMIT - len(unparsed)]",
    },
    "automation/flows/workspace_media.py": {"tuple({**self._files, **self._sent}.values())[:FILES_LIMIT]"},
}

SHOWN_TO_NOBODY = {
    "automation/devices/simulated/model_file.py": {"content[:1024]", "content[:BYTES_LIMIT]"},
    "automation/devices/simulated/renderer.py": {"text[:width]"},  # pixels
    "automation/screen/fingerprint.py": {"' '.join(_WORD.findall(text.casefold()))[:80]"},  # hashed
    "automation/scripting/guest.py": {"SHA256[:16]"},
    "services/executor/worker/processes/messages.py": {"received[:100]"},
    "automation/flows/positions.py": {"sha256(positions.encode()).hexdigest()[:16]"},
}

MASKED_BEFORE = {
    "automation/model/variants.py": {  # secret variables have no values there
        "line[:SHOWN_VALUE - 10]",
        "sha256(text.encode(errors='surrogatepass')).hexdigest()[:length]",
    },
    "automation/evidence/failure_capture.py": {
        "content[:TREE_BYTES]",
        "content[:LOG_BEGINNING_BYTES]",
        "content[-(LOG_BYTES - LOG_BEGINNING_BYTES):]",
    },
}

ERASED_BY_THE_TEST = {
    "automation/devices/simulated/device.py": {"held[:max(len(held) - characters, 0)]"},
}

_LENGTHS = {"limit", "length", "room", "left", "most", "width", "characters"}


def cuts(source: str) -> Iterator[str]:
    """The slices that end, or begin before the end, at a limit, and the formats that do."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            lower = node.slice.lower
            from_end = lower if isinstance(lower, ast.UnaryOp) else None
            if any(bound is not None and _is_limit(bound) for bound in (node.slice.upper, from_end)):
                yield ast.unparse(node)
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            written = "".join(
                ast.unparse(part) for part in ast.walk(node.format_spec) if isinstance(part, ast.Constant)
            )
            if "." in written and written.strip("'")[-1] not in "fgeGE%":
                yield ast.unparse(node)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "textwrap.shorten":
            yield ast.unparse(node)


def _is_limit(bound: ast.expr) -> bool:
    for node in ast.walk(bound):
        match node:
            case ast.Constant(int() as value) if value >= 10:
                return True
            case ast.Name(name) | ast.Attribute(attr=name) if name.strip("_").isupper() or name in _LENGTHS:
                return True
    return False


def test_cuts_are_found() -> None:
    source = "a[:LIMIT], a[:x.most], a[:60], a[-_TAIL:], f'{a:.60}', a[:1], a[1:], a[:end], f'{a:.2f}', a[:LIMIT - 1]"
    assert list(cuts(source)) == ["a[:LIMIT]", "a[:x.most]", "a[:60]", "a[-_TAIL:]", "a[:LIMIT - 1]", "{a:.60}"]


def test_json_from_outside_is_read_by_one_function() -> None:
    """`parse_json` of mobiletest_automation.outside_texts makes its texts well-formed."""
    folders = [ROOT / AUTOMATION, ROOT / "services/executor/worker"]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    assert {file.name for file in files if "json.loads(" in file.read_text()} == {
        "outside_texts.py",
        "positions.py",  # written by us
        "stored_trees.py",  # written by us
        "workspace_files.py",  # of the catalog and the command line
    }


def test_no_text_of_an_attempt_is_cut_but_by_functions_that_split_no_secret() -> None:
    """Use `cut`, `cut_beginning` or `shorten` of mobiletest_automation.flows.texts; what is no text is listed above."""
    slices_by_file: dict[str, set[str]] = {}
    for place in OF_ATTEMPTS:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.parent.name == "app_files":
                continue  # read before there is an attempt
            if slices := set(cuts(file.read_text())):
                slices_by_file[str(file.relative_to(ROOT)).replace("/mobiletest_automation", "")] = slices
    listed: dict[str, set[str]] = {}
    for table in (NO_TEXTS, SHOWN_TO_NOBODY, MASKED_BEFORE, ERASED_BY_THE_TEST):
        for name, slices in table.items():
            listed[name] = listed.get(name, set()) | slices
    assert slices_by_file == listed
