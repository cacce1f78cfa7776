"""Modules that are joined to one script."""

import pytest

from braid.service.console.joined_modules import joined_modules

SHAPES = {
    "js/main.js": "import { area as size } from './shapes/area.js';\nimport { h } from './html.js';\nh(size(2));\n",
    "js/shapes/area.js": (
        "import {\n  side,\n  unit,\n} from './side.js';\nimport { h } from '../html.js';\n"
        "export async function area(n) {\n  return side(n);\n}\nexport const square = 4;\nconst own = 1;\n"
    ),
    "js/shapes/side.js": "export class unit {}\nexport function side(n) {\n  return n;\n}\n",
}


def test_a_module_comes_after_those_that_it_imports() -> None:
    script = joined_modules(SHAPES, entry="js/main.js", script="js/all.js")
    places = [script.index(text) for text in ("function side", "function area", "h(size(2))")]

    assert places == sorted(places)


def test_names_of_imports_and_exports_are_kept() -> None:
    script = joined_modules(SHAPES, entry="js/main.js", script="js/all.js")

    assert "const { area: size } = _2;\n" in script
    assert "const {\n  side,\n  unit,\n} = _0;\n" in script
    assert "return { area, square };\n" in script
    assert "return { unit, side };\n" in script
    assert "export" not in script


def test_a_module_that_is_not_joined_is_imported_once_from_where_it_is() -> None:
    script = joined_modules(SHAPES, entry="js/main.js", script="js/all.js")

    assert script.startswith("import * as _1 from './html.js';\n")
    assert script.count("import") == 1
    assert script.count("const { h } = _1;\n") == 2


def test_a_module_that_nothing_imports_is_left_out() -> None:
    script = joined_modules(
        {**SHAPES, "js/other.js": "lost();\n"}, entry="js/main.js", script="all.js"
    )

    assert "lost" not in script
    assert "from './js/html.js'" in script


def test_a_circle_of_imports_is_refused() -> None:
    circle = {"a.js": "import { b } from './b.js';\n", "b.js": "import { a } from './a.js';\n"}

    with pytest.raises(ValueError, match=r"a\.js imports itself"):
        joined_modules(circle, entry="a.js", script="all.js")
