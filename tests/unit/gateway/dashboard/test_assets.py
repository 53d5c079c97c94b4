"""Where the files of pages are served."""

from pathlib import Path

from services.gateway.dashboard.assets import FOLDER, Assets


def names(urls: list[str]) -> list[str]:
    return [url.rpartition("/")[2] for url in urls]


def test_the_modules_of_a_script_are_all_that_it_imports(tmp_path: Path) -> None:
    """Once each, also those that only its imports import, and those in a circle."""
    for name, text in {
        "page.js": 'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\n',
        "a.js": 'import { b } from "./b.js";\nimport { page } from "./page.js";\n',
        "b.js": 'import { c } from "./c.js";\n',
        "c.js": '// import { other } from "./other.js";\n',
        "other.js": "",
    }.items():
        (tmp_path / name).write_text(text)
    assert names(list(Assets(tmp_path).modules("page.js"))) == ["a.js", "b.js", "c.js"]


def test_only_the_reference_has_modules_of_its_own() -> None:
    loaded = {"dashboard.js", "theme.js", *names(list(Assets().modules("dashboard.js")))}
    assert {path.name for path in FOLDER.glob("*.js")} - loaded == {"reference.js"}
