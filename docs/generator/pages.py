"""All generated pages and JSON Schemas, by path."""

from pathlib import Path

from braid.lake.declaration.engine_declarations import ENGINES
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.options.table_options import OPTIONS
from docs.generator import engine_pages, function_pages, trap_pages
from docs.generator.command_line_page import PAGE as COMMANDS_PAGE, command_line_page
from docs.generator.declarations.declaration_pages import declaration_links, declaration_pages
from docs.generator.json_schemas import json_schemas
from docs.generator.metric_page import PAGE as METRICS_PAGE, metric_page
from docs.generator.openapi_file import PAGE as OPENAPI_PAGE, openapi_text
from docs.generator.operation_pages import openapi_document, operation_pages
from docs.generator.option_page import PAGE as OPTIONS_PAGE, option_page
from docs.generator.traps import PAGE as TRAPS_PAGE, traps

GUIDE = "docs/guides/which-row-wins.md"
_BEGIN, _END = "<!-- traps: begin, made by `make docs` -->", "<!-- traps: end -->"


def generated_pages(root: Path) -> dict[str, str]:
    """Return the text of every generated page, by its path below the root.

    Args:
        root: The root of the repository; it contains the guide of which one table is generated.
    """
    found = traps()
    document = openapi_document()
    engines, functions = engine_pages.FOLDER, function_pages.FOLDER
    pages = {
        f"{engines}/README.md": engine_pages.engine_index(ENGINES.values()),
        f"{functions}/README.md": function_pages.function_index(list(FUNCTIONS.values())),
        METRICS_PAGE: metric_page(),
        OPENAPI_PAGE: openapi_text(document),
        OPTIONS_PAGE: option_page(OPTIONS.values()),
        TRAPS_PAGE: trap_pages.trap_page(found),
        **declaration_pages(),
        **json_schemas(),
        COMMANDS_PAGE: command_line_page(),
        **operation_pages(document, declaration_links(folder="../declarations/")),
        GUIDE: _with_traps((root / GUIDE).read_text(encoding="utf-8"), trap_pages.trap_list(found)),
    }
    for engine, declaration in ENGINES.items():
        pages[f"{engines}/{engine.value}.md"] = engine_pages.engine_page(declaration, found)
    for name, function in FUNCTIONS.items():
        pages[f"{functions}/{name}.md"] = function_pages.function_page(function, found)
    return pages


def _with_traps(guide: str, listed: str) -> str:
    before, _, rest = guide.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{listed}\n\n{_END}{after}"
