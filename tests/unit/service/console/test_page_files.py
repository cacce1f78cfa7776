"""The files of the console: complete, small, from nowhere else, and the libraries as they were published."""

import hashlib
import json
import re
from typing import Any

import pytest

from braid.service.console.page_files import page_files
from tests.support.doc_examples import ROOT

FOLDER = ROOT / "service" / "console"
STATIC = FOLDER / "static"
BYTES_MAX = 60_000
VENDORED: list[dict[str, Any]] = json.loads((FOLDER / "vendored.json").read_text())
MODULES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))
OWN = [module for module in MODULES if not module.startswith("vendor/")]
IMPORT = re.compile(r"""\bfrom ?["']([^"'\s]+)["']""")

every_module = pytest.mark.parametrize("module", MODULES)
every_library_file = pytest.mark.parametrize("vendored", VENDORED, ids=lambda one: one["file"])


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_visit_loads_at_most_60_kb() -> None:
    found = page_files()
    sizes = {path: len(file.compressed) for path, file in found.files.items()}
    loaded = [size for path, size in sizes.items() if path != "vendor/licences.txt"]

    assert len(found.page.compressed) + sum(loaded) <= BYTES_MAX, sizes


@every_module
def test_a_module_imports_files_of_the_console_alone(module: str) -> None:
    path = STATIC / module
    imported = IMPORT.findall(path.read_text())

    assert all(name.startswith(("./", "../")) for name in imported), imported
    assert all((path.parent / name).resolve().is_relative_to(STATIC) for name in imported)
    assert [name for name in imported if not (path.parent / name).is_file()] == []


@pytest.mark.parametrize("module", OWN)
def test_every_imported_name_is_exported(module: str) -> None:
    path = STATIC / module
    imports = re.findall(
        r"^import \{(.*?)\} from '(.*?)';", path.read_text(), re.MULTILINE | re.DOTALL
    )
    missing = [
        (name, target)
        for names, target in imports
        for name in names_in(names)
        if name.split(" as ")[0] not in exported_by((path.parent / target).read_text())
    ]

    assert missing == []


def exported_by(text: str) -> set[str]:
    declared = re.findall(r"\bexport (?:async )?(?:function|const|class) (\w+)", text)
    listed = names_in(",".join(re.findall(r"\bexport ?\{([^}]*)\}", text)))
    return {*declared, *(name.split(" as ")[-1] for name in listed)}


def names_in(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def test_every_module_is_imported() -> None:
    reached, waiting = set(), [STATIC / "js/main.js"]
    while waiting:
        path = waiting.pop().resolve()
        if path not in reached:
            reached.add(path)
            waiting += [path.parent / name for name in IMPORT.findall(path.read_text())]

    assert {path.relative_to(STATIC).as_posix() for path in reached} == set(MODULES)


@pytest.mark.parametrize("path", [*OWN, "index.html", "style.css"])
def test_no_file_names_another_host(path: str) -> None:
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s'\"]*", (STATIC / path).read_text())

    assert [one for one in addresses if one != "http://www.w3.org/2000/svg"] == []


@pytest.mark.parametrize("module", OWN)
def test_no_module_makes_html_or_code_of_texts(module: str) -> None:
    text = (STATIC / module).read_text()

    assert not re.search(r"innerHTML|dangerouslySet|\beval\(|new Function|document\.write", text)


def test_the_page_has_neither_scripts_nor_styles_in_it() -> None:
    page = page_files().page.body.decode()

    assert re.findall(r"<script[^>]*>(?!</script>)", page) == []
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)


def test_the_page_names_every_module_by_the_digest() -> None:
    found = page_files()
    page = found.page.body.decode()
    loaded = re.findall(rf'href="{found.digest}/([^"]+\.js)"', page)

    assert sorted(loaded) == sorted(path for path in found.files if path.endswith(".js"))
    assert f'<script type="module" src="{found.digest}/js/console.js">' in page
    assert set(re.findall(r'(?:href|src)="([^/"]+)/', page)) == {found.digest}


def test_the_script_has_every_module_of_the_console() -> None:
    script = page_files().files["js/console.js"].body.decode()
    others = [module for module in OWN if module != "js/html.js"]

    assert script.count("(() => {\n") >= len(others)
    assert re.findall(r"^(?:import|export)\b.*", script, re.MULTILINE) == [
        "import * as _1 from './html.js';"
    ]
    for module in others:
        for name in exported_by((STATIC / module).read_text()):
            assert re.search(
                rf"^(?:async )?(?:function|const|class) {name}\b", script, re.MULTILINE
            )


def test_what_is_sent_has_no_comments_and_no_indentation() -> None:
    sent = page_files().files["js/console.js"].body.decode()

    assert "x-request-id" in sent
    assert re.findall(r"^(?:\s+|//|/\*).*$", sent, re.MULTILINE) == []


def test_every_file_of_a_library_is_listed() -> None:
    files = {path.relative_to(STATIC).as_posix() for path in (STATIC / "vendor").iterdir()}

    assert files == {one["file"] for one in VENDORED} | {"vendor/licences.txt"}


@every_library_file
def test_a_file_of_a_library_is_the_listed_one(vendored: dict[str, Any]) -> None:
    assert digest_of((STATIC / vendored["file"]).read_text()) == vendored["sha256"]


@every_library_file
def test_a_file_of_a_library_differs_from_the_published_one_as_listed(
    vendored: dict[str, Any],
) -> None:
    text = (STATIC / vendored["file"]).read_text()
    for published, ours in reversed(vendored["changes"]):
        assert text.count(ours) == 1
        text = text.replace(ours, published)

    assert digest_of(text) == vendored["source_sha256"]


@every_library_file
def test_the_licence_of_a_library_is_sent_with_it(vendored: dict[str, Any]) -> None:
    licences = (STATIC / "vendor" / "licences.txt").read_text()

    assert f"{vendored['package']} {vendored['version']}\n" in licences
    assert vendored["licence"] in ("MIT", "Apache-2.0")
