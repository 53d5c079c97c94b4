"""Where the files of pages are served."""

import re
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from services.gateway.dashboard.assets import FOLDER, Assets

TEMPLATES = FOLDER.parent / "templates"
PARTS = re.compile(r"{% set parts = \[([^\]]*)\]")


def imported(assets: Assets, *scripts: str) -> set[str]:
    """The names of the modules that scripts need."""
    return {url.rpartition("/")[2].removesuffix(".js") for url in assets.imports(scripts)}


def test_the_imports_of_scripts_are_all_modules_that_they_need(tmp_path: Path) -> None:
    """Also those that only imports import, and those in a circle; not the scripts."""
    for name, text in {
        "page.js": 'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\n',
        "part.js": 'import { a } from "./a.js";\nimport { d } from "./d.js";\n',
        "a.js": 'import { b } from "./b.js";\nimport { page } from "./page.js";\n',
        "b.js": 'import { c } from "./c.js";\n',
        "c.js": '// import { other } from "./other.js";\n',
        "d.js": "",
        "other.js": "",
    }.items():
        (tmp_path / name).write_text(text)
    assert imported(Assets(tmp_path), "page", "part") == {"a", "b", "c", "d"}
    assert imported(Assets(tmp_path), "c") == set()


@pytest.mark.parametrize(("version", "caching"), [(None, "public, max-age=31536000, immutable"), ("older", "no-store")])
async def test_a_page_of_another_version_gets_the_present_file(
    tmp_path: Path, version: str | None, caching: str
) -> None:
    """While replicas are replaced; only a file of the same version is kept."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/page.js").write_text("1")
    assets = Assets(tmp_path)
    address = assets.url("vendor/page.js")
    if version is not None:
        address = f"/static/{version}/vendor/page.js"
    response = await assets.serve(make_mocked_request("GET", address))
    assert isinstance(response, web.Response)
    assert (response.body, response.headers["Cache-Control"]) == (b"1", caching)


def test_each_module_belongs_to_a_page() -> None:
    """To all of them, or to those whose templates name it or what imports it."""
    named = {name for path in TEMPLATES.glob("*.html") for name in re.findall(r"\w+", _parts(path.read_text()))}
    scripts = {"dashboard", "theme", *named}
    assert {path.stem for path in FOLDER.glob("*.js")} == scripts | imported(Assets(), *scripts)


def _parts(template: str) -> str:
    match = PARTS.search(template)
    return match[1] if match else ""
