"""A visitor of the console: pages of a real browser, their errors, and the check of accessibility."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import axe_playwright_python
from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = (1280, 900), (390, 844)
THEMES = ("light", "dark")
TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PATIENCE_MS: Final = 30_000
_AXE: Final = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the machine's Chromium."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, f"no {' or '.join(NAMES)} on this machine; apt-get install chromium"
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Tests in containers run as root, where Chromium has no sandbox.
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield browser
        browser.close()


@dataclass(kw_only=True)
class Visitor:
    """A visitor of a service.

    Attributes:
        page: The page of the browser.
        address: The address of the service.
        errors: What the page has reported as an error since the visit began.
        foreign: The addresses of other hosts that the page has asked for.
    """

    page: Page
    address: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(
        cls,
        browser: Any,
        address: str,
        *,
        size: tuple[int, int] = WIDE,
        theme: str = "light",
    ) -> Iterator["Visitor"]:
        """Visit a service; when the visit ends, no page may have had an error."""
        width, height = size
        viewport = {"width": width, "height": height}
        context = browser.new_context(
            viewport=viewport, color_scheme=theme, reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        visitor = cls(page=page, address=address)
        page.on("pageerror", lambda error: visitor.errors.append(str(error)))
        page.on("console", visitor._on_message)
        page.on("request", visitor._on_request)
        yield visitor
        context.close()
        assert visitor.errors == []
        assert visitor.foreign == []

    def open(self, path: str = "") -> Page:
        """Open a view by the part of its address after `#/`, and wait until it has its content."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/console/#/{path}")
        expect(self.page.locator("h1")).to_be_visible()
        expect(self.page.get_by_text("Loading")).to_have_count(0)
        return self.page

    def violations(self) -> list[str]:
        """Return what the check of accessibility finds on the page, a line for each element."""
        # By the debugger: the page's own policy admits no script of others.
        self.page.evaluate(f"() => {{ {_AXE}\n }}")
        found = self.page.evaluate(
            "tags => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", TAGS
        )
        return [
            f"{violation['id']}: {node['html']}: {node['failureSummary']}"
            for violation in found["violations"]
            for node in violation["nodes"]
        ]

    def _on_message(self, message: Any) -> None:
        # An answer with a problem is one line there, and expected by the tests that cause it.
        if message.type == "error" and "the server responded with a status" not in message.text:
            self.errors.append(message.text)

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "about:", "blob:")):
            self.foreign.append(request.url)
